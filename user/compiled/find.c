// SPDX-License-Identifier: GPL-2.0-only
/* Lookups in user space, step by step as bpf/compiled.h does them. */
#include <errno.h>
#include <stddef.h>

#include "compiled.h"
#include "node.h"

/* Masks the offset, so that even a corrupt entry is read within the chunk. */
static uint32_t load(const uint8_t *chunk, uint64_t offset)
{
	offset &= SIXLANE_FIB_CHUNK_BYTES - sizeof(uint32_t);
	return __atomic_load_n((const uint32_t *)(chunk + offset), __ATOMIC_ACQUIRE);
}

static uint64_t load_wide(const uint8_t *chunk, uint64_t offset)
{
	offset &= SIXLANE_FIB_CHUNK_BYTES - sizeof(uint64_t);
	return __atomic_load_n((const uint64_t *)(chunk + offset), __ATOMIC_ACQUIRE);
}

/* Visited nodes are added to *nodes. */
static int find(const struct compiled_view *view, uint32_t entry, compiled_bits addr,
		uint32_t *value, uint32_t *nodes)
{
	uint64_t bits = (uint64_t)(addr >> 64);

	for (uint32_t level = 0; level < SIXLANE_FIB_LEVELS; level++) {
		const uint8_t *chunk = view->chunks[sixlane_fib_chunk_of(entry)];
		uint32_t skip = sixlane_fib_skip(entry), stride = sixlane_fib_stride(entry);
		uint32_t at = sixlane_fib_offset(entry), leaf;
		uint64_t key;

		if (!(entry & SIXLANE_FIB_NODE)) {
			*value = entry;
			return 0;
		}
		if (!chunk)
			return -ENODATA;
		++*nodes;
		if (skip == SIXLANE_FIB_SKIP_WIDE) {
			uint64_t cell =
				load_wide(chunk, at + sizeof(struct sixlane_fib_header) +
							 8 * sixlane_fib_bits(bits, stride));

			bits <<= stride;
			if (!sixlane_fib_passes(cell, bits)) {
				*value = load(chunk, at + offsetof(struct sixlane_fib_header,
								   default_leaf));
				return 0;
			}
			entry = sixlane_fib_entry(cell);
			bits <<= sixlane_fib_checked(cell);
			continue;
		}
		key = load(chunk, at);
		leaf = load(chunk, at + offsetof(struct sixlane_fib_header, default_leaf));
		at += sizeof(struct sixlane_fib_header);
		if (skip == SIXLANE_FIB_SKIP_LONG) {
			key |= (uint64_t)leaf << 32;
			bits = (uint64_t)(addr << sixlane_fib_long_past(key) >> 64);
			skip = sixlane_fib_long_skip(key);
			key = sixlane_fib_long_key(key);
			leaf = load(chunk, at);
			at += sizeof(leaf);
		}
		if (sixlane_fib_bits(bits, skip) != key) {
			*value = leaf;
			return 0;
		}
		entry = load(chunk, at + 4 * sixlane_fib_bits(bits << skip, stride));
		bits = bits << skip << stride;
	}
	return -ENODATA;
}

static int find_in_table(const struct compiled_view *view, uint32_t table,
			 const union sixlane_addr *addr, uint32_t *value, uint32_t *nodes)
{
	uint32_t root = view->fib.main;
	int err;

	if (!view->fib.word)
		return -ENODATA;
	if (table != SIXLANE_TABLE_MAIN) {
		err = find(view, view->fib.tables, (compiled_bits)table << 96, &root, nodes);
		if (err)
			return err;
	}
	if (root)
		return find(view, root | SIXLANE_FIB_NODE, compiled_addr(addr), value, nodes);
	*value = 0;
	return 0;
}

int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value)
{
	uint32_t nodes = 0;

	return find_in_table(view, table, addr, value, &nodes);
}

uint32_t compiled_depth(const struct compiled_view *view, uint32_t table,
			const union sixlane_addr *addr)
{
	uint32_t value, nodes = 0;

	find_in_table(view, table, addr, &value, &nodes);
	return nodes;
}
