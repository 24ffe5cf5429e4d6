// SPDX-License-Identifier: GPL-2.0-only
/*
 * See cmd_walk.h. One function a step of the datapath, of the same name where it is the same.
 * SIXLANE_FORWARD means "so far so good".
 */
#include "cmd_walk.h"

#include <string.h>

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static enum sixlane_verdict check_all(const struct maps *maps)
{
	uint32_t flags = load(&maps->meta->flags);

	if (load(&maps->meta->abi) != SIXLANE_ABI || !(flags & SIXLANE_META_READY))
		return SIXLANE_PASS_NOT_READY;
	if (flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	if (flags & SIXLANE_META_RULES)
		return SIXLANE_PUNT_RULES;
	return SIXLANE_FORWARD;
}

/* in: NULL when any port is meant. */
static enum sixlane_verdict check_port(const struct sixlane_port *in)
{
	if (!in)
		return SIXLANE_FORWARD;
	if (!(in->flags & SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (in->flags & SIXLANE_PORT_PASS)
		return SIXLANE_PASS_PORT;
	if (in->flags & SIXLANE_PORT_UPPER)
		return SIXLANE_PASS_PORT_UPPER;
	if (!(in->flags & SIXLANE_PORT_IPV6))
		return SIXLANE_PASS_IPV6_OFF;
	return SIXLANE_FORWARD;
}

/* ff00::/8, fe80::/10, :: and ::1. */
static enum sixlane_verdict check_destination(const union sixlane_addr *addr)
{
	static const uint8_t zero[15];
	const uint8_t *b = addr->bytes;

	if (b[0] == 0xff || (b[0] == 0xfe && (b[1] & 0xc0) == 0x80))
		return SIXLANE_PASS_DESTINATION;
	if (!memcmp(b, zero, sizeof(zero)) && b[15] <= 1)
		return SIXLANE_PASS_DESTINATION;
	return SIXLANE_FORWARD;
}

static enum sixlane_verdict check_fate(const struct maps *maps, const struct walk *walk)
{
	uint32_t fate = SIXLANE_PUNT_ROUTE;

	if (walk->next_hop < SIXLANE_MAX_NEXT_HOPS)
		fate = load(&maps->next_hops[walk->next_hop].verdict);
	return fate < SIXLANE_N_VERDICTS ? fate : SIXLANE_PUNT_ROUTE;
}

static enum sixlane_verdict check_forwarding(const struct sixlane_port *in)
{
	return in && !(in->flags & SIXLANE_PORT_FORWARDING) ? SIXLANE_PASS_NO_FORWARDING
							    : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_egress(const struct sixlane_port *in, const struct walk *walk)
{
	const uint32_t alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;
	const struct sixlane_port *out = &walk->egress;

	if (in && in->ifindex == out->ifindex)
		return SIXLANE_PASS_SAME_PORT;
	if (!out->ifindex || (out->flags & alive) != alive)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (!(out->flags & SIXLANE_PORT_ETHER))
		return SIXLANE_PASS_EGRESS_DEVICE;
	if (!(out->flags & SIXLANE_PORT_XMIT) && !(in && in->flags & SIXLANE_PORT_GENERIC))
		return SIXLANE_PASS_EGRESS_DEVICE;
	return SIXLANE_FORWARD;
}

void walk_next_hop(const struct maps *maps, uint32_t value, struct walk *out)
{
	const struct sixlane_next_hop *next_hop;

	out->has_prefix = true;
	out->prefix_len = sixlane_route_len(value);
	out->next_hop = sixlane_route_next_hop(value);
	out->verdict = check_fate(maps, out);
	if (out->verdict != SIXLANE_FORWARD)
		return;
	next_hop = &maps->next_hops[out->next_hop];
	if (next_hop->port < SIXLANE_MAX_PORTS) {
		out->port = next_hop->port;
		out->egress = maps->ports[out->port];
	}
	out->mtu = out->egress.mtu;
	if (next_hop->mtu && next_hop->mtu < out->mtu)
		out->mtu = next_hop->mtu;
	if (next_hop->neighbour && next_hop->neighbour < SIXLANE_MAX_NEIGHBOURS) {
		out->has_gateway = true;
		out->neigh = maps->neighbours[next_hop->neighbour];
		out->has_mac = out->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
}

static void find_on_link(const struct maps *maps, const union sixlane_addr *addr, struct walk *out)
{
	uint32_t slot = maps_neigh_slot(maps, out->egress.ifindex, addr);

	if (!slot)
		return;
	out->neigh = maps->neighbours[slot];
	out->has_mac = out->neigh.mac.flags & SIXLANE_MAC_VALID;
}

/* Everything behind the trie. */
static enum sixlane_verdict check_next_hop(const struct maps *maps, const struct sixlane_port *in,
					   const union sixlane_addr *addr, uint32_t value,
					   struct walk *out)
{
	enum sixlane_verdict verdict;

	walk_next_hop(maps, value, out);
	if (out->verdict != SIXLANE_FORWARD)
		return out->verdict;
	if (!out->has_gateway)
		find_on_link(maps, addr, out);
	verdict = check_forwarding(in) ?: check_egress(in, out);
	if (verdict == SIXLANE_FORWARD && !out->has_mac)
		verdict = SIXLANE_PASS_UNRESOLVED;
	return verdict;
}

void walk_destination(const struct maps *maps, uint32_t ingress, const union sixlane_addr *addr,
		      struct walk *out)
{
	struct sixlane_port port = { 0 }, *in = ingress ? &port : NULL;
	uint32_t table = SIXLANE_TABLE_MAIN, value;
	enum sixlane_verdict before;

	memset(out, 0, sizeof(*out));
	if (in) {
		port = maps->ports[maps_port_slot(maps, ingress)];
		table = port.ifindex ? port.table : SIXLANE_TABLE_MAIN;
	}
	/* The route is shown also where something before it decides already. */
	before = check_all(maps) ?: check_port(in) ?: check_destination(addr);
	out->verdict = SIXLANE_PASS_NO_ROUTE;
	if (!maps_route_lookup(maps, table, addr, &value))
		out->verdict = check_next_hop(maps, in, addr, value, out);
	if (before)
		out->verdict = before;
}
