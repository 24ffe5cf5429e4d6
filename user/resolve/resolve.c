// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target of a prefix, table by table, and of main with the local table laid over it; and which
 * prefixes a change may affect. Pure: reads only the RIB and the links. select.c selects among
 * routes, and sources.c handles source-specific routes.
 */
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "select.h"

/* --- memory --------------------------------------------------------------------------------- */

struct resolve *resolve_new(const struct resolve_view *view)
{
	struct resolve *resolve = calloc(1, sizeof(*resolve));

	if (resolve)
		resolve->view = view;
	return resolve;
}

void resolve_free(struct resolve *resolve)
{
	if (!resolve)
		return;
	free(resolve->source_tables.items);
	free(resolve->items.items);
	free(resolve->nodes.items);
	free(resolve->sources.items);
	free(resolve->hops.items);
	free(resolve);
}

/* --- one table ------------------------------------------------------------------------------ */

/* Resolve by the routes of one destination that are not source-specific. 1; 0: none is usable. */
static int resolve_plain(struct resolve *resolve, const struct rib_dest *dest)
{
	int ret;

	resolve_clear(resolve);
	ret = resolve_gather(resolve, dest, 0, false);
	if (ret)
		return ret;
	return resolve_select(resolve, resolve->items.items, resolve->n_items, &resolve->target);
}

/*
 * fib6_node_lookup() and fib6_backtrack() for packets that start at dest. Without source-specific
 * routes an unusable destination needs no entry: the trie continues at the cover, as fib6 does.
 */
static int resolve_dest(struct resolve *resolve, const struct rib_dest *dest)
{
	int ret;

	if (!resolve_has(dest, true)) {
		ret = resolve_plain(resolve, dest);
		if (ret)
			return ret;
	}
	return resolve_by_source(resolve, dest);
}

/* --- main with local laid over it ----------------------------------------------------------- */

static int answer(struct resolve *resolve, enum sixlane_verdict verdict)
{
	memset(&resolve->target, 0, sizeof(resolve->target));
	resolve->target.verdict = verdict;
	return 1;
}

/* The target of the longest usable prefix that covers *node, itself included. */
static int longest_usable(struct resolve *resolve, const struct radix_node **node)
{
	int ret = 0;

	for (; *node; *node = radix_cover(*node)) {
		ret = resolve_plain(resolve, resolve_dest_of(*node));
		if (ret)
			break;
	}
	return ret;
}

/*
 * Packets that match a throw in the local table never reach a shorter route of that table. In the
 * merged table they would, if there is one.
 */
static bool is_thrown(const struct resolve *resolve, const struct radix_node *node)
{
	while ((node = radix_cover(node))) {
		if (resolve_plain_usable(resolve, resolve_dest_of(node)))
			return true;
	}
	return false;
}

static bool any_sources(const struct radix_node *node)
{
	for (; node; node = radix_cover(node)) {
		if (resolve_has(resolve_dest_of(node), true))
			return true;
	}
	return false;
}

/*
 * All of the local table comes before main, whatever the prefix lengths, and a throw there leads on
 * to main. Source-specific routes in main are handled as without local. Those in local would need
 * two lookups by source in a row; nobody has any, so that they are punted.
 */
static int resolve_overlaid(struct resolve *resolve, const struct prefix *dst)
{
	const struct radix *local = rib_table(resolve->view->rib, RT_TABLE_LOCAL);
	const struct rib_dest *dest = rib_find(resolve->view->rib, RT_TABLE_MAIN, dst);
	const struct radix_node *node = local ? radix_match(local, dst) : NULL;
	int ret;

	/* An entry for it would never be removed, since nothing announces it again. */
	if (!dest && !(node && node->prefix.len == dst->len))
		return 0;
	if (any_sources(node))
		return answer(resolve, SIXLANE_PUNT_SOURCE_ROUTE);
	ret = longest_usable(resolve, &node);
	if (ret < 0 || (ret && resolve->target.verdict != SIXLANE_PASS_THROW))
		return ret;
	if (dest) {
		ret = resolve_dest(resolve, dest);
		if (ret)
			return ret;
	}
	if (!node || !is_thrown(resolve, node))
		return 0;
	/* Not PASS_THROW, which would lead on to the next rule; main's covers may match. */
	return answer(resolve, SIXLANE_PUNT_ROUTE);
}

