/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The compiled FIB: the routes of sl_routes as a multibit trie in flat memory. The daemon writes it
 * by plain stores, the datapath reads it by plain loads. Here are its layout and the arithmetic
 * that both sides use.
 *
 * Memory consists of chunks of units. With arenas the chunks are adjacent in sl_fib_arena. Without,
 * they are in sl_fib, ARRAY_OF_MAPS[SIXLANE_FIB_CHUNKS] of mmapable ARRAY[1]; the first one is also
 * the map sl_fib_first, and most lookups need no other.
 *
 * An entry (__u32) is
 * - a leaf: the value of the longest prefix, as in sl_routes; 0: no route;
 * - or, with SIXLANE_FIB_NODE, a node: bits 0-3 the number of address bits that it skips, 4-26 its
 *   first unit, 27-30 its stride, the number of bits that it branches on.
 *
 * A node is within one chunk: a header, then 2^stride cells, each an entry. The header has the
 * expected value of the skipped bits, and the default leaf, for addresses with other bits there.
 *
 * The cells of a wide node (__u64) check some more bits of the address; if they differ, the default
 * leaf is the answer. So a single prefix below a cell needs no node of its own, and no cache line.
 *
 * The answer for an address is in one place, a cell or a default leaf, and changes by one store.
 */
#ifndef BPF_ABI_FIB_H
#define BPF_ABI_FIB_H

#include <linux/types.h>

#define SIXLANE_FIB_CHUNKS 32u
/* The largest value of an array in Linux 5.15. */
#define SIXLANE_FIB_CHUNK_BYTES (1u << 22)
#define SIXLANE_FIB_UNIT_BYTES 16u
#define SIXLANE_FIB_CHUNK_UNITS (SIXLANE_FIB_CHUNK_BYTES / SIXLANE_FIB_UNIT_BYTES)
#define SIXLANE_FIB_UNITS (SIXLANE_FIB_CHUNKS * SIXLANE_FIB_CHUNK_UNITS)

/*
 * Address of the arena in each process and in the program. Below 2^32, since the object has it as
 * the length of an array; above 2^31, where fixed heaps may start.
 */
#define SIXLANE_FIB_ARENA 0x80000000u
/* More than needed if pages are larger than 4 KiB. */
#define SIXLANE_FIB_ARENA_PAGES (SIXLANE_FIB_CHUNKS * (SIXLANE_FIB_CHUNK_BYTES / 4096u))
/* Which memory the daemon uses. */
#define SIXLANE_FIB_IN_ARRAYS 1u
#define SIXLANE_FIB_IN_ARENA 2u
#define SIXLANE_MAP_TYPE_ARENA 33u /* BPF_MAP_TYPE_ARENA, which older headers do not have */

#define SIXLANE_FIB_NODE (1u << 31)
#define SIXLANE_FIB_UNIT_SHIFT 4 /* an entry has the unit as an offset in bytes */
#define SIXLANE_FIB_UNIT_MASK 0x7ffffffu
#define SIXLANE_FIB_STRIDE_SHIFT 27
#define SIXLANE_FIB_STRIDE_MAX 15u
/*
 * In an entry: the node has a long header, with the number of skipped bits. A lookup has 64 bits of
 * the address loaded: the first ones, or those from the last long header on. A node that needs bits
 * beyond them has a long header, too.
 */
#define SIXLANE_FIB_SKIP_LONG 15u
/* In an entry: the node is wide, and skips no bits. */
#define SIXLANE_FIB_SKIP_WIDE 14u
/* With the stride at most 64, which a lookup has loaded. */
#define SIXLANE_FIB_SKIP_MAX 48u
/* Maximum of bits that a wide cell checks. */
#define SIXLANE_FIB_CHECK_MAX 27u
_Static_assert(SIXLANE_FIB_CHECK_MAX + 5 <= 32, "the bits and their number fit into a word");
/* Maximum depth; deeper lookups fall back to the LPM trie. */
#define SIXLANE_FIB_LEVELS 32u

