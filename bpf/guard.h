/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What XDP would pass by: firewall rules, IPsec policies, checksums that are not complete. The
 * daemon decides ahead of packets; here is what only a packet tells, and only ports that the daemon
 * has marked come here. Writes to no map; a flow that is found lives on.
 */
#ifndef SIXLANE_GUARD_H
#define SIXLANE_GUARD_H

#include <bpf/bpf_endian.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "flowtable.h"
#include "route.h"
#include "trace.h"

#define GUARD_ASKS (SIXLANE_PORT_GUARD | SIXLANE_PORT_OPEN_CHECKSUMS)

/*
 * UDP ports of tunnels, whose inner packets may be the ones with an open checksum: the outer one
 * is then complete (local checksum offload), and tells nothing.
 */
#define GUARD_UDP_L2TP 1701
#define GUARD_UDP_GTP 2152
#define GUARD_UDP_GRE 4754
#define GUARD_UDP_VXLAN 4789
#define GUARD_UDP_VXLAN_GPE 4790
#define GUARD_UDP_GUE 6080
#define GUARD_UDP_GENEVE 6081
#define GUARD_UDP_MPLS 6635
#define GUARD_UDP_VXLAN_OLD 8472 /* the kernel's default */
#define GUARD_UDP_LOWEST GUARD_UDP_L2TP
#define GUARD_UDP_HIGHEST GUARD_UDP_VXLAN_OLD

/* Where a checksum stands in its header (struct tcphdr, struct udphdr). */
#define GUARD_TCP_CHECK 16
#define GUARD_UDP_CHECK 6
#define GUARD_UDP_PORT 2

/*
 * The sum over the pseudo header (RFC 8200, section 8.1), folded and not inverted: what a sender
 * leaves in the field of a checksum that the device is to complete (CHECKSUM_PARTIAL). In the byte
 * order of the field.
 */
static __always_inline __u16 guard_pseudo_sum(const struct packet_ip6 *ip6)
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

static __always_inline int guard_is_tunnel(__be16 port)
{
	/* most are outside of where all of them are */
	if (likely((__u16)(bpf_ntohs(port) - GUARD_UDP_LOWEST) >
		   GUARD_UDP_HIGHEST - GUARD_UDP_LOWEST))
		return 0;
	return port == bpf_htons(GUARD_UDP_VXLAN) || port == bpf_htons(GUARD_UDP_VXLAN_OLD) ||
	       port == bpf_htons(GUARD_UDP_GENEVE) || port == bpf_htons(GUARD_UDP_L2TP) ||
	       port == bpf_htons(GUARD_UDP_GTP) || port == bpf_htons(GUARD_UDP_GRE) ||
	       port == bpf_htons(GUARD_UDP_VXLAN_GPE) || port == bpf_htons(GUARD_UDP_GUE) ||
	       port == bpf_htons(GUARD_UDP_MPLS);
}

/*
 * Whether the checksum may be open. Of TCP and UDP the field tells; ICMPv6 and ESP are never left
 * to a device, and "no next header" has none; anything else may be, or may hold a packet whose own
 * is. A complete checksum has the value of an open one once in 65,536 packets.
 */
static __always_inline int guard_checksum_is_open(struct xdp_md *ctx, const struct packet_ip6 *ip6)
{
	const void *l4 = ip6 + 1;
	const __be16 *check, *port;

	switch (ip6->next_header) {
	case IPPROTO_TCP:
		check = l4 + GUARD_TCP_CHECK;
		break;
	case IPPROTO_UDP:
		port = l4 + GUARD_UDP_PORT;
		check = l4 + GUARD_UDP_CHECK;
		if ((void *)(check + 1) > packet_end(ctx) || guard_is_tunnel(*port))
			return 1;
		break;
	default:
		return ip6->next_header != IPPROTO_ICMPV6 && ip6->next_header != IPPROTO_ESP &&
		       ip6->next_header != IPPROTO_NONE;
	}
	return (void *)(check + 1) > packet_end(ctx) || *check == guard_pseudo_sum(ip6);
}

/* Whether a firewall rule may touch packets of this pair of slots. */
static __always_inline int guard_pair_is_held(__u32 in_slot, __u32 out_slot)
{
	__u32 word = sixlane_guard_word(in_slot, out_slot);
	const __u64 *free = bpf_map_lookup_elem(&sl_guard, &word);

	TRACE(PAIR, SIXLANE_FORWARD, pair, .value = free ? *free : 0, .word = word,
	      .bit = out_slot % 64);
	return !free || !(READ_ONCE(*free) >> (out_slot % 64) & 1);
}

