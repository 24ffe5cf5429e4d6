// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading the compiled FIB in user space, step by step as bpf/compiled.h does it.
 */
#include <errno.h>
#include <string.h>

#include "compiled_internal.h"

static int find(const struct compiled_view *view, uint32_t entry, compiled_bits addr,
		uint32_t *value)
{
	uint32_t best = 0;

	for (uint32_t level = 0; level < SIXLANE_FIB_LEVELS; level++) {
		const uint8_t *chunk = view->chunks[sixlane_fib_chunk_of(entry)], *at;
		uint32_t skip = sixlane_fib_skip(entry), stride = sixlane_fib_stride(entry),
			 best_here;
		struct sixlane_fib_header header;
		uint64_t key;

		if (!(entry & SIXLANE_FIB_NODE)) {
			*value = entry ?: best;
			return 0;
		}
		if (!chunk)
			return -ENODATA;
		at = chunk + sixlane_fib_offset(entry);
		header.key = __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
		best_here = __atomic_load_n((const uint32_t *)at + 1, __ATOMIC_RELAXED);
		key = header.key;
		at += SIXLANE_FIB_HEADER_BYTES;
		if (skip == SIXLANE_FIB_SKIP_LONG) {
			skip = header.key & 63;
			memcpy(&key, at, sizeof(key));
			at += sizeof(key);
		}
		best = best_here ?: best;
		if (compiled_slice(addr, 0, skip) != key) {
			*value = best;
			return 0;
		}
		entry = __atomic_load_n((const uint32_t *)at + compiled_slice(addr, skip, stride),
					__ATOMIC_ACQUIRE);
		addr <<= skip + stride;
	}
	return -ENODATA;
}

int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value)
{
	uint32_t root = view->fib.main;
	int err;

	if (!view->fib.word)
		return -ENODATA;
	if (table != SIXLANE_TABLE_MAIN) {
		err = find(view, view->fib.tables, (compiled_bits)table << 96, &root);
		if (err)
			return err;
	}
	if (root)
		return find(view, root | SIXLANE_FIB_NODE, compiled_addr(addr), value);
	*value = 0;
	return 0;
}
