// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The compiled FIB, as the datapath reads it: from its head on, by the same function. */
#include "../../../bpf/route.h"

#include "walk.bpf.h"

WALK_ENGINE(compiled)
{
	const struct fib_memory memory = fib_open();
	const union sixlane_fib fib = { .word = fib_roots(&memory) };

	if (!fib.main)
		return 0;
	return compiled_find(&memory, fib.main, bpf_be64_to_cpu(addr->halves[0]),
			     bpf_be64_to_cpu(addr->halves[1]));
}

/*
 * One load from the same memory, at a place that hangs on the address: what an index of this size
 * costs at the least, whatever its layout. Any answer but 0.
 */
WALK_ENGINE(load)
{
	__u32 key = 0, at;
	const struct sixlane_meta *meta = bpf_map_lookup_elem(&sl_meta, &key);
	struct fib_place place;
	__u64 hash;

	if (!meta)
		return 0;
	hash = (addr->halves[0] ^ addr->halves[1]) * 0x9e3779b97f4a7c15ull;
	at = (hash >> 32) * (__u32)READ_ONCE(meta->fib_used_bytes) >> 32;
	at &= SIXLANE_FIB_UNIT_MASK & ~63u;
	return fib_go(&place, at) ? fib_load(&place, fib_offset(at)) | 1 : 0;
}
