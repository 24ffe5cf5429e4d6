// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables and their roots, building, publishing, and when a table is rebuilt because its shape has
 * become poor.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "build.h"

static const struct prefix all;

/* A shape is chosen again after changes to half of the prefixes, and these. */
#define REPLAN_CHANGES 256u

/* The value of a table in the trie over table ids: its root, as a leaf. */
static uint32_t root_value(const struct radix_node *node)
{
	return ((const struct compiled_table *)node)->root & ~SIXLANE_FIB_NODE;
}

/* NULL on lack of memory. */
static struct compiled_table *get_table(struct compiled *compiled, uint32_t id)
{
	struct prefix prefix = { .len = SIXLANE_TABLE_BITS };
	struct radix_node *node;

	if (id == SIXLANE_TABLE_MAIN)
		return &compiled->main;
	prefix.addr.words[0] = htonl(id);
	node = radix_find(&compiled->tables, &prefix);
	if (node)
		return (struct compiled_table *)node; /* its first member */
	return radix_add(&compiled->tables, &prefix, sizeof(struct compiled_table));
}

static void free_tables(struct compiled *compiled)
{
	struct radix_node *at;

	while ((at = radix_first_under(&compiled->tables, &all)))
		radix_remove(&compiled->tables, at);
	compiled->main = (struct compiled_table){ 0 };
	compiled->tables_root = 0;
}

struct compiled *compiled_new(const struct compiled_memory *memory, compiled_value_fn value)
{
	struct compiled *compiled = calloc(1, sizeof(*compiled));

	if (!compiled)
		return NULL;
	compiled->store.memory = *memory;
	compiled->value = value;
	return compiled;
}

void compiled_free(struct compiled *compiled)
{
	if (!compiled)
		return;
	free_tables(compiled);
	compiled_store_free(&compiled->store);
	free(compiled);
}

static union sixlane_fib roots(const struct compiled *compiled)
{
	return (union sixlane_fib){ .main = compiled->main.root, .tables = compiled->tables_root };
}

struct compiled_view compiled_as_published(const struct compiled *compiled)
{
	struct compiled_view view = { .lent = true };

	if (compiled->live)
		view.fib = roots(compiled);
	for (uint32_t n = 0; n < compiled->store.n_chunks; n++)
		view.chunks[n] = compiled->store.chunks[n].bytes;
	return view;
}

static void publish(struct compiled *compiled)
{
	compiled->store.memory.publish(compiled->store.memory.ctx, roots(compiled));
	compiled->published = true;
}

void compiled_drop(struct compiled *compiled)
{
	const union sixlane_fib none = { 0 };

	if (compiled->live)
		compiled->store.memory.publish(compiled->store.memory.ctx, none);
	compiled->live = false;
}

/* --- building --------------------------------------------------------------------------------- */

/* 0: out of memory. */
static uint32_t build_table(struct compiled *compiled, const struct radix *routes,
			    compiled_value_fn value)
{
	struct compiled_build build = { .store = &compiled->store, .value = value };
	uint32_t root;

	compiled_plan(routes->root, value);
	root = compiled_build_root(&build, routes->root);
	return build.failed ? 0 : root;
}

static int fail(struct compiled *compiled, int err)
{
	compiled_drop(compiled);
	compiled->stats.failures++;
	return err;
}

int compiled_begin(struct compiled *compiled)
{
	int err = 0;

	compiled->began_ns = util_now_ns();
	compiled_drop(compiled);
	if (compiled->published)
		err = compiled->store.memory.grace(compiled->store.memory.ctx);
	if (err)
		return fail(compiled, err);
	compiled->published = false;
	free_tables(compiled);
	compiled_store_clear(&compiled->store);
	return 0;
}

int compiled_add(struct compiled *compiled, uint32_t id, const struct radix *routes)
{
	const compiled_value_fn value = compiled->value;
	struct compiled_table *table = get_table(compiled, id);

	if (!table)
		return fail(compiled, -ENOMEM);
	table->root = build_table(compiled, routes, value);
	table->changes = 0;
	table->planned = routes->entries;
	return table->root ? 0 : fail(compiled, -ENOSPC);
}

