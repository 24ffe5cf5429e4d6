/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two filters of destinations whose packets are passed to the kernel. The daemon fills sl_punted;
 * sl_exceptions may have an exact entry instead. The program itself fills sl_fresh, as it passes
 * ICMPv6 messages that the kernel may learn from. Knows no packets and no entries of sl_exceptions.
 *
 * Invariant: a destination is in sl_fresh before the kernel sees the message about it, unless
 * sl_fresh is full. Its size is limited so that a flood of messages does not slow other
 * destinations.
 */
#ifndef SIXLANE_PUNT_H
#define SIXLANE_PUNT_H

#include "bound.h"
#include "maps.h"

/* Why packets to a destination may have to be passed. */
enum {
	PUNT_FILTERED = 1, /* its bits in sl_punted are set, and no entry says otherwise */
	PUNT_FRESH = 2,	   /* its bytes in sl_fresh are */
};

/* SIXLANE_META_CHECK_PUNTED if all packets have to check the filters, else 0. */
static __always_inline __u32 punt_check_flag(void)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	return meta ? READ_ONCE(meta->flags) & SIXLANE_META_CHECK_PUNTED
		    : SIXLANE_META_CHECK_PUNTED;
}

static __always_inline int punt_bit_is_set(__u32 bit)
{
	__u32 word = bit / 64;
	const __u64 *punted = bpf_map_lookup_elem(&sl_punted, &word);

	return !punted || READ_ONCE(*punted) >> (bit % 64) & 1;
}

/* A destination's byte in half 0 (bit 0) and in half 1 (bit 8). */
static __always_inline __u32 punt_fresh_bytes(__u32 byte)
{
	__u32 word = byte / 8;
	const __u64 *fresh = bpf_map_lookup_elem(&sl_fresh, &word);

	return fresh ? READ_ONCE(*fresh) >> byte % 8 * 8 & 0x0101 : 0x0101;
}

static __always_inline int punt_is_filtered(__u64 sum)
{
	return unlikely(punt_bit_is_set(sixlane_punted_bit(sum, 0))) &&
	       punt_bit_is_set(sixlane_punted_bit(sum, 1)) &&
	       punt_bit_is_set(sixlane_punted_bit(sum, 2));
}

/* In which halves all bytes of a destination are set, as by punt_fresh_bytes(). look:
 * punt_check_flag()
 */
static __always_inline int punt_is_fresh(__u64 sum, __u32 look)
{
	__u32 halves;

	if (likely(!look))
		return 0;
	halves = punt_fresh_bytes(sixlane_fresh_byte(sum, 0));
	if (likely(!halves))
		return 0;
	/* all in the same half */
	return halves & punt_fresh_bytes(sixlane_fresh_byte(sum, 1)) &
	       punt_fresh_bytes(sixlane_fresh_byte(sum, 2));
}

/*
 * PUNT_FILTERED and PUNT_FRESH, or 0. Not inlined: the verifier checks it once, and its keys take
 * none of the callers' stack.
 */
__attribute__((noinline)) int punt_find(__be64 high, __be64 low, __u32 look)
{
	const union sixlane_addr dst = { .halves = { high, low } };
	const __u64 sum = sixlane_exception_sum(&dst);

	return (punt_is_filtered(sum) ? PUNT_FILTERED : 0) |
	       (punt_is_fresh(sum, look) ? PUNT_FRESH : 0);
}

static __always_inline void punt_store_fresh(__u32 byte)
{
	__u32 word = byte / 8;
	__u8 *fresh = bpf_map_lookup_elem(&sl_fresh, &word);

	if (fresh)
		WRITE_ONCE(fresh[bound_index(byte, 8)], 1);
}

/*
 * Punts a destination until the daemon has read what the kernel has for it. Order: count, bytes,
 * flag. The daemon clears the flag and then checks the count again. False: sl_fresh is full.
 */
__attribute__((noinline)) int punt_set(__be64 high, __be64 low)
{
	const union sixlane_addr dst = { .halves = { high, low } };
	const __u64 sum = sixlane_exception_sum(&dst);
	struct sixlane_meta *meta;
	__u32 zero = 0, at = SIXLANE_FRESH_COUNTS, half, *counts;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	counts = bpf_map_lookup_elem(&sl_fresh, &at);
	if (!meta || !counts)
		return 0;
	if (READ_ONCE(meta->flags) & SIXLANE_META_OBSERVE)
		return 1;
	half = READ_ONCE(meta->fresh) & 1;
	if (!(punt_is_fresh(sum, 1) >> 8 * half & 1)) {
		if (READ_ONCE(counts[half]) >= SIXLANE_FRESH_MOST)
			return 0;
		__sync_fetch_and_add(&counts[half], 1);
		punt_store_fresh(sixlane_fresh_byte(sum, 0) + half);
		punt_store_fresh(sixlane_fresh_byte(sum, 1) + half);
		punt_store_fresh(sixlane_fresh_byte(sum, 2) + half);
	}
	WRITE_ONCE(meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE], 1);
	return 1;
}

#endif
