// SPDX-License-Identifier: GPL-2.0-only
/* See explain.h. The order is that of the datapath's steps. */
#include "explain.h"

#include <string.h>

#include "../../bpf/proto.h"

/* --- the ingress ------------------------------------------------------------------------- */

static void add_packet(struct explain *explain)
{
	const struct packet *packet = &explain->packet;
	char src[PRINT_PREFIX_LEN], dst[PRINT_PREFIX_LEN], ports[48] = "", proto[16];

	if (proto_has_ports(packet->proto))
		snprintf(ports, sizeof(ports), " from port %u to port %u", packet->sport,
			 packet->dport);
	explain_add(
		explain, "packet",
		"%s to %s, %s%s, %u bytes, hop limit %u, traffic class 0x%02x, flow label 0x%05x",
		print_addr(&packet->src, src), print_addr(&packet->dst, dst),
		packet_proto_name(packet->proto, proto), ports, packet->ip_bytes, packet->hop_limit,
		packet->tclass, packet->label);
}

static const char *maps_text(const struct explain *explain)
{
	uint32_t flags = explain->view.maps.meta->flags;

	if (!(flags & SIXLANE_META_READY))
		return "no daemon has filled them yet";
	if (!(flags & SIXLANE_META_GUARDED))
		return "no daemon has read yet which firewall rules, policies and qdiscs there are";
	if (!explain->daemon)
		return "sixlaned does not run: they are as it left them";
	return flags & SIXLANE_META_IN_SYNC
		       ? "in step with the kernel's tables"
		       : "sixlaned is synchronising them with the kernel's tables";
}

static void add_program(struct explain *explain)
{
	const struct loader_prog *prog = &explain->prog;
	const char *name = explain->ingress->name;

	if (!explain->prog_known)
		explain_add(explain, "port", "cannot query the XDP program of %s", name);
	else if (prog->owner == LOADER_NO_PROG)
		explain_add(explain, "port",
			    "%s runs no XDP program: real packets never come as far as this one",
			    name);
	else if (prog->owner == LOADER_OTHER_PROG)
		explain_add(explain, "port",
			    "%s runs another XDP program, \"%s\" (id %u), not sixlane", name,
			    prog->name, prog->id);
	else if (prog->owner == LOADER_OTHER_MAPS)
		explain_add(explain, "port", "%s runs sixlane with other maps than these (id %u)",
			    name, prog->id);
	else
		explain_add(explain, "port", "%s runs sixlane (%s%s, id %u)%s", name,
			    prog->mode == XDP_MODE_MULTI ? "several modes"
							 : loader_xdp_mode_name(prog->mode),
			    prog->dispatcher ? ", dispatcher" : "", prog->id,
			    explain->same_build
				    ? ""
				    : ", of another build than the one that is run here");
}

/* The device that SIXLANE_PASS_PORT_UPPER is about. */
static void add_upper(struct explain *explain)
{
	const struct ports *ports = &explain->view.ports;
	const struct link *port = ports_find(ports, explain->trace.port.ifindex);
	struct port_upper upper;

	if (explain->trace.port.flags & SIXLANE_PORT_UPPER && port &&
	    ports_find_upper(ports, port, &upper))
		explain_add(explain, "port", "%s takes the frames of %s%s%s", upper.name,
			    port->name, *upper.kind ? ": it is of kind " : "", upper.kind);
}

