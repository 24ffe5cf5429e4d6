/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The multipath hash, and the member of a group that it falls upon: arithmetic on what the caller
 * has read. Tests in user space compile the same lines. Knows neither packets nor maps.
 *
 * Label and ports are in network order, as they stand in a packet.
 */
#ifndef SIXLANE_HASH_H
#define SIXLANE_HASH_H

#include <bpf/bpf_endian.h>

#include "abi/sixlane.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* FIB_MULTIPATH_HASH_FIELD_* of include/net/ip_fib.h, which is no UAPI */
#define HASH_SRC_IP (1u << 0)
#define HASH_DST_IP (1u << 1)
#define HASH_PROTO (1u << 2)
#define HASH_LABEL (1u << 3)
#define HASH_SRC_PORT (1u << 4)
#define HASH_DST_PORT (1u << 5)
#define HASH_INNER_SHIFT 6
#define HASH_INNER (0x3fu << HASH_INNER_SHIFT)
#define HASH_PORTS (HASH_SRC_PORT | HASH_DST_PORT)

#define HASH_L3 (HASH_SRC_IP | HASH_DST_IP | HASH_PROTO | HASH_LABEL)
#define HASH_L4 (HASH_SRC_IP | HASH_DST_IP | HASH_PROTO | HASH_PORTS)

#define HASH_DRAWS 16		/* until a member's port is up … */
#define HASH_SCAN 256		/* … and then so many buckets are asked one by one */
#define HASH_WHOLE (1ull << 32) /* a bucket, of which bound is a part */

/* --- the hash ---------------------------------------------------------------------------- */

/*
 * A sum of products, which a CPU makes side by side, mixed once at the end (hash_finish).
 * Each word is folded before, since what differs most, an address's last byte, is its highest and
 * a product passes changes upwards only.
 */
struct hash_sum {
	__u64 seed; /* random, so that who sees the packets cannot tell their members */
	__u64 sum;
};

static __always_inline void hash_add(struct hash_sum *sum, __u64 word, __u64 odd)
{
	sum->sum += (word ^ word >> 32 ^ sum->seed) * odd;
}

/* What a header says beside its addresses. Ports are 0 for a protocol that has none. */
struct hash_flow {
	__be32 label; /* 20 bits */
	__be16 src_port, dst_port;
	__u8 proto;
};

/* One word, of which ports are the lower half; the protocol is the byte in front of the label. */
static __always_inline __u64 hash_flow_word(const struct hash_flow *flow, __u32 fields)
{
	__u64 word = 0;

	if (fields & HASH_SRC_PORT)
		word |= flow->src_port;
	if (fields & HASH_DST_PORT)
		word |= (__u32)flow->dst_port << 16;
	if (fields & HASH_LABEL)
		word |= (__u64)flow->label << 32;
	if (fields & HASH_PROTO)
		word |= (__u64)bpf_htonl((__u32)flow->proto << 24) << 32;
	return word;
}

/* The fields of one header. */
static __always_inline void hash_add_header(struct hash_sum *sum, const union sixlane_addr *src,
					    const union sixlane_addr *dst,
					    const struct hash_flow *flow, __u32 fields)
{
	if (fields & HASH_SRC_IP) {
		hash_add(sum, src->halves[0], 0xd6e8feb86659fd93ull);
		hash_add(sum, src->halves[1], 0xa0761d6478bd642full);
	}
	if (fields & HASH_DST_IP) {
		hash_add(sum, dst->halves[0], 0xe7037ed1a0b428dbull);
		hash_add(sum, dst->halves[1], 0x8ebc6af09c88c6e3ull);
	}
	hash_add(sum, hash_flow_word(flow, fields), 0x589965cc75374cc3ull);
}

static __always_inline __u64 hash_mix(__u64 word)
{
	word = (word ^ word >> 32) * 0x9e3779b97f4a7c15ull;
	return word ^ word >> 32;
}

/* Never 0, which says that there is no hash. */
static __always_inline __u64 hash_finish(const struct hash_sum *sum)
{
	return hash_mix(sum->sum) | 1;
}

/* The hash of the next draw, the i-th after the first, when a member is passed over. */
static __always_inline __u64 hash_again(__u64 hash, __u32 i)
{
	return hash_mix(hash + i);
}

/* --- the member -------------------------------------------------------------------------- */

/* Where a hash falls: upper half the bucket's number in the group, lower half how far in it. */
static __always_inline __u64 hash_place(union sixlane_nh_entry group, __u64 hash)
{
	return (hash >> 32) * group.n_buckets;
}

/* The id of the member there; 0: none. */
static __always_inline __u32 hash_pick(union sixlane_nh_bucket bucket, __u64 place)
{
	return (__u32)place < bucket.bound ? bucket.below : bucket.above;
}

/* The number of the i-th bucket to ask: of many buckets one flow asks these, another one those. */
static __always_inline __u32 hash_scan_bucket(union sixlane_nh_entry group, __u64 hash, __u32 i)
{
	const __u64 over = (hash_place(group, hash) >> 32) + i - group.n_buckets;

	return (__u32)over + group.n_buckets * (__u32)(over >> 63);
}

/* -log2(u / 2^32) of u > 0, in parts of 2^-16: up to 32 << 16, of which 0.3 % may be wrong. */
static __always_inline __u64 hash_log(__u32 u)
{
	__u64 log = 0, over;

	/* Without a branch, each of which would double the verifier's ways. */
	for (__u32 shift = 16; shift; shift /= 2) {
		const __u32 by = (__u32)(((__u64)u - (1ull << (32 - shift))) >> 63) * shift;

		u <<= by;
		log += by;
	}
	/* u is 1.over, of which log2 is over + over (1 - over) (0.406 - 0.13 over), nearly. */
	over = u << 1 >> 16;
	over += (over * (65536 - over) >> 16) * (26608 - (over * 8520 >> 16)) >> 16;
	return ((log + 1) << 16) - over;
}

/*
 * One of all that are offered, each as often as its share of their sum says: a race of exponential
 * clocks, in which what is not offered changes nothing for the others.
 */
struct hash_race {
	__u64 log, share; /* of the first: its time is log / share */
	__u64 winner;	  /* 0: nothing was offered */
};

/* hash: of the flow and what is offered. share: at most HASH_WHOLE. candidate: 0 is none. */
static __always_inline void hash_race_enter(struct hash_race *race, __u64 hash, __u64 share,
					    __u64 candidate)
{
	__u64 log;

	if (!share || !candidate)
		return;
	/* Twice, and not by hash_mix(), which would leave neighbours alike: two of these are one.
	 */
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
	log = hash_log((__u32)(hash >> 32) | 1);
	if (race->winner && log * race->share >= race->log * share)
		return;
	*race = (struct hash_race){ .log = log, .share = share, .winner = candidate };
}

#endif
