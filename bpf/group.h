/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a route with several next hops to one of them (fib6_select_path). The hash is not the
 * kernel's, which is keyed by a secret, but is over the fields that the kernel's is over
 * (rt6_multipath_hash), so that what keeps together there keeps together here. Members stand in
 * sl_nh_buckets (union sixlane_nh_bucket).
 *
 * Invariant: a flow stays with its member as long as the group stands and the member's port is up.
 */
#ifndef SIXLANE_GROUP_H
#define SIXLANE_GROUP_H

#include <linux/icmpv6.h>

#include "flow.h"
#include "hash.h"
#include "trace.h"

/* --- the hash ---------------------------------------------------------------------------- */

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

/* --- the member -------------------------------------------------------------------------- */

/* The id that a hash falls upon; 0: none. */
static __always_inline __u32 group_bucket(union sixlane_nh_entry group, __u64 hash)
{
	__u64 place = hash_place(group, hash);
	__u32 index = group.first_bucket + (__u32)(place >> 32);
	const union sixlane_nh_bucket *found;
	union sixlane_nh_bucket bucket;

	found = bpf_map_lookup_elem(&sl_nh_buckets, &index);
	if (!found)
		return 0;
	bucket.word = READ_ONCE(found->word);
	TRACE(BUCKET, SIXLANE_FORWARD, bucket, .number = place >> 32,
	      .id = hash_pick(bucket, place));
	return hash_pick(bucket, place);
}

/* The port that a next-hop entry leads out of; NULL: it does not lead out. */
static __always_inline const struct sixlane_port *group_port(union sixlane_nh_entry nh_entry)
{
	__u32 slot = nh_entry.port;

	return nh_entry.type == SIXLANE_FORWARD ? bpf_map_lookup_elem(&sl_ports, &slot) : NULL;
}

/*
 * The word of a member's next-hop entry, and in *port what it leads out of, if it does. 0, which as
 * a next-hop entry would lead out of port 0: there is none, or its port has one of the flags in
 * skip.
 */
static __always_inline __u64 group_member_by(__u32 id, __u32 skip, const struct sixlane_port **port)
{
	const struct sixlane_next_hop *member = bpf_map_lookup_elem(&sl_next_hops, &id);
	union sixlane_nh_entry nh_entry;

	if (unlikely(!id || !member))
		return 0;
	nh_entry.word = READ_ONCE(member->nh_entry.word);
	*port = group_port(nh_entry);
	return unlikely(*port && READ_ONCE((*port)->flags) & skip) ? 0 : nh_entry.word;
}

static __always_inline __u64 group_member(__u32 id, __u32 skip)
{
	const struct sixlane_port *port;

	return group_member_by(id, skip, &port);
}

struct group_scan {
	struct hash_race members; /* the words of their next-hop entries */
	__u64 hash;		  /* of the flow */
	__u32 first_bucket;	  /* the group's */
	__u32 skip;
};

/* A function of its own for the verifier's sake. */
__attribute__((noinline)) int group_scan_bucket(struct group_scan *scan, __u32 number)
{
	const union sixlane_nh_bucket *found;
	union sixlane_nh_bucket bucket;
	__u32 index;
	__u64 hash;

	if (!scan)
		return 0;
	index = scan->first_bucket + number;
	found = bpf_map_lookup_elem(&sl_nh_buckets, &index);
	if (!found)
		return 0;
	hash = scan->hash + 2ull * number;
	bucket.word = READ_ONCE(found->word);
	hash_race_enter(&scan->members, hash, bucket.bound, group_member(bucket.below, scan->skip));
	hash_race_enter(&scan->members, hash + 1, HASH_WHOLE - bucket.bound,
			group_member(bucket.above, scan->skip));
	return 0;
}

/*
 * A member that is skipped is passed over, before any message about the route. Draws find most of
 * those that are left; what has little weight among the others is looked for.
 */