static void add_port(struct explain *explain)
{
	const struct link *port = explain->port, *ingress = explain->ingress;
	const struct ports *ports = &explain->view.ports;
	const struct trace *trace = &explain->trace;
	char tags[SHOW_TAGS_LEN], name[IFNAMSIZ];

	explain_add(explain, "port", "%s (ifindex %u): %s", port->name, port->ifindex,
		    explain->port_reason);
	if (ingress->master && ingress->ifindex != port->ifindex &&
	    (trace->by_slave || !strcmp(ingress->master_kind, "bond")))
		explain_add(explain, "port", "%s is a slave of %s: %s", ingress->name,
			    ports_name(ports, ingress->master, name),
			    trace->by_slave ? "what comes in by it came in by the bond"
					    : "one that the bond does not use, or not served");
	if (explain->packet.tags[0].word)
		explain_add(explain, "port", "frames of %s come in by %s with tag %s", port->name,
			    ingress->name, show_tags(explain->packet.tags, tags));
	if (trace->in->port.slot && trace->port.ifindex != port->ifindex)
		explain_add(explain, "port", "to the program it came in by %s",
			    ports_name(ports, trace->port.ifindex, name));
	if (trace->port.flags & SIXLANE_PORT_VRF)
		explain_add(explain, "port", "belongs to the VRF %s: table %u",
			    ports_name(ports, trace->port.iif, name), trace->port.table);
	add_upper(explain);
	add_program(explain);
	explain_add(explain, "port", "%s",
		    !trace->in->port.slot		       ? "the maps do not know it"
		    : trace->port.flags & SIXLANE_PORT_INGRESS ? "served by the daemon"
							       : "not served by the daemon");
}

/* Only if the command line gave the MAC. */
static void add_mac(struct explain *explain)
{
	const union sixlane_trace_facts *facts = explain_facts(explain, SIXLANE_TRACE_ADDRESSEE);
	char mac[PRINT_MAC_LEN], own[PRINT_MAC_LEN];

	if (!facts || !explain->has_mac)
		return;
	print_mac(explain->trace.port.mac.bytes, own);
	explain_add(explain, "mac", "the frame is for %s, %s%s",
		    print_mac(explain->packet.dst_mac, mac),
		    facts->addressee.addressed ? "a device below the port's VLAN" : "the port has ",
		    facts->addressee.addressed ? "" : own);
}

void explain_add_ingress(struct explain *explain)
{
	const uint32_t decided = explain->trace.decided;

	add_packet(explain);
	explain_add(explain, "maps", "%s", maps_text(explain));
	add_port(explain);
	add_mac(explain);
	if (decided)
		explain_add(explain, "decided",
			    "%s: %s. What follows is how it would go on, were it not for that",
			    cmd_verdict_name(decided), cmd_verdict_text(decided));
}

/* --- rules and route --------------------------------------------------------------------- */

/* Why a rule does not match, by the first selector that differs. */
static const char *selector_text(uint32_t selector)
{
	static const struct {
		uint32_t selector;
		const char *text;
	} texts[] = {
		{ SIXLANE_RULE_L3MDEV, ": the port belongs to no VRF" },
		{ SIXLANE_RULE_IIF, ": another ingress" },
		{ SIXLANE_RULE_SOURCE, ": another source" },
		{ SIXLANE_RULE_DESTINATION, ": another destination" },
		{ SIXLANE_RULE_TCLASS, ": another traffic class" },
		{ SIXLANE_RULE_PROTO, ": another protocol" },
		{ SIXLANE_RULE_SPORT, ": another source port" },
		{ SIXLANE_RULE_DPORT, ": another destination port" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].selector == selector)
			return texts[i].text;
	return "";
}

static const char *outcome_text(uint32_t outcome)
{
	static const char *const texts[] = {
		[SIXLANE_TRACE_RULE_DIFFERS] = "does not apply",
		[SIXLANE_TRACE_RULE_UNSEEN] = "XDP cannot see whether it applies",
		[SIXLANE_TRACE_RULE_GOTO] = "applies, and leads on to the next line's",
		[SIXLANE_TRACE_RULE_NO_ROUTE] = "applies, but its table has no route",
		[SIXLANE_TRACE_RULE_THROW] = "applies, but its table has a throw route",
		[SIXLANE_TRACE_RULE_SUPPRESSED] = "applies, but suppresses so short a prefix",
		[SIXLANE_TRACE_RULE_SHARED] =
			"applies, and may suppress: for a next-hop object the kernel asks any route by it",
		[SIXLANE_TRACE_RULE_EXCEPTED] =
			"applies, and suppresses so short a prefix, but not an exception of the destination",
		[SIXLANE_TRACE_RULE_DECIDES] = "applies, and decides",
	};

	return outcome < ARRAY_SIZE(texts) && texts[outcome] ? texts[outcome] : "";
}

