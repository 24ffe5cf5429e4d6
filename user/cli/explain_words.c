// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of an explained packet in words, in the order of the datapath's steps, up to the member
 * that is chosen. Decides nothing.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#include "../../bpf/proto.h"
#include "explain.h"
#include "rule.h"

void explain_say(struct explain *explain, const char *name, const char *fmt, ...)
{
	struct explain_step *step = &explain->steps[explain->n_steps];
	va_list ap;

	if (explain->n_steps == EXPLAIN_MAX_STEPS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&step->text, fmt, ap) < 0)
		step->text = NULL;
	va_end(ap);
	step->name = name;
	explain->n_steps++;
}

const char *explain_device(const struct explain *explain, uint32_t ifindex, char buf[IFNAMSIZ])
{
	const struct link *link = ports_find(&explain->view.ports, ifindex);

	if (link)
		snprintf(buf, IFNAMSIZ, "%s", link->name);
	else
		snprintf(buf, IFNAMSIZ, "#%u", ifindex);
	return buf;
}

/* --- where it comes in ------------------------------------------------------------------- */

static void tell_packet(struct explain *explain)
{
	const struct packet *packet = &explain->packet;
	char src[PRINT_PREFIX_LEN], dst[PRINT_PREFIX_LEN], ports[48] = "", proto[16];

	print_prefix(&packet->src, 128, true, src);
	print_prefix(&packet->dst, 128, true, dst);
	if (proto_has_ports(packet->proto))
		snprintf(ports, sizeof(ports), " from port %u to port %u", packet->sport,
			 packet->dport);
	explain_say(
		explain, "packet",
		"%s to %s, %s%s, %u bytes, hop limit %u, traffic class 0x%02x, flow label 0x%05x",
		src, dst, packet_proto_name(packet->proto, proto), ports, packet->ip_bytes,
		packet->hop_limit, packet->tclass, packet->label);
}

static void tell_maps(struct explain *explain)
{
	uint32_t flags = explain->view.maps.meta->flags;

	if (!(flags & SIXLANE_META_READY))
		explain_say(explain, "maps", "no daemon has filled them yet");
	else if (!(flags & SIXLANE_META_GUARDED))
		explain_say(
			explain, "maps",
			"no daemon has read yet which firewall rules, policies and qdiscs there are");
	else if (!explain->daemon)
		explain_say(explain, "maps", "sixlaned does not run: they are as it left them");
	else if (!(flags & SIXLANE_META_IN_SYNC))
		explain_say(explain, "maps",
			    "sixlaned is synchronising them with the kernel's tables");
	else
		explain_say(explain, "maps", "in step with the kernel's tables");
}

static void tell_program_of_port(struct explain *explain)
{
	static const char *const modes[] = {
		[XDP_MODE_NONE] = "no",
		[XDP_MODE_NATIVE] = "native",
		[XDP_MODE_GENERIC] = "generic",
		[XDP_MODE_OFFLOAD] = "offload",
		[XDP_MODE_MULTI] = "several modes",
	};
	const struct loader_prog *prog = &explain->prog;
	const char *name = explain->ingress->name;

	if (!explain->prog_known)
		explain_say(explain, "port", "cannot query the XDP program of %s", name);
	else if (prog->owner == LOADER_NO_PROG)
		explain_say(explain, "port",
			    "%s runs no XDP program: real packets never come as far as this one",
			    name);
	else if (prog->owner == LOADER_FOREIGN)
		explain_say(explain, "port",
			    "%s runs another XDP program, \"%s\" (id %u), not sixlane", name,
			    prog->name, prog->id);
	else if (prog->owner == LOADER_OTHER_MAPS)
		explain_say(explain, "port", "%s runs sixlane with other maps than these (id %u)",
			    name, prog->id);
	else
		explain_say(explain, "port", "%s runs sixlane (%s%s, id %u)%s", name,
			    modes[prog->mode], prog->dispatcher ? ", dispatcher" : "", prog->id,
			    explain->same_build
				    ? ""
				    : ", of another build than the one that is run here");
}

/* Which device is meant by SIXLANE_PASS_PORT_UPPER. */
static void tell_owner(struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	const struct link *port = ports_find(ports, explain->trace.port.ifindex);
	struct port_owner owner;

	if (!(explain->trace.port.flags & SIXLANE_PORT_UPPER) || !port ||
	    !ports_find_owner(ports, port, &owner))
		return;
	explain_say(explain, "port", "%s takes the frames of %s%s%s", owner.name, port->name,
		    owner.kind[0] ? ": it is of kind " : "", owner.kind);
}