__attribute__((noinline)) __u64 group_draw_again(__u64 word, __u64 hash, __u32 skip)
{
	const union sixlane_nh_entry group = { .word = word };
	struct group_scan scan = { .hash = hash, .first_bucket = group.first_bucket, .skip = skip };
	__u64 nh_entry = 0;

#pragma clang loop unroll(disable)
	for (int i = 1; i < HASH_DRAWS && !nh_entry; i++) {
		hash = hash_again(hash, i);
		nh_entry = group_member(group_bucket(group, hash), skip);
	}
	if (nh_entry)
		return nh_entry;
	TRACE(SCAN, SIXLANE_FORWARD, none, .words = { 0 });
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < HASH_SCAN && i < group.n_buckets; i++)
		group_scan_bucket(&scan, hash_scan_bucket(group, scan.hash, i));
	return scan.members.winner;
}

/*
 * rt6_score_route(): of several equal routes that are no multipath set, the one by the ingress
 * device (here 0: that packet is passed in any case) is taken before the first. The word of its
 * next-hop entry.
 */
__attribute__((noinline)) __u64 group_first(__u64 word, __u32 ingress)
{
	const union sixlane_nh_entry group = { .word = word };
	const struct sixlane_next_hop *member;
	const union sixlane_nh_bucket *bucket;
	const struct sixlane_port *port;
	union sixlane_nh_entry nh_entry;
	__u32 index, id;
	__u64 first = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SIXLANE_MAX_EQUAL_METRIC && i < group.n_buckets; i++) {
		index = group.first_bucket + i;
		bucket = bpf_map_lookup_elem(&sl_nh_buckets, &index);
		if (!bucket)
			return 0;
		id = READ_ONCE(bucket->below);
		member = bpf_map_lookup_elem(&sl_next_hops, &id);
		if (!member)
			return 0;
		nh_entry.word = READ_ONCE(member->nh_entry.word);
		port = group_port(nh_entry);
		if (port && READ_ONCE(port->ifindex) == ingress)
			return 0;
		if (!i)
			first = nh_entry.word;
	}
	return first;
}

/* Sets next-hop entry to that of one member, and egress_port if it has been met. */
static __always_inline enum sixlane_verdict group_find_member(struct packet *pkt)
{
	const struct sixlane_port *port = NULL;
	const __u32 skip = READ_ONCE(pkt->next_hop->flags) & SIXLANE_NEXT_HOP_OBJECT
				   ? SIXLANE_PORT_SKIP_OBJECT
				   : SIXLANE_PORT_SKIP;
	__u64 word, hash = 0;

	if (!pkt->nh_entry.n_buckets)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (pkt->nh_entry.n_buckets > 1) {
		hash = group_hash(pkt);
		TRACE(HASH, hash ? SIXLANE_FORWARD : SIXLANE_PUNT_HASH, hash, .hash = hash);
		if (!hash)
			return SIXLANE_PUNT_HASH;
	}
	word = group_member_by(group_bucket(pkt->nh_entry, hash), skip, &port);
	if (unlikely(!word)) {
		port = NULL;
		word = group_draw_again(pkt->nh_entry.word, hash, skip);
	}
	if (unlikely(!word))
		return SIXLANE_PASS_EGRESS_DOWN;
	pkt->nh_entry.word = word;
	pkt->egress_port = port;
	return SIXLANE_FORWARD;
}

static __always_inline enum sixlane_verdict group_find_first(struct packet *pkt)
{
	__u64 word = group_first(pkt->nh_entry.word, pkt->ingress);

	if (!word)
		return SIXLANE_PASS_SAME_PORT;
	pkt->nh_entry.word = word;
	return SIXLANE_FORWARD;
}

/* Sets next-hop entry to that of one next hop. */
static __always_inline enum sixlane_verdict group_choose(struct packet *pkt)
{
	__u64 expires_ns;

	if (pkt->nh_entry.type < SIXLANE_NH_GROUP)
		return SIXLANE_FORWARD;
	expires_ns = READ_ONCE(pkt->next_hop->expires_ns);
	TRACE(GROUP, SIXLANE_FORWARD, group, .nh_entry = pkt->nh_entry, .expires_ns = expires_ns,
	      .flags = pkt->next_hop->flags);
	if (unlikely(expires_ns && bpf_ktime_get_ns() >= expires_ns))
		return SIXLANE_PUNT_EXPIRES;
	if (likely(pkt->nh_entry.type == SIXLANE_NH_GROUP))
		return group_find_member(pkt);
	if (pkt->nh_entry.type == SIXLANE_NH_EQUAL_METRIC)
		return group_find_first(pkt);
	return SIXLANE_PUNT_ROUTE;
}

#endif
