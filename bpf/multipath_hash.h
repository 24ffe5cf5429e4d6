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

/* Adds the fields of one header. The caller has found proto and ports. */
static __always_inline void multipath_add_header(struct hash_sum *sum, const struct packet_ip6 *ip6,
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

/* ip6_multipath_l3_keys(): of an ICMPv6 error, the header of the packet that it is about. */
static __always_inline const struct packet_ip6 *multipath_l3_header(const struct packet *pkt)
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

/* Adds outer fields. False: XDP cannot read them. */
static __always_inline int multipath_add_outer(const struct packet *pkt, __u32 fields,
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
	multipath_add_header(sum, pkt->ip6, proto, ports, fields);
	return 1;
}

/* Adds inner fields of IPv6 in IPv6. False: XDP cannot read them, as in all other tunnels. */
static __always_inline int multipath_add_inner(const struct packet *pkt, __u32 fields,
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
	multipath_add_header(sum, inner, inner->next_header, no_ports, fields);
	return 1;
}

/* rt6_multipath_hash(). False: it covers headers that XDP cannot read. */
static __always_inline int multipath_add_packet(const struct packet *pkt,
						union sixlane_hash_policy how, struct hash_sum *sum)
{
	const struct packet_ip6 *ip6 = pkt->ip6;
	int tunnel = proto_is_tunnel(ip6->next_header);

	switch (how.policy) {
	case SIXLANE_HASH_L3:
		ip6 = multipath_l3_header(pkt);
		multipath_add_header(sum, ip6, ip6->next_header, no_ports, HASH_L3);
		return 1;
	case SIXLANE_HASH_L4:
		return multipath_add_outer(pkt, HASH_L4, sum);
	case SIXLANE_HASH_INNER:
		return tunnel ? multipath_add_inner(pkt, HASH_L3, sum)
			      : multipath_add_outer(pkt, HASH_L3, sum);
	case SIXLANE_HASH_FIELDS:
		if (how.fields & HASH_INNER && proto_is_extension(ip6->next_header))
			return 0;
		if (!multipath_add_outer(pkt, how.fields & ~HASH_INNER, sum))
			return 0;
		return !(how.fields & HASH_INNER && tunnel) ||
		       multipath_add_inner(pkt, how.fields >> HASH_INNER_SHIFT, sum);
	default:
		return 0;
	}
}

/*
 * The hash for any policy and packet; 0: it covers headers that XDP cannot read.
 *
 * Like all rare paths a function that is not inlined: the verifier checks it once, instead of once
 * for each path that leads to it.
 */
__attribute__((noinline)) __u64 multipath_hash_rare(struct xdp_md *ctx, __u32 tag_bytes,
						    __u32 ip_bytes)
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
	return multipath_add_packet(&pkt, how, &sum) ? hash_finish(&sum) : 0;
}

/* As multipath_add_packet(), for the common cases. False: ask multipath_hash_rare(). */
static __always_inline int multipath_add_common(const struct packet *pkt, __u32 policy,
						struct hash_sum *sum)
{
	const __u8 proto = pkt->ip6->next_header;
	struct flow_ports ports;

	if (policy == SIXLANE_HASH_L3 && proto != IPPROTO_ICMPV6) {
		multipath_add_header(sum, pkt->ip6, proto, no_ports, HASH_L3);
		return 1;
	}
	if (policy == SIXLANE_HASH_L4 && proto_has_ports(proto) &&
	    flow_read_ports(pkt, 0, &ports)) {
		multipath_add_header(sum, pkt->ip6, proto, ports, HASH_L4);
		return 1;
	}
	return 0;
}

/* A packet's hash; 0: it covers headers that XDP cannot read. */
static __always_inline __u64 multipath_hash(const struct packet *pkt)
{
	const struct sixlane_meta *meta;
	struct hash_sum sum = { 0 };
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return 0;
	sum.seed = READ_ONCE(meta->hash_seed);
	if (multipath_add_common(pkt, READ_ONCE(meta->hash_policy.policy), &sum))
		return hash_finish(&sum);
	return multipath_hash_rare(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes);
}

#endif
