/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns a packet that is too big into its answer: cuts it, and puts new headers in front of it.
 * The frame leaves by the port that it came in by.
 */
#ifndef SIXLANE_ICMP6_WRITE_H
#define SIXLANE_ICMP6_WRITE_H

#include <bpf/bpf_endian.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>

#include "icmp6_query.h"
#include "rewrite.h"
#include "vlan.h"

#define ICMP6_LABEL_STATELESS 0x80000u /* IPV6_FLOWLABEL_STATELESS_FLAG */

/* Checksum of the answer, in pieces of at most 512 bytes, the limit of bpf_csum_diff(). */
static __always_inline __be16 icmp6_checksum(struct icmp6_head *head)
{
	const __u32 piece = 512, all = ICMP6_MIN_MTU - __builtin_offsetof(struct packet_ip6, src);
	__be32 *at = (void *)&head->ip6.src;
	__u32 sum = bpf_htons(ICMP6_MIN_MTU - sizeof(head->ip6)) + bpf_htons(IPPROTO_ICMPV6);

	sum = (__u32)bpf_csum_diff(NULL, 0, at, piece, sum);
	sum = (__u32)bpf_csum_diff(NULL, 0, at + piece / 4, piece, sum);
	sum = (__u32)bpf_csum_diff(NULL, 0, at + 2 * piece / 4, all - 2 * piece, sum);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__be16)~sum;
}

/*
 * Version and flow label, no traffic class. The label is random, from the range of the kernel's
 * automatic labels with and without net.ipv6.flowlabel_state_ranges.
 */
static __always_inline __be32 icmp6_flow(const struct sixlane_meta *meta)
{
	__u32 label = 0;

	if (READ_ONCE(meta->flags) & SIXLANE_META_FLOW_LABEL)
		label = (bpf_get_prandom_u32() & 0x000fffff) | ICMP6_LABEL_STATELESS;
	return bpf_htonl(6u << 28 | label);
}

/* Cuts the packet and makes room in front of it. If one fails, both are undone. */
static __always_inline enum sixlane_verdict icmp6_resize(const struct packet *pkt, __u32 tag_bytes)
{
	int more = (int)(sizeof(struct icmp6_head) + tag_bytes - pkt->tag_bytes);
	int less = (int)(pkt->bytes - sizeof(struct packet_eth) - pkt->tag_bytes - ICMP6_QUOTE);

	if (bpf_xdp_adjust_head(pkt->ctx, -more))
		return SIXLANE_PASS_NO_HEADROOM;
	if (bpf_xdp_adjust_tail(pkt->ctx, -less)) {
		bpf_xdp_adjust_head(pkt->ctx, more);
		return SIXLANE_PASS_TRIM_FAILED;
	}
	return SIXLANE_FORWARD;
}

/* Writes the answer; egress_port is the port that the packet came in by. */
static __always_inline enum sixlane_verdict
icmp6_write(struct packet *pkt, const struct icmp6_query *query, const struct sixlane_meta *meta)
{
	__u32 tag_bytes = vlan_egress_bytes(pkt);
	enum sixlane_verdict verdict = icmp6_resize(pkt, tag_bytes);
	struct packet_ip6 *quoted;
	struct icmp6_head *head;

	if (verdict != SIXLANE_FORWARD)
		return query->flags & ICMP6_OPERATOR ? SIXLANE_DROP_TOO_BIG : verdict;
	if (!packet_point(pkt, tag_bytes))
		return SIXLANE_DROP_TOO_BIG;
	head = (void *)pkt->ip6;
	quoted = (void *)(head + 1);
	if ((void *)head + ICMP6_MIN_MTU > packet_end(pkt->ctx))
		return SIXLANE_DROP_TOO_BIG;
	rewrite_macs(pkt);
	if (tag_bytes)
		rewrite_tags(pkt, tag_bytes);
	*(__be16 *)((void *)head - sizeof(__be16)) = bpf_htons(ETH_P_IPV6);
	if (query->flags & ICMP6_DECREMENTED)
		quoted->hop_limit--;
	head->ip6.flow = icmp6_flow(meta);
	head->ip6.payload_len = bpf_htons(ICMP6_MIN_MTU - sizeof(head->ip6));
	head->ip6.next_header = IPPROTO_ICMPV6;
	head->ip6.hop_limit = (__u8)READ_ONCE(pkt->egress_port->hop_limit);
	head->ip6.src = query->src;
	head->ip6.dst = query->dst;
	head->type = ICMPV6_PKT_TOOBIG;
	head->code = 0;
	head->checksum = 0;
	head->mtu = bpf_htonl(query->answer_mtu);
	head->checksum = icmp6_checksum(head);
	return SIXLANE_ANSWER_TOO_BIG;
}

#endif
