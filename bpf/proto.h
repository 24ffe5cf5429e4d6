/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the kernel classifies next headers, for rules and for the multipath hash. Pure functions that
 * the XDP program and user space share.
 */
#ifndef SIXLANE_PROTO_H
#define SIXLANE_PROTO_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>

#ifndef IPPROTO_UDPLITE
#define IPPROTO_UDPLITE 136
#endif

#define PROTO_HAS_PORTS \
	(1ull << IPPROTO_TCP | 1ull << IPPROTO_UDP | 1ull << IPPROTO_DCCP | 1ull << IPPROTO_ESP)

#define PROTO_AH_SPI 4 /* bytes before the SPI, which proto_ports_offset() takes for ports */

/* Whether the first four bytes of the header are ports, or count as such (proto_ports_offset()). */
static inline int proto_has_ports(__u8 proto)
{
	return proto < 64 ? PROTO_HAS_PORTS >> proto & 1
			  : proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE;
}

/* Extension headers that __skb_flow_dissect() walks. Hop-by-hop options are passed earlier. */
static inline int proto_is_extension(__u8 proto)
{
	return proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS;
}

/* Whether the flow dissector may find an inner header. */
static inline int proto_is_tunnel(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6 || proto == IPPROTO_GRE ||
	       proto == IPPROTO_MPLS;
}

#endif
