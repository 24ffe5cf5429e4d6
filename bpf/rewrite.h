/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only writer of packets. Comes after every check: what fails here fails before the first
 * write, so that a passed packet is byte for byte what arrived.
 */
#ifndef SIXLANE_REWRITE_H
#define SIXLANE_REWRITE_H

#include "packet.h"

/*
 * Cut what stands behind the IPv6 packet (Ethernet padding), as the kernel does. Most packets
 * have none. The helper refuses only a frame without an Ethernet header, of which there is none
 * here; should a driver refuse more, the kernel gets the packet.
 */
static __always_inline enum sixlane_verdict rewrite_trim(struct packet *pkt)
{
	__u32 padding = pkt->bytes - sizeof(struct packet_eth) - pkt->ip_bytes;

	if (!padding)
		return SIXLANE_FORWARD;
	if (bpf_xdp_adjust_tail(pkt->ctx, -(int)padding))
		return SIXLANE_PASS_TRIM_FAILED;
	return packet_point(pkt) ? SIXLANE_FORWARD : SIXLANE_PASS_TRIM_FAILED;
}

static __always_inline void rewrite_headers(const struct packet *pkt)
{
	union packet_mac src_mac = { .word = READ_ONCE(pkt->egress_port->mac.word) };
	struct packet_eth *eth = pkt->eth;

	eth->dst[0] = pkt->dst_mac.pieces[0];
	eth->dst[1] = pkt->dst_mac.pieces[1];
	eth->dst[2] = pkt->dst_mac.pieces[2];
	eth->src[0] = src_mac.pieces[0];
	eth->src[1] = src_mac.pieces[1];
	eth->src[2] = src_mac.pieces[2];
	pkt->ip6->hop_limit--;
}

static __always_inline enum sixlane_verdict rewrite_packet(struct packet *pkt)
{
	enum sixlane_verdict verdict = rewrite_trim(pkt);

	if (verdict == SIXLANE_FORWARD)
		rewrite_headers(pkt);
	return verdict;
}

#endif
