/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lookup in the compiled FIB (sixlane_fib.h). Knows neither tables nor what a value means, and
 * believes nothing that it reads: whatever memory holds, it stays within a chunk and comes to an
 * end.
 */
#ifndef SIXLANE_COMPILED_H
#define SIXLANE_COMPILED_H

#include "maps.h"

/* No leaf, nor a node that there is: the trie answers. */
#define COMPILED_UNKNOWN SIXLANE_FIB_NODE

static __always_inline const __u8 *compiled_chunk(__u32 number)
{
	__u32 zero = 0;
	void *chunk = bpf_map_lookup_elem(&sl_fib, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : (const __u8 *)0;
}

static __always_inline __u32 compiled_load(const __u8 *chunk, __u32 offset)
{
	return READ_ONCE(*(const __u32 *)(chunk + (offset & (SIXLANE_FIB_CHUNK_BYTES - 4))));
}

/*
 * The leaf that an address, in host order, comes to from a root on; 0: none. Nodes are placed so
 * that those of a way mostly lie in one chunk.
 */
static __always_inline __u32 compiled_find(__u32 entry, __u64 high, __u64 low)
{
	__u32 best = 0, number = SIXLANE_FIB_CHUNKS;
	const __u8 *chunk = 0;

#pragma clang loop unroll(disable)
	for (__u32 level = 0; level < SIXLANE_FIB_LEVELS; level++) {
		__u32 at = sixlane_fib_offset(entry), skip = sixlane_fib_skip(entry);
		__u32 stride = sixlane_fib_stride(entry), cells = at + SIXLANE_FIB_HEADER_BYTES;
		__u32 best_here, next;
		__u64 key;

		if (!(entry & SIXLANE_FIB_NODE))
			return entry ?: best;
		if (sixlane_fib_chunk_of(entry) != number) {
			number = sixlane_fib_chunk_of(entry);
			chunk = compiled_chunk(number);
		}
		if (!chunk)
			break;
		key = compiled_load(chunk, at);
		best_here = compiled_load(chunk, at + 4);
		if (skip == SIXLANE_FIB_SKIP_LONG) {
			skip = key & 63;
			key = compiled_load(chunk, cells) | (__u64)compiled_load(chunk, cells + 4)
								    << 32;
			cells += SIXLANE_FIB_LONG_HEADER_BYTES - SIXLANE_FIB_HEADER_BYTES;
		}
		next = compiled_load(chunk,
				     cells + 4 * (__u32)sixlane_fib_bits(high << skip, stride));
		best = best_here ?: best;
		if (sixlane_fib_bits(high, skip) != key)
			return best;
		entry = next;
		skip += stride;
		high = high << skip | sixlane_fib_bits(low, skip);
		low <<= skip;
	}
	return COMPILED_UNKNOWN;
}

#endif
