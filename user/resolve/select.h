/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the resolver share: the memory in which a target is built, which route of one
 * node fib6 selects, and source-specific routes. Private to resolve/.
 *
 * A node is what fib6 calls one: the routes of one destination and one source prefix.
 */
#ifndef USER_RESOLVE_SELECT_H
#define USER_RESOLVE_SELECT_H

#include "resolve.h"

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
	struct resolve_array source_tables;
	size_t n_source_tables;
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

/* Some route of the destination is source-specific; or is not. */
bool resolve_has(const struct rib_dest *dest, bool by_source);

static inline const struct rib_dest *resolve_dest_of(const struct radix_node *node)
{
	return (const struct rib_dest *)node; /* its first member */
}

/* The order of a trie walk: by address, shorter prefixes before longer ones. */
int resolve_compare(const struct prefix *a, const struct prefix *b);

/* --- one node: select.c ----------------------------------------------------------------------- */

/*
 * rt6_select() and fib6_select_path() over n items, which are one node. True and *out, or false if
 * no route is usable. Uses at most as many hops as the routes have.
 */
bool resolve_select(struct resolve *resolve, const struct resolve_item *items, size_t n,
		    struct fib_target *out);

/* resolve_select() would find a route among those that are not source-specific. */
bool resolve_plain_usable(const struct resolve *resolve, const struct rib_dest *dest);

/* --- source-specific routes: sources.c -------------------------------------------------------- */

/*
 * Set resolve->target. 1; 0 if neither the destination nor a cover of it has a source-specific
 * route; -ENOMEM.
 */
int resolve_by_source(struct resolve *resolve, const struct rib_dest *dest);

#endif
