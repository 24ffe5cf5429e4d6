/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether the checksum of a packet may be incomplete, since its sender left that to the device
 * (CHECKSUM_PARTIAL). Veth, tap and virtio hand such packets to XDP and do not say so. Reads the
 * packet alone.
 */
#ifndef SIXLANE_CHECKSUM_H
#define SIXLANE_CHECKSUM_H

#include <bpf/bpf_endian.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "packet.h"

/*
 * UDP ports of tunnels. With local checksum offload the outer checksum is complete, while that of
 * the inner packet may be incomplete.
 */
#define CHECKSUM_UDP_L2TP 1701
#define CHECKSUM_UDP_GTP 2152
#define CHECKSUM_UDP_GRE 4754
#define CHECKSUM_UDP_VXLAN 4789
#define CHECKSUM_UDP_VXLAN_GPE 4790
#define CHECKSUM_UDP_GUE 6080
#define CHECKSUM_UDP_GENEVE 6081
#define CHECKSUM_UDP_MPLS 6635
#define CHECKSUM_UDP_VXLAN_OLD 8472 /* the kernel's default */
#define CHECKSUM_UDP_LOWEST CHECKSUM_UDP_L2TP
#define CHECKSUM_UDP_HIGHEST CHECKSUM_UDP_VXLAN_OLD

/* Offsets of the checksum and the destination port (struct tcphdr, struct udphdr). */
#define CHECKSUM_TCP_CHECK 16
#define CHECKSUM_UDP_CHECK 6
#define CHECKSUM_UDP_PORT 2

/*
 * The sum over the pseudo header (RFC 8200, section 8.1), folded and not inverted: the value of a
 * checksum field that the device has to complete (CHECKSUM_PARTIAL). In network order.
 */
static __always_inline __u16 checksum_pseudo_header(const struct packet_ip6 *ip6)
{
	__u64 sum = (__u64)ip6->payload_len + bpf_htons(ip6->next_header);

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < 4; i++)
		sum += (__u64)ip6->src.words[i] + ip6->dst.words[i];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

static __always_inline int checksum_is_tunnel(__be16 port)
{
	/* most ports are outside this range */
	if (likely((__u16)(bpf_ntohs(port) - CHECKSUM_UDP_LOWEST) >
		   CHECKSUM_UDP_HIGHEST - CHECKSUM_UDP_LOWEST))
		return 0;
	return port == bpf_htons(CHECKSUM_UDP_VXLAN) || port == bpf_htons(CHECKSUM_UDP_VXLAN_OLD) ||
	       port == bpf_htons(CHECKSUM_UDP_GENEVE) || port == bpf_htons(CHECKSUM_UDP_L2TP) ||
	       port == bpf_htons(CHECKSUM_UDP_GTP) || port == bpf_htons(CHECKSUM_UDP_GRE) ||
	       port == bpf_htons(CHECKSUM_UDP_VXLAN_GPE) || port == bpf_htons(CHECKSUM_UDP_GUE) ||
	       port == bpf_htons(CHECKSUM_UDP_MPLS);
}

/*
 * Whether the checksum may be incomplete. TCP and UDP show it in the field; a complete checksum
 * looks like an incomplete one in 1 of 65,536 packets. The checksums of ICMPv6 and ESP are never
 * left to a device, and "no next header" has none. Anything else may be incomplete.
 */
static __always_inline int checksum_may_be_open(struct xdp_md *ctx, const struct packet_ip6 *ip6)
{
	const void *l4 = ip6 + 1;
	const __be16 *check, *port;

	switch (ip6->next_header) {
	case IPPROTO_TCP:
		check = l4 + CHECKSUM_TCP_CHECK;
		break;
	case IPPROTO_UDP:
		port = l4 + CHECKSUM_UDP_PORT;
		check = l4 + CHECKSUM_UDP_CHECK;
		if ((void *)(check + 1) > packet_end(ctx) || checksum_is_tunnel(*port))
			return 1;
		break;
	default:
		return ip6->next_header != IPPROTO_ICMPV6 && ip6->next_header != IPPROTO_ESP &&
		       ip6->next_header != IPPROTO_NONE;
	}
	return (void *)(check + 1) > packet_end(ctx) || *check == checksum_pseudo_header(ip6);
}

#endif
