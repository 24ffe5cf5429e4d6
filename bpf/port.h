/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first steps: by which port a packet came in, and whether sixlane forwards for that port
 * at all. Looks at no byte of the packet but its destination MAC.
 */
#ifndef SIXLANE_PORT_H
#define SIXLANE_PORT_H

#include "packet.h"

/* The port in a slot if it is the device's; NULL if not. Slot 0 is nobody's. */
static __always_inline const struct sixlane_port *port_at(__u32 slot, __u32 ifindex)
{
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);

	return port && slot && READ_ONCE(port->ifindex) == ifindex ? port : NULL;
}

/*
 * The port of a device and its slot; NULL: none. An element of a hash may be reused while it is
 * being read, so whatever leads to a slot, the slot must name the interface too.
 */
static __always_inline const struct sixlane_port *port_of(__u32 ifindex, __u32 *slot)
{
	__u32 index = sixlane_port_home(ifindex);
	const struct sixlane_port *port = port_at(index, ifindex);
	const __u32 *found;

	if (unlikely(!port)) {
		found = bpf_map_lookup_elem(&sl_port_index, &ifindex);
		if (!found)
			return NULL;
		index = READ_ONCE(*found);
		port = port_at(index, ifindex);
	}
	*slot = index;
	return port;
}

static __always_inline void port_set(struct packet *pkt, const struct sixlane_port *port,
				     __u32 slot, __u32 ifindex)
{
	pkt->slot = slot;
	pkt->port = port;
	pkt->ingress = ifindex;
	pkt->ingress_flags = READ_ONCE(port->flags);
}

/* The bond that a slave's packet came in by. */
static __always_inline void port_find_bond(struct packet *pkt)
{
	__u32 ifindex = READ_ONCE(pkt->port->lower), slot;
	const struct sixlane_port *port = port_of(ifindex, &slot);

	if (port) {
		port_set(pkt, port, slot, ifindex);
		return;
	}
	pkt->slot = 0;
	pkt->port = NULL;
	pkt->ingress_flags = 0;
}

/*
 * Not a step, since it comes before everything that is counted: find the slot that the packet is
 * counted in. With XDP on a bond the program runs on its slaves, and ingress_ifindex is the
 * slave's: a packet by one that the bond listens to came in by the bond.
 */
static __always_inline void port_find(struct packet *pkt)
{
	const __u32 slave = SIXLANE_PORT_SLAVE | SIXLANE_PORT_PASS;
	__u32 ifindex = pkt->ctx->ingress_ifindex, slot;
	const struct sixlane_port *port = port_of(ifindex, &slot);

	if (!port)
		return;
	port_set(pkt, port, slot, ifindex);
	pkt->generic = pkt->ingress_flags & SIXLANE_PORT_GENERIC;
	if (unlikely((pkt->ingress_flags & slave) == SIXLANE_PORT_SLAVE))
		port_find_bond(pkt);
}

/* The first word of sl_meta. */
union port_meta_head {
	__u64 word;
	struct {
		__u32 abi, flags;
	};
};
_Static_assert(__builtin_offsetof(struct sixlane_meta, abi) == 0 &&
		       __builtin_offsetof(struct sixlane_meta, flags) == 4,
	       "one word");

/* Whether the maps may be believed, and the switches that hold for every port. Sets look. */
static __always_inline enum sixlane_verdict port_check_all(struct packet *pkt)
{
	const __u32 ready = SIXLANE_META_READY | SIXLANE_META_GUARDED;
	const union port_meta_head good = { .abi = SIXLANE_ABI, .flags = ready };
	const union port_meta_head asked = {
		.abi = ~0u,
		.flags = ready | SIXLANE_META_PASS_ALL | SIXLANE_META_RULES,
	};
	const union port_meta_head *meta;
	union port_meta_head head;
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return SIXLANE_PASS_NOT_READY;
	head.word = READ_ONCE(meta->word);
	pkt->check_punted = head.flags & SIXLANE_META_CHECK_PUNTED;
	if (likely((head.word & asked.word) == good.word))
		return SIXLANE_FORWARD;
	if (head.abi != SIXLANE_ABI || (head.flags & ready) != ready)
		return SIXLANE_PASS_NOT_READY;
	return head.flags & SIXLANE_META_PASS_ALL ? SIXLANE_PASS_ALL : SIXLANE_PUNT_RULES;
}

_Static_assert(SIXLANE_PASS_TC == SIXLANE_PASS_FIREWALL + 1, "either by arithmetic");

/* By arithmetic, where the verifier would go on by both ways of a choice. */
static __always_inline enum sixlane_verdict port_decide_held(struct packet *pkt, __u32 by_firewall)
{
	return packet_decide(pkt, SIXLANE_PASS_TC - !!by_firewall);
}

/* Whether packets that come in by this port may be forwarded. */
static __always_inline enum sixlane_verdict port_check(struct packet *pkt)
{
	const __u32 never = SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_BACKUP |
			    SIXLANE_PORT_SLAVE | SIXLANE_PORT_IN_HELD;

	if (!pkt->port)
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (likely((pkt->ingress_flags & (SIXLANE_PORT_INGRESS | never)) == SIXLANE_PORT_INGRESS))
		return SIXLANE_FORWARD;
	if (!(pkt->ingress_flags & SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (pkt->ingress_flags & SIXLANE_PORT_PASS)
		return SIXLANE_PASS_PORT;
	if (pkt->ingress_flags & SIXLANE_PORT_BACKUP)
		return SIXLANE_PASS_BOND_SLAVE;
	if (pkt->ingress_flags & (SIXLANE_PORT_UPPER | SIXLANE_PORT_SLAVE))
		return SIXLANE_PASS_PORT_UPPER;
	return port_decide_held(pkt, pkt->ingress_flags & SIXLANE_PORT_IN_FIREWALL);
}

/* Whether a frame is sent to this port's own MAC. */
static __always_inline int port_has_mac(const struct sixlane_port *port, struct packet_eth *eth)
{
	union packet_mac mac = { .word = READ_ONCE(port->mac.word) };

	__u32 unlike = (eth->dst[0] ^ mac.before) | (*packet_mac_last(eth->dst) ^ mac.last);

	/* or else clang makes two comparisons of it */
	asm("" : "+r"(unlike));
	return !unlike;
}

#endif
