/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled FIB (bpf/abi/fib.h): an index over all routes of the map sl_routes. Readers use it
 * while it changes. It takes the routes from the owner's tries, and keeps no copy. Pure: memory and
 * grace periods are the owner's. Not thread-safe: there is one writer.
 *
 * Invariants
 * - At any moment readers find the result before or after a change. New nodes are written first,
 *   then one aligned store leads to them.
 * - Memory that readers may be in is not reused before a grace period.
 * - It is complete, or published as absent, and then the LPM trie answers. No failure makes a
 *   result wrong.
 */
#ifndef USER_COMPILED_COMPILED_H
#define USER_COMPILED_COMPILED_H

#include "../rib/radix.h"
#include "memory.h"

/*
 * The value in the map sl_routes (sixlane_route_value() and flags); 0: the map has no such entry.
 * route is never glue.
 */
typedef uint32_t (*compiled_value_fn)(const struct radix_node *route);

struct compiled_view {
	union sixlane_fib fib;
	const uint8_t *chunks[SIXLANE_FIB_CHUNKS];
	bool lent; /* the chunks belong to someone else */
};

struct compiled_stats {
	uint64_t chunk_bytes; /* of all chunks */
	uint64_t used_bytes;  /* by nodes that readers can reach */
	uint64_t free_bytes;  /* the rest waits for a grace period */
	uint64_t nodes;
	uint64_t builds;   /* full builds since the start */
	uint64_t failures; /* that made it absent */
	uint64_t replans;  /* tables rebuilt because their shape had become poor */
	uint64_t build_ns; /* the last build, begin to end */
};

/* A table, as an entry of compiled->tables; the main table is not among these. */
struct compiled_table {
	struct radix_node node; /* the table's id is the first 32 bits */
	uint32_t root;
	uint64_t changes, planned; /* since the shape was chosen; number of prefixes then */
};

struct compiled {
	struct compiled_store store;
	compiled_value_fn value;
	struct compiled_table main;
	struct radix tables;
	uint32_t tables_root;
	bool live;	/* complete, and published */
	bool published; /* since the last grace period, so that there may be readers */
	uint64_t began_ns;
	struct compiled_stats stats;
};

/* NULL on lack of memory. memory is copied. Publishes nothing. */
struct compiled *compiled_new(const struct compiled_memory *memory, compiled_value_fn value);
/* Publishes nothing: readers continue in the memory, which is the owner's. */
void compiled_free(struct compiled *compiled);

/*
 * Build everything: begin, compiled_add() for each table, and end, which publishes it. Meanwhile it
 * is absent. 0 or -errno, after which the LPM trie answers and end is not called: -ENOMEM (own
 * memory), -ENOSPC (chunks), or from begin the error of grace().
 */
int compiled_begin(struct compiled *compiled);
int compiled_add(struct compiled *compiled, uint32_t table, const struct radix *routes);
int compiled_end(struct compiled *compiled);

/*
 * The value of dst in a table changed, and routes already has the new one. same_prefix: dst had a
 * value before, and has one now. 0, also if it is absent; or -ENOMEM, -ENOSPC: it is now absent
 * until the next build.
 */
int compiled_change(struct compiled *compiled, uint32_t table, const struct radix *routes,
		    const struct prefix *dst, bool same_prefix);

/* What readers see now. */
struct compiled_view compiled_as_published(const struct compiled *compiled);

/* Publish it as absent: the LPM trie answers from now on. */
void compiled_drop(struct compiled *compiled);

void compiled_get_stats(const struct compiled *compiled, struct compiled_stats *out);

/* --- find.c: lookups, step by step as bpf/compiled.h does them -------------------------------- */

/* 0 and *value (0: no route); -ENODATA: the LPM trie has to answer. addr is in network order. */
int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value);
/* How many nodes the lookup visits. */
uint32_t compiled_depth(const struct compiled_view *view, uint32_t table,
			const union sixlane_addr *addr);

#endif
