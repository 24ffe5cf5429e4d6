/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which destinations are punt: those in sl_punted, the daemon's filter, unless sl_exceptions has
 * an entry that says otherwise, and those in sl_fresh, which this program fills as ICMPv6 messages
 * pass that the kernel may learn from. Knows no packet and no entry of sl_exceptions.
 *
 * Invariant: a destination is in sl_fresh before the kernel sees the message about it, if there is
 * room for it. There is no more, since whoever sends messages could slow all other destinations.
 */
#ifndef SIXLANE_PUNT_H
#define SIXLANE_PUNT_H

#include "bound.h"
#include "maps.h"

/* Why a destination may be punt. */
enum {
	PUNT_FILTERED = 1, /* its bits in sl_punted are set, and no entry says otherwise */
	PUNT_FRESH = 2,	   /* its bytes in sl_fresh are */
};

/* Whether sl_meta says to look at the filters whatever the route. */
static __always_inline __u32 punt_look(void)
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

/* Of either half: bits 0 and 8. */
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

/* As punt_fresh_bytes(), of all its bytes. look: whether sl_meta says to look at sl_fresh. */
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
 * PUNT_FILTERED and PUNT_FRESH, or 0. Not static: the verifier goes through it once, and its keys
 * are on no caller's stack.
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
 * Punt dst until the daemon has read what the kernel has for it. The count first, then the bytes
 * and the flag: the daemon clears the flag and looks at the count once more. False: no room.
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
