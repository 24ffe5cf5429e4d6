// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where sources count: fib6_node_lookup() and fib6_backtrack() once for every set of sources that
 * fib6 could tell apart, flattened into one set for the datapath, which looks up the destination
 * and then the source, and never goes back.
 *
 * The prefixes of the table that cover a packet's destination are those that cover the longest of
 * them: so a destination's chain of covers, each a level, is all that its packets can meet. And
 * a packet's source matches what covers the longest source prefix of the chain that it is in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "resolve_internal.h"

#define MAX_LEVELS (128 + 1) /* a destination of each length; ::/0 is there in any case */
#define MAX_FRAMES (128 + 1) /* source prefixes around each other */

/* A destination that covers the one in question, or is it. */
struct level {
	const struct rib_dest *dest; /* NULL: ::/0, without a route */
	uint8_t len;
	bool has_sources, has_plain;
	bool undefined; /* see add_level() … */
	bool doubtful;	/* … whether fib6 has any route by source there */
};

struct node {
	const struct rib_route *route; /* the first one, whose src is the node's */
	uint8_t level;
	bool usable;
	struct fib_target target;
};

/* The nodes of one source prefix, which is in those of all frames before. */
struct frame {
	const struct node *nodes;
	size_t n;
	size_t source; /* which of the set holds for it */
};

struct flattening {
	struct resolve *resolve;
	struct level levels[MAX_LEVELS];
	int n_levels;
	struct frame frames[MAX_FRAMES]; /* the first is of plain routes, perhaps of none */
	int n_frames;
	size_t n_sources;
};

/* --- levels --------------------------------------------------------------------------------- */

/*
 * A destination with routes by source only has no route of its own, and what fib6 keeps in its
 * place depends on the order in which routes came and went: it may be that of a longer prefix, and
 * fib6_node_lookup_1() then compares with that one's key.
 */
static const struct level *add_level(struct flattening *f, const struct rib_dest *dest)
{
	struct level *level = &f->levels[f->n_levels++];
	bool sure = false;

	*level = (struct level){ .dest = dest, .len = dest->node.prefix.len };
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (r->src.len)
			level->has_sources = true;
		else
			level->has_plain = true;
		sure |= r->src.len && !rib_route_is_trace(r);
	}
	level->doubtful = level->has_sources && !sure;
	level->undefined =
		level->len && !level->has_plain && (dest->node.child[0] || dest->node.child[1]);
	return level;
}

/* From dest up to where no packet gets past. True: sources count on the way. */
static bool add_levels(struct flattening *f, const struct rib_dest *dest)
{
	const struct radix_node *node = &dest->node, *last;
	bool any = false;

	do {
		const struct level *level = add_level(f, resolve_dest_of(node));

		any |= level->has_sources;
		if (!level->has_sources && resolve_plain_usable(f->resolve, level->dest))
			return any;
		last = node;
		node = radix_cover(node);
	} while (node);
	if (last->prefix.len)
		f->levels[f->n_levels++] = (struct level){ .dest = NULL };
	return any;
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* By source, shorter prefixes before those that they cover, then by level, then as fib6 has it. */
static int item_compare(const void *left, const void *right)
{
	const struct resolve_item *a = left, *b = right;
	int order = resolve_compare(&a->route->src, &b->route->src);

	if (!order)
		order = a->level - b->level;
	if (order)
		return order;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_node(const struct resolve_item *a, const struct resolve_item *b)
{
	return a->level == b->level && prefix_equal(&a->route->src, &b->route->src);
}

/* Items of all levels, sorted, into *n_nodes nodes. 0 or -ENOMEM. */
static int make_nodes(struct flattening *f, size_t *n_nodes)
{
	struct resolve *resolve = f->resolve;
	struct resolve_item *items;
	struct node *nodes;
	size_t n = 0, end;
	int ret = 0;

	resolve_clear(resolve);
	for (int i = 0; i < f->n_levels && !ret; i++) {
		if (f->levels[i].dest)
			ret = resolve_gather(resolve, f->levels[i].dest, (uint8_t)i, true);
	}
	if (!ret)
		ret = resolve_reserve(&resolve->nodes, resolve->n_items, sizeof(*nodes));
	/* At most one a node, and one for ::/0. */
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
		*node = (struct node){ .route = items[from].route, .level = items[from].level };
		node->usable = resolve_select(resolve, items + from, end - from, &node->target);
	}
	*n_nodes = n;
	return 0;
}

/* --- one lookup ----------------------------------------------------------------------------- */

static const struct node *node_at(const struct flattening *f, int frame, int level)
{
	for (size_t i = 0; i < f->frames[frame].n; i++) {
		if (f->frames[frame].nodes[i].level == level)
			return &f->frames[frame].nodes[i];
	}
	return NULL;
}

/* The longest source prefix of a level at this frame or before it; 0, the plain routes': none. */
static int longest_source(const struct flattening *f, int frame, int level)
{
	while (frame > 0 && !node_at(f, frame, level))
		frame--;
	return frame;
}

/*
 * Where fib6_node_lookup_1() starts: the longest destination with a source that matches, or with
 * plain routes only. The plain routes beside those by source are passed over, but at ::/0.
 */
static int start_of(const struct flattening *f, int *frame)
{
	for (int i = 0; i < f->n_levels; i++) {
		*frame = longest_source(f, f->n_frames - 1, i);
		if (*frame || (!f->levels[i].has_sources && f->levels[i].has_plain))
			return i;
	}
	*frame = 0;
	return f->n_levels - 1;
}

/*
 * The fate of packets whose longest source prefix is that of the last frame: a node that is usable,
 * or NULL and *verdict.
 */
static const struct node *look_up(const struct flattening *f, enum sixlane_verdict *verdict)
{
	int frame, level = start_of(f, &frame);
	const struct node *node;

	*verdict = SIXLANE_PUNT_SOURCE_ROUTE;
	if (f->levels[level].undefined)
		return NULL;
	/* What a dump may have left out decides whether plain routes are passed over on the way. */
	for (int i = 0; i <= level; i++) {
		if (f->levels[i].doubtful)
			return NULL;
	}
	/* fib6_backtrack(): shorter sources, then the plain routes, then shorter destinations. */
	for (;;) {
		node = node_at(f, frame, level);
		if (node && node->usable)
			return node;
		if (frame)
			frame = longest_source(f, frame - 1, level);
		else if (++level < f->n_levels)
			frame = longest_source(f, f->n_frames - 1, level);
		else
			break;
	}
	*verdict = SIXLANE_PASS_NO_ROUTE;
	return NULL;
}

/* --- the set -------------------------------------------------------------------------------- */

static bool same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	return a->gateway.halves[0] == b->gateway.halves[0] &&
	       a->gateway.halves[1] == b->gateway.halves[1] && a->ifindex == b->ifindex &&
	       a->weight == b->weight && a->has_gateway == b->has_gateway;
}