static bool reached_route(const struct explain *explain)
{
	return explain->trace.by_rules || explain_facts(explain, SIXLANE_TRACE_ROUTE);
}

static void add_rules(struct explain *explain)
{
	const struct trace *trace = &explain->trace;
	char text[RULE_TEXT_LEN], table[SHOW_TABLE_LEN];

	if (!reached_route(explain))
		explain_add(explain, "rules",
			    "not reached: the maps have no port that it came in by");
	else if (!trace->by_rules)
		explain_add(explain, "rules", "not asked: for packets of this port they come to %s",
			    trace->port.flags & SIXLANE_PORT_VRF
				    ? "the VRF's table"
				    : "local and then main, which stand in one table");
	for (uint32_t i = 0; i < trace->n_rules; i++) {
		const struct trace_rule *rule = &trace->rules[i];

		explain_add(explain, "rules", "%s: %s%s",
			    rule_text(&explain->view.ports, &rule->rule, text),
			    outcome_text(rule->outcome),
			    rule->outcome == SIXLANE_TRACE_RULE_DIFFERS
				    ? selector_text(rule->selector)
				    : "");
	}
	if (trace->table)
		explain_add(explain, "table", "%s", show_table(trace->table, table));
}

static const char *no_route_text(const struct explain *explain)
{
	const struct trace *trace = &explain->trace;

	if (!reached_route(explain))
		return "none";
	if (!trace->n_rules)
		return "none: the table has no route";
	switch (trace->rules[trace->n_rules - 1].outcome) {
	case SIXLANE_TRACE_RULE_UNSEEN:
	case SIXLANE_TRACE_RULE_SHARED:
	case SIXLANE_TRACE_RULE_EXCEPTED:
		return "none: it hangs on a rule that only the kernel can decide";
	case SIXLANE_TRACE_RULE_DECIDES:
		return explain_facts(explain, SIXLANE_TRACE_RULE)->rule.table
			       ? "none: its table is incomplete in the maps, so only the kernel can decide"
			       : "none: the rule decides without a route";
	}
	return "none: no rule leads to a route";
}

static void add_prefix(struct explain *explain)
{
	const struct route_view *route = &explain->trace.view;
	const struct entry *source = explain->source;
	char text[PRINT_PREFIX_LEN], expiry[SHOW_EXPIRY_LEN];
	size_t n;

	if (!route->value) {
		explain_add(explain, "prefix", "%s", no_route_text(explain));
		return;
	}
	explain_add(explain, "prefix", "%s",
		    print_covering(&explain->packet.dst, route->prefix_len, text));
	if (route->by_source) {
		entries_of(&explain->sources, route->set, &n);
		explain_add(explain, "source",
			    "%s%s, of the %zu source prefixes that there are routes for",
			    source ? "from " : "none is found",
			    source ? print_prefix(&source->prefix.addr, source->prefix.len, text)
				   : "",
			    n);
	}
	if (route->flags & SIXLANE_NEXT_HOP_OBJECT)
		explain_add(explain, "route", "by a next-hop object");
	if (route->expires_ns)
		explain_add(explain, "route", "%s", show_expiry(route->expires_ns, expiry));
}

/* --- the group --------------------------------------------------------------------------- */

static void add_hash_policy(struct explain *explain)
{
	static const char *const over[] = {
		[SIXLANE_HASH_L3] = "addresses, flow label and next header",
		[SIXLANE_HASH_L4] = "addresses, protocol and ports",
		[SIXLANE_HASH_INNER] =
			"addresses, flow label and protocol, of a tunnel those inside",
	};
	union sixlane_hash_policy hash = explain->view.maps.meta->hash_policy;

	if (hash.policy < ARRAY_SIZE(over))
		explain_add(explain, "group", "hash policy %u: over %s", hash.policy,
			    over[hash.policy]);
	else
		explain_add(explain, "group", "hash policy %u: over the fields 0x%04x", hash.policy,
			    hash.fields);
}

