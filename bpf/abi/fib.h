/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The compiled FIB: the routes of sl_routes once more, as a multibit trie in flat memory that the
 * daemon writes by plain stores and the datapath reads by plain loads. Its layout, and the
 * arithmetic by which both sides read it. Included by sixlane.h.
 *
 * Memory is chunks of units: behind each other in sl_fib_arena where the kernel has arenas; else
 * sl_fib, ARRAY_OF_MAPS[SIXLANE_FIB_CHUNKS] of mmapable ARRAY[1], of which the first is also a map
 * by itself, sl_fib_first: most lookups need no other.
 *
 * An entry (__u32) is
 * - a leaf: the value of the longest prefix, as in sl_routes; 0: no route;
 * - or, with SIXLANE_FIB_NODE, a node: bits 0-3 how many bits of the address it skips, 4-26 its
 *   first unit, 27-30 how many bits it then branches on.
 *
 * A node lies within a chunk: a header, which says what the skipped bits must be and what holds for
 * addresses of which they are others ("best"), and 2^stride cells, each an entry.
 *
 * Cells of a wide node (__u64) each check some bits of the address themselves: where these are
 * others, the node's best holds. So a prefix that is alone behind a cell needs no node, nor a line
 * of the cache, of its own.
 *
 * The answer for an address is in one place, the cell or the best that it comes to, and changes by
 * one store.
 */
#ifndef BPF_ABI_FIB_H
#define BPF_ABI_FIB_H

#include <linux/types.h>

#define SIXLANE_FIB_CHUNKS 32u
/* Linux 5.15 allows no array to have larger values. */
#define SIXLANE_FIB_CHUNK_BYTES (1u << 22)
#define SIXLANE_FIB_UNIT_BYTES 16u
#define SIXLANE_FIB_CHUNK_UNITS (SIXLANE_FIB_CHUNK_BYTES / SIXLANE_FIB_UNIT_BYTES)
#define SIXLANE_FIB_UNITS (SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_UNITS)

/*
 * Where each process maps the arena, and the program reads it: below 2^32, since an object says it
 * as the length of an array, and out of the way of heaps, which begin below 2^31 if at a fixed
 * address.
 */
#define SIXLANE_FIB_ARENA 0x80000000u
/* More than enough where pages are larger. */
#define SIXLANE_FIB_ARENA_PAGES (SIXLANE_FIB_CHUNKS * (SIXLANE_FIB_CHUNK_BYTES / 4096u))
/* Which of both the daemon writes. */
#define SIXLANE_FIB_IN_ARRAYS 1u
#define SIXLANE_FIB_IN_ARENA 2u
#define SIXLANE_MAP_TYPE_ARENA 33u /* BPF_MAP_TYPE_ARENA, which older headers do not have */

#define SIXLANE_FIB_NODE (1u << 31)
#define SIXLANE_FIB_UNIT_SHIFT 4 /* a unit's bytes: it stands there as an offset */
#define SIXLANE_FIB_UNIT_MASK 0x7ffffffu
#define SIXLANE_FIB_STRIDE_SHIFT 27
#define SIXLANE_FIB_STRIDE_MAX 15u
/*
 * In an entry: the header is a long one, and says how many bits are skipped. A lookup holds 64 bits
 * of the address: its first ones, then those from the last such node on. A node that looks at
 * others has a long header, too.
 */
#define SIXLANE_FIB_SKIP_LONG 15u
/* In an entry: the node is a wide one, and skips nothing. */
#define SIXLANE_FIB_SKIP_WIDE 14u
/* With the stride no more than a lookup holds. */
#define SIXLANE_FIB_SKIP_MAX 48u
/* Bits that a wide cell checks at most. */
#define SIXLANE_FIB_CHECK_MAX 27u
_Static_assert(SIXLANE_FIB_CHECK_MAX + 5 <= 32, "in a word, and how many they are");
/* Nodes on a way; of addresses that are not through then the trie answers. */
#define SIXLANE_FIB_LEVELS 32u

_Static_assert(SIXLANE_FIB_UNIT_MASK + 1 == SIXLANE_FIB_UNITS << SIXLANE_FIB_UNIT_SHIFT &&
		       SIXLANE_FIB_UNIT_BYTES == 1 << SIXLANE_FIB_UNIT_SHIFT,
	       "an entry names any unit");
_Static_assert(SIXLANE_FIB_SKIP_MAX + SIXLANE_FIB_STRIDE_MAX <= 64, "all at hand");

