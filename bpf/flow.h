/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet says of its transport, for rules and for the multipath hash: the protocol and
 * the ports, as the kernel's flow dissector would find them. No walk of extension headers: a
 * packet with one that the dissector walks is "unknown".
 */
#ifndef SIXLANE_FLOW_H
#define SIXLANE_FLOW_H

#include <linux/in.h>
#include <linux/in6.h>

#include "packet.h"

#ifndef IPPROTO_UDPLITE
#define IPPROTO_UDPLITE 136
#endif

struct flow_ports {
	__be16 src, dst;
};

/* proto_ports_offset(): ports, or what counts as such, are the first four bytes. */
static __always_inline int flow_has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_DCCP ||
	       proto == IPPROTO_ESP || proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE;
}

/* __skb_flow_dissect() looks behind these; hop-by-hop options are passed before. */
static __always_inline int flow_is_extension(__u8 proto)
{
	return proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS;
}

/*
 * The protocol as the dissector tells it: of a fragment, the one that was cut up. False: not in the
 * packet.
 */
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

/* The ports; zero where the protocol has none. False: they are not in the packet. */
static __always_inline int flow_get_ports(const struct packet *pkt, struct flow_ports *out)
{
	const struct flow_ports *ports = (const void *)(pkt->ip6 + 1);

	out->src = out->dst = 0;
	if (!flow_has_ports(pkt->ip6->next_header))
		return 1;
	if (pkt->ip_bytes < sizeof(*pkt->ip6) + sizeof(*ports) ||
	    (void *)(ports + 1) > packet_end(pkt->ctx))
		return 0;
	*out = *ports;
	return 1;
}

#endif
