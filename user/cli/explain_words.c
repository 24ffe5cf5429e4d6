// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of an explained packet in words, in the order of the datapath's walk, up to the member
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
	const struct link *port = ports_find(ports, explain->walk.in.ifindex);
	struct port_owner owner;

	if (!(explain->walk.in.flags & SIXLANE_PORT_UPPER) || !port ||
	    !ports_find_owner(ports, port, &owner))
		return;
	explain_say(explain, "port", "%s takes the frames of %s%s%s", owner.name, port->name,
		    owner.kind[0] ? ": it is of kind " : "", owner.kind);
}

static void tell_port(struct explain *explain)
{
	const struct walk *walk = &explain->walk;
	const struct link *port = explain->port;
	char tags[SHOW_TAGS_LEN], name[IFNAMSIZ];

	explain_say(explain, "port", "%s (ifindex %u): %s", port->name, port->ifindex,
		    explain->port_reason);
	if (explain->ingress->master && explain->ingress->ifindex != port->ifindex &&
	    (walk->by_slave || !strcmp(explain->ingress->master_kind, "bond")))
		explain_say(explain, "port", "%s is a slave of %s: %s", explain->ingress->name,
			    explain_device(explain, explain->ingress->master, name),
			    walk->by_slave ? "what comes in by it came in by the bond"
					   : "one that the bond does not use, or not served");
	if (explain->query.tags[0].word)
		explain_say(explain, "port", "frames of %s come in by %s with tag %s", port->name,
			    explain->ingress->name, show_tags(explain->query.tags, tags));
	if (walk->in_slot && walk->in.ifindex != port->ifindex)
		explain_say(explain, "port", "to the program it came in by %s",
			    explain_device(explain, walk->in.ifindex, name));
	if (walk->in.flags & SIXLANE_PORT_VRF)
		explain_say(explain, "port", "belongs to the VRF %s: table %u",
			    explain_device(explain, walk->in.iif, name), walk->in.table);
	tell_owner(explain);
	tell_program_of_port(explain);
	if (!walk->in_slot)
		explain_say(explain, "port", "the maps do not know it");
	else
		explain_say(explain, "port", "%s",
			    walk->in.flags & SIXLANE_PORT_INGRESS ? "served by the daemon"
								  : "not served by the daemon");
}

/* What is decided without a route; the rest is told all the same. */
static void tell_before(struct explain *explain)
{
	uint32_t before = explain->walk.before;

	if (before)
		explain_say(explain, "decided",
			    "%s: %s. What follows is how it would go on, were it not for that",
			    cmd_verdict_name(before), cmd_verdict_text(before));
}

/* --- which route ------------------------------------------------------------------------- */

static const char *outcome_words(const struct walk_rule *step)
{
	switch (step->outcome) {
	case WALK_RULE_DIFFERS:
		return "does not apply";
	case WALK_RULE_UNSEEN:
		return "XDP cannot see whether it applies";
	case WALK_RULE_GOTO:
		return "applies, and leads on to the next line's";
	case WALK_RULE_NO_ROUTE:
		return "applies, but its table has no route";
	case WALK_RULE_THROW:
		return "applies, but its table has a throw route";
	case WALK_RULE_SUPPRESSED:
		return "applies, but suppresses so short a prefix";
	case WALK_RULE_SHARED:
		return "applies, and may suppress: for a next-hop object the kernel asks any route by it";
	case WALK_RULE_EXCEPTED:
		return "applies, and suppresses so short a prefix, but not what the kernel has learnt of the destination";
	case WALK_RULE_DECIDES:
		return "applies, and decides";
	}
	return "";
}

static void tell_rules(struct explain *explain)
{
	const struct walk *walk = &explain->walk;
	char text[CMD_RULE_LEN], table[SHOW_TABLE_LEN];

	if (!walk->by_rules)
		explain_say(explain, "rules",
			    "not walked: for packets of this port they come to %s",
			    walk->in.flags & SIXLANE_PORT_VRF
				    ? "the VRF's table"
				    : "local and then main, which stand in one table");
	for (uint32_t i = 0; i < walk->n_rules; i++)
		explain_say(explain, "rules", "%s: %s",
			    cmd_rule_text(&explain->view.ports, &walk->rules[i].rule, text),
			    outcome_words(&walk->rules[i]));
	if (walk->table)
		explain_say(explain, "table", "%s", show_table(walk->table, table));
}

