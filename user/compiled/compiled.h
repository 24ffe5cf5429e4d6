/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled FIB (bpf/abi/fib.h): an index over all that the trie says, which readers use
 * while it changes. Reads the routes from the owner's own tries of prefixes, and keeps no
 * copy of them. Pure: memory and grace periods are the owner's. Not thread-safe.
 *
 * Invariants
 * - Readers find the answer of before a change or the one after it, at any moment: what is new is
 *   written first, and one aligned store leads to it.
 * - What readers may still be in is not written again before a grace period has passed.
 * - It is complete, or published as absent: then the trie answers. Nothing that fails makes
 *   an answer wrong.
 */
#ifndef USER_COMPILED_COMPILED_H
#define USER_COMPILED_COMPILED_H

#include "../rib/radix.h"

struct compiled_memory {
	void *ctx;
	/* Chunk n, which was not given before: zeroes, which readers see from now on; the
	 * owner's until compiled_free(). NULL: there is none to be had. */
	void *(*chunk)(void *ctx, uint32_t n);
	/* By one store, in host order: where readers begin from now on. */
	void (*publish)(void *ctx, union sixlane_fib fib);
	/* Wait until every reader that was under way at the call has left. 0 or -errno. */
	int (*grace)(void *ctx);
};

/* What the trie holds for a prefix (sixlane_route_value() and marks), 0: it has no such entry. node
 * is no glue. */
typedef uint32_t (*compiled_value_fn)(const struct radix_node *node);

struct compiled;

/* NULL on lack of memory. memory is copied. Nothing is published yet. */
struct compiled *compiled_new(const struct compiled_memory *memory, compiled_value_fn value);
/* Publishes nothing: readers go on by the memory, which is the owner's. */
void compiled_free(struct compiled *compiled);

/*
 * Build all of it: begin, compiled_add() for each table, end, which publishes it. While it is being
 * built what was published before is absent. 0 or -errno, and then the trie answers: -ENOMEM: own
 * memory; -ENOSPC: none is left for chunks; from begin, what grace said. After an error nothing is
 * to be ended.
 */
int compiled_begin(struct compiled *compiled);
int compiled_add(struct compiled *compiled, uint32_t table, const struct radix *routes);
int compiled_end(struct compiled *compiled);

/* It was built, and has been kept so. */
bool compiled_is_live(const struct compiled *compiled);

/*
 * What a table says at dst has changed, and routes says so by now: same_prefix: there was a value
 * before and there is one now. 0, also if nothing is live; or -ENOMEM, -ENOSPC: it is absent from
 * now on, until it is built anew.
 */
int compiled_change(struct compiled *compiled, uint32_t table, const struct radix *routes,
		    const struct prefix *dst, bool same_prefix);

/* The trie answers from now on. */
void compiled_drop(struct compiled *compiled);

struct compiled_stats {
	uint64_t chunk_bytes; /* of all chunks */
	uint64_t used_bytes;  /* by nodes that readers may come to */
	uint64_t free_bytes;  /* the rest may also wait for a grace period */
	uint64_t nodes;
	uint64_t builds;   /* as a whole, since the start */
	uint64_t failures; /* that made it absent */
	uint64_t replans;  /* tables built anew since their shape had become a poor one */
	uint64_t build_ns; /* the last build, begin to end */
};
void compiled_get_stats(const struct compiled *compiled, struct compiled_stats *out);

/* --- reading it ----------------------------------------------------------------------------- */

/* For readers in user space: as the datapath reads it. */
struct compiled_view {
	union sixlane_fib fib;
	const uint8_t *chunks[SIXLANE_FIB_CHUNKS];
	bool lent; /* they are not its own */
};

/* 0 and *value (0: no route); -ENODATA: the trie answers this. addr is in network order. */
int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value);
/* How many nodes such a reader goes through. */
uint32_t compiled_depth(const struct compiled_view *view, uint32_t table,
			const union sixlane_addr *addr);

#endif
