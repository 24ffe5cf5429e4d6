// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source-specific routes. fib6 looks up destination and source, and may backtrack
 * (fib6_node_lookup(), fib6_backtrack()). The datapath looks up the destination, then the source,
 * and never backtracks. So fib6's lookup is done here, once for each source prefix, and the results
 * are a flat list of sources with their targets.
 *
 * A packet whose longest destination prefix is D can only match D and the covers of D. These are
 * the covers of the list. Likewise its source matches the longest source prefix and its covers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "select.h"

#define MAX_COVERS (128 + 1) /* a destination of each length, ::/0 always included */
#define MAX_FRAMES (128 + 1) /* nested source prefixes */

/* The destination, or one of its covers. */
struct cover {
	const struct rib_dest *dest; /* NULL: ::/0, without a route */
	uint8_t len;
	bool has_sources, has_plain;
	bool undefined; /* fib6's result depends on the past, see add_cover() */
	bool stale;	/* unknown whether fib6 has any source-specific route there */
};

struct node {
	const struct rib_route *route; /* the first; its src is the node's */
	uint8_t cover;
	bool usable;
	struct fib_target target;
};

/* The nodes of one source prefix. All earlier frames cover it. */
struct frame {
	const struct node *nodes;
	size_t n;
	size_t source; /* its index in the list of sources */
};

struct flattening {
	struct resolve *resolve;
	struct cover covers[MAX_COVERS];
	int n_covers;
	struct frame frames[MAX_FRAMES]; /* the first is ::/0, the plain routes if any */
	int n_frames;
	size_t n_sources;
};

/* --- covers --------------------------------------------------------------------------------- */

/*
 * A destination with source-specific routes only has no leaf of its own in fib6. What stands there
 * instead depends on the order in which routes came and went. It can be the leaf of a longer
 * prefix, with whose key fib6_node_lookup_1() then compares.
 */
static const struct cover *add_cover(struct flattening *f, const struct rib_dest *dest)
{
	struct cover *cover = &f->covers[f->n_covers++];
	bool sure = false;

	*cover = (struct cover){ .dest = dest, .len = dest->node.prefix.len };
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (r->src.len)
			cover->has_sources = true;
		else
			cover->has_plain = true;
		sure |= r->src.len && !rib_route_is_trace(r);
	}
	cover->stale = cover->has_sources && !sure;
	cover->undefined =
		cover->len && !cover->has_plain && (dest->node.child[0] || dest->node.child[1]);
	return cover;
}

/* List dest and its covers, up to the first cover that ends every lookup. True: some of them have
 * source-specific routes. */
