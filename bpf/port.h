/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first steps: by which port a packet came in, and whether sixlane forwards for that port
 * at all. Looks at no byte of the packet.
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
 * Not a step, since it comes before everything that is counted: find the slot that the
 * packet is counted in. An element of a hash may be reused while it is being read, so whatever
 * leads to a slot, the slot must name the interface too.
 */
static __always_inline void port_find(struct packet *pkt)
{
	__u32 ifindex = pkt->ctx->ingress_ifindex, index = sixlane_port_home(ifindex);
	const struct sixlane_port *port = port_at(index, ifindex);
	const __u32 *slot;

	pkt->ingress = ifindex;
	if (!port) {
		slot = bpf_map_lookup_elem(&sl_port_index, &ifindex);
		if (!slot)
			return;
		index = READ_ONCE(*slot);
		port = port_at(index, ifindex);
		if (!port)
			return;
	}
	pkt->slot = index;
	pkt->port = port;
	pkt->ingress_flags = READ_ONCE(port->flags);
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
	if (!pkt->port || !(pkt->ingress_flags & SIXLANE_PORT_INGRESS))
		return SIXLANE_PASS_UNKNOWN_PORT;
	if (pkt->ingress_flags & SIXLANE_PORT_PASS)
		return SIXLANE_PASS_PORT;
	if (pkt->ingress_flags & SIXLANE_PORT_UPPER)
		return SIXLANE_PASS_PORT_UPPER;
	return SIXLANE_FORWARD;
}

#endif
