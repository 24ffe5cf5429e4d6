// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose fate a change may alter. Without routes by source a prefix's fate is in its own routes and
 * nowhere else, so that in a full table a change is one lookup. What can be passed over on the
 * way to its covers depends on those, too.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../lib/util.h"
#include "resolve_internal.h"

typedef void (*each_fn)(void *ctx, uint32_t table, const struct prefix *dst);

/* --- tables with routes by source ----------------------------------------------------------- */

static bool is_noted(const struct resolve *resolve, uint32_t table)
{
	for (size_t i = 0; i < resolve->n_source_tables; i++) {
		if (resolve->source_tables[i] == table)
			return true;
	}
	return resolve->source_tables_lost;
}

static void note(struct resolve *resolve, uint32_t table)
{
	size_t capacity = resolve->source_tables_capacity;
	uint32_t *tables;

	if (resolve->n_source_tables == capacity) {
		capacity = capacity ? 2 * capacity : 4;
		tables = reallocarray(resolve->source_tables, capacity, sizeof(*tables));
		if (!tables) {
			resolve->source_tables_lost = true;
			return;
		}
		resolve->source_tables = tables;
		resolve->source_tables_capacity = capacity;
	}
	resolve->source_tables[resolve->n_source_tables++] = table;
}

/* When the last route by source goes, prefixes that fell through to it are still to be told. */
static bool sources_count(struct resolve *resolve, uint32_t table)
{
	if (is_noted(resolve, table))
		return true;
	if (!rib_table_has_sources(resolve->view->rib, table))
		return false;
	note(resolve, table);
	return true;
}

/* --- walks ---------------------------------------------------------------------------------- */

/* What is told of a table's prefixes, and to whom. */
struct told {
	uint32_t table;
	each_fn fn;
	void *ctx;
};

static void tell(const struct told *told, const struct prefix *dst)
{
	told->fn(told->ctx, told->table, dst);
}

/* All that two tables have under a prefix, longer before shorter. */
static void tell_both(const struct told *told, const struct radix *left, const struct radix *right,
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
		tell(told, order >= 0 ? &a->prefix : &b->prefix);
		if (order >= 0)
			a = radix_prev_under(a, under);
		if (order <= 0)
			b = radix_prev_under(b, under);
	}
}

/* --- one table ------------------------------------------------------------------------------ */

/* Its packets never get past it: they do not care about its covers. */
static bool stands_alone(const struct resolve *resolve, const struct rib_dest *dest)
{
	return !resolve_has_sources(dest) && resolve_plain_usable(resolve, dest);
}

/* No prefix is longer and in node's, but for dst. */
static bool is_alone_but_for(const struct radix *radix, const struct radix_node *node,
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
 * The prefix around dst, if it has routes by source only: whether there is another in it decides
 * whether they can be trusted (add_level() of sources.c). Further out there is one.
 */
static void tell_cover(const struct told *told, const struct radix *radix, const struct prefix *dst)
{
	const struct radix_node *node = radix_match(radix, dst);

	if (node && node->prefix.len == dst->len)
		node = radix_cover(node);
	if (node && !has_plain(resolve_dest_of(node)) && is_alone_but_for(radix, node, dst))
		tell(told, &node->prefix);
}

/* Prefixes under dst may fall through to it. */
static void tell_table(struct resolve *resolve, const struct told *told, const struct prefix *dst)
{
	const struct radix *radix = rib_table(resolve->view->rib, told->table);
	const struct radix_node *node = NULL;
	bool far = sources_count(resolve, told->table);

	if (far && radix)
		node = radix_last_under(radix, dst);
	for (; node; node = radix_prev_under(node, dst)) {
		if (node->prefix.len > dst->len && !stands_alone(resolve, resolve_dest_of(node)))
			tell(told, &node->prefix);
	}
	tell(told, dst);
	if (far && radix)
		tell_cover(told, radix, dst);
}

void resolve_affected(struct resolve *resolve, uint32_t table, const struct prefix *dst, each_fn fn,
		      void *ctx)
{
	const struct told told = { table, fn, ctx }, overlaid = { RT_TABLE_MAIN, fn, ctx };
	const struct rib *rib = resolve->view->rib;
	const struct radix *local, *main_table;

	tell_table(resolve, &told, dst);
	if (table != RT_TABLE_LOCAL || !resolve->view->local_first)
		return;
	/* It is asked first, whatever the lengths: it decides on all that is below. */
	local = rib_table(rib, RT_TABLE_LOCAL);
	main_table = rib_table(rib, RT_TABLE_MAIN);
	tell_both(&overlaid, local, main_table, dst);
	if (!rib_find(rib, RT_TABLE_LOCAL, dst) && !rib_find(rib, RT_TABLE_MAIN, dst))
		tell(&overlaid, dst);
}

/* --- all of them ---------------------------------------------------------------------------- */

struct each {
	struct resolve *resolve;
	struct told told;
};

static void each_table(void *ctx, uint32_t table)
{
	static const struct prefix all;
	struct each *each = ctx;
	const struct rib *rib = each->resolve->view->rib;

	sources_count(each->resolve, table);
	each->told.table = table;
	if (table != RT_TABLE_MAIN)
		tell_both(&each->told, rib_table(rib, table), NULL, &all);
}

void resolve_each_in(struct resolve *resolve, uint32_t table, each_fn fn, void *ctx)
{
	static const struct prefix all;
	const struct told told = { table, fn, ctx };

	tell_both(&told, rib_table(resolve->view->rib, table), NULL, &all);
}

void resolve_each(struct resolve *resolve, each_fn fn, void *ctx)
{
	static const struct prefix all;
	struct each each = { resolve, { RT_TABLE_MAIN, fn, ctx } };
	const struct rib *rib = resolve->view->rib;

	resolve->n_source_tables = 0;
	resolve->source_tables_lost = false;
	/* What local has stands in main, or does no more: the rules may just have changed. */
	tell_both(&each.told, rib_table(rib, RT_TABLE_LOCAL), rib_table(rib, RT_TABLE_MAIN), &all);
	rib_each_table(rib, each_table, &each);
}
