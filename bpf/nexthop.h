/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the next hop to a device and a MAC: everything that must be known before the first byte
 * is written. Writes nothing but the neighbour's mark of use, which a member of a multipath route
 * and an exception's gateway get also while they are not resolved: the kernel may send this packet
 * to another, and never ask for them.
 *
 * The order is the kernel's where it shows: a route's own next-hop entry comes before all that
 * ip6_forward() asks (a blackhole discards as dst.input, with forwarding off as well and whatever
 * the hop limit), the hop limit before the MTU, so that the ICMPv6 error is the right one.
 */
#ifndef SIXLANE_NEXTHOP_H
#define SIXLANE_NEXTHOP_H

#include "packet.h"
#include "port.h"
#include "sample.h"
#include "trace.h"

/* The next-hop entry that the route itself gives; one that this object does not know is punted. */
static __always_inline enum sixlane_verdict nexthop_check_entry(struct packet *pkt)
{
	__u32 nh_entry = pkt->nh_entry.type;

	if (nh_entry == SIXLANE_FORWARD)
		return SIXLANE_FORWARD;
	return sixlane_is_final(nh_entry) ? packet_decide(pkt, nh_entry) : SIXLANE_PUNT_ROUTE;
}

/* What ip6_forward() asks of any packet that has a way out. */
static __always_inline enum sixlane_verdict nexthop_check_forwarding(const struct packet *pkt)
{
	if (!(pkt->ingress_flags & SIXLANE_PORT_FORWARDING))
		return SIXLANE_PASS_NO_FORWARDING;
	if (pkt->ip6->hop_limit <= 1)
		return SIXLANE_PASS_HOP_LIMIT;
	return SIXLANE_FORWARD;
}

/* Why frames cannot be handed to a device, by what it is. */
static __always_inline enum sixlane_verdict nexthop_device_verdict(__u32 flags)
{
	if (flags & SIXLANE_PORT_BRIDGE)
		return SIXLANE_PUNT_BRIDGE;
	if (flags & SIXLANE_PORT_MACVLAN)
		return SIXLANE_PUNT_MACVLAN;
	return flags & SIXLANE_PORT_TUNNEL ? SIXLANE_PUNT_TUNNEL : SIXLANE_PASS_EGRESS_DEVICE;
}

/* The egress port; NULL: there is none. */
static __always_inline const struct sixlane_port *nexthop_port(const struct packet *pkt)
{
	__u32 slot = pkt->nh_entry.port;

	return bpf_map_lookup_elem(&sl_ports, &slot);
}

/*
 * Sets egress_flags and xmit. A frame redirected to a device that is down or takes
 * none is lost without a trace, so all of it is asked here. Frames from a port in generic mode
 * leave as an skb, which every Ethernet device takes.
 */
static __always_inline enum sixlane_verdict nexthop_find_egress(struct packet *pkt)
{
	const __u32 alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;
	const __u32 takes = packet_has_frags(pkt) ? SIXLANE_PORT_XMIT | SIXLANE_PORT_XMIT_FRAGS
						  : SIXLANE_PORT_XMIT;
	const __u32 never = SIXLANE_PORT_NO_XMIT | SIXLANE_PORT_OUT_HELD;
	const struct sixlane_port *port = pkt->egress_port;
	__u32 ifindex;

	if (!port)
		return SIXLANE_PASS_EGRESS_DOWN;
	ifindex = READ_ONCE(port->ifindex);
	if (ifindex == pkt->ingress)
		return SIXLANE_PASS_SAME_PORT;
	pkt->egress_flags = READ_ONCE(port->flags);
	pkt->tx_ifindex = READ_ONCE(port->tx_ifindex);
	if (!ifindex)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (likely((pkt->egress_flags & (alive | takes | never)) == (alive | takes)))
		return SIXLANE_FORWARD;
	if ((pkt->egress_flags & alive) != alive)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (pkt->egress_flags & SIXLANE_PORT_OUT_HELD)
		return port_decide_held(pkt, pkt->egress_flags & SIXLANE_PORT_OUT_FIREWALL);
	if (pkt->egress_flags & SIXLANE_PORT_NO_XMIT)
		return nexthop_device_verdict(pkt->egress_flags);
	return pkt->generic ? SIXLANE_FORWARD : SIXLANE_PASS_EGRESS_DEVICE;
}

