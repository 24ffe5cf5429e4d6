/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the compiled FIB know of each other: memory (memory.c), the shape
 * (plan.c), nodes from routes (build.c), one change (change.c), and the
 * whole (compiled.c). Private to these.
 */
#ifndef USER_COMPILED_COMPILED_INTERNAL_H
#define USER_COMPILED_COMPILED_INTERNAL_H

#include <endian.h>

#include "compiled.h"

/* An address in host order: bit 127 is the first of the address. */
typedef unsigned __int128 compiled_bits;

/* --- memory.c ------------------------------------------------------------------------ */

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
	bool is_wide;
	void *cells; /* [1 << stride] of uint32_t, of a wide one of uint64_t */
	uint32_t n_units;
	uint32_t held; /* from here on bits up to this one are; 0: as before */
};

/* Bits from the first of the address to the last of those that a lookup begins with. */
#define COMPILED_HELD 64u

/* The skip as it stands in an entry, if the header does not have to be a long one anyway. */
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
		.best = &header->best,
		.is_wide = code == SIXLANE_FIB_SKIP_WIDE,
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

/* A cell as a wide one: those of other nodes check nothing. */
static inline uint64_t compiled_cell(const struct compiled_node *node, uint64_t i)
{
	return node->is_wide ? ((const uint64_t *)node->cells)[i]
			     : ((const uint32_t *)node->cells)[i];
}

/* Its entry alone. */
static inline uint32_t *compiled_entry(const struct compiled_node *node, uint64_t i)
{
	uint32_t *words = node->cells;

	if (!node->is_wide)
		return &words[i];
	return &words[2 * i + (__BYTE_ORDER == __BIG_ENDIAN)];
}

/* By one store that readers may see at once. A cell that checks bits is one of a wide node. */
static inline void compiled_set_cell(const struct compiled_node *node, uint64_t i, uint64_t cell)
{
	if (node->is_wide)
		__atomic_store_n((uint64_t *)node->cells + i, cell, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)node->cells + i, (uint32_t)cell, __ATOMIC_RELEASE);
}

/* An entry for addresses of which the next n bits, at most SIXLANE_FIB_CHECK_MAX, are key. */
static inline uint64_t compiled_checking(uint32_t entry, uint64_t key, uint32_t n)
{
	return entry | (uint64_t)n << 32 | (n ? key << (64 - n) : 0);
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

/* --- plan.c -------------------------------------------------------------------------- */

/*
 * Choose the shape for all that is at and below top, and note it in these nodes' plan. Nodes that
 * are no vertex of the shape (removed from the trie but still there) are marked so.
 */
void compiled_plan(struct radix_node *top, compiled_value_fn value);

/* After compiled_plan(): the topmost vertex at or below node, NULL: none. */
struct radix_node *compiled_vertex(struct radix_node *node);
/* Bits to branch on at a vertex; above: the node is come to from above it, and skips bits. */
uint32_t compiled_stride(const struct radix_node *vertex, bool above);
/* The same of a wide node, which skips none; 0: it had better be another one. */
uint32_t compiled_wide_stride(const struct radix_node *vertex);

/* --- build.c ------------------------------------------------------------------------- */

struct compiled_build {
	struct compiled_store *store;
	compiled_value_fn value;
	bool failed; /* no room */
};

/* What addresses come with to a cell. */
struct compiled_arrival {
	uint32_t depth; /* bits behind them */
	uint32_t held;	/* bits up to which they have at hand */
	bool is_wide;	/* the cell is a wide node's, of which best is the best */
	uint32_t best;
};

/*
 * A cell for all that is longer than depth at and below top (planned; NULL: nothing), and the nodes
 * that it leads to; cover: what holds where nothing longer does. Nobody is led there yet.
 */
uint64_t compiled_build(struct compiled_build *build, struct radix_node *top,
			const struct compiled_arrival *arrival, uint32_t cover);
/* The same, but a node in any case, that readers may begin with. */
uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top);
/* A node that leads to what a cell that checks bits leads to, and around which cover holds, for a
 * cell that checks none. 0: no room. */
uint32_t compiled_build_cover(struct compiled_build *build, uint64_t cell,
			      const struct compiled_arrival *arrival, uint32_t cover);

/* What readers are not led to any more. Entries, or 0. */
struct compiled_gone {
	uint32_t tree; /* nor to any node below */
	uint32_t node;
};

void compiled_give_gone(struct compiled_store *store, const struct compiled_gone *gone);

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

/* --- change.c ------------------------------------------------------------------------ */

/*
 * Bring the trie of nodes that begins at *root in line with routes at dst. same_prefixes: only a
 * value has changed. *gone is for compiled_give_gone() once readers are led to *root, if that is
 * another one now. 0 or -ENOSPC.
 */
int compiled_change_in(struct compiled *compiled, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       struct compiled_gone *gone);

#endif
