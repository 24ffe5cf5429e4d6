/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory in which targets are built: the routes to select from, and arrays that grow. Private
 * to resolve/. Knows nothing of how a route is selected.
 *
 * A node is what fib6 calls one: the routes of one destination and one source prefix.
 */
#ifndef USER_RESOLVE_WORKSPACE_H
#define USER_RESOLVE_WORKSPACE_H

#include "../fib/target.h"
#include "view.h"

/* An array that grows. */
struct resolve_array {
	void *items;
	size_t capacity;
};

/* A route to select from. */
struct resolve_item {
	const struct rib_route *route;
	uint32_t order; /* position in fib6's list at its destination */
	uint8_t cover;	/* index of its destination, in sources.c */
};

struct resolve {
	const struct resolve_view *view;
	struct fib_target target; /* the last one that was asked for */
	/* Tables that have or had source-specific routes: a change there can reach further. */
	uint32_t *source_tables;
	size_t n_source_tables, source_tables_capacity;
	bool source_tables_incomplete; /* no memory to add one: every table counts as such */
	/* Parts of the target. */
	struct resolve_array items, nodes, sources, hops;
	size_t n_items, n_hops;
	size_t n_hops_gathered; /* of all items: upper bound of n_hops */
};

/* Make room for n items of size bytes, and keep the content. 0 or -ENOMEM. */
int resolve_reserve(struct resolve_array *array, size_t n, size_t size);
/* Remove all items and hops. */
void resolve_clear(struct resolve *resolve);
/*
 * Add the routes of a destination to the items: all, or those that are not source-specific. Also
 * reserves the hops of all items. 0 or -ENOMEM.
 */
int resolve_gather(struct resolve *resolve, const struct rib_dest *dest, uint8_t cover, bool all);

/* Some route of the destination is source-specific. */
bool resolve_has_sources(const struct rib_dest *dest);

static inline const struct rib_dest *resolve_dest_of(const struct radix_node *node)
{
	return (const struct rib_dest *)node; /* its first member */
}

/* The order of a trie walk: by address, shorter prefixes before longer ones. */
int resolve_compare(const struct prefix *a, const struct prefix *b);

#endif
