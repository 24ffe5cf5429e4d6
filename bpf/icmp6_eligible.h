/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet may be answered by an ICMPv6 error (is_ineligible()): no ICMPv6 error may, nor
 * a packet that could be one behind headers that are out of sight. The only walk of extension
 * headers; few packets come here.
 */
#ifndef SIXLANE_ICMP6_ELIGIBLE_H
#define SIXLANE_ICMP6_ELIGIBLE_H

#include <linux/icmpv6.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "icmp6_query.h"

#define ICMP6_MAX_HEADERS 8 /* that are walked; the kernel's bound is higher */

struct icmp6_walk {
	__u32 offset; /* of the current header in the packet; 0: not yet started */
	__u32 next;   /* its type */
};

enum icmp6_turn {
	ICMP6_ON, /* there is another header */
	ICMP6_ANSWERED,
	ICMP6_SILENT,
};

/* ipv6_ext_hdr() without NEXTHDR_NONE, which nothing follows. */
static __always_inline int icmp6_is_extension(__u32 next)
{
	return next < 64 &&
	       (1ull << IPPROTO_HOPOPTS | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT |
		1ull << IPPROTO_AH | 1ull << IPPROTO_DSTOPTS) >>
			       next &
		       1;
}

/* Four bytes of the part that an answer quotes; NULL: beyond that part, or the packet. */
static __always_inline const __u8 *icmp6_bytes_at(const struct packet *pkt, __u32 offset)
{
	const __u8 *bytes;

	if (offset > ICMP6_QUOTE - 4)
		return NULL;
	bytes = (const void *)pkt->ip6 + bound_mask(offset, ICMP6_OFFSET_MASK);
	return (void *)(bytes + 4) <= packet_end(pkt->ctx) ? bytes : NULL;
}

/* Only the first fragment starts with a header. */
static __always_inline int icmp6_is_later_fragment(const __u8 *header)
{
	return header[2] || header[3] & 0xf8;
}

/*
 * One step of ipv6_skip_exthdr(), to the next header. enum icmp6_turn. Not inlined: see
 * multipath_hash_rare().
 */
__attribute__((noinline)) int icmp6_step(struct xdp_md *ctx, __u32 tag_bytes,
					 struct icmp6_walk *walk)
{
	struct packet pkt = { .ctx = ctx };
	const __u8 *header;

	if (!walk || !packet_point(&pkt, tag_bytes))
		return ICMP6_SILENT;
	if (!walk->offset) {
		walk->offset = sizeof(struct packet_ip6);
		walk->next = pkt.ip6->next_header;
	}
	header = icmp6_bytes_at(&pkt, walk->offset);
	if (!header)
		return ICMP6_SILENT;
	if (walk->next == IPPROTO_ICMPV6)
		return header[0] & ICMPV6_INFOMSG_MASK ? ICMP6_ANSWERED : ICMP6_SILENT;
	if (!icmp6_is_extension(walk->next) ||
	    (walk->next == IPPROTO_FRAGMENT && icmp6_is_later_fragment(header)))
		return ICMP6_ANSWERED;
	if (walk->next == IPPROTO_FRAGMENT)
		walk->offset += 8;
	else if (walk->next == IPPROTO_AH)
		walk->offset += (header[1] + 2u) * 4;
	else
		walk->offset += (header[1] + 1u) * 8;
	walk->next = header[0];
	return ICMP6_ON;
}

/* !is_ineligible() */
static __always_inline int icmp6_is_answerable(const struct packet *pkt)
{
	struct icmp6_walk walk = { 0 };
	int turn = ICMP6_ON;

#pragma clang loop unroll(disable)
	for (int i = 0; i <= ICMP6_MAX_HEADERS && turn == ICMP6_ON; i++)
		turn = icmp6_step(pkt->ctx, pkt->tag_bytes, &walk);
	return turn == ICMP6_ANSWERED;
}

#endif
