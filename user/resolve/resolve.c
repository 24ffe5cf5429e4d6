// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fate of a prefix, table by table, and of main with the local table laid over it. Pure: asks
 * only the RIB and the links. What a list of routes comes to is select.c's, what sources
 * do to it sources.c's, what a change reaches affected.c's.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../lib/util.h"
#include "resolve_internal.h"

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
	free(resolve->source_tables);
	free(resolve->items.items);
	free(resolve->nodes.items);
	free(resolve->sources.items);
	free(resolve->hops.items);
	free(resolve);
}

int resolve_reserve(struct resolve_room *room, size_t n, size_t size)
{
	size_t capacity = room->capacity ? room->capacity : 16;
	void *items;

	if (n <= room->capacity)
		return 0;
	while (capacity < n)
		capacity *= 2;
	items = reallocarray(room->items, capacity, size);
	if (!items)
		return -ENOMEM;
	room->items = items;
	room->capacity = capacity;
	return 0;
}

void resolve_clear(struct resolve *resolve)
{
	resolve->n_items = 0;
	resolve->n_hops = 0;
	resolve->n_hops_gathered = 0;
}

int resolve_gather(struct resolve *resolve, const struct rib_dest *dest, uint8_t level, bool all)
{
	uint32_t order = 0;
	int ret;

	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		struct resolve_item item = { .route = r, .order = order, .level = level };

		order++;
		if (r->src.len && !all)
			continue;
		ret = resolve_reserve(&resolve->items, resolve->n_items + 1, sizeof(item));
		if (ret)
			return ret;
		((struct resolve_item *)resolve->items.items)[resolve->n_items++] = item;
		resolve->n_hops_gathered += r->n_hops;
	}
	return resolve_reserve(&resolve->hops, resolve->n_hops_gathered, sizeof(struct fib_hop));
}

/* --- one table ------------------------------------------------------------------------------ */

bool resolve_has_sources(const struct rib_dest *dest)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (r->src.len)
			return true;
	}
	return false;
}

/* By the plain routes of one destination alone. 1 and resolve->target; 0: none is usable. */
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
 * fib6_node_lookup() and fib6_backtrack() for packets that start at dest. Without sources on the
 * way, what is unusable need not be there: the lookup goes on at the covers, as in the trie.
 */
static int resolve_dest(struct resolve *resolve, const struct rib_dest *dest)
{
	int ret;

	if (!resolve_has_sources(dest)) {
		ret = resolve_plain(resolve, dest);
		if (ret)
			return ret;
	}
	return resolve_by_source(resolve, dest);
}

/* --- main with local laid over it ----------------------------------------------------------- */

static int set_verdict(struct resolve *resolve, enum sixlane_verdict verdict)
{
	memset(&resolve->target, 0, sizeof(resolve->target));
	resolve->target.verdict = verdict;
	return 1;
}

/* The fate by the longest usable prefix of a table that covers *node, itself included. */
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
 * Above a throw in the local table, any other route of that table stays out of reach for what
 * the throw covers, though in the datapath's one table its prefix covers it too.
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
		if (resolve_has_sources(resolve_dest_of(node)))
			return true;
	}
	return false;
}

/*
 * The local table, all of it, whatever the prefix lengths, comes before main, and a throw there
 * leads on to main. Routes by source in main are what they are without local; some in local
 * would mean to look up two sets one after the other, and nobody has them: they are punted.
 */
static int resolve_overlaid(struct resolve *resolve, const struct prefix *dst)
{
	const struct radix *local = rib_table(resolve->view->rib, RT_TABLE_LOCAL);
	const struct rib_dest *dest = rib_find(resolve->view->rib, RT_TABLE_MAIN, dst);
	const struct radix_node *node = local ? radix_match(local, dst) : NULL;
	int ret;

	/* An entry for it would outlive its reason, since nothing announces it again. */
	if (!dest && !(node && node->prefix.len == dst->len))
		return 0;
	if (any_sources(node))
		return set_verdict(resolve, SIXLANE_PUNT_SOURCE_ROUTE);
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
	/* What main's covers would say. Not PASS_THROW, which would lead on to the rule after. */
	return set_verdict(resolve, SIXLANE_PUNT_ROUTE);
}

int resolve_prefix(struct resolve *resolve, uint32_t table, const struct prefix *dst,
		   const struct fib_target **out)
{
	const struct rib_dest *dest;
	int ret;

	if (table == RT_TABLE_MAIN && resolve->view->local_first) {
		ret = resolve_overlaid(resolve, dst);
	} else if (table == RT_TABLE_LOCAL && resolve->view->local_within) {
		ret = 0;
	} else {
		dest = rib_find(resolve->view->rib, table, dst);
		ret = dest ? resolve_dest(resolve, dest) : 0;
	}
	if (ret > 0)
		*out = &resolve->target;
	return ret;
}
