// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See trimmed.h. */
#include "trimmed.h"

#include "lookup_walk.h"

#include <bpf/bpf_endian.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trimmed);
} trimmed SEC(".maps");

/* All ones if the word's first bit is set. The compiler would make branches of masks that it can
 * see through. */
static __always_inline __u64 sign(__u64 word)
{
	__u64 mask;

	barrier_var(word);
	mask = (__u64)((__s64)word >> 63);
	barrier_var(mask);
	return mask;
}

static __always_inline __u64 next_at(__u64 cell, __u64 at, __u64 byte)
{
	__u64 grain = cell >> TRIMMED_GRAIN_SHIFT & TRIMMED_GRAIN_MASK;
	__u64 count = cell >> TRIMMED_COUNT_SHIFT & TRIMMED_NINE_BITS;
	__u64 index = ((byte >> grain) - (cell >> TRIMMED_LOW_SHIFT)) & TRIMMED_NINE_BITS;
	__u64 next;

	index = count + ((index - count) & sign(index - count));
	next = (cell & TRIMMED_BASE_MASK) + index;
	return next ^ ((next ^ at) & sign(cell));
}

static __always_inline __u64 load(const struct trimmed *fib, __u64 at)
{
	barrier_var(at);
	return *(const volatile __u64 *)&fib->cells[at & (TRIMMED_CELLS - 1)];
}

static __always_inline __u32 find(struct xdp_md *ctx, const struct bench_packet *packet,
				  const union sixlane_addr *addr)
{
	__u64 high = bpf_be64_to_cpu(addr->halves[0]), low = bpf_be64_to_cpu(addr->halves[1]);
	const struct trimmed *fib;
	__u64 at = high >> 48, cell;
	__u32 key = 0;

	(void)ctx;
	(void)packet;
	fib = bpf_map_lookup_elem(&trimmed, &key);
	if (!fib)
		return 0;
	cell = load(fib, at);
	at = next_at(cell, at, high >> 40 & 255);
	cell = load(fib, at);
	at = next_at(cell, at, high >> 32 & 255);
	cell = load(fib, at);
	at = next_at(cell, at, high >> 24 & 255);
	cell = load(fib, at);
	at = next_at(cell, at, high >> 16 & 255);
	cell = load(fib, at);
	high = high << 48 | low >> 16;
#pragma clang loop unroll(disable)
	for (int level = 0; level < 10; level++) {
		if (cell & TRIMMED_LEAF)
			break;
		at = next_at(cell, at, high >> 56);
		cell = load(fib, at);
		high = level == 7 ? low << 48 : high << 8;
	}
	return (__u32)cell;
}
BENCH_ENGINE(trimmed, find)
