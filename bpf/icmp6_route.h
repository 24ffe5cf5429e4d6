/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The route of an answer, back to the sender of the packet. Exact means that the kernel would send
 * its own answer by it, from the same address and to the same MAC.
 */
#ifndef SIXLANE_ICMP6_ROUTE_H
#define SIXLANE_ICMP6_ROUTE_H

#include "exception.h"
#include "icmp6_query.h"
#include "nexthop.h"
#include "route.h"

/* What is known of the answer's route. */
enum icmp6_way {
	ICMP6_WAY_NONE, /* the kernel sends no answer to this address */
	ICMP6_WAY_EXACT,
	ICMP6_WAY_UNSURE, /* the kernel may send the answer by another route */
};

/* Whether all bits of an address after the first len are 0. */
static __always_inline int icmp6_is_prefix(const union sixlane_addr *addr, __u32 len)
{
	__u64 high = bpf_be64_to_cpu(addr->halves[0]), low = bpf_be64_to_cpu(addr->halves[1]);

	if (len >= 64)
		return len >= 128 || !(low << (len - 64));
	return !low && !(high << len);
}

/* ipv6_anycast_destination(): the first address of an on-link prefix is its subnet-router anycast.
 */
static __always_inline int icmp6_is_anycast(const union sixlane_addr *addr,
					    const struct route *route)
{
	__u32 len = sixlane_route_len(route->value);

	return !route->nh_entry.neighbour && len < 127 && icmp6_is_prefix(addr, len);
}

/* Whether the kernel would use the same route, and send the same answer by it. */
static __always_inline int icmp6_is_exact(const struct sixlane_port *port,
					  const struct route *route,
					  const struct icmp6_query *query)
{
	const __u32 unlike =
		SIXLANE_PORT_RULES | SIXLANE_PORT_VRF | SIXLANE_PORT_SLAVES | SIXLANE_PORT_NO_XMIT;
	__u32 flags = READ_ONCE(port->flags);

	return !(query->flags & ICMP6_VRF) && flags & SIXLANE_PORT_SOURCE && !(flags & unlike) &&
	       route->nh_entry.port == query->slot && !(route->value & ROUTE_FLAGS) &&
	       !(READ_ONCE(route->next_hop->flags) & SIXLANE_NEXT_HOP_NO_ANSWER);
}

/* enum icmp6_way; sets dst_mac if that is EXACT. Not inlined: see icmp6_answer(). */
__attribute__((noinline)) int icmp6_find_way(struct icmp6_query *query)
{
	struct sixlane_neigh *neigh;
	const struct sixlane_port *port;
	union sixlane_addr dst;
	union sixlane_mac mac;
	struct route route;
	__u32 slot;

	if (!query)
		return ICMP6_WAY_UNSURE;
	slot = query->slot;
	dst = query->dst;
	port = bpf_map_lookup_elem(&sl_ports, &slot);
	if (!port || route_by_destination(READ_ONCE(port->table), &dst, ROUTE_SHARED, &route) !=
			     SIXLANE_FORWARD)
		return ICMP6_WAY_UNSURE;
	if (route.nh_entry.type == SIXLANE_PASS_LOCAL ||
	    route.nh_entry.type == SIXLANE_PASS_ANYCAST)
		return ICMP6_WAY_NONE;
	if (route.nh_entry.type != SIXLANE_FORWARD)
		return ICMP6_WAY_UNSURE;
	if (icmp6_is_anycast(&dst, &route))
		return ICMP6_WAY_NONE;
	if (!icmp6_is_exact(port, &route, query) ||
	    exception_may_be(dst.halves[0], dst.halves[1], READ_ONCE(port->table), route.value))
		return ICMP6_WAY_UNSURE;
	neigh = nexthop_neighbour(route.nh_entry.neighbour, &dst, port);
	if (!neigh)
		return ICMP6_WAY_UNSURE;
	mac.word = READ_ONCE(neigh->mac.word);
	if (!(mac.flags & SIXLANE_MAC_VALID))
		return ICMP6_WAY_UNSURE;
	nexthop_mark_used(neigh);
	query->dst_mac = mac.word;
	return ICMP6_WAY_EXACT;
}

#endif