_Static_assert(SIXLANE_FIB_UNIT_MASK + 1 == SIXLANE_FIB_UNITS << SIXLANE_FIB_UNIT_SHIFT &&
		       SIXLANE_FIB_UNIT_BYTES == 1 << SIXLANE_FIB_UNIT_SHIFT,
	       "an entry can refer to any unit");
_Static_assert(SIXLANE_FIB_SKIP_MAX + SIXLANE_FIB_STRIDE_MAX <= 64, "all bits are loaded");

/* The cells follow. A node without a stride fits into one unit. */
struct sixlane_fib_header {
	__u32 key; /* the skipped bits */
	__u32 default_leaf;
};
_Static_assert(sizeof(struct sixlane_fib_header) == 8, "layout is ABI");

/*
 * Two words, since a __u64 would not be aligned. As one number: bits 0-7 the number of skipped
 * bits, 8-15 the number of address bits before them, 16-63 the expected value of the skipped bits.
 */
struct sixlane_fib_long_header {
	__u32 words[2];
	__u32 default_leaf;
};
_Static_assert(sizeof(struct sixlane_fib_long_header) == 12, "layout is ABI");
_Static_assert(SIXLANE_FIB_SKIP_MAX <= 48, "they fit into the header");

/* Offset of the default leaf from the first cell; the same for both headers. */
#define SIXLANE_FIB_DEFAULT_LEAF ((__u32)-4)
_Static_assert((__u32)sizeof(struct sixlane_fib_header) + SIXLANE_FIB_DEFAULT_LEAF ==
			       __builtin_offsetof(struct sixlane_fib_header, default_leaf) &&
		       (__u32)sizeof(struct sixlane_fib_long_header) + SIXLANE_FIB_DEFAULT_LEAF ==
			       __builtin_offsetof(struct sixlane_fib_long_header, default_leaf),
	       "the default leaf is right before the cells");

/*
 * Where lookups start, in one word; 0: use the LPM trie. main: root of SIXLANE_TABLE_MAIN. tables:
 * root of a trie over the ids of all other tables (an id is the first 32 bits of an address), whose
 * leaves are the roots of these tables without SIXLANE_FIB_NODE. All roots are nodes.
 */
union sixlane_fib {
	__u64 word;
	struct {
		__u32 main;
		__u32 tables;
	};
};

/* Engine of route lookups. */
#define SIXLANE_ENGINE_COMPILED 0u /* if it is there */
#define SIXLANE_ENGINE_TRIE 1u

/* In the first unit of the first chunk, which no node uses. */
struct sixlane_fib_head {
	union sixlane_fib fib;
	__u32 engine; /* operator's switch: SIXLANE_ENGINE_* */
	__u32 reserved;
};
_Static_assert(sizeof(struct sixlane_fib_head) == SIXLANE_FIB_UNIT_BYTES, "layout is ABI");

/* The first n bits of a word as a number. n is less than 64. */
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

/* Offset in its chunk, bytes. */
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

/* The number of bits that it checks: bits 32-36. */
static inline __u32 sixlane_fib_checked(__u64 cell)
{
	return cell >> 32 & 31;
}

/* Whether they have the expected value (bit 63 downwards). bits: the next bits of the address. */
static inline int sixlane_fib_passes(__u64 cell, __u64 bits)
{
	return !sixlane_fib_bits(bits ^ cell, sixlane_fib_checked(cell));
}

/* Number of skipped bits in the word of a long header. */
static inline __u32 sixlane_fib_long_skip(__u64 word)
{
	return word & 63;
}

/* Number of address bits before the skipped ones. */
static inline __u32 sixlane_fib_long_past(__u64 word)
{
	return word >> 8 & 127;
}

static inline __u64 sixlane_fib_long_key(__u64 word)
{
	return word >> 16;
}

#endif
