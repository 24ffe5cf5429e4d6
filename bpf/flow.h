/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protocol and ports of a packet, as the kernel's flow dissector finds them: for rules and for
 * hashes over flows. Extension headers are not walked; the callers pass packets with one that the
 * dissector walks to the kernel.
 */
#ifndef SIXLANE_FLOW_H
#define SIXLANE_FLOW_H

#include "packet.h"
#include "proto.h"

struct flow_ports {
	__be16 src, dst;
};

/* The protocol; of a fragment, that of the whole packet. False: it is not in the packet. */
static __always_inline int flow_get_proto(const struct packet *pkt, __u8 *out)
{
	const __u8 *fragment = (const void *)(pkt->ip6 + 1);

	*out = pkt->ip6->next_header;
	if (*out != IPPROTO_FRAGMENT)
		return 1;
	if (pkt->ip_bytes < sizeof(*pkt->ip6) + 8 || (void *)(fragment + 8) > packet_end(pkt->ctx))
		return 0;
	*out = *fragment;
	return 1;
}

/* The ports, offset bytes after the IPv6 header. False: they are not in the packet. */
static __always_inline int flow_read_ports(const struct packet *pkt, __u32 offset,
					   struct flow_ports *out)
{
	const struct flow_ports *ports = (const void *)(pkt->ip6 + 1) + offset;

	if (pkt->ip_bytes < sizeof(*pkt->ip6) + offset + sizeof(*ports) ||
	    (void *)(ports + 1) > packet_end(pkt->ctx))
		return 0;
	*out = *ports;
	return 1;
}

/*
 * The ports of a transport header that starts offset bytes after the IPv6 header, or what
 * proto_ports_offset() takes for ports. 0 for a protocol without ports. False: they are not in the
 * packet.
 */
static __always_inline int flow_get_ports_at(const struct packet *pkt, __u8 proto, __u32 offset,
					     struct flow_ports *out)
{
	if (proto == IPPROTO_AH)
		return flow_read_ports(pkt, offset + PROTO_AH_SPI, out);
	out->src = out->dst = 0;
	return !proto_has_ports(proto) || flow_read_ports(pkt, offset, out);
}

static __always_inline int flow_get_ports(const struct packet *pkt, struct flow_ports *out)
{
	return flow_get_ports_at(pkt, pkt->ip6->next_header, 0, out);
}

/* An IPv6 header that starts offset bytes after the first; NULL: the packet is too short. */
static __always_inline const struct packet_ip6 *flow_inner(const struct packet *pkt, __u32 offset)
{
	const struct packet_ip6 *inner = (const void *)(pkt->ip6 + 1) + offset;

	if (pkt->ip_bytes < 2 * sizeof(*inner) + offset ||
	    (void *)(inner + 1) > packet_end(pkt->ctx))
		return NULL;
	return inner;
}

#endif
