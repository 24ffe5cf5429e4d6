// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The compiled FIB, as the datapath reads it: from its head on, by the same function. */
#include "../../../bpf/route.h"

#include "lookup_walk.h"

static __always_inline __u32 find(struct xdp_md *ctx, const struct bench_packet *packet,
				  const union sixlane_addr *addr)
{
	const struct fib_memory memory = fib_open();
	const union sixlane_fib fib = { .word = fib_roots(&memory) };

	(void)ctx;
	(void)packet;
	if (!fib.main)
		return 0;
	return compiled_find(&memory, fib.main, bpf_be64_to_cpu(addr->halves[0]),
			     bpf_be64_to_cpu(addr->halves[1]));
}
BENCH_ENGINE(compiled, find)

/*
 * One load from a line of the same memory that the address determines, and only it: what an index
 * of this size costs at the least, whatever its layout.
 */
static __always_inline __u32 load_one(struct xdp_md *ctx, const struct bench_packet *packet,
				      const union sixlane_addr *addr)
{
	const struct sixlane_meta *meta;
	struct fib_place place;
	__u32 key = 0, at;

	(void)ctx;
	(void)packet;
	meta = bpf_map_lookup_elem(&sl_meta, &key);
	if (!meta)
		return 0;
	at = bench_offset(addr, READ_ONCE(meta->fib_used_bytes));
	at &= SIXLANE_FIB_UNIT_MASK & ~63u;
	/* all addresses have a route, and so an answer */
	return fib_go(&place, at) ? fib_load(&place, fib_offset(at)) | 1 : 0;
}
BENCH_ENGINE(load, load_one)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_BESIDE_LINES);
	__type(key, __u32);
	__type(value, struct bench_line);
} beside SEC(".maps");

/*
 * All of a lookup, and beside it one load from other memory, from a line that the address
 * determines: what is the least for as much work in an index of that size.
 */
static __always_inline __u32 find_beside_load(struct xdp_md *ctx, const struct bench_packet *packet,
					      const union sixlane_addr *addr)
{
	__u32 key = bench_offset(addr, BENCH_BESIDE_LINES);
	const struct bench_line *line = bpf_map_lookup_elem(&beside, &key);
	__u64 loaded;

	if (!line)
		return 0;
	loaded = READ_ONCE(line->words[0]);
	return find(ctx, packet, addr) + compiled_after(loaded);
}
BENCH_ENGINE(compiled_load, find_beside_load)
