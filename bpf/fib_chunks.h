/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the compiled FIB in array maps ("chunks"), for any kernel. A lookup keeps the chunk
 * that it reads, and never leaves it, whatever the memory contains. fib_arena.h has the same
 * functions for an arena.
 */
#ifndef SIXLANE_FIB_CHUNKS_H
#define SIXLANE_FIB_CHUNKS_H

#include "bound.h"
#include "maps.h"

/* The first chunk, which starts with a struct sixlane_fib_head. Never NULL; the verifier cannot
 * know. */
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

/* The chunk of the current node. Most lookups stay in one chunk. */
struct fib_place {
	const __u8 *chunk;
	__u32 home; /* any entry that points into this chunk */
};

static __always_inline const __u8 *fib_chunk(__u32 number)
{
	__u32 zero = 0;
	void *chunk = bpf_map_lookup_elem(&sl_fib, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : (const __u8 *)0;
}

/* Start at a root. 0: its chunk does not exist. */
static __always_inline int fib_enter(struct fib_place *place, __u32 root)
{
	*place = (struct fib_place){ fib_chunk(sixlane_fib_chunk_of(root)), root };
	return place->chunk != 0;
}

/* The same without a map lookup for roots in the first chunk, where most are. */
static __always_inline int fib_enter_from(struct fib_place *place, const struct fib_memory *memory,
					  __u32 root)
{
	__u32 number = sixlane_fib_chunk_of(root);

	*place = (struct fib_place){ unlikely(number) ? fib_chunk(number) : memory->first, root };
	return place->chunk != 0;
}

/* Go on to the node of an entry. 0: its chunk does not exist. */
static __always_inline int fib_follow(struct fib_place *place, __u32 entry)
{
	return likely(!sixlane_fib_chunk_of(entry ^ place->home)) || fib_enter(place, entry);
}

/* Offset of a node, for fib_load() and fib_load_wide(). */
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
