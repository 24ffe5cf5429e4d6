/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the resolver share: the room that targets are built in, and the way from a list
 * of routes to a fate (select.c), from a chain of destinations to a fate by source
 * (sources.c). Nothing outside includes it.
 *
 * A node is what fib6 calls one: the routes of one destination and one source prefix.
 */
#ifndef USER_RESOLVE_RESOLVE_INTERNAL_H
#define USER_RESOLVE_RESOLVE_INTERNAL_H

#include <stddef.h>
#include <string.h>

#include "resolve.h"

/* An array that grows. */
struct resolve_room {
	void *items;
	size_t capacity;
};

/* A route to choose among. */
struct resolve_item {
	const struct rib_route *route;
	uint32_t order; /* fib6's, at its destination */
	uint8_t level;	/* of its destination, in sources.c */
};

struct resolve {
	const struct resolve_view *view;
	struct fib_target target; /* the one that was asked for last */
	/* Tables that have or had routes by source: a change there may reach further. */
	uint32_t *source_tables;
	size_t n_source_tables, source_tables_capacity;
	bool source_tables_lost; /* no memory to note one: every table counts as such */
	/* What the target is made of. */
	struct resolve_room items, nodes, sources, hops;
	size_t n_items, n_hops;
	size_t n_hops_gathered; /* of all items: what their targets need at most */
};

/* --- resolve.c --- */

/* Room for n items of size bytes. 0 or -ENOMEM, what is in it stays. */
int resolve_reserve(struct resolve_room *room, size_t n, size_t size);

/* Start anew: no items, no hops. */
void resolve_clear(struct resolve *resolve);
/*
 * Add the routes of a destination to the items, all of them or the plain ones only. Room for
 * the hops of all items is there afterwards. 0 or -ENOMEM.
 */
int resolve_gather(struct resolve *resolve, const struct rib_dest *dest, uint8_t level, bool all);

bool resolve_has_sources(const struct rib_dest *dest);

static inline const struct rib_dest *resolve_dest_of(const struct radix_node *node)
{
	return (const struct rib_dest *)node; /* its first member */
}

/* The order of a walk through a trie: by address, shorter prefixes before longer ones. */
static inline int resolve_compare(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}

/* --- select.c --- */

/*
 * rt6_select() and fib6_select_path() over n items that are one node: true and *out, false if no
 * route is usable. Uses up at most as many hops as the routes have.
 */
bool resolve_select(struct resolve *resolve, const struct resolve_item *items, size_t n,
		    struct fib_target *out);

/* resolve_select() would find a route among the plain ones. */
bool resolve_plain_usable(const struct resolve *resolve, const struct rib_dest *dest);

/* --- sources.c --- */

/*
 * The fate at a destination where sources may count, in resolve->target. 1; 0 if none of its
 * covers, nor itself, has a route by source; -ENOMEM.
 */
int resolve_by_source(struct resolve *resolve, const struct rib_dest *dest);

#endif
