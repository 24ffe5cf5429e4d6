/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lookup in the compiled FIB (bpf/abi/fib.h). Knows neither tables nor what a value means, and
 * believes nothing that it reads: whatever memory holds, it comes to an end.
 */
#ifndef SIXLANE_COMPILED_H
#define SIXLANE_COMPILED_H

#ifdef SIXLANE_ARENA
#include "fib_arena.h"
#else
#include "fib_chunks.h"
#endif

/* No leaf, nor a node that there is: the trie answers. */
#define COMPILED_UNKNOWN SIXLANE_FIB_NODE

/* The bits of an address from there on where so many, less than 128, are past. */
static __always_inline __u64 compiled_bits_from(__u64 high, __u64 low, __u32 past)
{
	return past < 64 ? high << past | sixlane_fib_bits(low, past) : low << (past - 64);
}

/* On the way of an address from a root on. */
struct compiled_way {
	struct fib_place place;
	__u32 entry;
	__u64 bits; /* of the address, from here on */
};

/* 0, but not before the cell is known: what is loaded from there is what came after it. */
static __always_inline __u32 compiled_after(__u64 cell)
{
	__u64 same = cell;

	asm volatile("" : "+r"(same));
	return same ^ cell;
}

/* From a wide node, whose cells begin there. */
static __always_inline int compiled_step_wide(struct compiled_way *way, __u32 cells, __u32 stride)
{
	__u64 cell =
		fib_load_wide(&way->place, cells + 8 * (__u32)sixlane_fib_bits(way->bits, stride));

	way->bits <<= stride;
	if (!sixlane_fib_passes(cell, way->bits)) {
		way->entry = fib_load(&way->place,
				      cells + SIXLANE_FIB_BEST_BEFORE + compiled_after(cell));
		return 1;
	}
	way->entry = sixlane_fib_entry(cell);
	way->bits <<= sixlane_fib_checked(cell);
	return 0;
}

/* To the next entry. 1: it is the leaf, or there is no knowing. */
static __always_inline int compiled_step(struct compiled_way *way, __u64 high, __u64 low)
{
	__u32 entry = way->entry, at = fib_offset(entry), skip = sixlane_fib_skip(entry);
	__u32 stride = sixlane_fib_stride(entry), cells, next;
	__u64 key;

	if (!(entry & SIXLANE_FIB_NODE))
		return 1;
	if (unlikely(!fib_go_on(&way->place, entry))) {
		way->entry = COMPILED_UNKNOWN;
		return 1;
	}
	cells = at + sizeof(struct sixlane_fib_header);
	if (skip == SIXLANE_FIB_SKIP_WIDE)
		return compiled_step_wide(way, cells, stride);
	key = fib_load(&way->place, at);
	if (unlikely(skip == SIXLANE_FIB_SKIP_LONG)) {
		key |= (__u64)fib_load(&way->place, at + 4) << 32;
		way->bits = compiled_bits_from(high, low, sixlane_fib_long_past(key));
		skip = sixlane_fib_long_skip(key);
		key = sixlane_fib_long_key(key);
		cells = at + sizeof(struct sixlane_fib_long_header);
	}
	next = fib_load(&way->place,
			cells + 4 * (__u32)sixlane_fib_bits(way->bits << skip, stride));
	if (sixlane_fib_bits(way->bits, skip) != key) {
		way->entry = fib_load(&way->place, cells + SIXLANE_FIB_BEST_BEFORE);
		return 1;
	}
	way->entry = next;
	way->bits = way->bits << skip << stride;
	return 0;
}

/*
 * The leaf that an address, in host order, comes to from a root, a node, on; or COMPILED_UNKNOWN.
 * Not static: the verifier goes through it once.
 */
__attribute__((noinline)) __u32 compiled_find_far(__u32 root, __u64 high, __u64 low)
{
	struct compiled_way way = { .entry = root, .bits = high };

	if (!fib_go(&way.place, root))
		return COMPILED_UNKNOWN;
#pragma clang loop unroll(disable)
	for (__u32 level = 0; level < SIXLANE_FIB_LEVELS; level++) {
		if (compiled_step(&way, high, low))
			return way.entry;
	}
	return COMPILED_UNKNOWN;
}

/* Hardly any way is longer; where a return is made safe against speculation, a call costs 8 ns. */
#define COMPILED_NEAR 6u

/* The same. Step by step in line: how long ways are is foreseen at each for itself. */
static __always_inline __u32 compiled_find(const struct fib_memory *memory, __u32 root, __u64 high,
					   __u64 low)
{
	struct compiled_way way = { .entry = root, .bits = high };

	if (!fib_go_from(&way.place, memory, root))
		return COMPILED_UNKNOWN;
#pragma clang loop unroll(full)
	for (__u32 level = 0; level < COMPILED_NEAR; level++) {
		if (compiled_step(&way, high, low))
			return way.entry;
	}
	return compiled_find_far(root, high, low);
}

#endif