#define MEMBER_LEN (EXPLAIN_HOP_LEN + 64)

/* "via GATEWAY dev PORT, weight 2 (66.7 %)" */
static const char *member_text(const struct explain *explain, uint32_t number, char buf[MEMBER_LEN])
{
	const struct group_view *group = &explain->trace.view.group;
	const struct member_view *member = &group->members[number];
	char hop[EXPLAIN_HOP_LEN], share[64] = "";

	if (group->type == SIXLANE_NH_GROUP)
		snprintf(share, sizeof(share), "%s%s%u%s (%.1f %%)", member->hop.port ? ", " : "",
			 group->resilient ? "" : "weight ", member->weight,
			 group->resilient ? " buckets" : "", 100 * group_view_share(group, member));
	snprintf(buf, MEMBER_LEN, "%s%s", explain_hop_text(explain, &member->hop, NULL, hop),
		 share);
	return buf;
}

static void add_members(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;
	char text[MEMBER_LEN];

	for (uint32_t i = 0; i < group->n_members; i++)
		explain_add(explain, "group", "member %u: %s: %s", i + 1,
			    member_text(explain, i, text),
			    group->members[i].skipped
				    ? "its port is down, packets pass it over"
				    : cmd_verdict_text(group->members[i].hop.verdict));
}

static void add_draws(struct explain *explain)
{
	const struct trace *trace = &explain->trace;

	for (uint32_t i = 0; i < trace->n_draws; i++) {
		const struct trace_draw *draw = &trace->draws[i];
		char member[32] = "no member";

		if (draw->member != TRACE_NO_MEMBER)
			snprintf(member, sizeof(member), "member %u", draw->member + 1);
		explain_add(explain, "bucket", "%u of 0 to %u, by the hash%s: %s%s", draw->bucket,
			    trace->view.group.n_buckets - 1, i ? " mixed again" : "", member,
			    draw->skipped ? ", passed over" : "");
	}
}

static void add_member(struct explain *explain)
{
	const bool hashed = explain->trace.view.group.type == SIXLANE_NH_GROUP;
	const struct trace *trace = &explain->trace;
	char text[MEMBER_LEN];

	if (hashed && !trace->n_draws)
		explain_add(explain, "member", "none: %s",
			    explain_facts(explain, SIXLANE_TRACE_HASH)
				    ? "the hash is over headers that XDP cannot reach"
				    : "the route has expired");
	else if (trace->chosen != TRACE_NO_MEMBER)
		explain_add(explain, "member", "%u, %s%s", trace->chosen + 1,
			    member_text(explain, trace->chosen, text),
			    trace->scanned ? ": by the hash and the weights of those in use" : "");
	else if (hashed)
		explain_add(explain, "member", "none: packets pass all of them over");
}

static void add_group(struct explain *explain)
{
	const struct group_view *group = &explain->trace.view.group;

	if (!group->type || (group->n_members == 1 && group->n_buckets == 1))
		return;
	if (group->type == SIXLANE_NH_EQUAL_METRIC) {
		explain_add(
			explain, "group",
			"%u equal routes: the first, but before it one by the port that the packet "
			"came in by",
			group->n_members);
	} else if (!group->n_buckets) {
		explain_add(explain, "group", "no member at all");
		return;
	} else {
		explain_add(explain, "group", "%u member%s, in %u buckets%s", group->n_members,
			    group->n_members == 1 ? "" : "s", group->n_buckets,
			    group->resilient ? "" : " of equal size");
		add_hash_policy(explain);
	}
	add_members(explain);
	if (group->type == SIXLANE_NH_GROUP)
		add_draws(explain);
	add_member(explain);
}

void explain_add_route(struct explain *explain)
{
	add_rules(explain);
	add_prefix(explain);
	add_group(explain);
}
