// SPDX-License-Identifier: GPL-2.0-only
/*
 * A copy of sl_routes, in which a lookup takes no system call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fib.h"

static struct routes_table *find_table(const struct fib_routes *routes, uint32_t id)
{
	/* the trie has a table's routes mostly together */
	for (size_t i = routes->n_tables; i--;) {
		if (routes->tables[i].id == id)
			return &routes->tables[i];
	}
	return NULL;
}

/* NULL: no memory. */
static void *grow(void *at, size_t n, size_t *room, size_t size)
{
	void *grown;

	if (n < *room)
		return at;
	grown = reallocarray(at, *room ? 2 * *room : 64, size);
	if (grown)
		*room = *room ? 2 * *room : 64;
	return grown;
}

static struct routes_table *get_table(struct fib_routes *routes, uint32_t id)
{
	struct routes_table *table = find_table(routes, id);
	void *grown;

	if (table)
		return table;
	grown = grow(routes->tables, routes->n_tables, &routes->tables_room, sizeof(*table));
	if (!grown)
		return NULL;
	routes->tables = grown;
	table = &routes->tables[routes->n_tables++];
	*table = (struct routes_table){ .id = id };
	return table;
}

/* A key that no table has is nobody's route, as the daemon takes it, too. */
static int add(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct prefix prefix = { .addr = key->addr,
				 .len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS) };
	struct fib_routes *routes = ctx;
	struct routes_table *table;
	void *grown = grow(routes->at, routes->n, &routes->room, sizeof(*routes->at));
	struct routes_entry *route;

	if (grown)
		routes->at = grown;
	if (key->prefix_len < SIXLANE_TABLE_BITS)
		return 0;
	prefix_mask(&prefix);
	table = get_table(routes, ntohl(key->table));
	if (!grown || !table)
		return -ENOMEM;
	/* a walk may come to an entry twice, while others go */
	route = (struct routes_entry *)radix_find(&table->routes, &prefix);
	if (route) {
		route->value = value;
		return 0;
	}
	route = radix_add(&table->routes, &prefix, sizeof(*route));
	if (!route)
		return -ENOMEM;
	route->table = table->id;
	route->value = value;
	routes->at[routes->n++] = route;
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
		struct routes_entry *route = routes->at[--routes->n];

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
	const struct routes_table *in = find_table(routes, table);
	const struct radix_node *node = in ? radix_match(&in->routes, &host) : NULL;

	return node ? ((const struct routes_entry *)node)->value : 0;
}

/* splitmix64 */
uint64_t fib_random(uint64_t *state)
{
	uint64_t word = *state += 0x9e3779b97f4a7c15u;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
	word = (word ^ word >> 27) * 0x94d049bb133111ebu;
	return word ^ word >> 31;
}