static bool add_covers(struct flattening *f, const struct rib_dest *dest)
{
	const struct radix_node *node = &dest->node, *last;
	bool any = false;

	do {
		const struct cover *cover = add_cover(f, resolve_dest_of(node));

		any |= cover->has_sources;
		if (!cover->has_sources && resolve_plain_usable(f->resolve, cover->dest))
			return any;
		last = node;
		node = radix_cover(node);
	} while (node);
	if (last->prefix.len)
		f->covers[f->n_covers++] = (struct cover){ .dest = NULL };
	return any;
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* Sort by source, shorter prefixes before longer ones, then by cover, then in fib6's order. */
static int item_compare(const void *left, const void *right)
{
	const struct resolve_item *a = left, *b = right;
	int order = resolve_compare(&a->route->src, &b->route->src);

	if (!order)
		order = a->cover - b->cover;
	if (order)
		return order;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_node(const struct resolve_item *a, const struct resolve_item *b)
{
	return a->cover == b->cover && prefix_equal(&a->route->src, &b->route->src);
}

/* Sort the items of all covers into *n_nodes nodes. 0 or -ENOMEM. */
static int make_nodes(struct flattening *f, size_t *n_nodes)
{
	struct resolve *resolve = f->resolve;
	struct resolve_item *items;
	struct node *nodes;
	size_t n = 0, end;
	int ret = 0;

	resolve_clear(resolve);
	for (int i = 0; i < f->n_covers && !ret; i++) {
		if (f->covers[i].dest)
			ret = resolve_gather(resolve, f->covers[i].dest, (uint8_t)i, true);
	}
	if (!ret)
		ret = resolve_reserve(&resolve->nodes, resolve->n_items, sizeof(*nodes));
	/* At most one for each node, and one for ::/0. */
	if (!ret)
		ret = resolve_reserve(&resolve->sources, resolve->n_items + 1,
				      sizeof(struct fib_source));
	if (ret)
		return ret;
	items = resolve->items.items;
	nodes = resolve->nodes.items;
	qsort(items, resolve->n_items, sizeof(*items), item_compare);
	for (size_t from = 0; from < resolve->n_items; from = end) {
		struct node *node = &nodes[n++];

		for (end = from + 1; end < resolve->n_items; end++) {
			if (!same_node(&items[from], &items[end]))
				break;
		}
		*node = (struct node){ .route = items[from].route, .cover = items[from].cover };
		node->usable = resolve_select(resolve, items + from, end - from, &node->target);
	}
	*n_nodes = n;
	return 0;
}

/* --- one lookup ----------------------------------------------------------------------------- */

static const struct node *node_at(const struct flattening *f, int frame, int cover)
{
	for (size_t i = 0; i < f->frames[frame].n; i++) {
		if (f->frames[frame].nodes[i].cover == cover)
			return &f->frames[frame].nodes[i];
	}
	return NULL;
}

/* The longest source prefix of a cover at this frame or before it; 0: only ::/0. */
static int longest_source(const struct flattening *f, int frame, int cover)
{
	while (frame > 0 && !node_at(f, frame, cover))
		frame--;
	return frame;
}

/*
 * Where fib6_node_lookup_1() starts: at the longest destination that has a matching source, or has
 * plain routes only. It skips plain routes beside source-specific ones, except at ::/0.
 */
static int start_of(const struct flattening *f, int *frame)
{
	for (int i = 0; i < f->n_covers; i++) {
		*frame = longest_source(f, f->n_frames - 1, i);
		if (*frame || (!f->covers[i].has_sources && f->covers[i].has_plain))
			return i;
	}
	*frame = 0;
	return f->n_covers - 1;
}

/*
 * fib6's result for packets whose longest source prefix is that of the last frame: a usable node,
 * or NULL and *verdict.
 */
static const struct node *lookup(const struct flattening *f, enum sixlane_verdict *verdict)
{
	int frame, cover = start_of(f, &frame);
	const struct node *node;

	*verdict = SIXLANE_PUNT_SOURCE_ROUTE;
	if (f->covers[cover].undefined)
		return NULL;
	/* Source-specific routes that a dump left out would make fib6 skip plain ones. */
	for (int i = 0; i <= cover; i++) {
		if (f->covers[i].stale)
			return NULL;
	}
	/* fib6_backtrack(): shorter sources, then the plain routes, then shorter destinations. */
	for (;;) {
		node = node_at(f, frame, cover);
		if (node && node->usable)
			return node;
		if (frame)
			frame = longest_source(f, frame - 1, cover);
		else if (++cover < f->n_covers)
			frame = longest_source(f, f->n_frames - 1, cover);
		else
			break;
	}
	*verdict = SIXLANE_PASS_NO_ROUTE;
	return NULL;
}

/* --- the list of sources -------------------------------------------------------------------- */

/* Targets and hops are built in zeroed memory. */
static bool same_target(const struct fib_target *a, const struct fib_target *b)
{
	return a->verdict == b->verdict && a->kind == b->kind && a->mtu == b->mtu &&
	       a->mtu_locked == b->mtu_locked && a->own_source == b->own_source &&
	       a->expires_ns == b->expires_ns && a->object == b->object && a->n_hops == b->n_hops &&
	       (!a->n_hops || !memcmp(a->hops, b->hops, a->n_hops * sizeof(*a->hops)));
}

/* Rules may suppress by prefix length (fib6_rule_suppress()), but not errors. */
static bool length_matters(const struct fib_target *target)
{
	return target->verdict == SIXLANE_FORWARD || target->verdict == SIXLANE_PASS_LOCAL ||
	       target->verdict == SIXLANE_PASS_ANYCAST || target->verdict == SIXLANE_PASS_MULTICAST;
}

/* Add the target of the last frame, unless it equals that of the frame before. */
static void add_source(struct flattening *f, const struct prefix *src)
{
	struct fib_source *sources = f->resolve->sources.items, *source = &sources[f->n_sources];
	struct frame *frame = &f->frames[f->n_frames - 1];
	enum sixlane_verdict verdict;
	const struct node *node = lookup(f, &verdict);

	memset(source, 0, sizeof(*source));
	source->src = *src;
	source->dst_len = f->covers[0].len;
	source->target.verdict = verdict;
	if (node) {
		source->target = node->target;
		if (length_matters(&node->target))
			source->dst_len = f->covers[node->cover].len;
	}
	frame->source = f->n_sources;
	if (f->n_frames > 1) {
		const struct fib_source *outer = &sources[frame[-1].source];

		if (outer->dst_len == source->dst_len &&
		    same_target(&outer->target, &source->target)) {
			frame->source = frame[-1].source;
			return;
		}
	}
	f->n_sources++;
}

/* Visit the source prefixes in order, with the covers of each as the frames before it. */
static void add_sources(struct flattening *f, const struct node *nodes, size_t n_nodes)
{
	static const struct prefix any;
	const struct prefix *src = &any;
	size_t from = 0, end = 0;

	for (;;) {
		while (end < n_nodes && prefix_equal(&nodes[end].route->src, src))
			end++;
		f->frames[f->n_frames++] = (struct frame){ .nodes = nodes + from, .n = end - from };
		add_source(f, src);
		if (end == n_nodes)
			return;
		from = end;
		src = &nodes[from].route->src;
		while (f->n_frames > 1 &&
		       !prefix_covers(&f->frames[f->n_frames - 1].nodes->route->src, src))
			f->n_frames--;
	}
}

int resolve_by_source(struct resolve *resolve, const struct rib_dest *dest)
{
	struct flattening f = { .resolve = resolve };
	struct fib_source *sources;
	size_t n_nodes;
	int ret;

	if (!add_covers(&f, dest))
		return 0;
	ret = make_nodes(&f, &n_nodes);
	if (ret)
		return ret;
	add_sources(&f, resolve->nodes.items, n_nodes);
	sources = resolve->sources.items;
	if (f.n_sources == 1 && sources->dst_len == f.covers[0].len) {
		resolve->target = sources->target;
		return 1;
	}
	memset(&resolve->target, 0, sizeof(resolve->target));
	resolve->target.kind = FIB_SOURCES;
	resolve->target.sources = sources;
	resolve->target.n_sources = f.n_sources;
	return 1;
}
