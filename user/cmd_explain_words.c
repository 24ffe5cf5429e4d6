// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of an explained packet in words, in the order of the datapath's walk. Decides nothing.
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <string.h>

#include "../bpf/proto.h"
#include "cmd_explain.h"
#include "cmd_rule.h"

static void tell(struct explain *explain, const char *name, const char *fmt, ...) _printf_(3, 4);
static void tell(struct explain *explain, const char *name, const char *fmt, ...)
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

/* A device's name, or "#IFINDEX" for one that is not in this namespace. */
static const char *device_name(const struct explain *explain, uint32_t ifindex, char buf[IFNAMSIZ])
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
	tell(explain, "packet",
	     "%s to %s, %s%s, %u bytes, hop limit %u, traffic class 0x%02x, flow label 0x%05x", src,
	     dst, packet_proto_name(packet->proto, proto), ports, packet->ip_bytes,
	     packet->hop_limit, packet->tclass, packet->label);
}

static void tell_maps(struct explain *explain)
{
	uint32_t flags = explain->view.maps.meta->flags;

	if (!(flags & SIXLANE_META_READY))
		tell(explain, "maps", "no daemon has filled them yet");
	else if (!explain->daemon)
		tell(explain, "maps", "sixlaned does not run: they are as it left them");
	else if (!(flags & SIXLANE_META_IN_SYNC))
		tell(explain, "maps", "sixlaned is synchronising them with the kernel's tables");
	else
		tell(explain, "maps", "in step with the kernel's tables");
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
		tell(explain, "port", "cannot see which XDP program %s runs", name);
	else if (prog->owner == LOADER_NO_PROG)
		tell(explain, "port",
		     "%s runs no XDP program: real packets never come as far as this one", name);
	else if (prog->owner == LOADER_FOREIGN)
		tell(explain, "port", "%s runs another XDP program, \"%s\" (id %u), not sixlane",
		     name, prog->name, prog->id);
	else if (prog->owner == LOADER_OTHER_MAPS)
		tell(explain, "port", "%s runs sixlane with other maps than these (id %u)", name,
		     prog->id);
	else
		tell(explain, "port", "%s runs sixlane (%s%s, id %u)%s", name, modes[prog->mode],
		     prog->dispatcher ? ", dispatcher" : "", prog->id,
		     explain->same_build ? "" : ", of another build than the one that is run here");
}

static void tell_port(struct explain *explain)
{
	const struct walk *walk = &explain->walk;
	const struct link *port = explain->port;
	char tags[SHOW_TAGS_LEN], name[IFNAMSIZ];

	tell(explain, "port", "%s (ifindex %u): %s", port->name, port->ifindex,
	     explain->port_reason);
	if (explain->ingress->master && explain->ingress->ifindex != port->ifindex &&
	    (walk->by_slave || !strcmp(explain->ingress->master_kind, "bond")))
		tell(explain, "port", "%s is a slave of %s: %s", explain->ingress->name,
		     device_name(explain, explain->ingress->master, name),
		     walk->by_slave ? "what comes in by it came in by the bond"
				    : "one that the bond does not use, or not served");
	if (explain->query.tags[0].word)
		tell(explain, "port", "frames of %s come in by %s with tag %s", port->name,
		     explain->ingress->name, show_tags(explain->query.tags, tags));
	if (walk->in_slot && walk->in.ifindex != port->ifindex)
		tell(explain, "port", "to the program it came in by %s",
		     device_name(explain, walk->in.ifindex, name));
	if (walk->in.flags & SIXLANE_PORT_VRF)
		tell(explain, "port", "belongs to the VRF %s: table %u",
		     device_name(explain, walk->in.iif, name), walk->in.table);
	tell_program_of_port(explain);
	if (!walk->in_slot)
		tell(explain, "port", "the maps do not know it");
	else
		tell(explain, "port", "%s",
		     walk->in.flags & SIXLANE_PORT_INGRESS ? "served by the daemon"
							   : "not served by the daemon");
}