static void tell_route(struct explain *explain)
{
	const struct walk *walk = &explain->walk;
	char text[PRINT_PREFIX_LEN];
	size_t n;

	if (!walk->has_prefix) {
		explain_say(explain, "prefix", "none%s",
			    walk->table ? ": the table has no route"
			    : walk->verdict == SIXLANE_PUNT_RULE
				    ? ": it hangs on a rule that only the kernel can decide"
				    : ": the rule decides without a table");
		return;
	}
	show_covering(&explain->packet.dst, walk->prefix_len, text);
	explain_say(explain, "prefix", "%s", text);
	if (walk->by_source) {
		sources_of(&explain->sources, walk->set, &n);
		if (explain->source)
			print_prefix(&explain->source->key.addr, source_len(explain->source), false,
				     text);
		explain_say(explain, "source",
			    "%s%s, of the %zu source prefixes that there are routes for",
			    explain->source ? "from " : "none is found",
			    explain->source ? text : "", n);
	}
	if (walk->flags & SIXLANE_NEXT_HOP_OBJECT)
		explain_say(explain, "route", "by a next-hop object");
	if (walk->expires_ns)
		explain_say(explain, "route", "expires in %.3f s", show_expires_s(walk));
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
	const struct walk_group *group = &explain->walk.group;
	const struct walk_member *member = &group->members[number];
	char gateway[PRINT_PREFIX_LEN], name[IFNAMSIZ], share[64] = "";
	bool out = member->hop.port;

	if (member->hop.has_gateway)
		print_prefix(&member->hop.neigh.key.addr, 128, true, gateway);
	if (group->kind == SIXLANE_KIND_GROUP)
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
	const struct walk_group *group = &explain->walk.group;
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
	const struct walk_group *group = &explain->walk.group;

	for (uint32_t i = 0; i < group->n_draws; i++) {
		const struct walk_draw *draw = &group->draws[i];
		bool none = draw->member == WALK_NO_MEMBER;
		char member[32] = "no member";

		if (!none)
			snprintf(member, sizeof(member), "member %u", draw->member + 1);
		explain_say(explain, group->buckets ? "bucket" : "cell",
			    "%u of 0 to %u, by the hash%s: %s%s", draw->cell, group->n_cells - 1,
			    i ? " mixed again" : "", member,
			    none || group->members[draw->member].skipped ? ", passed over" : "");
	}
}

static void tell_chosen(struct explain *explain)
{
	const struct walk_group *group = &explain->walk.group;
	char text[MEMBER_LEN];
	uint32_t number;

	if (!group->n_draws) {
		explain_say(explain, "member",
			    "none: the hash is over headers that XDP cannot reach");
		return;
	}
	tell_draws(explain);
	number = group->chosen;
	if (number == WALK_NO_MEMBER)
		explain_say(explain, "member", "none: packets pass all of them over");
	else
		explain_say(explain, "member", "%u, %s%s", number + 1,
			    member_text(explain, number, text),
			    group->scanned ? ": by the hash and the weights of those in use" : "");
}

static void tell_first(struct explain *explain)
{
	const struct walk_group *group = &explain->walk.group;
	char text[MEMBER_LEN];

	if (group->chosen < group->n_members)
		explain_say(explain, "member", "%u, %s", group->chosen + 1,
			    member_text(explain, group->chosen, text));
}

static void tell_group(struct explain *explain)
{
	const struct walk_group *group = &explain->walk.group;
	const char *plural = group->n_members == 1 ? "" : "s";

	if (!group->kind || (group->n_members == 1 && group->n_cells == 1))
		return;
	if (group->kind == SIXLANE_KIND_FIRST) {
		explain_say(
			explain, "group",
			"%u equal routes: the first, but before it one by the port that the packet "
			"came in by",
			group->n_members);
		tell_members(explain);
		tell_first(explain);
		return;
	}
	if (!group->n_cells) {
		explain_say(explain, "group", "no member at all");
		return;
	}
	explain_say(explain, "group", "%u member%s, in %u %s", group->n_members, plural,
		    group->n_cells, group->buckets ? "buckets" : "cells as large as each other");
	tell_policy(explain);
	tell_members(explain);
	tell_chosen(explain);
}

bool explain_tell(struct explain *explain)
{
	tell_packet(explain);
	tell_maps(explain);
	tell_port(explain);
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
