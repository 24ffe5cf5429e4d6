// SPDX-License-Identifier: GPL-2.0-only
/* See fib_routes.h. */
#include "fib_routes.h"

#include <arpa/inet.h>
#include <errno.h>

static struct fib_table *find_table(const struct fib_routes *routes, uint32_t id)
{
	/* in the trie the routes of a table are mostly adjacent */
	for (size_t i = routes->n_tables; i--;) {
		if (routes->tables[i].id == id)
			return &routes->tables[i];
	}
	return NULL;
}

/* The array with place for one more element: its size doubles at powers of two. NULL: no memory. */
static void *grow(void *at, size_t n, size_t bytes)
{
	return n & (n - 1) ? at : reallocarray(at, n ? 2 * n : 1, bytes);
}

/* NULL: no memory. */
static struct fib_table *get_table(struct fib_routes *routes, uint32_t id)
{
	struct fib_table *table = find_table(routes, id);

	if (table)
		return table;
	table = grow(routes->tables, routes->n_tables, sizeof(*table));
	if (!table)
		return NULL;
	routes->tables = table;
	table += routes->n_tables++;
	*table = (struct fib_table){ .id = id };
	return table;
}

static int add(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct prefix prefix = { .addr = key->addr,
				 .len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) };
	struct fib_routes *routes = ctx;
	struct fib_table *table;
	struct fib_route *route, **grown;

	/* the daemon ignores such a key, too */
	if (key->prefix_len < SIXLANE_TABLE_BITS)
		return 0;
	prefix_mask(&prefix);
	table = get_table(routes, ntohl(key->table));
	grown = grow(routes->at, routes->n, sizeof(*grown));
	if (grown)
		routes->at = grown;
	if (!table || !grown)
		return -ENOMEM;
	/* a walk of a trie that changes may return an entry twice */
	route = (struct fib_route *)radix_find(&table->routes, &prefix);
	if (!route) {
		route = radix_add(&table->routes, &prefix, sizeof(*route));
		if (!route)
			return -ENOMEM;
		route->table = table->id;
		routes->at[routes->n++] = route;
	}
	route->value = value;
	return 0;
}

int fib_routes_read(struct fib_routes *routes, const struct maps *maps)
{
	*routes = (struct fib_routes){ 0 };
	return maps_route_each(maps, add, routes);
}

void fib_routes_free(struct fib_routes *routes)
{
	while (routes->n) {
		struct fib_route *route = routes->at[--routes->n];

		radix_remove(&find_table(routes, route->table)->routes, &route->node);
	}
	free(routes->at);
	free(routes->tables);
	*routes = (struct fib_routes){ 0 };
}

uint32_t fib_routes_match(const struct fib_routes *routes, uint32_t table,
			  const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct fib_table *in = find_table(routes, table);
	const struct radix_node *node = in ? radix_match(&in->routes, &host) : NULL;

	return node ? ((const struct fib_route *)node)->value : 0;
}
