/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the compiled FIB know of each other: memory (compiled_memory.c), the shape
 * (compiled_plan.c), nodes from routes (compiled_build.c), one change (compiled_change.c), and the
 * whole (compiled.c). Private to these.
 */
#ifndef FIB_COMPILED_INTERNAL_H
#define FIB_COMPILED_INTERNAL_H

#include <endian.h>

#include "compiled.h"

/* An address in host order: bit 127 is the first of the address. */
typedef unsigned __int128 compiled_bits;

/* --- compiled_memory.c ------------------------------------------------------------------------ */

/* Lists of free runs: one for each length up to 64 units, then one for each power of two. */
#define COMPILED_SHORT_RUNS 64u
#define COMPILED_RUN_LISTS (COMPILED_SHORT_RUNS + 12u)

struct compiled_chunk {
	uint8_t *bytes;			    /* NULL: not there */
	uint64_t *free;			    /* bitmap of units */
	uint64_t lists[2];		    /* bitmap: which of these have any */
	uint32_t n_free;		    /* units */
	uint32_t first[COMPILED_RUN_LISTS]; /* unit in this chunk; 0: none, since 0 is never free */
};

struct compiled_run {
	uint32_t unit, n;
};

struct compiled_runs {
	struct compiled_run *list;
	size_t n, room;
};

struct compiled_store {
	struct compiled_memory memory;
	struct compiled_chunk chunks[SIXLANE_FIB_CHUNKS];
	uint32_t n_chunks;
	uint32_t preferred;	      /* chunk in which to look first */
	uint64_t used_units, n_nodes; /* those given out */
	struct compiled_runs waiting; /* readers may still be in them … */
	uint64_t waiting_units;
	bool refused; /* a chunk was: none is asked for until all is built anew */
	bool sparing; /* what is taken could be done without: no waiting for readers */
	bool noting;  /* what is given out is noted, so that it can be taken back */
	struct compiled_runs noted;
};

void compiled_store_init(struct compiled_store *store, const struct compiled_memory *memory);
void compiled_store_free(struct compiled_store *store);
/* Forget all nodes: nobody reads any. */
void compiled_store_clear(struct compiled_store *store);
/* n units in a row in one chunk, whose contents are undefined. 0: there are none. */
uint32_t compiled_take(struct compiled_store *store, uint32_t n);
/* Nobody is led there any more. Without memory to remember it is lost until all is forgotten. */
void compiled_give(struct compiled_store *store, uint32_t unit, uint32_t n);
/* Between changes: wait for readers if so much was given back that it is worth while. */
void compiled_settle(struct compiled_store *store);
/* From here on what is taken is noted; then it is kept, or given back unseen. */
void compiled_note(struct compiled_store *store);
void compiled_keep_noted(struct compiled_store *store);
void compiled_undo_noted(struct compiled_store *store);

