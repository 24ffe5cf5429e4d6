// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which prefixes a change may affect. Without source-specific routes a target depends on the routes
 * of its own prefix alone, so that a change in a full table costs one lookup. With them, it also
 * depends on the covers that a lookup passes.
 */
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "affected.h"
#include "select.h"

/* --- tables with source-specific routes ------------------------------------------------------ */

static bool is_listed(const struct resolve *resolve, uint32_t table)
{
	for (size_t i = 0; i < resolve->n_source_tables; i++) {
		if (resolve->source_tables[i] == table)
			return true;
	}
	return resolve->source_tables_incomplete;
}

static void list_table(struct resolve *resolve, uint32_t table)
{
	size_t capacity = resolve->source_tables_capacity;
	uint32_t *tables;

	if (resolve->n_source_tables == capacity) {
		capacity = capacity ? 2 * capacity : 4;
		tables = reallocarray(resolve->source_tables, capacity, sizeof(*tables));
		if (!tables) {
			resolve->source_tables_incomplete = true;
			return;
		}
		resolve->source_tables = tables;
		resolve->source_tables_capacity = capacity;
	}
	resolve->source_tables[resolve->n_source_tables++] = table;
}

/* Also after the last one is deleted: prefixes that fell through to it are still affected. */
static bool has_sources(struct resolve *resolve, uint32_t table)
{
	if (is_listed(resolve, table))
		return true;
	if (!rib_table_has_sources(resolve->view->rib, table))
		return false;
	list_table(resolve, table);
	return true;
}

/* --- walks ---------------------------------------------------------------------------------- */

/* A table, and whom to call for its prefixes. */
struct walk {
	uint32_t table;
	resolve_each_fn fn;
	void *ctx;
};

static void visit(const struct walk *walk, const struct prefix *dst)
{
	walk->fn(walk->ctx, walk->table, dst);
}

/* All prefixes of two tables under a prefix, longer before shorter. */
static void visit_both(const struct walk *walk, const struct radix *left, const struct radix *right,
		       const struct prefix *under)
{
	const struct radix_node *a = left ? radix_last_under(left, under) : NULL;
	const struct radix_node *b = right ? radix_last_under(right, under) : NULL;
	int order;

	while (a || b) {
		if (a && b)
			order = resolve_compare(&a->prefix, &b->prefix);
		else
			order = a ? 1 : -1;
		visit(walk, order >= 0 ? &a->prefix : &b->prefix);
		if (order >= 0)
			a = radix_prev_under(a, under);
		if (order <= 0)
			b = radix_prev_under(b, under);
	}
}

/* --- one table ------------------------------------------------------------------------------ */

/* Every packet that matches it ends there, so that its covers do not matter. */
static bool is_final(const struct resolve *resolve, const struct rib_dest *dest)
{
	return !resolve_has_sources(dest) && resolve_plain_usable(resolve, dest);
}

/* node covers no longer prefix, except dst. */
static bool has_only(const struct radix *radix, const struct radix_node *node,
		     const struct prefix *dst)
{
	const struct radix_node *last = radix_last_under(radix, &node->prefix);

	if (last != node && prefix_equal(&last->prefix, dst))
		last = radix_prev_under(last, &node->prefix);
	return last == node;
}

static bool has_plain(const struct rib_dest *dest)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (!r->src.len)
			return true;
	}
	return false;
}

/*
 * The cover of dst, if all its routes are source-specific: whether it covers another prefix decides
 * whether fib6's answer is defined (add_cover() in sources.c). Shorter covers have one anyway.
 */
static void visit_cover(const struct walk *walk, const struct radix *radix,
			const struct prefix *dst)
{
	const struct radix_node *node = radix_match(radix, dst);

	if (node && node->prefix.len == dst->len)
		node = radix_cover(node);
	if (node && !has_plain(resolve_dest_of(node)) && has_only(radix, node, dst))
		visit(walk, &node->prefix);
}

/* dst, and what a lookup under dst may fall through from. */
static void visit_table(struct resolve *resolve, const struct walk *walk, const struct prefix *dst)
{
	const struct radix *radix = rib_table(resolve->view->rib, walk->table);
	const struct radix_node *node = NULL;
	bool by_source = has_sources(resolve, walk->table);

	if (by_source && radix)
		node = radix_last_under(radix, dst);
	for (; node; node = radix_prev_under(node, dst)) {
		if (node->prefix.len > dst->len && !is_final(resolve, resolve_dest_of(node)))
			visit(walk, &node->prefix);
	}
	visit(walk, dst);
	if (by_source && radix)
		visit_cover(walk, radix, dst);
}

void resolve_affected(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		      resolve_each_fn fn, void *ctx)
{
	const struct walk walk = { table, fn, ctx }, overlaid = { RT_TABLE_MAIN, fn, ctx };
	const struct rib *rib = resolve->view->rib;
	const struct radix *local, *main_table;

	visit_table(resolve, &walk, dst);
	if (table != RT_TABLE_LOCAL || !resolve->view->local_first)
		return;
	/* Local is looked up first, whatever the lengths, so that all below dst is affected. */
	local = rib_table(rib, RT_TABLE_LOCAL);
	main_table = rib_table(rib, RT_TABLE_MAIN);
	visit_both(&overlaid, local, main_table, dst);
	if (!rib_find(rib, RT_TABLE_LOCAL, dst) && !rib_find(rib, RT_TABLE_MAIN, dst))
		visit(&overlaid, dst);
}

/* --- all of them ---------------------------------------------------------------------------- */

struct each {
	struct resolve *resolve;
	struct walk walk;
};

static void each_table(void *ctx, uint32_t table)
{
	static const struct prefix all;
	struct each *each = ctx;
	const struct rib *rib = each->resolve->view->rib;

	has_sources(each->resolve, table);
	each->walk.table = table;
	if (table != RT_TABLE_MAIN)
		visit_both(&each->walk, rib_table(rib, table), NULL, &all);
}

void resolve_each_in(struct resolve *resolve, uint32_t table, resolve_each_fn fn, void *ctx)
{
	static const struct prefix all;
	const struct walk walk = { table, fn, ctx };

	visit_both(&walk, rib_table(resolve->view->rib, table), NULL, &all);
}

void resolve_each(struct resolve *resolve, resolve_each_fn fn, void *ctx)
{
	static const struct prefix all;
	struct each each = { resolve, { RT_TABLE_MAIN, fn, ctx } };
	const struct rib *rib = resolve->view->rib;

	resolve->n_source_tables = 0;
	resolve->source_tables_incomplete = false;
	/* Local's prefixes are in main, or no longer are: the rules may just have changed. */
	visit_both(&each.walk, rib_table(rib, RT_TABLE_LOCAL), rib_table(rib, RT_TABLE_MAIN), &all);
	rib_each_table(rib, each_table, &each);
}
