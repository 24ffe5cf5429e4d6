/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source-specific tables: the entries of sl_src_routes under one id, for destinations whose route
 * depends on the source. A table is written whole before anything names it and never changes;
 * another choice is another table.
 */
#ifndef USER_FIB_SOURCE_H
#define USER_FIB_SOURCE_H

#include "nexthop.h"

struct fib_source_entry {
	struct sixlane_route_key key;
	struct fib_next_hop *next_hop; /* one reference; NULL: put already, or adopted */
	uint32_t id;		       /* that the map names here; 0: it has no entry */
	uint32_t dst_len;
};

struct fib_source_table {
	struct fib_hash_node node;
	uint32_t id;
	bool dying; /* no next hop leads to it: its entries are to be deleted */
	size_t n;   /* while adopting, there is room for the next power of two */
	struct fib_source_entry entries[]; /* shorter prefixes first */
};

/* With an id, and entries that lack their next hops. NULL: no room or no memory. */
struct fib_source_table *fib_source_table_new(struct fib *fib, const struct fib_key *key);
/* Write its entries, whose next hops have ids. 0 or -errno, and then some may be written. */
int fib_source_table_write(struct fib *fib, struct fib_source_table *table);
/* Nothing leads to the table any more: put its next hops and delete its entries. */
void fib_source_table_drop(struct fib *fib, struct fib_source_table *table);
/* Try again to delete entries that could not be deleted. */
void fib_source_table_sweep(struct fib *fib);

#endif