/* The cells are right behind it. A node that does not branch fits into one unit. */
struct sixlane_fib_header {
	__u32 key; /* the skipped bits */
	__u32 best;
};
_Static_assert(sizeof(struct sixlane_fib_header) == 8, "layout is ABI");

/* Two words, since what follows is not aligned to eight bytes. As one: bits 0-7 how many bits of
 * the address are skipped, 8-15 how many are past before, 16-63 those that are skipped. */
struct sixlane_fib_long_header {
	__u32 words[2];
	__u32 best;
};
_Static_assert(sizeof(struct sixlane_fib_long_header) == 12, "layout is ABI");
_Static_assert(SIXLANE_FIB_SKIP_MAX <= 48, "they fit");

/* From where the cells begin to the best, in either header. */
#define SIXLANE_FIB_BEST_BEFORE ((__u32)-4)
_Static_assert((__u32)sizeof(struct sixlane_fib_header) + SIXLANE_FIB_BEST_BEFORE ==
			       __builtin_offsetof(struct sixlane_fib_header, best) &&
		       (__u32)sizeof(struct sixlane_fib_long_header) + SIXLANE_FIB_BEST_BEFORE ==
			       __builtin_offsetof(struct sixlane_fib_long_header, best),
	       "right before");

/*
 * Where a lookup begins, in one word. main: the table SIXLANE_TABLE_MAIN. tables: a trie of its own
 * over the ids of the others (the id is the first 32 bits of an address, the rest is 0), of which a
 * leaf is the table's root without SIXLANE_FIB_NODE. All roots are nodes. 0: the trie answers.
 */
union sixlane_fib {
	__u64 word;
	struct {
		__u32 main;
		__u32 tables;
	};
};

/* What answers a lookup. */
#define SIXLANE_ENGINE_COMPILED 0u /* if it is there */
#define SIXLANE_ENGINE_TRIE 1u

/* The first unit of the first chunk, which is no node's. */
struct sixlane_fib_head {
	union sixlane_fib fib;
	__u32 engine; /* operator's switch: SIXLANE_ENGINE_* */
	__u32 reserved;
};
_Static_assert(sizeof(struct sixlane_fib_head) == SIXLANE_FIB_UNIT_BYTES, "layout is ABI");

/* The first n bits, less than 64, of a word; 0 of them are 0. */
static inline __u64 sixlane_fib_bits(__u64 word, __u64 n)
{
	return word >> 1 >> (63 - n);
}

static inline __u32 sixlane_fib_node(__u32 unit, __u32 skip, __u32 stride)
{
	return SIXLANE_FIB_NODE | unit << SIXLANE_FIB_UNIT_SHIFT | skip |
	       stride << SIXLANE_FIB_STRIDE_SHIFT;
}

static inline __u32 sixlane_fib_unit(__u32 node)
{
	return (node & SIXLANE_FIB_UNIT_MASK) >> SIXLANE_FIB_UNIT_SHIFT;
}

static inline __u32 sixlane_fib_chunk_of(__u32 node)
{
	return (node & SIXLANE_FIB_UNIT_MASK) / SIXLANE_FIB_CHUNK_BYTES;
}

/* Bytes from the chunk's beginning. */
static inline __u32 sixlane_fib_offset(__u32 node)
{
	return node & (SIXLANE_FIB_CHUNK_BYTES - SIXLANE_FIB_UNIT_BYTES);
}

static inline __u32 sixlane_fib_skip(__u32 node)
{
	return node & 15;
}

static inline __u32 sixlane_fib_stride(__u32 node)
{
	return node >> SIXLANE_FIB_STRIDE_SHIFT & 15;
}

/* The entry of a wide cell. */
static inline __u32 sixlane_fib_entry(__u64 cell)
{
	return (__u32)cell;
}

/* How many bits it checks: in bits 32-36. */
static inline __u32 sixlane_fib_checked(__u64 cell)
{
	return cell >> 32 & 31;
}

/* What they must be: from its bit 63 down. bits: of the address, the next one being the first. */
static inline int sixlane_fib_passes(__u64 cell, __u64 bits)
{
	return !sixlane_fib_bits(bits ^ cell, sixlane_fib_checked(cell));
}

/* Of the word of a long header. */
static inline __u32 sixlane_fib_long_skip(__u64 word)
{
	return word & 63;
}

/* Bits of the address from its first on that decided before. */
static inline __u32 sixlane_fib_long_past(__u64 word)
{
	return word >> 8 & 127;
}

static inline __u64 sixlane_fib_long_key(__u64 word)
{
	return word >> 16;
}

#endif