static void tell_port(struct explain *explain)
{
	const struct trace *trace = &explain->trace;
	const struct link *port = explain->port;
	char tags[SHOW_TAGS_LEN], name[IFNAMSIZ];

	explain_say(explain, "port", "%s (ifindex %u): %s", port->name, port->ifindex,
		    explain->port_reason);
	if (explain->ingress->master && explain->ingress->ifindex != port->ifindex &&
	    (trace->by_slave || !strcmp(explain->ingress->master_kind, "bond")))
		explain_say(explain, "port", "%s is a slave of %s: %s", explain->ingress->name,
			    explain_device(explain, explain->ingress->master, name),
			    trace->by_slave ? "what comes in by it came in by the bond"
					    : "one that the bond does not use, or not served");
	if (explain->packet.tags[0].word)
		explain_say(explain, "port", "frames of %s come in by %s with tag %s", port->name,
			    explain->ingress->name, show_tags(explain->packet.tags, tags));
	if (trace->in->port.slot && trace->port.ifindex != port->ifindex)
		explain_say(explain, "port", "to the program it came in by %s",
			    explain_device(explain, trace->port.ifindex, name));
	if (trace->port.flags & SIXLANE_PORT_VRF)
		explain_say(explain, "port", "belongs to the VRF %s: table %u",
			    explain_device(explain, trace->port.iif, name), trace->port.table);
	tell_owner(explain);
	tell_program_of_port(explain);
	if (!trace->in->port.slot)
		explain_say(explain, "port", "the maps do not know it");
	else
		explain_say(explain, "port", "%s",
			    trace->port.flags & SIXLANE_PORT_INGRESS ? "served by the daemon"
								     : "not served by the daemon");
}

/* Of a frame that is not for the port, or whose MAC was asked for. */
static void tell_mac(struct explain *explain)
{
	const union sixlane_trace_facts *facts =
		trace_facts(&explain->trace.records, SIXLANE_TRACE_ADDRESSEE);
	const struct packet *packet = &explain->packet;
	char mac[PRINT_MAC_LEN], own[PRINT_MAC_LEN];

	if (!facts || !explain->has_mac)
		return;
	print_mac(packet->dst_mac, mac);
	print_mac(explain->trace.port.mac.bytes, own);
	explain_say(explain, "mac", "the frame is for %s, %s%s", mac,
		    facts->addressee.addressed ? "a device below the port's VLAN" : "the port has ",
		    facts->addressee.addressed ? "" : own);
}

/* What is decided without a route; the rest is told all the same. */
static void tell_before(struct explain *explain)
{
	uint32_t before = explain->trace.decided;

	if (before)
		explain_say(explain, "decided",
			    "%s: %s. What follows is how it would go on, were it not for that",
			    cmd_verdict_name(before), cmd_verdict_text(before));
}

/* --- which route ------------------------------------------------------------------------- */

/* Why a rule does not apply, by the first selector that does not hold. */
static const char *differs_words(uint32_t selector)
{
	switch (selector) {
	case SIXLANE_RULE_L3MDEV:
		return "does not apply: the port belongs to no VRF";
	case SIXLANE_RULE_IIF:
		return "does not apply: another ingress";
	case SIXLANE_RULE_SOURCE:
		return "does not apply: another source";
	case SIXLANE_RULE_DESTINATION:
		return "does not apply: another destination";
	case SIXLANE_RULE_TCLASS:
		return "does not apply: another traffic class";
	case SIXLANE_RULE_PROTO:
		return "does not apply: another protocol";
	case SIXLANE_RULE_SPORT:
		return "does not apply: another source port";
	case SIXLANE_RULE_DPORT:
		return "does not apply: another destination port";
	default:
		return "does not apply";
	}
}

static const char *outcome_words(const struct trace_rule *step)
{
	switch (step->outcome) {
	case SIXLANE_TRACE_RULE_DIFFERS:
		return differs_words(step->selector);
	case SIXLANE_TRACE_RULE_UNSEEN:
		return "XDP cannot see whether it applies";
	case SIXLANE_TRACE_RULE_GOTO:
		return "applies, and leads on to the next line's";
	case SIXLANE_TRACE_RULE_NO_ROUTE:
		return "applies, but its table has no route";
	case SIXLANE_TRACE_RULE_THROW:
		return "applies, but its table has a throw route";
	case SIXLANE_TRACE_RULE_SUPPRESSED:
		return "applies, but suppresses so short a prefix";
	case SIXLANE_TRACE_RULE_SHARED:
		return "applies, and may suppress: for a next-hop object the kernel asks any route by it";
	case SIXLANE_TRACE_RULE_EXCEPTED:
		return "applies, and suppresses so short a prefix, but not an exception of the destination";
	case SIXLANE_TRACE_RULE_DECIDES:
		return "applies, and decides";
	}
	return "";
}