static inline uint8_t *compiled_at(const struct compiled_store *store, uint32_t node)
{
	return store->chunks[sixlane_fib_chunk_of(node)].bytes + sixlane_fib_offset(node);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* What a node's entry says, and where it is. */
struct compiled_node {
	uint32_t skip, stride;
	uint64_t key;
	uint32_t *best;
	uint32_t *cells; /* [1 << stride] */
	uint32_t n_units;
	uint32_t held; /* from here on bits up to this one are; 0: as before */
};

/* Bits from the first of the address to the last of those that a lookup begins with. */
#define COMPILED_HELD 64u

/* The skip as it stands in an entry, if the header does not have to be a long one anyway. */
static inline uint32_t compiled_skip_code(uint32_t skip)
{
	return skip < SIXLANE_FIB_SKIP_LONG ? skip : SIXLANE_FIB_SKIP_LONG;
}

static inline uint32_t compiled_header_bytes(uint32_t skip_code)
{
	return skip_code < SIXLANE_FIB_SKIP_LONG ? sizeof(struct sixlane_fib_header)
						 : sizeof(struct sixlane_fib_long_header);
}

static inline uint32_t compiled_units(uint32_t skip_code, uint32_t stride)
{
	uint32_t bytes = compiled_header_bytes(skip_code) + ((uint32_t)sizeof(uint32_t) << stride);

	return (bytes + SIXLANE_FIB_UNIT_BYTES - 1) / SIXLANE_FIB_UNIT_BYTES;
}

static inline struct compiled_node compiled_open(const struct compiled_store *store, uint32_t entry)
{
	uint8_t *at = compiled_at(store, entry);
	struct sixlane_fib_header *header = (void *)at;
	struct sixlane_fib_long_header *long_header = (void *)at;
	uint32_t code = sixlane_fib_skip(entry);
	struct compiled_node node = {
		.skip = code,
		.stride = sixlane_fib_stride(entry),
		.key = header->key,
		.best = &header->best,
	};
	uint64_t word;

	if (code == SIXLANE_FIB_SKIP_LONG) {
		word = long_header->words[0] | (uint64_t)long_header->words[1] << 32;
		node.skip = sixlane_fib_long_skip(word);
		node.key = sixlane_fib_long_key(word);
		node.held = sixlane_fib_long_past(word) + COMPILED_HELD;
		node.best = &long_header->best;
	}
	node.cells = (void *)(at + compiled_header_bytes(code));
	node.n_units = compiled_units(code, node.stride);
	return node;
}

/* n bits of an address from bit at on; n < 64, at + n may be over 128. */
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

/* --- compiled_plan.c -------------------------------------------------------------------------- */

/*
 * Choose the shape for all that is at and below top, and note it in these nodes' plan. Nodes that
 * are no vertex of the shape (removed from the trie but still there) are marked so.
 */
void compiled_plan(struct radix_node *top, compiled_value_fn value);

/* After compiled_plan(): the topmost vertex at or below node, NULL: none. */
struct radix_node *compiled_vertex(struct radix_node *node);
/* Bits to branch on at a vertex; above: the node is come to from above it, and skips bits. */
uint32_t compiled_stride(const struct radix_node *vertex, bool above);

/* --- compiled_build.c ------------------------------------------------------------------------- */

struct compiled_build {
	struct compiled_store *store;
	compiled_value_fn value;
	bool failed; /* no room */
};

/*
 * Nodes for all that is longer than depth at and below top (planned; NULL: nothing), for addresses
 * that come with depth bits behind them and those up to held at hand; best: what holds where
 * nothing longer does. Returns an entry. Nobody is led to it yet.
 */
uint32_t compiled_build(struct compiled_build *build, struct radix_node *top, uint32_t depth,
			uint32_t held, uint32_t best);
/* The same, but a node in any case, that readers may begin with. */
uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top);

/* Nobody is led there any more, nor to any below. */
void compiled_give_all(struct compiled_store *store, uint32_t entry);

/* --- compiled.c ------------------------------------------------------------------------------- */

/* A table but the main one, as an entry of compiled->tables. */
struct compiled_table {
	struct radix_node node; /* the id is the first 32 bits */
	uint32_t root;
	uint64_t changes, planned; /* since the shape was chosen; prefixes at that time */
};

struct compiled {
	struct compiled_store store;
	compiled_value_fn value;
	struct compiled_table main;
	struct radix tables;
	uint32_t tables_root;
	bool live;
	bool published; /* readers may have been led anywhere since the last grace period */
	uint64_t began_ns;
	struct compiled_stats stats;
};

/* --- compiled_change.c ------------------------------------------------------------------------ */

/*
 * Bring the trie of nodes that begins at *root in line with routes at dst. same_prefixes: only a
 * value has changed. *gone: a node, or 0, for compiled_give_all() once readers are led to *root, if
 * that is another one now. 0 or -ENOSPC.
 */
int compiled_change_in(struct compiled *compiled, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       uint32_t *gone);

#endif