/* Behind these nf_ct_frag6_gather() finds a fragment header. */
static __always_inline int guard_may_be_fragment(__u8 next_header)
{
	return next_header == IPPROTO_FRAGMENT || next_header == IPPROTO_ROUTING ||
	       next_header == IPPROTO_AH || next_header == IPPROTO_DSTOPTS;
}

/* … or an ICMPv6 error. */
static __always_inline int guard_may_be_icmp6(__u8 next_header)
{
	return next_header == IPPROTO_ICMPV6 || guard_may_be_fragment(next_header);
}

/* Whether both addresses are under one policy's. */
static __always_inline int guard_has_policy(const struct packet_ip6 *ip6)
{
	struct sixlane_route_key key = route_key(0, &ip6->dst);
	const __u32 *sources = bpf_map_lookup_elem(&sl_policies, &key);

	if (!sources)
		return 0;
	key = route_key(READ_ONCE(*sources), &ip6->src);
	return bpf_map_lookup_elem(&sl_policies, &key) != NULL;
}

static __always_inline enum sixlane_verdict guard_check_pair(const struct packet_ip6 *ip6,
							     __u32 in_slot, __u32 out_slot)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0, flags;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return SIXLANE_PASS_NOT_READY;
	flags = READ_ONCE(meta->flags);
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC_ICMP6 && guard_may_be_icmp6(ip6->next_header)) ||
	    (flags & SIXLANE_META_IPSEC && guard_has_policy(ip6)))
		return SIXLANE_PASS_IPSEC;
	if (flags & SIXLANE_META_FRAGMENTS && guard_may_be_fragment(ip6->next_header))
		return SIXLANE_PASS_FIREWALL;
	return guard_pair_is_held(in_slot, out_slot) ? SIXLANE_PASS_FIREWALL : SIXLANE_FORWARD;
}

/* Whether a packet is of a flow, which rules do not see. neighbour: slot of the gateway; 0: on
 * link. */
static __always_inline int guard_is_flow(const struct packet *pkt, __u32 in_slot, __u32 out_slot,
					 __u32 neighbour)
{
	const struct sixlane_port *in = bpf_map_lookup_elem(&sl_ports, &in_slot);
	const struct sixlane_port *out = bpf_map_lookup_elem(&sl_ports, &out_slot);
	const struct sixlane_neigh *gateway = bpf_map_lookup_elem(&sl_neighbours, &neighbour);
	union sixlane_addr next_hop;

	if (!in || !out || !gateway || !(READ_ONCE(in->flags) & SIXLANE_PORT_FLOWS))
		return 0;
	next_hop = neighbour ? gateway->key.addr : pkt->ip6->dst;
	return flowtable_forwards(pkt->ctx, READ_ONCE(out->ifindex), next_hop.halves[0],
				  next_hop.halves[1]);
}

/* enum sixlane_verdict. Not static, nor inlined: the verifier goes through it once. */
__attribute__((noinline)) int guard_ask(struct xdp_md *ctx, __u32 tag_bytes, __u32 in_slot,
					__u32 out_slot, __u32 neighbour)
{
	struct packet pkt = { .ctx = ctx };
	enum sixlane_verdict verdict;

	if (!packet_point(&pkt, tag_bytes))
		return SIXLANE_PASS_TRUNCATED;
	verdict = guard_check_pair(pkt.ip6, in_slot, out_slot);
	return verdict == SIXLANE_PASS_FIREWALL && guard_is_flow(&pkt, in_slot, out_slot, neighbour)
		       ? SIXLANE_FORWARD
		       : verdict;
}

/* Of a packet whose way out is known. */
static __always_inline enum sixlane_verdict guard_check(struct packet *pkt)
{
	if (likely(!(pkt->ingress_flags & GUARD_ASKS)))
		return SIXLANE_FORWARD;
	if (pkt->ingress_flags & SIXLANE_PORT_OPEN_CHECKSUMS &&
	    unlikely(guard_checksum_is_open(pkt->ctx, pkt->ip6)))
		return SIXLANE_PASS_CHECKSUM;
	if (likely(!(pkt->ingress_flags & SIXLANE_PORT_GUARD)))
		return SIXLANE_FORWARD;
	pkt->decided = guard_ask(pkt->ctx, pkt->tag_bytes, pkt->slot, pkt->nh_entry.port,
				 pkt->nh_entry.neighbour);
	return pkt->decided == SIXLANE_FORWARD ? SIXLANE_FORWARD : PACKET_DECIDED;
}

#endif