static bool reached_route(const struct trace *trace)
{
	return trace->route.by_rules || trace_facts(&trace->records, SIXLANE_TRACE_ROUTE);
}

static void tell_rules(struct explain *explain)
{
	const struct trace *trace = &explain->trace;
	char text[CMD_RULE_LEN], table[SHOW_TABLE_LEN];

	if (!reached_route(trace))
		explain_say(explain, "rules",
			    "not reached: the maps have no port that it came in by");
	else if (!trace->route.by_rules)
		explain_say(explain, "rules", "not asked: for packets of this port they come to %s",
			    trace->port.flags & SIXLANE_PORT_VRF
				    ? "the VRF's table"
				    : "local and then main, which stand in one table");
	for (uint32_t i = 0; i < trace->n_rules; i++)
		explain_say(explain, "rules", "%s: %s",
			    cmd_rule_text(&explain->view.ports, &trace->rules[i].rule, text),
			    outcome_words(&trace->rules[i]));
	if (trace->route.table)
		explain_say(explain, "table", "%s", show_table(trace->route.table, table));
}

static const char *no_route_words(const struct trace *trace)
{
	if (!reached_route(trace))
		return "";
	if (!trace->n_rules)
		return ": the table has no route";
	switch (trace->rules[trace->n_rules - 1].outcome) {
	case SIXLANE_TRACE_RULE_UNSEEN:
	case SIXLANE_TRACE_RULE_SHARED:
	case SIXLANE_TRACE_RULE_EXCEPTED:
		return ": it hangs on a rule that only the kernel can decide";
	case SIXLANE_TRACE_RULE_DECIDES:
		return trace_facts(&trace->records, SIXLANE_TRACE_RULE)->rule.table
			       ? ": its table is incomplete in the maps, so only the kernel can decide"
			       : ": the rule decides without a route";
	}
	return ": no rule leads to a route";
}

static void tell_route(struct explain *explain)
{
	const struct trace *trace = &explain->trace;
	char text[PRINT_PREFIX_LEN], expiry[SHOW_EXPIRY_LEN];
	size_t n;

	if (!trace->view.value) {
		explain_say(explain, "prefix", "none%s", no_route_words(trace));
		return;
	}
	show_covering(&explain->packet.dst, trace->view.prefix_len, text);
	explain_say(explain, "prefix", "%s", text);
	if (trace->view.by_source) {
		sources_of(&explain->sources, trace->view.set, &n);
		if (explain->source)
			print_prefix(&explain->source->key.addr, source_len(explain->source), false,
				     text);
		explain_say(explain, "source",
			    "%s%s, of the %zu source prefixes that there are routes for",
			    explain->source ? "from " : "none is found",
			    explain->source ? text : "", n);
	}
	if (trace->view.flags & SIXLANE_NEXT_HOP_OBJECT)
		explain_say(explain, "route", "by a next-hop object");
	if (trace->view.expires_ns)
		explain_say(explain, "route", "%s", show_expiry(trace->view.expires_ns, expiry));
}

/* --- which member ------------------------------------------------------------------------ */

static void tell_policy(struct explain *explain)
{
	static const char *const over[] = {
		[SIXLANE_HASH_L3] = "addresses, flow label and next header",
		[SIXLANE_HASH_L4] = "addresses, protocol and ports",
		[SIXLANE_HASH_INNER] =
			"addresses, flow label and protocol, of a tunnel those inside",
	};
	union sixlane_hash_policy how = explain->view.maps.meta->hash_policy;

	if (how.policy < ARRAY_SIZE(over))
		explain_say(explain, "group", "hash policy %u: over %s", how.policy,
			    over[how.policy]);
	else
		explain_say(explain, "group", "hash policy %u: over the fields 0x%04x", how.policy,
			    how.fields);
}

#define MEMBER_LEN 160

