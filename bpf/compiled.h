/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lookup in the compiled FIB (bpf/abi/fib.h). Knows neither tables nor what a value means. The
 * number of steps is bounded, whatever the memory contains.
 */
#ifndef SIXLANE_COMPILED_H
#define SIXLANE_COMPILED_H

#ifdef SIXLANE_ARENA
#include "fib_arena.h"
#else
#include "fib_chunks.h"
#endif

/* Neither a leaf nor a valid node: the caller asks the LPM trie. */
#define COMPILED_UNKNOWN SIXLANE_FIB_NODE

/* The 64 bits of an address after the first `past`, which is less than 128. */
static __always_inline __u64 compiled_bits_from(__u64 high, __u64 low, __u32 past)
{
	return past < 64 ? high << past | sixlane_fib_bits(low, past) : low << (past - 64);
}

/* A lookup in progress. */
struct compiled_cursor {
	struct fib_place place;
	__u32 entry;
	__u64 bits; /* of the address: those not yet consumed, left-aligned */
};

/* Returns 0 with a data dependency on the cell, so that the default leaf is not loaded before it.
 */
static __always_inline __u32 compiled_after(__u64 cell)
{
	__u64 same = cell;

	asm volatile("" : "+r"(same));
	return same ^ cell;
}

/* One step from a wide node. cells: offset of its first cell. */
static __always_inline int compiled_step_wide(struct compiled_cursor *cursor, __u32 cells,
					      __u32 stride)
{
	__u64 cell = fib_load_wide(&cursor->place,
				   cells + 8 * (__u32)sixlane_fib_bits(cursor->bits, stride));

	cursor->bits <<= stride;
	if (!sixlane_fib_passes(cell, cursor->bits)) {
		cursor->entry = fib_load(&cursor->place,
					 cells + SIXLANE_FIB_DEFAULT_LEAF + compiled_after(cell));
		return 1;
	}
	cursor->entry = sixlane_fib_entry(cell);
	cursor->bits <<= sixlane_fib_checked(cell);
	return 0;
}

/* One step. 1: cursor->entry is the leaf, or COMPILED_UNKNOWN. */
static __always_inline int compiled_step(struct compiled_cursor *cursor, __u64 high, __u64 low)
{
	__u32 entry = cursor->entry, at = fib_offset(entry), skip = sixlane_fib_skip(entry);
	__u32 stride = sixlane_fib_stride(entry), cells, next;
	__u64 key;

	if (!(entry & SIXLANE_FIB_NODE))
		return 1;
	if (unlikely(!fib_follow(&cursor->place, entry))) {
		cursor->entry = COMPILED_UNKNOWN;
		return 1;
	}
	cells = at + sizeof(struct sixlane_fib_header);
	if (skip == SIXLANE_FIB_SKIP_WIDE)
		return compiled_step_wide(cursor, cells, stride);
	key = fib_load(&cursor->place, at);
	if (unlikely(skip == SIXLANE_FIB_SKIP_LONG)) {
		key |= (__u64)fib_load(&cursor->place, at + 4) << 32;
		cursor->bits = compiled_bits_from(high, low, sixlane_fib_long_past(key));
		skip = sixlane_fib_long_skip(key);
		key = sixlane_fib_long_key(key);
		cells = at + sizeof(struct sixlane_fib_long_header);
	}
	next = fib_load(&cursor->place,
			cells + 4 * (__u32)sixlane_fib_bits(cursor->bits << skip, stride));
	if (sixlane_fib_bits(cursor->bits, skip) != key) {
		cursor->entry = fib_load(&cursor->place, cells + SIXLANE_FIB_DEFAULT_LEAF);
		return 1;
	}
	cursor->entry = next;
	cursor->bits = cursor->bits << skip << stride;
	return 0;
}

/*
 * The leaf of an address (two halves in host order), from a root node on; or COMPILED_UNKNOWN. Not
 * inlined: the verifier checks it once for all callers.
 */
__attribute__((noinline)) __u32 compiled_find_far(__u32 root, __u64 high, __u64 low)
{
	struct compiled_cursor cursor = { .entry = root, .bits = high };

	if (!fib_enter(&cursor.place, root))
		return COMPILED_UNKNOWN;
#pragma clang loop unroll(disable)
	for (__u32 level = 0; level < SIXLANE_FIB_LEVELS; level++) {
		if (compiled_step(&cursor, high, low))
			return cursor.entry;
	}
	return COMPILED_UNKNOWN;
}

/* Few lookups are deeper. With mitigations for return prediction, a call costs 8 ns. */
#define COMPILED_NEAR 6u

/* The same, inlined. The first levels are unrolled: each has its own branch predictor entry. */
static __always_inline __u32 compiled_find(const struct fib_memory *memory, __u32 root, __u64 high,
					   __u64 low)
{
	struct compiled_cursor cursor = { .entry = root, .bits = high };

	if (!fib_enter_from(&cursor.place, memory, root))
		return COMPILED_UNKNOWN;
#pragma clang loop unroll(full)
	for (__u32 level = 0; level < COMPILED_NEAR; level++) {
		if (compiled_step(&cursor, high, low))
			return cursor.entry;
	}
	return compiled_find_far(root, high, low);
}

#endif
