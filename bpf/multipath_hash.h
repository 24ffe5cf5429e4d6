/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hash of a packet over the fields that net.ipv6.fib_multipath_hash_policy names
 * (rt6_multipath_hash()). Reads packets and sl_meta; knows no groups.
 *
 * The hash is not the kernel's, which is keyed by a secret. Since it covers the same fields,
 * packets that share a next hop in the kernel share one here.
 */
#ifndef SIXLANE_MULTIPATH_HASH_H
#define SIXLANE_MULTIPATH_HASH_H

#include <linux/icmpv6.h>

#include "flow.h"
#include "hash.h"
#include "trace.h"

#define IPV6_LABEL 0x000fffffu

static const struct flow_ports no_ports;

/* The fields of one header, of which proto and ports are the caller's word. */
static __always_inline void group_add_header(struct hash_sum *sum, const struct packet_ip6 *ip6,
					     __u8 proto, struct flow_ports ports, __u32 fields)
{
	const struct hash_flow flow = {
		.label = ip6->flow & bpf_htonl(IPV6_LABEL),
		.src_port = ports.src,
		.dst_port = ports.dst,
		.proto = proto,
	};

	hash_add_header(sum, &ip6->src, &ip6->dst, &flow, fields);
}

/* ip6_multipath_l3_keys(): an ICMPv6 error goes the way of the packet that it is about. */
static __always_inline const struct packet_ip6 *group_l3_header(const struct packet *pkt)
{
	const struct icmp6hdr *icmp = (const void *)(pkt->ip6 + 1);
	const struct packet_ip6 *inner;

	if (pkt->ip6->next_header != IPPROTO_ICMPV6)
		return pkt->ip6;
	inner = flow_inner(pkt, sizeof(*icmp));
	return inner && icmp->icmp6_type >= ICMPV6_DEST_UNREACH &&
			       icmp->icmp6_type <= ICMPV6_PARAMPROB
		       ? inner
		       : pkt->ip6;
}

/* Outer fields. False: XDP cannot reach them. */
static __always_inline int group_add_outer(const struct packet *pkt, __u32 fields,
					   struct hash_sum *sum)
{
	struct flow_ports ports = no_ports;
	__u8 proto = 0;

	if (fields & (HASH_PORTS | HASH_PROTO) && proto_is_extension(pkt->ip6->next_header))
		return 0;
	if (fields & HASH_PROTO && !flow_get_proto(pkt, &proto))
		return 0;
	if (fields & HASH_PORTS && !flow_get_ports(pkt, &ports))
		return 0;
	group_add_header(sum, pkt->ip6, proto, ports, fields);
	return 1;
}

/* Inner fields of IPv6 in IPv6; other tunnels are the kernel's. */
static __always_inline int group_add_inner(const struct packet *pkt, __u32 fields,
					   struct hash_sum *sum)
{
	const struct packet_ip6 *inner;

	if (pkt->ip6->next_header != IPPROTO_IPV6)
		return 0;
	inner = flow_inner(pkt, 0);
	if (!inner || fields & HASH_PORTS || proto_is_tunnel(inner->next_header) ||
	    proto_is_extension(inner->next_header) || inner->next_header == IPPROTO_HOPOPTS ||
	    inner->next_header == IPPROTO_FRAGMENT)
		return 0;
	group_add_header(sum, inner, inner->next_header, no_ports, fields);
	return 1;
}

/* rt6_multipath_hash(). False: over headers that XDP does not reach. */
static __always_inline int group_add_packet(const struct packet *pkt, union sixlane_hash_policy how,
					    struct hash_sum *sum)
{
	const struct packet_ip6 *ip6 = pkt->ip6;
	int tunnel = proto_is_tunnel(ip6->next_header);

	switch (how.policy) {
	case SIXLANE_HASH_L3:
		ip6 = group_l3_header(pkt);
		group_add_header(sum, ip6, ip6->next_header, no_ports, HASH_L3);
		return 1;
	case SIXLANE_HASH_L4:
		return group_add_outer(pkt, HASH_L4, sum);
	case SIXLANE_HASH_INNER:
		return tunnel ? group_add_inner(pkt, HASH_L3, sum)
			      : group_add_outer(pkt, HASH_L3, sum);
	case SIXLANE_HASH_FIELDS:
		if (how.fields & HASH_INNER && proto_is_extension(ip6->next_header))
			return 0;
		if (!group_add_outer(pkt, how.fields & ~HASH_INNER, sum))
			return 0;
		return !(how.fields & HASH_INNER && tunnel) ||
		       group_add_inner(pkt, how.fields >> HASH_INNER_SHIFT, sum);
	default:
		return 0;
	}
}

/*
 * Functions of their own, here and below, hold what is rare: the verifier goes through them once,
 * not once for each way that leads to them. This one: a hash whatever the headers, never 0; 0:
 * over headers that XDP does not reach.
 */
__attribute__((noinline)) __u64 group_hash_rare(struct xdp_md *ctx, __u32 tag_bytes, __u32 ip_bytes)
{
	struct packet pkt = { .ctx = ctx, .ip_bytes = ip_bytes };
	const struct sixlane_meta *meta;
	union sixlane_hash_policy how;
	struct hash_sum sum = { 0 };
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta || !packet_point(&pkt, tag_bytes))
		return 0;
	how.word = READ_ONCE(meta->hash_policy.word);
	sum.seed = READ_ONCE(meta->hash_seed);
	return group_add_packet(&pkt, how, &sum) ? hash_finish(&sum) : 0;
}

/* As group_add_packet(), where that takes but a few steps. False: ask group_hash_rare(). */
static __always_inline int group_add_common(const struct packet *pkt, __u32 policy,
					    struct hash_sum *sum)
{
	const __u8 proto = pkt->ip6->next_header;
	struct flow_ports ports;

	if (policy == SIXLANE_HASH_L3 && proto != IPPROTO_ICMPV6) {
		group_add_header(sum, pkt->ip6, proto, no_ports, HASH_L3);
		return 1;
	}
	if (policy == SIXLANE_HASH_L4 && proto_has_ports(proto) &&
	    flow_read_ports(pkt, 0, &ports)) {
		group_add_header(sum, pkt->ip6, proto, ports, HASH_L4);
		return 1;
	}
	return 0;
}

/* A packet's hash, never 0; 0: over headers that XDP does not reach. */
static __always_inline __u64 group_hash(const struct packet *pkt)
{
	const struct sixlane_meta *meta;
	struct hash_sum sum = { 0 };
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return 0;
	sum.seed = READ_ONCE(meta->hash_seed);
	if (group_add_common(pkt, READ_ONCE(meta->hash_policy.policy), &sum))
		return hash_finish(&sum);
	return group_hash_rare(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes);
}

#endif
