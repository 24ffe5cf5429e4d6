/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel makes of a next header's number: for rules and for the multipath hash, in the XDP
 * program and in user space alike. Pure.
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

#define PROTO_AH_SPI 4 /* bytes in front of it; proto_ports_offset() has it for ports */

/* Of the others: ports, or what counts as such, are the first four bytes. */
static inline int proto_has_ports(__u8 proto)
{
	return proto < 64 ? PROTO_HAS_PORTS >> proto & 1
			  : proto == IPPROTO_SCTP || proto == IPPROTO_UDPLITE;
}

/* __skb_flow_dissect() looks behind these; hop-by-hop options are passed before. */
static inline int proto_is_extension(__u8 proto)
{
	return proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS;
}

/* Whether the flow dissector would find another header inside, or may. */
static inline int proto_is_tunnel(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6 || proto == IPPROTO_GRE ||
	       proto == IPPROTO_MPLS;
}

#endif
