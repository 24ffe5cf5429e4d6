/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet that is over an MTU, and what is known of its answer: a copy for the functions that make
 * the answer, none of which is inlined.
 */
#ifndef SIXLANE_ICMP6_QUERY_H
#define SIXLANE_ICMP6_QUERY_H

#include "packet.h"

#define ICMP6_MIN_MTU 1280u /* RFC 8200, section 5 */

/* What stands in front of the packet. */
struct icmp6_head {
	struct packet_ip6 ip6;
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 mtu;
};
_Static_assert(sizeof(struct icmp6_head) == 48, "RFC 4443, section 3.2");

/* Bytes of the packet in an answer. An answered packet has as many, since it exceeds 1280 bytes. */
#define ICMP6_QUOTE (ICMP6_MIN_MTU - (__u32)sizeof(struct icmp6_head))
#define ICMP6_OFFSET_MASK 2047u
_Static_assert(ICMP6_OFFSET_MASK >= ICMP6_QUOTE, "the mask covers any offset in a quoted packet");

/* A packet that is too big, and its answer. */
struct icmp6_query {
	__u32 bytes, ip_bytes, tag_bytes, slot; /* as in struct packet */
	__u32 device_mtu;			/* the egress port's */
	__u32 mtu, exception;			/* as in struct packet */
	__u32 flags;				/* ICMP6_* */
	__u32 answer_mtu;			/* in the answer */
	__u32 egress_flags; /* of the answer's port, as they were when it was found to be sent */
	__u64 dst_mac;	    /* word of the answer's: union packet_mac */
	union sixlane_addr src, dst; /* the answer's */
};

#define ICMP6_LOCKED (1u << 0)	/* the MTU of the route is locked */
#define ICMP6_GENERIC (1u << 1) /* the program runs in generic mode */
#define ICMP6_STACKED (1u << 2) /* device_mtu is what XDP can send; the kernel's may be larger */
#define ICMP6_VRF (1u << 3)	/* the egress port belongs to a VRF */
/* Of the answer: */
#define ICMP6_EXCEPTION (1u << 4)   /* the packet is too big for its exception */
#define ICMP6_OPERATOR (1u << 5)    /* … of the operator, and not too big for the kernel */
#define ICMP6_DECREMENTED (1u << 6) /* the kernel decrements the hop limit before it answers */

#endif