static bool same_target(const struct fib_target *a, const struct fib_target *b)
{
	if (a->verdict != b->verdict || a->kind != b->kind || a->mtu != b->mtu ||
	    a->mtu_locked != b->mtu_locked || a->own_source != b->own_source ||
	    a->expires_ns != b->expires_ns || a->object != b->object || a->n_hops != b->n_hops)
		return false;
	for (size_t i = 0; i < a->n_hops; i++) {
		if (!same_hop(&a->hops[i], &b->hops[i]))
			return false;
	}
	return true;
}

/* Rules may ask for the length of the prefix (fib6_rule_suppress()), but not of an error's. */
static bool length_counts(const struct fib_target *target)
{
	return target->verdict == SIXLANE_FORWARD || target->verdict == SIXLANE_PASS_LOCAL ||
	       target->verdict == SIXLANE_PASS_ANYCAST || target->verdict == SIXLANE_PASS_MULTICAST;
}

/* Add the fate of the last frame to the set, unless it is that of the frame before. */
static void add_source(struct flattening *f, const struct prefix *src)
{
	struct fib_source *sources = f->resolve->sources.items, *source = &sources[f->n_sources];
	struct frame *frame = &f->frames[f->n_frames - 1];
	enum sixlane_verdict verdict;
	const struct node *node = look_up(f, &verdict);

	memset(source, 0, sizeof(*source));
	source->src = *src;
	source->dst_len = f->levels[0].len;
	source->target.verdict = verdict;
	if (node) {
		source->target = node->target;
		if (length_counts(&node->target))
			source->dst_len = f->levels[node->level].len;
	}
	frame->source = f->n_sources;
	if (f->n_frames > 1) {
		const struct fib_source *around = &sources[frame[-1].source];

		if (around->dst_len == source->dst_len &&
		    same_target(&around->target, &source->target)) {
			frame->source = frame[-1].source;
			return;
		}
	}
	f->n_sources++;
}

/* The source prefixes in order, each with those that it is in as the frames before it. */
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

	if (!add_levels(&f, dest))
		return 0;
	ret = make_nodes(&f, &n_nodes);
	if (ret)
		return ret;
	add_sources(&f, resolve->nodes.items, n_nodes);
	sources = resolve->sources.items;
	if (f.n_sources == 1 && sources->dst_len == f.levels[0].len) {
		resolve->target = sources->target;
		return 1;
	}
	memset(&resolve->target, 0, sizeof(resolve->target));
	resolve->target.kind = FIB_SOURCES;
	resolve->target.sources = sources;
	resolve->target.n_sources = f.n_sources;
	return 1;
}