int compiled_end(struct compiled *compiled)
{
	static const struct radix none;

	compiled->tables_root = build_table(compiled, &compiled->tables, root_value);
	if (!compiled->main.root)
		compiled->main.root = build_table(compiled, &none, compiled->value);
	if (!compiled->tables_root || !compiled->main.root)
		return fail(compiled, -ENOSPC);
	publish(compiled);
	compiled->live = true;
	compiled->stats.builds++;
	compiled->stats.build_ns = util_now_ns() - compiled->began_ns;
	return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Publish a table's new root: in the trie of tables, or as the main table's. */
static int publish_root(struct compiled *compiled, const struct compiled_table *table,
			bool was_there)
{
	uint32_t before = compiled->tables_root;
	struct compiled_replaced replaced = { 0 };
	int err = 0;

	if (table != &compiled->main)
		err = compiled_change_in(&compiled->store, &compiled->tables_root,
					 &compiled->tables, root_value, &table->node.prefix,
					 was_there && table->root, &replaced);
	if (err)
		return err;
	if (table == &compiled->main || compiled->tables_root != before)
		publish(compiled);
	compiled_retire_replaced(&compiled->store, &replaced);
	return 0;
}

static int change_root(struct compiled *compiled, struct compiled_table *table, uint32_t root,
		       const struct compiled_replaced *replaced)
{
	bool was_there = table->root != 0;
	int err = 0;

	if (root != table->root) {
		table->root = root;
		err = publish_root(compiled, table, was_there);
	}
	if (!err)
		compiled_retire_replaced(&compiled->store, replaced);
	return err;
}

/* The last of its prefixes was deleted. */
static int remove_table(struct compiled *compiled, struct compiled_table *table)
{
	const struct compiled_replaced replaced = { .tree = table->root };
	int err = change_root(compiled, table, 0, &replaced);

	radix_remove(&compiled->tables, &table->node);
	return err;
}

/* Without memory the shape stays as it is. */
static int replan(struct compiled *compiled, struct compiled_table *table,
		  const struct radix *routes)
{
	const struct compiled_replaced replaced = { .tree = table->root };
	uint32_t root;

	table->changes = 0;
	table->planned = routes->entries;
	compiled_undo_begin(&compiled->store);
	root = build_table(compiled, routes, compiled->value);
	if (!root) {
		compiled_undo_apply(&compiled->store);
		return 0;
	}
	compiled_undo_drop(&compiled->store);
	compiled->stats.replans++;
	return change_root(compiled, table, root, &replaced);
}

static bool is_empty(const struct compiled *compiled, const struct radix *routes)
{
	const struct radix_node *at = radix_first_under(routes, &all);

	while (at && !compiled->value(at))
		at = radix_next_under(at, &all);
	return !at;
}

static int change_table(struct compiled *compiled, uint32_t id, const struct radix *routes,
			const struct prefix *dst, bool same_prefix)
{
	struct compiled_table *table = get_table(compiled, id);
	struct compiled_replaced replaced = { 0 };
	uint32_t root;
	int err;

	if (!table)
		return -ENOMEM;
	if (!table->root) {
		root = build_table(compiled, routes, compiled->value);
		return root ? change_root(compiled, table, root, &replaced) : -ENOSPC;
	}
	if (table != &compiled->main && !same_prefix && is_empty(compiled, routes))
		return remove_table(compiled, table);
	root = table->root;
	err = compiled_change_in(&compiled->store, &root, routes, compiled->value, dst, same_prefix,
				 &replaced);
	if (!err)
		err = change_root(compiled, table, root, &replaced);
	if (!err && !same_prefix && ++table->changes > table->planned / 2 + REPLAN_CHANGES)
		err = replan(compiled, table, routes);
	return err;
}

int compiled_change(struct compiled *compiled, uint32_t id, const struct radix *routes,
		    const struct prefix *dst, bool same_prefix)
{
	int err;

	if (!compiled->live)
		return 0;
	err = change_table(compiled, id, routes, dst, same_prefix);
	compiled_reclaim(&compiled->store);
	return err ? fail(compiled, err) : 0;
}

void compiled_get_stats(const struct compiled *compiled, struct compiled_stats *out)
{
	const struct compiled_store *store = &compiled->store;

	*out = compiled->stats;
	out->chunk_bytes = (uint64_t)store->n_chunks * SIXLANE_FIB_CHUNK_BYTES;
	out->used_bytes = store->used_units * SIXLANE_FIB_UNIT_BYTES;
	out->nodes = store->n_nodes;
	out->free_bytes = 0;
	for (uint32_t i = 0; i < store->n_chunks; i++)
		out->free_bytes += (uint64_t)store->chunks[i].n_free * SIXLANE_FIB_UNIT_BYTES;
}
