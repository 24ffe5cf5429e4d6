/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-lookup: sides, each an engine filled with a table of routes. An engine is a row of
 * lookup_engines[] and knows no other. A side lives until the program ends.
 *
 * Functions return 0, or -errno after plan_fail() or plan_bad().
 */
#ifndef BENCH_ENGINE_LOOKUP_H
#define BENCH_ENGINE_LOOKUP_H

#include "../../rib/radix.h"
#include "peer.h"
#include "plan.h"
#include "walk.h"

/* A route of the radix. Its value is its place in the file, from 1 on; 0: taken away. */
struct lookup_entry {
	struct radix_node node;
	uint32_t value;
};

struct lookup_table {
	const struct bench_prefix *prefixes;
	size_t n;
	bool is_ipv4;	    /* an address is the first 4 bytes */
	struct radix radix; /* the same, entries of struct lookup_entry */
};

struct lookup_side {
	const struct lookup_engine *engine;
	struct lookup_table table;
	const struct walk_addresses *lists; /* one a thread */
	unsigned int threads;		    /* that look up at once, at most */
	uint32_t cursor;		    /* of the next address */
	const char *netns;		    /* of the kernel's tables: a path */
	uint32_t ifindex;		    /* the device there that routes end in */
	void *state;			    /* the engine's */
	uint64_t insert_ns;		    /* the time to fill it with all routes */
	uint64_t bytes;			    /* that it takes for them; 0: not known */
};

struct lookup_times {
	double gross_ns, dry_ns; /* a lookup, of one thread: the mean of all threads */
	double elapsed_ns;	 /* a lookup of all threads, until the last one had ended; gross */
};

struct lookup_engine {
	const char *name;
	/* Fill it. */
	int (*open)(struct lookup_side *side);
	int (*measure)(struct lookup_side *side, bool dependent, unsigned int threads,
		       uint64_t lookups, struct lookup_times *out);
	/* WALK_ADDRESSES values, of the first list. */
	int (*answers)(struct lookup_side *side, uint32_t *out);
	/* Take a route away or put it back, by its place, while others look up. NULL: cannot. */
	int (*change)(struct lookup_side *side, size_t i, bool back);
	/* Nodes of the deepest lookup. NULL: not known. */
	int (*depth)(struct lookup_side *side, uint32_t *nodes);
};

extern const struct lookup_engine lookup_compiled, lookup_compiled_chunks, lookup_load, lookup_trie,
	lookup_kernel6, lookup_kernel4;

/* Nodes of the deepest way down a path-compressed binary trie of the routes. */
uint32_t lookup_trie_depth(const struct lookup_table *table);
struct prefix lookup_prefix(const struct bench_prefix *from);

/* A library of lookups: the peer of this name that a shared object offers. */
int lookup_peer_open(struct lookup_side *side, const char *object, const char *name);

#endif
