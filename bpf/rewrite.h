/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only writer of packets. Comes after every check: what fails here fails before the first
 * write and is taken back, so that a passed packet is byte for byte what arrived.
 */
#ifndef SIXLANE_REWRITE_H
#define SIXLANE_REWRITE_H

#include "vlan.h"

/*
 * Cut what stands behind the IPv6 packet (Ethernet padding), as the kernel does. The helper
 * refuses only a frame without an Ethernet header, of which there is none here; should a driver
 * refuse more, the kernel gets the packet.
 */
static __always_inline int rewrite_trim(const struct packet *pkt, __u32 padding)
{
	return padding ? (int)bpf_xdp_adjust_tail(pkt->ctx, -(int)padding) : 0;
}

/*
 * Make the frame as long as it has to be; for more tags first at its head, where no room is the one
 * thing that drivers differ in. tag_bytes: of the frame as it leaves.
 */
static __always_inline enum sixlane_verdict rewrite_resize(struct packet *pkt, __u32 tag_bytes)
{
	__u32 padding = pkt->bytes - sizeof(struct packet_eth) - pkt->tag_bytes - pkt->ip_bytes;
	int more = (int)tag_bytes - (int)pkt->tag_bytes;

	if (more > 0 && bpf_xdp_adjust_head(pkt->ctx, -more))
		return SIXLANE_PASS_NO_HEADROOM;
	if (rewrite_trim(pkt, padding)) {
		/* giving back what was just taken cannot fail */
		if (more > 0)
			bpf_xdp_adjust_head(pkt->ctx, more);
		return SIXLANE_PASS_TRIM_FAILED;
	}
	/* Last, since it may move metadata over the bytes that it frees; nor can it fail. */
	if (more < 0)
		bpf_xdp_adjust_head(pkt->ctx, -more);
	return packet_point(pkt, tag_bytes) ? SIXLANE_FORWARD : SIXLANE_PASS_TRIM_FAILED;
}

/* Behind the MACs; behind them stands the ethertype, wherever the head has gone. */
static __always_inline void rewrite_tags(const struct packet *pkt, __u32 tag_bytes)
{
	union sixlane_tag *at = (void *)pkt->eth + VLAN_AT, tag;

	tag.word = READ_ONCE(pkt->egress_port->tags[0].word);
	at[0].tpid = tag.tpid;
	at[0].tci = tag.tci;
	if (tag_bytes == sizeof(tag))
		return;
	tag.word = READ_ONCE(pkt->egress_port->tags[1].word);
	at[1].tpid = tag.tpid;
	at[1].tci = tag.tci;
}

/*
 * The frame keeps its length and goes to the egress port itself: no tags, neither in nor out, and
 * no padding. Behind the packet there is nothing, so before it there are no tags.
 */
static __always_inline int rewrite_is_plain(const struct packet *pkt)
{
	return !(pkt->egress_flags & (SIXLANE_PORT_TAGGED | SIXLANE_PORT_SLAVES)) &&
	       pkt->bytes == PACKET_ETH_BYTES + pkt->ip_bytes;
}

static __always_inline void rewrite_macs(const struct packet *pkt)
{
	union packet_mac src_mac = { .word = READ_ONCE(pkt->egress_port->mac.word) };
	struct packet_eth *eth = pkt->eth;

	eth->dst[0] = pkt->dst_mac.before;
	*packet_mac_last(eth->dst) = pkt->dst_mac.last;
	*packet_mac_first(eth->src) = src_mac.first;
	eth->src[2] = src_mac.pieces[2];
}

static __always_inline void rewrite_headers(const struct packet *pkt)
{
	rewrite_macs(pkt);
	pkt->ip6->hop_limit--;
}

static __always_inline enum sixlane_verdict rewrite_packet(struct packet *pkt)
{
	__u32 tag_bytes = vlan_egress_bytes(pkt);
	enum sixlane_verdict verdict = rewrite_resize(pkt, tag_bytes);

	if (verdict != SIXLANE_FORWARD)
		return verdict;
	if (tag_bytes)
		rewrite_tags(pkt, tag_bytes);
	rewrite_headers(pkt);
	return SIXLANE_FORWARD;
}

#endif
