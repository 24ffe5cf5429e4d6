// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table is a trie of destinations, each with a list of routes. rib_list.c applies messages to
 * lists. Knows neither netlink nor what a best path is.
 *
 * Invariant: no list is empty. A destination is removed with its last route.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "rib_kernel.h"
#include "rib_route.h"

#define TABLE_BUCKETS 64u

struct rib_table {
	struct rib_table *next;
	struct radix radix;
	size_t sources; /* source-specific routes */
	uint32_t id;
};

struct rib {
	rib_changed_fn changed;
	void *ctx;
	struct rib_counts counts;
	struct prefix last_dst; /* of the previous message, in last_table */
	uint32_t last_table;
	bool object_sources;
	struct rib_table *tables[TABLE_BUCKETS];
};

_Static_assert(offsetof(struct rib_dest, node) == 0, "radix_remove() frees the whole");

/* Attribute to the table how counts.sources changed since it was sources. */
static void table_count(const struct rib *rib, struct rib_table *table, size_t sources)
{
	table->sources += rib->counts.sources - sources;
}

static struct rib_dest *dest_of(struct radix_node *node)
{
	return node ? container_of(node, struct rib_dest, node) : NULL;
}

static void report(const struct rib *rib, uint32_t table, const struct prefix *dst)
{
	if (rib->changed)
		rib->changed(rib->ctx, table, dst);
}

/* --- tables and destinations --------------------------------------------------------------- */

static struct rib_table *table_find(const struct rib *rib, uint32_t id)
{
	struct rib_table *table = rib->tables[id % TABLE_BUCKETS];

	while (table && table->id != id)
		table = table->next;
	return table;
}

static struct rib_table *table_get(struct rib *rib, uint32_t id)
{
	struct rib_table *table = table_find(rib, id), **bucket = &rib->tables[id % TABLE_BUCKETS];

	if (table)
		return table;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->id = id;
	table->next = *bucket;
	*bucket = table;
	return table;
}

/* The destination, created if there is none. The caller adds a route or calls dest_put(). */
static struct rib_dest *dest_get(struct rib_table *table, const struct prefix *dst)
{
	return dest_of(radix_find(&table->radix, dst))
		       ?: radix_add(&table->radix, dst, sizeof(struct rib_dest));
}

static void dest_put(struct rib_table *table, struct rib_dest *dest)
{
	if (!dest->routes)
		radix_remove(&table->radix, &dest->node);
}

/* --- messages ------------------------------------------------------------------------------ */

/* Consecutive messages for one destination are one run. */
static void count_run(struct rib *rib, const struct route *route)
{
	if (rib->last_table == route->table && prefix_equal(&rib->last_dst, &route->dst))
		return;
	rib->last_table = route->table;
	rib->last_dst = route->dst;
	rib->counts.run++;
}

bool rib_object_sources(const struct rib *rib)
{
	return rib->object_sources;
}

int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags)
{
	struct rib_table *table;
	struct rib_dest *dest;
	struct rib_outcome outcome;
	size_t sources = rib->counts.sources;

	if (route->cloned)
		return 0;
	table = table_get(rib, route->table);
	dest = table ? dest_get(table, &route->dst) : NULL;
	if (!dest)
		return -ENOMEM;
	count_run(rib, route);
	rib->object_sources |= route->next_hop_id && route->own_source;
	outcome = rib_list_add(&dest->routes, &rib->counts, route, nlm_flags);
	dest_put(table, dest);
	table_count(rib, table, sources);
	if (outcome.changed)
		report(rib, route->table, &route->dst);
	return outcome.err;
}

