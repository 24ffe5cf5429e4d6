/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame and the IPv6 header: whether this is a packet that a router forwards, before any
 * route is known. Reads nothing behind the IPv6 header: no walk of extension headers.
 *
 * The checks are those of ip6_rcv_core() and ip6_forward(). Where the kernel drops or answers
 * the packet is passed, so only the set of packets that get past matters, not the order.
 */
#ifndef SIXLANE_PARSE_H
#define SIXLANE_PARSE_H

#include <bpf/bpf_endian.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "packet.h"
#include "port.h"
#include "vlan.h"

/* Checks the ethertype after all tags. Sets eth and ip6. */
static __always_inline enum sixlane_verdict parse_ethertype(struct packet *pkt)
{
	const __be16 *type = packet_data(pkt->ctx) + VLAN_AT + packet_tags(pkt->tag_bytes);

	if ((void *)(type + 1) > packet_end(pkt->ctx))
		return SIXLANE_PASS_TRUNCATED;
	if (*type != bpf_htons(ETH_P_IPV6))
		return SIXLANE_PASS_NOT_IPV6;
	/* The second test is for the verifier, which does not deduce it from the first. */
	if (!packet_point(pkt, pkt->tag_bytes) || (void *)(pkt->eth + 1) > packet_end(pkt->ctx))
		return SIXLANE_PASS_TRUNCATED;
	return SIXLANE_FORWARD;
}

/* Ethertype and lengths. Sets eth, ip6 and ip_bytes. */
static __always_inline enum sixlane_verdict parse_frame(struct packet *pkt)
{
	enum sixlane_verdict verdict;

	if (unlikely(!pkt->untagged)) {
		verdict = parse_ethertype(pkt);
		if (verdict != SIXLANE_FORWARD)
			return verdict;
	}
	if (pkt->ip6->version_class >> 4 != 6)
		return SIXLANE_PASS_NOT_IPV6;
	pkt->ip_bytes = sizeof(struct packet_ip6) + bpf_ntohs(pkt->ip6->payload_len);
	if (pkt->ip_bytes > pkt->bytes - PACKET_ETH_BYTES - pkt->tag_bytes)
		return SIXLANE_PASS_TRUNCATED;
	return SIXLANE_FORWARD;
}

/* Whether the frame is for the port's own MAC: not broadcast, multicast or promiscuous. */
static __always_inline enum sixlane_verdict parse_addressee(const struct packet *pkt)
{
	if (!port_has_mac(pkt->port, pkt->eth) && !pkt->addressed)
		return SIXLANE_PASS_OTHER_MAC;
	if (!(pkt->ingress_flags & SIXLANE_PORT_IPV6))
		return SIXLANE_PASS_IPV6_OFF;
	return SIXLANE_FORWARD;
}

/*
 * ff00::/8, fe80::/10, :: and ::1: never forwarded, whether source or destination. One comparison
 * of the first byte excludes nearly all other addresses.
 */
static __always_inline int parse_addr_is_scoped(const union sixlane_addr *addr)
{
	__u32 first = addr->bytes[0];

	if (likely(first - 1 < 0xfd))
		return 0;
	if (first)
		return first == 0xff || (addr->bytes[1] & 0xc0) == 0x80;
	return !addr->halves[0] && !(addr->halves[1] & ~bpf_cpu_to_be64(1));
}

/*
 * Next headers after which ip6_forward_proxy_check() looks for neighbour discovery: ICMPv6, and the
 * extension headers of ipv6_ext_hdr(). Hop-by-hop options are passed earlier.
 */
#define PARSE_MAY_LEAD_TO_NDP                                                          \
	(1ull << IPPROTO_ICMPV6 | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT | \
	 1ull << IPPROTO_AH | 1ull << IPPROTO_NONE | 1ull << IPPROTO_DSTOPTS)

static __always_inline int parse_may_be_ndp(__u8 next_header)
{
	return next_header < 64 && PARSE_MAY_LEAD_TO_NDP >> next_header & 1;
}

static __always_inline enum sixlane_verdict parse_ip6(const struct packet *pkt)
{
	const struct packet_ip6 *ip6 = pkt->ip6;

	if (ip6->next_header == IPPROTO_HOPOPTS)
		return SIXLANE_PASS_HOP_BY_HOP;
	if (parse_addr_is_scoped(&ip6->src))
		return SIXLANE_PASS_SOURCE;
	if (parse_addr_is_scoped(&ip6->dst))
		return SIXLANE_PASS_DESTINATION;
	if (pkt->ingress_flags & SIXLANE_PORT_PROXY_NDP && parse_may_be_ndp(ip6->next_header))
		return SIXLANE_PASS_PROXY_NDP;
	return SIXLANE_FORWARD;
}

#endif
