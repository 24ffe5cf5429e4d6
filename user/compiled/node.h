/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes and cells of the compiled FIB, as bpf/abi/fib.h lays them out: sizes, decoding, single
 * stores. Private to compiled/.
 */
#ifndef USER_COMPILED_NODE_H
#define USER_COMPILED_NODE_H

#include <endian.h>

#include "memory.h"

/* An address in host order: bit 127 is its first. */
typedef unsigned __int128 compiled_bits;

/* A decoded entry that leads to a node. */
struct compiled_node {
	uint32_t skip, stride;
	uint64_t key;
	uint32_t *default_leaf; /* for addresses that differ in the key, or that match no cell */
	bool is_wide;
	void *cells; /* [1 << stride] of uint32_t, of a wide one of uint64_t */
	uint32_t n_units;
	uint32_t loaded; /* a long header loads bits up to this one; 0: no more than before */
};

/* Bits of the address that a lookup loads at its start. */
#define COMPILED_BITS_LOADED 64u

/* The code of a skip in an entry, unless a long header is needed for other reasons. */
static inline uint32_t compiled_skip_code(uint32_t skip)
{
	return skip < SIXLANE_FIB_SKIP_WIDE ? skip : SIXLANE_FIB_SKIP_LONG;
}

static inline uint32_t compiled_header_bytes(uint32_t skip_code)
{
	return skip_code < SIXLANE_FIB_SKIP_LONG ? sizeof(struct sixlane_fib_header)
						 : sizeof(struct sixlane_fib_long_header);
}

static inline uint32_t compiled_units(uint32_t skip_code, uint32_t stride)
{
	uint32_t cell = skip_code == SIXLANE_FIB_SKIP_WIDE ? sizeof(uint64_t) : sizeof(uint32_t);
	uint32_t bytes = compiled_header_bytes(skip_code) + (cell << stride);

	return (bytes + SIXLANE_FIB_UNIT_BYTES - 1) / SIXLANE_FIB_UNIT_BYTES;
}

static inline struct compiled_node compiled_open(const struct compiled_store *store, uint32_t entry)
{
	uint8_t *at = compiled_at(store, entry);
	struct sixlane_fib_header *header = (void *)at;
	struct sixlane_fib_long_header *long_header = (void *)at;
	uint32_t code = sixlane_fib_skip(entry);
	struct compiled_node node = {
		.skip = code == SIXLANE_FIB_SKIP_WIDE ? 0 : code,
		.stride = sixlane_fib_stride(entry),
		.key = header->key,
		.default_leaf = &header->default_leaf,
		.is_wide = code == SIXLANE_FIB_SKIP_WIDE,
	};
	uint64_t word;

	if (code == SIXLANE_FIB_SKIP_LONG) {
		word = long_header->words[0] | (uint64_t)long_header->words[1] << 32;
		node.skip = sixlane_fib_long_skip(word);
		node.key = sixlane_fib_long_key(word);
		node.loaded = sixlane_fib_long_past(word) + COMPILED_BITS_LOADED;
		node.default_leaf = &long_header->default_leaf;
	}
	node.cells = (void *)(at + compiled_header_bytes(code));
	node.n_units = compiled_units(code, node.stride);
	return node;
}

/* A cell in the format of wide ones. Those of other nodes check no bits. */
static inline uint64_t compiled_cell(const struct compiled_node *node, uint64_t i)
{
	return node->is_wide ? ((const uint64_t *)node->cells)[i]
			     : ((const uint32_t *)node->cells)[i];
}

/* The entry of a cell. */
static inline uint32_t *compiled_entry(const struct compiled_node *node, uint64_t i)
{
	uint32_t *words = node->cells;

	if (!node->is_wide)
		return &words[i];
	return &words[2 * i + (__BYTE_ORDER == __BIG_ENDIAN)];
}

/* One store, visible to readers. Only cells of wide nodes check bits. */
static inline void compiled_set_cell(const struct compiled_node *node, uint64_t i, uint64_t cell)
{
	if (node->is_wide)
		__atomic_store_n((uint64_t *)node->cells + i, cell, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)node->cells + i, (uint32_t)cell, __ATOMIC_RELEASE);
}

/* A cell for addresses whose next n <= SIXLANE_FIB_CHECK_MAX bits are key. */
static inline uint64_t compiled_checking(uint32_t entry, uint64_t key, uint32_t n)
{
	return entry | (uint64_t)n << 32 | (n ? key << (64 - n) : 0);
}

/* n < 64 bits of an address, starting at bit "at"; at + n may exceed 128. */
static inline uint64_t compiled_slice(compiled_bits addr, uint32_t at, uint32_t n)
{
	if (at >= 128 || !n)
		return 0;
	return (uint64_t)(addr << at >> 64) >> (64 - n);
}

static inline compiled_bits compiled_addr(const union sixlane_addr *addr)
{
	return (compiled_bits)be64toh(addr->halves[0]) << 64 | be64toh(addr->halves[1]);
}

#endif
