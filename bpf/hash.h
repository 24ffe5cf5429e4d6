/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arithmetic of the multipath hash, and of the member that it selects. Tests in user space compile
 * the same lines. Knows neither packets nor maps. Label and ports are in network order.
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

#define HASH_DRAWS 16 /* of a flow, until a member's port is up */
#define HASH_SCAN 256 /* buckets that are then tried one by one */

/* --- the hash ---------------------------------------------------------------------------- */

/*
 * A sum of products, mixed once at the end (hash_finish()): the CPU computes the products in
 * parallel. Each word is folded first. The last byte of an address differs most, but is the
 * highest one of its word, and multiplication carries changes only upwards.
 */
struct hash_sum {
	__u64 seed; /* random, so that observers of packets cannot predict members */
	__u64 sum;
};

static __always_inline void hash_add(struct hash_sum *sum, __u64 word, __u64 odd)
{
	sum->sum += (word ^ word >> 32 ^ sum->seed) * odd;
}

/* The fields of a header beside its addresses. Ports are 0 for a protocol without ports. */
struct hash_flow {
	__be32 label; /* 20 bits */
	__be16 src_port, dst_port;
	__u8 proto;
};

/* In one word: ports in the lower half, label in the upper, the protocol in its unused byte. */
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

/* Adds the fields of one header. */
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

/* Never 0, which means "no hash". */
static __always_inline __u64 hash_finish(const struct hash_sum *sum)
{
	return hash_mix(sum->sum) | 1;
}

/* The hash of the i-th draw after the first. */
static __always_inline __u64 hash_again(__u64 hash, __u32 i)
{
	return hash_mix(hash + i);
}

/* --- the member -------------------------------------------------------------------------- */

/* Upper half: number of the bucket in the group. Lower half: position within the bucket. */
static __always_inline __u64 hash_place(union sixlane_nh_entry group, __u64 hash)
{
	return (hash >> 32) * group.n_buckets;
}

/* The id of the member at this position; 0: none. */
static __always_inline __u32 hash_pick(union sixlane_nh_bucket bucket, __u64 place)
{
	return (__u32)place < bucket.bound ? bucket.below : bucket.above;
}

/* The number of the i-th bucket after the one of the hash, modulo the number of buckets. */
static __always_inline __u32 hash_scan_bucket(union sixlane_nh_entry group, __u64 hash, __u32 i)
{
	const __u64 over = (hash_place(group, hash) >> 32) + i - group.n_buckets;

	return (__u32)over + group.n_buckets * (__u32)(over >> 63);
}

#endif
