/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only writer of forwarded packets, after all checks. Whatever fails here fails before the
 * first write and is undone, so a passed packet is byte for byte what arrived.
 */
#ifndef SIXLANE_REWRITE_H
#define SIXLANE_REWRITE_H

#include "vlan.h"

/*
 * Cuts Ethernet padding after the IPv6 packet, as the kernel does. The helper fails only for a
 * frame without an Ethernet header. Should it fail for another reason, the packet is passed.
 */
static __always_inline int rewrite_trim(const struct packet *pkt, __u32 padding)
{
	return padding ? (int)bpf_xdp_adjust_tail(pkt->ctx, -(int)padding) : 0;
}

/*
 * Gives the frame its length on egress. tag_bytes: of its VLAN tags on egress. The head grows
 * first: that is what fails with drivers that leave no headroom.
 */
static __always_inline enum sixlane_verdict rewrite_resize(struct packet *pkt, __u32 tag_bytes)
{
	__u32 padding = pkt->bytes - sizeof(struct packet_eth) - pkt->tag_bytes - pkt->ip_bytes;
	int more = (int)tag_bytes - (int)pkt->tag_bytes;

	if (more > 0 && bpf_xdp_adjust_head(pkt->ctx, -more))
		return SIXLANE_PASS_NO_HEADROOM;
	if (rewrite_trim(pkt, padding)) {
		/* shrinking the head that has just grown cannot fail */
		if (more > 0)
			bpf_xdp_adjust_head(pkt->ctx, more);
		return SIXLANE_PASS_TRIM_FAILED;
	}
	/* Last, since it may move metadata over the freed bytes. It cannot fail. */
	if (more < 0)
		bpf_xdp_adjust_head(pkt->ctx, -more);
	return packet_point(pkt, tag_bytes) ? SIXLANE_FORWARD : SIXLANE_PASS_TRIM_FAILED;
}

/* Writes the tags after the MACs. The ethertype is already in its place. */
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
 * Whether the frame keeps its length and leaves by the egress port itself: no VLAN tags on ingress
 * or egress, no padding, no bond. The length shows tags on ingress, too.
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
