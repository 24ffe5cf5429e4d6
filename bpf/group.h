/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a route with several next hops to one of them (fib6_select_path()). A bucket of
 * sl_nh_buckets has two members and a bound. The hash is scaled to a bucket and a position within
 * it; a position below the bound selects the one member, any other the other one.
 *
 * Invariant: a flow keeps its member as long as the group does not change and the port is up.
 */
#ifndef SIXLANE_GROUP_H
#define SIXLANE_GROUP_H

#include "hash.h"
#include "multipath_hash.h"
#include "trace.h"

/* The member (next-hop id) that a hash selects; 0: none. */
static __always_inline __u32 group_pick(union sixlane_nh_entry group, __u64 hash)
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

/* The egress port of a next-hop entry; NULL: it does not forward. */
static __always_inline const struct sixlane_port *group_port(union sixlane_nh_entry nh_entry)
{
	__u32 slot = nh_entry.port;

	return nh_entry.type == SIXLANE_FORWARD ? bpf_map_lookup_elem(&sl_ports, &slot) : NULL;
}

/*
 * The word of a member's next-hop entry, and its egress port in *port. 0 (no valid entry, since
 * port 0 is never used): there is no such member, or its port has one of the flags in skip.
 */
static __always_inline __u64 group_member_and_port(__u32 id, __u32 skip,
						   const struct sixlane_port **port)
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

	return group_member_and_port(id, skip, &port);
}

/* The word of the first member of a bucket that is not skipped; 0: both are. */
__attribute__((noinline)) __u64 group_scan_bucket(__u32 index, __u32 skip)
{
	const union sixlane_nh_bucket *found = bpf_map_lookup_elem(&sl_nh_buckets, &index);
	union sixlane_nh_bucket bucket;

	if (!found)
		return 0;
	bucket.word = READ_ONCE(found->word);
	return (bucket.bound ? group_member(bucket.below, skip) : 0)
		       ?: group_member(bucket.above, skip);
}

/*
 * Another member for a flow whose own member is skipped. Like the kernel, this does not wait for
 * the route to change. The hash is drawn again up to HASH_DRAWS - 1 times, which keeps to the
 * weights. Then up to HASH_SCAN buckets are tried in order, from the flow's own on.
 */
__attribute__((noinline)) __u64 group_draw_again(__u64 word, __u64 hash, __u32 skip)
{
	const union sixlane_nh_entry group = { .word = word };
	__u64 nh_entry = 0, draw = hash;

	/* draw 0 was the flow's own */
#pragma clang loop unroll(disable)
	for (int i = 1; i < HASH_DRAWS && !nh_entry; i++) {
		draw = hash_again(draw, i);
		nh_entry = group_member(group_pick(group, draw), skip);
	}
	if (nh_entry)
		return nh_entry;
	TRACE(SCAN, SIXLANE_FORWARD, none, .words = { 0 });
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < HASH_SCAN && i < group.n_buckets && !nh_entry; i++)
		nh_entry = group_scan_bucket(group.first_bucket + hash_scan_bucket(group, hash, i),
					     skip);
	return nh_entry;
}

/*
 * The first of several routes of equal metric that are not one multipath route. The kernel prefers
 * the one by the ingress device (rt6_score_route()); such packets are passed anyway, so then this
 * returns 0. Else the word of the next-hop entry.
 */
__attribute__((noinline)) __u64 group_equal_metric(__u64 word, __u32 ingress)
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

/* Sets nh_entry to that of one member, and egress_port. After another draw that is NULL, and
 * nexthop_find_egress() looks it up. */
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
		hash = multipath_hash(pkt);
		TRACE(HASH, hash ? SIXLANE_FORWARD : SIXLANE_PUNT_HASH, hash, .hash = hash);
		if (!hash)
			return SIXLANE_PUNT_HASH;
	}
	word = group_member_and_port(group_pick(pkt->nh_entry, hash), skip, &port);
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

static __always_inline enum sixlane_verdict group_find_equal_metric(struct packet *pkt)
{
	__u64 word = group_equal_metric(pkt->nh_entry.word, pkt->ingress);

	if (!word)
		return SIXLANE_PASS_SAME_PORT;
	pkt->nh_entry.word = word;
	return SIXLANE_FORWARD;
}

/* Replaces the nh_entry of a group by that of one member. */
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
		return group_find_equal_metric(pkt);
	return SIXLANE_PUNT_ROUTE;
}

#endif
