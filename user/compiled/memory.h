/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of the compiled FIB: chunks of units, from which nodes are allocated. Knows no node.
 *
 * Invariant: retired units are not written before a grace period, because readers may still be in
 * them.
 */
#ifndef USER_COMPILED_MEMORY_H
#define USER_COMPILED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

/* The owner of the memory, and of its readers. */
struct compiled_memory {
	void *ctx;
	/* Chunk n, zeroed and not requested before, in memory that readers see. It stays the
	 * owner's. NULL: there is none. */
	void *(*chunk)(void *ctx, uint32_t n);
	/* Where readers start from now on, by one store, in host order. */
	void (*publish)(void *ctx, union sixlane_fib fib);
	/* Wait until all readers that are running now have finished. 0 or -errno. */
	int (*grace)(void *ctx);
};

/* Lists of free runs: one for each length below 64 units, then one for each power of two. */
#define COMPILED_SHORT_RUNS 64u
#define COMPILED_RUN_LISTS (COMPILED_SHORT_RUNS + 12u)

struct compiled_chunk {
	uint8_t *bytes;			    /* NULL: not allocated */
	uint64_t *free;			    /* bitmap of units */
	uint64_t lists[2];		    /* bitmap of non-empty lists */
	uint32_t n_free;		    /* units */
	uint32_t first[COMPILED_RUN_LISTS]; /* unit in this chunk; 0: none, since 0 is never free */
};

struct compiled_run {
	uint32_t unit, n;
};

struct compiled_runs {
	struct compiled_run *list;
	size_t n, capacity;
};

struct compiled_store {
	struct compiled_memory memory;
	struct compiled_chunk chunks[SIXLANE_FIB_CHUNKS];
	uint32_t n_chunks;
	uint32_t preferred;	      /* chunk to try first */
	uint64_t used_units, n_nodes; /* allocated */
	struct compiled_runs retired; /* readers may still be in them */
	uint64_t retired_units;
	bool refused; /* no chunk was available; none is requested until everything is rebuilt */
	bool no_wait; /* the allocation is optional: do not wait for readers */
	bool logging; /* allocations are logged, so that they can be undone */
	struct compiled_runs log;
};

/* A new store is all 0, but for its memory. */
void compiled_store_free(struct compiled_store *store);
/* Free all units at once. There must be no readers. */
void compiled_store_clear(struct compiled_store *store);
/* n contiguous units in one chunk, with undefined content. 0: no memory. */
uint32_t compiled_alloc(struct compiled_store *store, uint32_t n);
/*
 * Readers can no longer reach these units. If the list of retired runs cannot grow, the units are
 * lost until compiled_store_clear().
 */
void compiled_retire(struct compiled_store *store, uint32_t unit, uint32_t n);
/* Between changes: wait for readers if enough is retired. */
void compiled_reclaim(struct compiled_store *store);
/* Log allocations from here on; then keep them, or free them again. */
void compiled_undo_begin(struct compiled_store *store);
void compiled_undo_drop(struct compiled_store *store);
void compiled_undo_apply(struct compiled_store *store);

static inline uint8_t *compiled_at(const struct compiled_store *store, uint32_t node)
{
	return store->chunks[sixlane_fib_chunk_of(node)].bytes + sixlane_fib_offset(node);
}

#endif