int resolve_prefix(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		   const struct fib_target **out)
{
	const struct rib_dest *dest;
	int ret; /* 1: a target; 0: none; or -errno */

	if (table == RT_TABLE_MAIN && resolve->view->local_first) {
		ret = resolve_overlaid(resolve, dst);
	} else if (table == RT_TABLE_LOCAL && resolve->view->local_within) {
		ret = 0;
	} else {
		dest = rib_find(resolve->view->rib, table, dst);
		ret = dest ? resolve_dest(resolve, dest) : 0;
	}
	*out = ret > 0 ? &resolve->target : NULL;
	return ret < 0 ? ret : 0;
}

/* --- tables with source-specific routes ------------------------------------------------------ */

static bool is_listed(const struct resolve *resolve, uint32_t table)
{
	const uint32_t *tables = resolve->source_tables.items;

	for (size_t i = 0; i < resolve->n_source_tables; i++) {
		if (tables[i] == table)
			return true;
	}
	return resolve->source_tables_incomplete;
}

/* Also after the last one is deleted: prefixes that fell through to it are still affected. */
static bool has_sources(struct resolve *resolve, uint32_t table)
{
	if (is_listed(resolve, table))
		return true;
	if (!rib_table_has_sources(resolve->view->rib, table))
		return false;
	if (resolve_reserve(&resolve->source_tables, resolve->n_source_tables + 1, sizeof(table)))
		resolve->source_tables_incomplete = true;
	else
		((uint32_t *)resolve->source_tables.items)[resolve->n_source_tables++] = table;
	return true;
}

/* --- walks ---------------------------------------------------------------------------------- */

/* A table, and whom to call for its prefixes. */
struct walk {
	struct resolve *resolve;
	uint32_t table;
	resolve_each_fn fn;
	void *ctx;
};

static void visit(const struct walk *walk, const struct prefix *dst)
{
	const struct fib_target *target;
	const int error = resolve_prefix(walk->resolve, walk->table, dst, &target);

	walk->fn(walk->ctx, walk->table, dst, error, target);
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

/* --- what a change in one table affects ----------------------------------------------------- */

/* Every packet that matches it ends there, so that its covers do not matter. */
static bool is_final(const struct resolve *resolve, const struct rib_dest *dest)
{
	return !resolve_has(dest, true) && resolve_plain_usable(resolve, dest);
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
	if (node && !resolve_has(resolve_dest_of(node), false) && has_only(radix, node, dst))
		visit(walk, &node->prefix);
}

/*
 * dst, and what a lookup under dst may fall through from. Without source-specific routes a target
 * depends on the routes of its own prefix alone, so that a change in a full table costs one lookup.
 * With them, it also depends on the covers that a lookup passes.
 */
static void visit_table(const struct walk *walk, const struct prefix *dst)
{
	struct resolve *resolve = walk->resolve;
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
	const struct walk walk = { resolve, table, fn, ctx };
	const struct walk overlaid = { resolve, RT_TABLE_MAIN, fn, ctx };
	const struct rib *rib = resolve->view->rib;

	visit_table(&walk, dst);
	if (table != RT_TABLE_LOCAL || !resolve->view->local_first)
		return;
	/* Local is looked up first, whatever the lengths, so that all below dst is affected. */
	visit_both(&overlaid, rib_table(rib, RT_TABLE_LOCAL), rib_table(rib, RT_TABLE_MAIN), dst);
	if (!rib_find(rib, RT_TABLE_LOCAL, dst) && !rib_find(rib, RT_TABLE_MAIN, dst))
		visit(&overlaid, dst);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void visit_all_in(void *ctx, uint32_t table)
{
	static const struct prefix all;
	struct walk *walk = ctx;

	has_sources(walk->resolve, table);
	walk->table = table;
	if (table != RT_TABLE_MAIN)
		visit_both(walk, rib_table(walk->resolve->view->rib, table), NULL, &all);
}

void resolve_each_in(struct resolve *resolve, uint32_t table, resolve_each_fn fn, void *ctx)
{
	static const struct prefix all;
	const struct walk walk = { resolve, table, fn, ctx };

	visit_both(&walk, rib_table(resolve->view->rib, table), NULL, &all);
}

void resolve_each(struct resolve *resolve, resolve_each_fn fn, void *ctx)
{
	static const struct prefix all;
	struct walk walk = { resolve, RT_TABLE_MAIN, fn, ctx };
	const struct rib *rib = resolve->view->rib;

	resolve->n_source_tables = 0;
	resolve->source_tables_incomplete = false;
	/* Local's prefixes are in main, or no longer are: the rules may just have changed. */
	visit_both(&walk, rib_table(rib, RT_TABLE_LOCAL), rib_table(rib, RT_TABLE_MAIN), &all);
	rib_each_table(rib, visit_all_in, &walk);
}
