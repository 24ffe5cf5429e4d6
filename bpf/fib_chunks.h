/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The compiled FIB's memory in array maps, for any kernel: whoever reads is at a place, a chunk,
 * and stays within it whatever the memory holds. fib_arena.h is the same in an arena.
 */
#ifndef SIXLANE_FIB_CHUNKS_H
#define SIXLANE_FIB_CHUNKS_H

#include "bound.h"
#include "maps.h"

/* The first chunk, whose beginning is a struct sixlane_fib_head. NULL: never. */
struct fib_memory {
	const __u8 *first;
};

static __always_inline struct fib_memory fib_open(void)
{
	__u32 zero = 0;

	return (struct fib_memory){ bpf_map_lookup_elem(&sl_fib_first, &zero) };
}

/* A union sixlane_fib. */
static __always_inline __u64 fib_roots(const struct fib_memory *memory)
{
	const struct sixlane_fib_head *head = (const void *)memory->first;

	return head ? READ_ONCE(head->fib.word) : 0;
}

static __always_inline __u32 fib_engine(const struct fib_memory *memory)
{
	const struct sixlane_fib_head *head = (const void *)memory->first;

	return head ? READ_ONCE(head->engine) : SIXLANE_ENGINE_TRIE;
}

/* Nodes of a way mostly lie in one chunk. */
struct fib_place {
	const __u8 *chunk;
	__u32 home; /* an entry that names this chunk */
};

static __always_inline const __u8 *fib_chunk(__u32 number)
{
	__u32 zero = 0;
	void *chunk = bpf_map_lookup_elem(&sl_fib, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : (const __u8 *)0;
}

/* To a root. 0: there is no such chunk. */
static __always_inline int fib_go(struct fib_place *place, __u32 root)
{
	*place = (struct fib_place){ fib_chunk(sixlane_fib_chunk_of(root)), root };
	return place->chunk != 0;
}

/* The same, if the memory is at hand. Most roots are in the first chunk. */
static __always_inline int fib_go_from(struct fib_place *place, const struct fib_memory *memory,
				       __u32 root)
{
	__u32 number = sixlane_fib_chunk_of(root);

	*place = (struct fib_place){ unlikely(number) ? fib_chunk(number) : memory->first, root };
	return place->chunk != 0;
}

/* From one node to the next. 0: there is no such chunk. */
static __always_inline int fib_go_on(struct fib_place *place, __u32 entry)
{
	return likely(!sixlane_fib_chunk_of(entry ^ place->home)) || fib_go(place, entry);
}

/* Of a node, for the following. */
static __always_inline __u32 fib_offset(__u32 entry)
{
	return sixlane_fib_offset(entry);
}

static __always_inline __u32 fib_load(const struct fib_place *place, __u32 offset)
{
	return READ_ONCE(
		*(const __u32 *)(place->chunk + bound_mask(offset, SIXLANE_FIB_CHUNK_BYTES - 4)));
}

static __always_inline __u64 fib_load_wide(const struct fib_place *place, __u32 offset)
{
	return READ_ONCE(
		*(const __u64 *)(place->chunk + bound_mask(offset, SIXLANE_FIB_CHUNK_BYTES - 8)));
}

#endif