/* Slot of a neighbour that is itself the destination; 0: none. */
static __always_inline __u32 nexthop_on_link_slot(const union sixlane_addr *addr, __u32 ifindex)
{
	struct sixlane_neigh_key key = { .ifindex = ifindex };
	const __u32 *slot;

	key.addr.halves[0] = addr->halves[0];
	key.addr.halves[1] = addr->halves[1];
	slot = bpf_map_lookup_elem(&sl_neigh_index, &key);
	return slot ? READ_ONCE(*slot) : 0;
}

/* Whether a slot found through the hash still is the destination's: see struct sixlane_neigh. */
static __always_inline int nexthop_is_on_link(const union sixlane_addr *addr, __u32 ifindex,
					      const struct sixlane_neigh *neigh)
{
	return neigh->key.addr.halves[0] == addr->halves[0] &&
	       neigh->key.addr.halves[1] == addr->halves[1] && neigh->key.ifindex == ifindex;
}

static __always_inline struct sixlane_neigh *nexthop_on_link(const union sixlane_addr *addr,
							     const struct sixlane_port *port)
{
	__u32 ifindex = READ_ONCE(port->ifindex), slot = nexthop_on_link_slot(addr, ifindex);
	struct sixlane_neigh *neigh;

	if (!slot)
		return NULL;
	neigh = bpf_map_lookup_elem(&sl_neighbours, &slot);
	return neigh && nexthop_is_on_link(addr, ifindex, neigh) ? neigh : NULL;
}

/* The gateway in a slot, or, if that is 0, the destination itself on the link. NULL: unknown. */
static __always_inline struct sixlane_neigh *
nexthop_neighbour(__u32 gateway, const union sixlane_addr *addr, const struct sixlane_port *port)
{
	return gateway ? bpf_map_lookup_elem(&sl_neighbours, &gateway)
		       : nexthop_on_link(addr, port);
}

/* Read first: a store would take the line from all other CPUs, packet by packet. Returns whether it
 * was not marked before, which is so about once a second. */
static __always_inline int nexthop_mark_used(struct sixlane_neigh *neigh)
{
	if (!trace_is_traffic() || READ_ONCE(neigh->used))
		return 0;
	WRITE_ONCE(neigh->used, 1);
	return 1;
}

/* The daemon may have asked for a sample of the neighbour's packets. */
static __always_inline void nexthop_consider_sample(const struct packet *pkt,
						    struct sixlane_neigh *neigh,
						    union sixlane_mac mac)
{
	if (!READ_ONCE(neigh->sample) || pkt->exception || !(mac.flags & SIXLANE_MAC_VALID))
		return;
	WRITE_ONCE(neigh->sample, 0);
	sample_send(pkt->ctx, sample_pair(pkt->slot, pkt->tag_bytes),
		    sample_pair(pkt->nh_entry.port, pkt->nh_entry.neighbour), pkt->table);
}

/*
 * Whether the kernel may send the packet elsewhere, if it is given it: the next hop is one of
 * several that the route has, or an exception's, of which the kernel may know nothing.
 */
static __always_inline int nexthop_is_ours(const struct packet *pkt)
{
	return pkt->exception & SIXLANE_EXCEPTION_NEXT_HOP ||
	       READ_ONCE(pkt->next_hop->nh_entry.type) >= SIXLANE_NH_GROUP;
}

/* Sets dst_mac. */
static __always_inline enum sixlane_verdict nexthop_find_neighbour(struct packet *pkt)
{
	struct sixlane_neigh *neigh;
	union sixlane_mac mac;

	neigh = nexthop_neighbour(pkt->nh_entry.neighbour, &pkt->ip6->dst, pkt->egress_port);
	if (!neigh) {
		TRACE(NEIGHBOUR, SIXLANE_PASS_UNRESOLVED, neighbour, .addr = pkt->ip6->dst);
		return SIXLANE_PASS_UNRESOLVED;
	}
	mac.word = READ_ONCE(neigh->mac.word);
	TRACE(NEIGHBOUR, mac.flags & SIXLANE_MAC_VALID ? SIXLANE_FORWARD : SIXLANE_PASS_UNRESOLVED,
	      neighbour, .gateway = pkt->nh_entry.neighbour, .found = 1, .mac = mac.word,
	      .addr = neigh->key.addr);
	if (unlikely(!(mac.flags & SIXLANE_MAC_VALID)) && !nexthop_is_ours(pkt))
		return SIXLANE_PASS_UNRESOLVED;
	if (unlikely(nexthop_mark_used(neigh)))
		nexthop_consider_sample(pkt, neigh, mac);
	if (!(mac.flags & SIXLANE_MAC_VALID))
		return SIXLANE_PASS_UNRESOLVED;
	pkt->dst_mac.word = mac.word;
	return SIXLANE_FORWARD;
}

#endif
