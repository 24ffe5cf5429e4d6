// SPDX-License-Identifier: GPL-2.0-only
/*
 * See walk.h. One function a step of the datapath, of the same name where it is the same.
 * SIXLANE_FORWARD means "so far so good".
 */
#include "walk.h"

#include <netinet/in.h>
#include <string.h>

static enum sixlane_verdict check_all(const struct maps *maps)
{
	const uint32_t ready = SIXLANE_META_READY | SIXLANE_META_GUARDED;
	uint32_t flags = walk_load(&maps->meta->flags);

	if (walk_load(&maps->meta->abi) != SIXLANE_ABI || (flags & ready) != ready)
		return SIXLANE_PASS_NOT_READY;
	if (flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	if (flags & SIXLANE_META_RULES)
		return SIXLANE_PUNT_RULES;
	return SIXLANE_FORWARD;
}

/* --- the port (bpf/port.h, bpf/vlan.h) --------------------------------------------------- */

static void set_port(const struct maps *maps, uint32_t slot, struct walk *walk)
{
	walk->in_slot = slot;
	walk->in = maps->ports[slot];
}

static void find_port(const struct maps *maps, uint32_t ifindex, struct walk *walk)
{
	const uint32_t slave = SIXLANE_PORT_SLAVE | SIXLANE_PORT_PASS;
	uint32_t slot = maps_port_slot(maps, ifindex);

	if (!slot)
		return;
	walk->generic = maps->ports[slot].flags & SIXLANE_PORT_GENERIC;
	walk->by_slave = (maps->ports[slot].flags & slave) == SIXLANE_PORT_SLAVE;
	if (walk->by_slave)
		slot = maps_port_slot(maps, maps->ports[slot].lower);
	if (slot)
		set_port(maps, slot, walk);
}

/* Take the tags off one by one; the port becomes the VLAN device's. */
static enum sixlane_verdict find_vlan(const struct maps *maps, const struct walk_query *query,
				      struct walk *walk)
{
	for (size_t i = 0; i < ARRAY_SIZE(query->tags) && query->tags[i].word && walk->in_slot;
	     i++) {
		uint32_t slot = maps_vlan_slot(maps, walk->in.ifindex, query->tags[i]);

		if (slot && maps->ports[slot].flags & SIXLANE_PORT_UP)
			set_port(maps, slot, walk);
		else if (slot || query->tags[i].tci)
			return SIXLANE_PASS_VLAN_UNKNOWN;
	}
	return SIXLANE_FORWARD;
}

static enum sixlane_verdict check_port(const struct walk_query *query, const struct walk *walk)
{
	const uint32_t never = SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_BACKUP |
			       SIXLANE_PORT_SLAVE | SIXLANE_PORT_IN_HELD;
	uint32_t flags = walk->in.flags;

	if (!query->ingress)
		return SIXLANE_FORWARD;
	if (!(flags & SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (!(flags & never))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_PORT_PASS)
		return SIXLANE_PASS_PORT;
	if (flags & SIXLANE_PORT_BACKUP)
		return SIXLANE_PASS_BOND_SLAVE;
	if (flags & (SIXLANE_PORT_UPPER | SIXLANE_PORT_SLAVE))
		return SIXLANE_PASS_PORT_UPPER;
	return flags & SIXLANE_PORT_IN_FIREWALL ? SIXLANE_PASS_FIREWALL : SIXLANE_PASS_TC;
}

/* --- the header (bpf/parse.h) ------------------------------------------------------------ */

static enum sixlane_verdict check_addressee(const struct walk_query *query, const struct walk *walk)
{
	return query->ingress && !(walk->in.flags & SIXLANE_PORT_IPV6) ? SIXLANE_PASS_IPV6_OFF
								       : SIXLANE_FORWARD;
}

/* ff00::/8, fe80::/10, :: and ::1. */
static bool is_scoped(const union sixlane_addr *addr)
{
	static const uint8_t zero[15];
	const uint8_t *b = addr->bytes;

	if (b[0] == 0xff || (b[0] == 0xfe && (b[1] & 0xc0) == 0x80))
		return true;
	return !memcmp(b, zero, sizeof(zero)) && b[15] <= 1;
}

/* Behind these the kernel looks for neighbour discovery. */
static bool may_be_ndp(uint8_t proto)
{
	return proto == IPPROTO_ICMPV6 || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT ||
	       proto == IPPROTO_AH || proto == IPPROTO_NONE || proto == IPPROTO_DSTOPTS;
}

static enum sixlane_verdict check_header(const struct walk_query *query, const struct walk *walk)
{
	if (query->has_flow && query->proto == IPPROTO_HOPOPTS)
		return SIXLANE_PASS_HOP_BY_HOP;
	if (query->has_src && is_scoped(&query->src))
		return SIXLANE_PASS_SOURCE;
	if (is_scoped(&query->dst))
		return SIXLANE_PASS_DESTINATION;
	if (query->has_flow && walk->in.flags & SIXLANE_PORT_PROXY_NDP && may_be_ndp(query->proto))
		return SIXLANE_PASS_PROXY_NDP;
	return SIXLANE_FORWARD;
}

/* --- the whole way ----------------------------------------------------------------------- */

/* What a table said. No value is 0, since no next hop's id is. */
static void take_note(struct walk *walk, const struct walk_route *route)
{
	walk->has_prefix = route->value;
	walk->prefix_len = sixlane_route_len(route->value);
	walk->marks = route->value & WALK_MARKS;
	walk->next_hop = sixlane_route_next_hop(route->value);
	walk->by_source = route->by_source;
	walk->set = route->set;
}

static void find_route(const struct maps *maps, const struct walk_query *query, struct walk *walk)
{
	struct walk_route route = { 0 };
	enum sixlane_verdict verdict = walk_find_route(maps, query, walk, &route);

	take_note(walk, &route);
	if (route.by_source && !query->has_src)
		walk->depends |= WALK_ON_SOURCE;
	if (verdict == SIXLANE_FORWARD)
		walk_next_hop(maps, query, walk);
	else
		walk->verdict = verdict;
}

static void clear(struct walk *walk)
{
	/* The members are of any use only as far as their number says, and they are many. */
	memset(walk, 0, offsetof(struct walk, group.members));
}

void walk_packet(const struct maps *maps, const struct walk_query *query, struct walk *out)
{
	enum sixlane_verdict vlan;

	clear(out);
	if (query->ingress)
		find_port(maps, query->ingress, out);
	vlan = find_vlan(maps, query, out);
	out->before = check_all(maps) ?:
		 vlan ?:
		 check_port(query, out) ?:
		 check_addressee(query, out) ?:
		 check_header(query, out);
	/* The route is shown also where something before it decides already. */
	find_route(maps, query, out);
	if (out->before)
		out->verdict = out->before;
	if (out->in.flags & SIXLANE_PORT_FLOWS && out->verdict == SIXLANE_DROP_BLACKHOLE)
		out->verdict = SIXLANE_PASS_FIREWALL;
}

void walk_value(const struct maps *maps, uint32_t value, struct walk *out)
{
	static const struct walk_query any;
	struct walk_route route = { .value = value };
	enum sixlane_verdict verdict = walk_take_route(maps, &any, &route);

	clear(out);
	take_note(out, &route);
	out->prefix_len = sixlane_route_len(value);
	if (verdict == SIXLANE_FORWARD)
		walk_next_hop(maps, NULL, out);
	else
		out->verdict = verdict;
}
