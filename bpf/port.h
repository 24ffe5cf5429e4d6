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
				     __u32 slot)
{
	pkt->slot = slot;
	pkt->port = port;
	pkt->ingress = READ_ONCE(port->ifindex);
	pkt->ingress_flags = READ_ONCE(port->flags);
}

/*
 * Not a step, since it comes before everything that is counted: find the slot that the packet is
 * counted in. With XDP on a bond the program runs on its slaves, and ingress_ifindex is the
 * slave's: a packet by one that the bond listens to came in by the bond.
 */
static __always_inline void port_find(struct packet *pkt)
{
	const __u32 slave = SIXLANE_PORT_SLAVE | SIXLANE_PORT_PASS;
	const struct sixlane_port *port;
	__u32 slot, flags;

	port = port_of(pkt->ctx->ingress_ifindex, &slot);
	if (!port)
		return;
	flags = READ_ONCE(port->flags);
	pkt->generic = flags & SIXLANE_PORT_GENERIC;
	if (unlikely((flags & slave) == SIXLANE_PORT_SLAVE))
		port = port_of(READ_ONCE(port->lower), &slot);
	if (port)
		port_set(pkt, port, slot);
}

/* Whether the maps may be believed, and the switches that hold for every port. */
static __always_inline enum sixlane_verdict port_check_all(void)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0, flags;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta || READ_ONCE(meta->abi) != SIXLANE_ABI)
		return SIXLANE_PASS_NOT_READY;
	flags = READ_ONCE(meta->flags);
	if (!(flags & SIXLANE_META_READY))
		return SIXLANE_PASS_NOT_READY;
	if (flags & SIXLANE_META_PASS_ALL)
		return SIXLANE_PASS_ALL;
	if (flags & SIXLANE_META_RULES)
		return SIXLANE_PUNT_RULES;
	return SIXLANE_FORWARD;
}

/* Whether packets that come in by this port may be forwarded. */
static __always_inline enum sixlane_verdict port_check(const struct packet *pkt)
{
	const __u32 never =
		SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER | SIXLANE_PORT_BACKUP | SIXLANE_PORT_SLAVE;

	if (!pkt->port || !(pkt->ingress_flags & SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (!(pkt->ingress_flags & never))
		return SIXLANE_FORWARD;
	if (pkt->ingress_flags & SIXLANE_PORT_PASS)
		return SIXLANE_PASS_PORT;
	return pkt->ingress_flags & SIXLANE_PORT_BACKUP ? SIXLANE_PASS_BOND_SLAVE
							: SIXLANE_PASS_PORT_UPPER;
}

/* Whether a frame is sent to this port's own MAC. */
static __always_inline int port_has_mac(const struct sixlane_port *port,
					const struct packet_eth *eth)
{
	union packet_mac mac = { .word = READ_ONCE(port->mac.word) };

	return !((eth->dst[0] ^ mac.pieces[0]) | (eth->dst[1] ^ mac.pieces[1]) |
		 (eth->dst[2] ^ mac.pieces[2]));
}

#endif
