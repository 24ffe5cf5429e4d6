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
 * The leaf that an address, in host order, comes to from a root on, within so many nodes; 0: none.
 * Nodes of a way mostly lie in one chunk.
 */
static __always_inline __u32 compiled_walk(__u32 entry, __u64 high, __u64 low, __u32 levels)
{
	__u32 number = sixlane_fib_chunk_of(entry);
	const __u8 *chunk = compiled_chunk(number);

#pragma clang loop unroll(disable)
	for (__u32 level = 0; level < levels; level++) {
		__u32 at = sixlane_fib_offset(entry), skip = sixlane_fib_skip(entry);
		__u32 stride = sixlane_fib_stride(entry), cells, next;
		__u64 key;

		if (!(entry & SIXLANE_FIB_NODE))
			return entry;
		if (unlikely(sixlane_fib_chunk_of(entry) != number)) {
			number = sixlane_fib_chunk_of(entry);
			chunk = compiled_chunk(number);
		}
		if (unlikely(!chunk))
			break;
		cells = at + sizeof(struct sixlane_fib_header);
		key = compiled_load(chunk, at);
		if (unlikely(skip == SIXLANE_FIB_SKIP_LONG)) {
			key |= (__u64)compiled_load(chunk, at + 4) << 32;
			skip = sixlane_fib_long_skip(key);
			key = sixlane_fib_long_key(key);
			cells = at + sizeof(struct sixlane_fib_long_header);
		}
		next = compiled_load(chunk,
				     cells + 4 * (__u32)sixlane_fib_bits(high << skip, stride));
		if (sixlane_fib_bits(high, skip) != key)
			return compiled_load(chunk, cells + SIXLANE_FIB_BEST_BEFORE);
		entry = next;
		skip += stride;
		high = high << skip | sixlane_fib_bits(low, skip);
		low <<= skip;
	}
	return COMPILED_UNKNOWN;
}

/* Not static: the verifier goes through it once. */
__attribute__((noinline)) __u32 compiled_find_far(__u32 root, __u64 high, __u64 low)
{
	return compiled_walk(root, high, low, SIXLANE_FIB_LEVELS);
}

/* Hardly any way is longer; where a return is made safe against speculation, a call costs 8 ns. */
#define COMPILED_NEAR 6u

static __always_inline __u32 compiled_find(__u32 root, __u64 high, __u64 low)
{
	__u32 found = compiled_walk(root, high, low, COMPILED_NEAR);

	return unlikely(found == COMPILED_UNKNOWN) ? compiled_find_far(root, high, low) : found;
}

#endif