/* "via GATEWAY dev PORT, weight 2 (66.7 %)", as far as there are such. */
static const char *member_text(const struct explain *explain, uint32_t number, char buf[MEMBER_LEN])
{
	const struct group_view *group = &explain->trace.view.group;
	const struct member_view *member = &group->members[number];
	char gateway[PRINT_PREFIX_LEN], name[IFNAMSIZ], share[64] = "";
	bool out = member->hop.port;

	if (member->hop.has_gateway)
		print_prefix(&member->hop.neigh.key.addr, 128, true, gateway);
	if (group->kind == SIXLANE_NH_GROUP)
		snprintf(share, sizeof(share), "%s%s%u%s (%.1f %%)", out ? ", " : "",
			 group->buckets ? "" : "weight ", member->weight,
			 group->buckets ? " buckets" : "", 100 * show_share(group, member));
	snprintf(buf, MEMBER_LEN, "%s%s%s%s%s%s", member->hop.has_gateway ? "via " : "",
		 member->hop.has_gateway ? gateway : "", member->hop.has_gateway && out ? " " : "",
		 out ? "dev " : "",
		 out ? cmd_slot_name(&explain->view, member->hop.port, name) : "", share);
	return buf;
}

static void tell_members(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;
	char text[MEMBER_LEN];

	for (uint32_t i = 0; i < group->n_members; i++)
		explain_say(explain, "group", "member %u: %s: %s", i + 1,
			    member_text(explain, i, text),
			    group->members[i].skipped
				    ? "its port is down, packets pass it over"
				    : cmd_verdict_text(group->members[i].hop.verdict));
}

static void tell_draws(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;
	const struct trace_choice *choice = &explain->trace.choice;

	for (uint32_t i = 0; i < choice->n_draws; i++) {
		const struct trace_draw *draw = &choice->draws[i];
		char member[32] = "no member";

		if (draw->member != TRACE_NO_MEMBER)
			snprintf(member, sizeof(member), "member %u", draw->member + 1);
		explain_say(explain, "bucket", "%u of 0 to %u, by the hash%s: %s%s", draw->bucket,
			    group->n_buckets - 1, i ? " mixed again" : "", member,
			    draw->skipped ? ", passed over" : "");
	}
}

static void tell_chosen(struct explain *explain)
{
	const struct trace_choice *choice = &explain->trace.choice;
	char text[MEMBER_LEN];

	if (!choice->n_draws) {
		explain_say(explain, "member", "none: %s",
			    trace_facts(&explain->trace.records, SIXLANE_TRACE_HASH)
				    ? "the hash is over headers that XDP cannot reach"
				    : "the route has expired");
		return;
	}
	tell_draws(explain);
	if (choice->chosen == TRACE_NO_MEMBER)
		explain_say(explain, "member", "none: packets pass all of them over");
	else
		explain_say(explain, "member", "%u, %s%s", choice->chosen + 1,
			    member_text(explain, choice->chosen, text),
			    choice->scanned ? ": by the hash and the weights of those in use" : "");
}

static void tell_first(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;
	const uint32_t chosen = explain->trace.choice.chosen;
	char text[MEMBER_LEN];

	if (chosen < group->n_members)
		explain_say(explain, "member", "%u, %s", chosen + 1,
			    member_text(explain, chosen, text));
}

static void tell_group(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;
	const char *plural = group->n_members == 1 ? "" : "s";

	if (!group->kind || (group->n_members == 1 && group->n_buckets == 1))
		return;
	if (group->kind == SIXLANE_NH_EQUAL_METRIC) {
		explain_say(
			explain, "group",
			"%u equal routes: the first, but before it one by the port that the packet "
			"came in by",
			group->n_members);
		tell_members(explain);
		tell_first(explain);
		return;
	}
	if (!group->n_buckets) {
		explain_say(explain, "group", "no member at all");
		return;
	}
	explain_say(explain, "group", "%u member%s, in %u %s", group->n_members, plural,
		    group->n_buckets, group->buckets ? "buckets" : "buckets of equal size");
	tell_policy(explain);
	tell_members(explain);
	tell_chosen(explain);
}

bool explain_tell(struct explain *explain)
{
	tell_packet(explain);
	tell_maps(explain);
	tell_port(explain);
	tell_mac(explain);
	tell_before(explain);
	tell_rules(explain);
	tell_route(explain);
	tell_group(explain);
	explain_tell_way_out(explain);
	explain_tell_verdict(explain);
	for (size_t i = 0; i < explain->n_steps; i++) {
		if (!explain->steps[i].text)
			return false;
	}
	return true;
}
