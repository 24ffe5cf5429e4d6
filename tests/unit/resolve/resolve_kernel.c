// SPDX-License-Identifier: GPL-2.0-only
#include "resolve_kernel.h"
#include "../unit.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>

const uint8_t kernel_lens[KERNEL_N_LENS] = { 128, 127, 65, 64, 10, 9, 8, 0 };

bool kernel_is_reject(const struct kernel_route *r)
{
	return r->route.type != RTN_UNICAST && r->route.type != RTN_LOCAL;
}

static bool is_usable(const struct kernel *kernel, const struct kernel_route *r)
{
	bool usable = false;

	if (r->route.type != RTN_UNICAST || r->route.next_hop_id)
		return true;
	for (unsigned int i = 0; i < r->route.n_hops; i++)
		usable |= !links_ignored(kernel->links, r->hops[i].ifindex);
	return usable;
}

bool kernel_leaves_by(const struct kernel_route *r, uint32_t ifindex)
{
	for (unsigned int i = 0; i < r->route.n_hops; i++) {
		if (!kernel_is_reject(r) && r->hops[i].ifindex == ifindex)
			return true;
	}
	return false;
}

static int by_metric(const void *left, const void *right)
{
	const struct kernel_route *a = *(struct kernel_route *const *)left;
	const struct kernel_route *b = *(struct kernel_route *const *)right;

	if (a->route.metric != b->route.metric)
		return a->route.metric < b->route.metric ? -1 : 1;
	return a->since < b->since ? -1 : 1;
}

/* The routes of one destination and source in fib6's order. */
static size_t list_of(const struct kernel *kernel, uint32_t table, const struct prefix *dst,
		      const struct prefix *src, const struct kernel_route *list[KERNEL_MAX_LIST])
{
	size_t n = 0;

	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *r = &kernel->routes[i];

		if (r->there && r->route.table == table && prefix_equal(&r->route.dst, dst) &&
		    prefix_equal(&r->route.src, src)) {
			assert_true(n < KERNEL_MAX_LIST);
			list[n++] = r;
		}
	}
	qsort(list, n, sizeof(*list), by_metric);
	return n;
}

static bool compete(const struct kernel *kernel, const struct kernel_route *const *list, size_t n,
		    uint32_t iif, struct kernel_verdict *out)
{
	int best = -1;

	out->n_rivals = 0;
	for (size_t i = 0; i < n; i++) {
		int score =
			list[i]->route.preference * 4 + (kernel_leaves_by(list[i], iif) ? 2 : 0);

		if (!is_usable(kernel, list[i]))
			continue;
		out->rivals[out->n_rivals++] = list[i];
		if (score > best) {
			best = score;
			out->winner = list[i];
		}
	}
	return best >= 0;
}

static bool select_route(const struct kernel *kernel, uint32_t table, const struct prefix *dst,
			 const struct prefix *src, uint32_t iif, struct kernel_verdict *out)
{
	const struct kernel_route *list[KERNEL_MAX_LIST];
	size_t n = list_of(kernel, table, dst, src, list), lowest = 0;

	while (lowest < n && list[lowest]->route.metric == list[0]->route.metric)
		lowest++;
	return compete(kernel, list, lowest, iif, out) ||
	       compete(kernel, list + lowest, n - lowest, iif, out);
}

struct node {
	bool plain, by_source;
	struct prefix sources[KERNEL_N_LENS]; /* those that match, longest first, then ::/0 */
	size_t n_sources;		      /* the last one not counted */
};

static struct node node_of(const struct kernel *kernel, uint32_t table, const struct prefix *dst,
			   const struct prefix *src)
{
	struct node node = { 0 };

	for (int at = 0; at < KERNEL_N_LENS; at++) {
		uint8_t len = kernel_lens[at];

		for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
			const struct route *r = &kernel->routes[i].route;

			if (!kernel->routes[i].there || r->table != table ||
			    !prefix_equal(&r->dst, dst) || r->src.len != len)
				continue;
			node.plain |= !len;
			node.by_source |= len > 0;
			if (len && prefix_covers(&r->src, src) &&
			    (!node.n_sources ||
			     !prefix_equal(&node.sources[node.n_sources - 1], &r->src)))
				node.sources[node.n_sources++] = r->src;
		}
	}
	node.sources[node.n_sources] = (struct prefix){ .len = 0 };
	return node;
}

static bool has_longer(const struct kernel *kernel, uint32_t table, const struct prefix *dst)
{
	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *r = &kernel->routes[i];

		if (r->there && r->route.table == table && r->route.dst.len > dst->len &&
		    prefix_covers(dst, &r->route.dst))
			return true;
	}
	return false;
}

/* The prefix of this length around dst, if it is in the table or ::/0. */
static bool is_step(const struct kernel *kernel, uint32_t table, const struct prefix *dst,
		    uint8_t len, struct prefix *out)
{
	*out = (struct prefix){ .addr = dst->addr, .len = len };
	prefix_mask(out);
	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *r = &kernel->routes[i];

		if (r->there && r->route.table == table && prefix_equal(&r->route.dst, out))
			return true;
	}
	return !len;
}

struct kernel_verdict kernel_lookup(const struct kernel *kernel, uint32_t table,
				    const struct prefix *dst, const struct prefix *src,
				    uint32_t iif)
{
	struct kernel_verdict verdict = { 0 };
	struct prefix step;
	bool plain_only = false;
	int at;

	/* Phase 1. */
	for (at = 0; at < KERNEL_N_LENS; at++) {
		struct node node;

		if (!is_step(kernel, table, dst, kernel_lens[at], &step))
			continue;
		node = node_of(kernel, table, &step, src);
		if (node.n_sources) {
			verdict.undefined =
				kernel_lens[at] && !node.plain && has_longer(kernel, table, &step);
			break;
		}
		if (node.plain && !node.by_source)
			break;
	}
	if (at == KERNEL_N_LENS) {
		at = KERNEL_N_LENS - 1;
		plain_only = true;
	}
	/* Phase 2. */
	for (; at < KERNEL_N_LENS; at++) {
		struct node node;

		if (!is_step(kernel, table, dst, kernel_lens[at], &step))
			continue;
		node = node_of(kernel, table, &step, src);
		for (size_t i = plain_only ? node.n_sources : 0; i <= node.n_sources; i++) {
			if (select_route(kernel, table, &step, &node.sources[i], iif, &verdict))
				return verdict;
		}
	}
	return verdict;
}

bool kernel_has_sources(const struct kernel *kernel, uint32_t table, const struct prefix *dst)
{
	for (size_t i = 0; i < KERNEL_MAX_ROUTES; i++) {
		const struct kernel_route *r = &kernel->routes[i];

		if (r->there && r->route.table == table && r->route.src.len &&
		    prefix_covers(&r->route.dst, dst))
			return true;
	}
	return false;
}