/* What is decided without a route; the rest is told all the same. */
static void tell_before(struct explain *explain)
{
	uint32_t before = explain->walk.before;

	if (before)
		tell(explain, "decided",
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
		tell(explain, "rules", "not walked: for packets of this port they come to %s",
		     walk->in.flags & SIXLANE_PORT_VRF
			     ? "the VRF's table"
			     : "local and then main, which stand in one table");
	for (uint32_t i = 0; i < walk->n_rules; i++)
		tell(explain, "rules", "%s: %s",
		     cmd_rule_text(&explain->view.ports, &walk->rules[i].rule, text),
		     outcome_words(&walk->rules[i]));
	if (walk->table)
		tell(explain, "table", "%s", show_table(walk->table, table));
}

static void tell_route(struct explain *explain)
{
	const struct walk *walk = &explain->walk;
	char text[PRINT_PREFIX_LEN];
	size_t n;

	if (!walk->has_prefix) {
		tell(explain, "prefix", "none%s",
		     walk->table ? ": the table has no route"
		     : walk->verdict == SIXLANE_PUNT_RULE
			     ? ": it hangs on a rule that only the kernel can decide"
			     : ": the rule decides without a table");
		return;
	}
	show_covering(&explain->packet.dst, walk->prefix_len, text);
	tell(explain, "prefix", "%s", text);
	if (walk->by_source) {
		sources_of(&explain->sources, walk->set, &n);
		if (explain->source)
			print_prefix(&explain->source->key.addr, source_len(explain->source), false,
				     text);
		tell(explain, "source",
		     "%s%s, of the %zu source prefixes that there are routes for",
		     explain->source ? "from " : "none is found", explain->source ? text : "", n);
	}
	if (walk->flags & SIXLANE_NEXT_HOP_OBJECT)
		tell(explain, "route", "by a next-hop object");
	if (walk->expires_ns)
		tell(explain, "route", "expires in %.3f s", show_expires_s(walk));
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
		tell(explain, "group", "hash policy %u: over %s", how.policy, over[how.policy]);
	else
		tell(explain, "group", "hash policy %u: over the fields 0x%04x", how.policy,
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
		tell(explain, "group", "member %u: %s: %s", i + 1, member_text(explain, i, text),
		     group->members[i].skipped ? "its port is down, packets pass it over"
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
		tell(explain, group->buckets ? "bucket" : "cell",
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
		tell(explain, "member", "none: the hash is over headers that XDP cannot reach");
		return;
	}
	tell_draws(explain);
	number = group->chosen;
	if (number == WALK_NO_MEMBER)
		tell(explain, "member", "none: packets pass all of them over");
	else
		tell(explain, "member", "%u, %s%s", number + 1, member_text(explain, number, text),
		     group->scanned ? ": by the hash and the weights of those in use" : "");
}

static void tell_first(struct explain *explain)
{
	const struct walk_group *group = &explain->walk.group;
	char text[MEMBER_LEN];
	uint32_t number = 0;

	while (number < group->n_members && group->members[number].hop.id != explain->walk.hop.id)
		number++;
	if (number < group->n_members)
		tell(explain, "member", "%u, %s", number + 1, member_text(explain, number, text));
}

static void tell_group(struct explain *explain)
{
	const struct walk_group *group = &explain->walk.group;
	const char *plural = group->n_members == 1 ? "" : "s";

	if (!group->kind || (group->n_members == 1 && group->n_cells == 1))
		return;
	if (group->kind == SIXLANE_KIND_FIRST) {
		tell(explain, "group",
		     "%u equal routes: the first, but before it one by the port that the packet "
		     "came in by",
		     group->n_members);
		tell_members(explain);
		tell_first(explain);
		return;
	}
	if (!group->n_cells) {
		tell(explain, "group", "no member at all");
		return;
	}
	tell(explain, "group", "%u member%s, in %u %s", group->n_members, plural, group->n_cells,
	     group->buckets ? "buckets" : "cells as large as each other");
	tell_policy(explain);
	tell_members(explain);
	tell_chosen(explain);
}

/* --- the way out ------------------------------------------------------------------------- */

static void tell_neighbour(struct explain *explain)
{
	const struct walk_hop *hop = &explain->walk.hop;
	const char *what = hop->has_gateway ? "the gateway" : "on-link, the destination itself:";
	char text[PRINT_PREFIX_LEN], mac[PRINT_MAC_LEN];

	print_prefix(hop->has_gateway ? &hop->neigh.key.addr : &explain->packet.dst, 128, true,
		     text);
	print_mac(hop->neigh.mac.bytes, mac);
	if (hop->has_mac)
		tell(explain, "neighbour", "%s %s, resolved: %s", what, text, mac);
	else
		tell(explain, "neighbour",
		     "%s %s, not resolved: the kernel asks for it when it gets the packet", what,
		     text);
}

static void tell_egress(struct explain *explain)
{
	const struct sixlane_port *egress = &explain->walk.hop.egress;
	char name[IFNAMSIZ], below[IFNAMSIZ], tags[SHOW_TAGS_LEN];

	device_name(explain, egress->ifindex, name);
	if (egress->flags & SIXLANE_PORT_TAGGED)
		tell(explain, "egress", "%s: frames go to %s with tag %s", name,
		     device_name(explain, egress->xmit, below), show_tags(egress->tags, tags));
	else
		tell(explain, "egress", "%s", name);
	if (!(egress->flags & SIXLANE_PORT_UP))
		tell(explain, "egress", "%s is down", name);
	else if (!(egress->flags & SIXLANE_PORT_IPV6))
		tell(explain, "egress", "IPv6 is off on %s", name);
	else if (egress->flags & SIXLANE_PORT_NO_XMIT || !(egress->flags & SIXLANE_PORT_XMIT))
		tell(explain, "egress", "%s takes no frames redirected from native XDP", name);
}

/* Which slave the bond below a VLAN device would choose. */
static void tell_slave(struct explain *explain)
{
	static const char *const over[] = {
		[SIXLANE_SLAVES_BY_L2] = "MACs",
		[SIXLANE_SLAVES_BY_L34] = "addresses and ports",
		[SIXLANE_SLAVES_BY_L23] = "MACs and addresses",
	};
	const struct walk_hop *hop = &explain->walk.hop;
	const struct sixlane_port *egress = &hop->egress;
	char bond[IFNAMSIZ], slave[IFNAMSIZ];

	if (!(egress->flags & SIXLANE_PORT_SLAVES) || egress->slaves_by >= ARRAY_SIZE(over))
		return;
	device_name(explain, egress->xmit, bond);
	if (!egress->n_slaves)
		tell(explain, "slave", "none: %s uses none", bond);
	else if (hop->slave)
		tell(explain, "slave", "%s, by the hash of %s over %s, one of %u in use",
		     device_name(explain, hop->slave, slave), bond, over[egress->slaves_by],
		     egress->n_slaves);
	else if (hop->verdict == SIXLANE_PUNT_HASH)
		tell(explain, "slave", "of %s: hashed over headers that XDP cannot reach", bond);
}

static void tell_mtu(struct explain *explain)
{
	const struct walk_hop *hop = &explain->walk.hop;
	bool by_route = explain->walk.route_mtu && explain->walk.route_mtu <= hop->mtu;
	uint32_t bytes = explain->packet.ip_bytes;
	char name[IFNAMSIZ];

	tell(explain, "mtu", "%u bytes, %s%s: the packet has %u%s", hop->mtu,
	     by_route ? "the route's" : "that of ",
	     by_route ? "" : device_name(explain, hop->egress.ifindex, name), bytes,
	     bytes > hop->mtu ? ", too many" : "");
}

static void tell_way_out(struct explain *explain)
{
	if (!explain->walk.hop.port)
		return;
	tell_egress(explain);
	tell_neighbour(explain);
	tell_mtu(explain);
	tell_slave(explain);
	tell(explain, "exception", "none: this version applies no learnt Path MTU and no redirect");
}

/* --- the verdict ------------------------------------------------------------------------- */

static void tell_output(struct explain *explain)
{
	const struct packet *out = &explain->out;
	char src[PRINT_MAC_LEN], dst[PRINT_MAC_LEN], tags[SHOW_TAGS_LEN];

	print_mac(out->src_mac, src);
	print_mac(out->dst_mac, dst);
	show_tags(out->tags, tags);
	tell(explain, "output", "to %s, from %s, %s%s, hop limit %u, %u bytes", dst, src,
	     *tags ? "tag " : "untagged", tags, out->hop_limit, out->ip_bytes);
}

static void tell_verdict(struct explain *explain)
{
	uint32_t verdict = explain->result.verdict;
	char name[IFNAMSIZ];

	tell(explain, "program", "%s (%s), counted for %s", cmd_verdict_name(verdict),
	     cmd_verdict_text(verdict),
	     cmd_slot_name(&explain->view, explain->result.slot, name) ?: "unknown ports");
	if (verdict == SIXLANE_FORWARD)
		tell_output(explain);
	if (explain->agree) {
		tell(explain, "verdict", "%s: %s%s", cmd_verdict_name(verdict),
		     cmd_verdict_text(verdict),
		     explain->result.action == XDP_PASS ? "; the kernel gets it as it came" : "");
		return;
	}
	tell(explain, "verdict",
	     "THE PROGRAM AND THE MAPS AS READ HERE DISAGREE: the program says %s, the steps above "
	     "come to %s. Please report this with all that is above",
	     cmd_verdict_name(verdict), cmd_verdict_name(explain->walk.verdict));
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
	tell_way_out(explain);
	tell_verdict(explain);
	for (size_t i = 0; i < explain->n_steps; i++) {
		if (!explain->steps[i].text)
			return false;
	}
	return true;
}
