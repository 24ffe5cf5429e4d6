// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target of a prefix, table by table, and of main with the local table laid over it. Pure:
 * reads only the RIB and the links. select.c selects among routes, sources.c handles
 * source-specific routes, and affected.c finds what a change affects.
 */
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"
#include "select.h"
#include "sources.h"

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

/* --- one table ------------------------------------------------------------------------------ */

/* By the routes of one destination that are not source-specific. 1; 0: none is usable. */
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
		if (resolve_has_sources(resolve_dest_of(node)))
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
	/* Not PASS_THROW, which would lead on to the next rule; main's covers may match. */
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