int rib_del(struct rib *rib, const struct route *route)
{
	struct rib_table *table;
	struct rib_dest *dest;
	struct rib_outcome outcome;
	size_t sources = rib->counts.sources;

	if (route->cloned)
		return 0;
	table = table_find(rib, route->table);
	dest = table ? dest_of(radix_find(&table->radix, &route->dst)) : NULL;
	if (!dest)
		return -EAGAIN;
	outcome = rib_list_del(&dest->routes, &rib->counts, route);
	dest_put(table, dest);
	table_count(rib, table, sources);
	if (outcome.changed)
		report(rib, route->table, &route->dst);
	return outcome.err;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct rib *rib_new(rib_changed_fn changed, void *ctx)
{
	struct rib *rib = calloc(1, sizeof(*rib));

	if (!rib)
		return NULL;
	rib->changed = changed;
	rib->ctx = ctx;
	return rib;
}

/* Which routes to delete: the only difference between rib_free, rib_sweep and rib_prune. */
typedef bool (*pick_fn)(const struct rib_route *route, uint32_t table, const struct prefix *dst,
			void *ctx);

/* Delete the picked routes of one table. */
static size_t prune_table(struct rib *rib, struct rib_table *table, pick_fn pick, void *ctx)
{
	static const struct prefix all;
	struct radix_node *node, *next;
	size_t dropped = 0;

	for (node = radix_first_under(&table->radix, &all); node; node = next) {
		struct rib_dest *dest = dest_of(node);
		struct rib_route **link = &dest->routes;
		struct prefix dst = node->prefix;
		size_t before = rib->counts.routes, sources = rib->counts.sources;

		next = radix_next_under(node, &all);
		while (*link) {
			if (pick(*link, table->id, &dst, ctx))
				rib_list_remove(link, &rib->counts);
			else
				link = &(*link)->next;
		}
		dest_put(table, dest);
		table_count(rib, table, sources);
		if (rib->counts.routes != before)
			report(rib, table->id, &dst);
		dropped += before - rib->counts.routes;
	}
	return dropped;
}

static size_t prune(struct rib *rib, pick_fn pick, void *ctx)
{
	size_t dropped = 0;

	for (size_t i = 0; i < TABLE_BUCKETS; i++) {
		for (struct rib_table *table = rib->tables[i]; table; table = table->next)
			dropped += prune_table(rib, table, pick, ctx);
	}
	return dropped;
}

static bool any(const struct rib_route *route, uint32_t table, const struct prefix *dst, void *ctx)
{
	(void)route;
	(void)table;
	(void)dst;
	(void)ctx;
	return true;
}

void rib_free(struct rib *rib)
{
	if (!rib)
		return;
	rib->changed = NULL;
	rib_set_used_fn(rib, NULL, NULL);
	prune(rib, any, NULL);
	for (size_t i = 0; i < TABLE_BUCKETS; i++) {
		struct rib_table *table, *next;

		for (table = rib->tables[i]; table; table = next) {
			next = table->next;
			free(table);
		}
	}
	free(rib);
}

struct picker {
	bool (*fn)(const struct route *route, void *ctx);
	void *ctx;
};

static bool picked(const struct rib_route *route, uint32_t table, const struct prefix *dst,
		   void *ctx)
{
	const struct route view = rib_route_view(route, table, dst);
	const struct picker *picker = ctx;

	return picker->fn(&view, picker->ctx);
}

struct value_sums rib_by_object(const struct rib *rib, uint32_t next_hop_id)
{
	const struct rib_use *use = rib_uses_find(&rib->counts.uses, next_hop_id);

	return use ? value_sums_digest(&use->routes) : (struct value_sums){ 0 };
}

void rib_set_used_fn(struct rib *rib, rib_used_fn used, void *ctx)
{
	rib->counts.uses.changed = used;
	rib->counts.uses.ctx = ctx;
}

bool rib_may_use_device(const struct rib *rib, uint32_t ifindex)
{
	return rib->counts.by_device[ifindex % RIB_DEVICE_COUNTS];
}

size_t rib_prune(struct rib *rib, bool (*fn)(const struct route *route, void *ctx), void *ctx)
{
	struct picker picker = { fn, ctx };

	return prune(rib, picked, &picker);
}

void rib_mark(struct rib *rib)
{
	rib->counts.generation++;
	rib->counts.run++;
}

void rib_dump_again(struct rib *rib)
{
	rib->counts.run++;
}

static bool outdated(const struct rib_route *route, uint32_t table, const struct prefix *dst,
		     void *ctx)
{
	const struct rib *rib = ctx;

	(void)table;
	(void)dst;
	return route->generation != rib->counts.generation;
}

size_t rib_sweep(struct rib *rib)
{
	return prune(rib, outdated, rib);
}

const struct radix *rib_table(const struct rib *rib, uint32_t table)
{
	const struct rib_table *found = table_find(rib, table);

	return found && found->radix.entries ? &found->radix : NULL;
}

void rib_each_table(const struct rib *rib, void (*fn)(void *ctx, uint32_t table), void *ctx)
{
	for (size_t i = 0; i < TABLE_BUCKETS; i++) {
		for (const struct rib_table *table = rib->tables[i]; table; table = table->next) {
			if (table->radix.entries)
				fn(ctx, table->id);
		}
	}
}

bool rib_table_has_sources(const struct rib *rib, uint32_t table)
{
	const struct rib_table *found = table_find(rib, table);

	return found && found->sources;
}

const struct rib_dest *rib_find(const struct rib *rib, uint32_t table, const struct prefix *dst)
{
	const struct radix *radix = rib_table(rib, table);

	return radix ? dest_of(radix_find(radix, dst)) : NULL;
}

size_t rib_routes(const struct rib *rib)
{
	return rib->counts.routes;
}

/* --- what messages do not show --------------------------------------------------------------- */

size_t rib_unsteady(const struct rib *rib)
{
	return rib->counts.unsteady;
}

int rib_put(struct rib *rib, uint32_t table_id, const struct prefix *dst,
	    const struct route *routes, size_t n)
{
	struct rib_table *table = n ? table_get(rib, table_id) : table_find(rib, table_id);
	size_t sources = rib->counts.sources;
	struct rib_dest *dest = NULL;
	int err;

	if (table)
		dest = n ? dest_get(table, dst) : dest_of(radix_find(&table->radix, dst));
	if (!dest)
		return n ? -ENOMEM : 0;
	err = rib_list_put(&dest->routes, &rib->counts, routes, n);
	for (size_t i = 0; !err && i < n; i++)
		rib->object_sources |= routes[i].next_hop_id && routes[i].own_source;
	dest_put(table, dest);
	table_count(rib, table, sources);
	if (!err)
		report(rib, table_id, dst);
	return err;
}
