// SPDX-License-Identifier: GPL-2.0-only
/*
 * One change, while readers are under way. What changes is found from the top: the node that has
 * the prefix among its cells, where every place that holds what the prefix says is right for its
 * addresses before and after its own store; or the lowest entry below which nodes come, go, or
 * are too few bits apart: then all below it is built anew, beside what is there, and the entry
 * leads to it by one store.
 */
#include <errno.h>

#include "compiled_internal.h"

/* So few prefixes are built anew rather than let their shape become a poor one … */
#define REBUILD_PREFIXES 32u
/* … and twice as many for each node that a way has more than this: some planned ones have. */
#define REBUILD_LEVELS 12u

/* A place that an entry stands in, and which addresses come to it. */
struct place {
	uint32_t *entry;
	uint32_t depth; /* bits behind them */
	uint32_t held;	/* and up to which they have at hand */
	uint32_t leaf;	/* what the entry would be if nothing were below */
};

struct change {
	struct compiled *compiled;
	const struct radix *routes;
	compiled_value_fn value;
	const struct prefix *dst;
	compiled_bits addr; /* dst's */
	bool is_root;	    /* nothing was descended yet: a node in any case */
	uint32_t *gone;
};

static void publish_entry(uint32_t *entry, uint32_t to)
{
	__atomic_store_n(entry, to, __ATOMIC_RELEASE);
}

static uint32_t value_of(const struct change *change, const struct radix_node *node)
{
	return node->glue ? 0 : change->value(node);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Whether this is what holds at an entry, or at all that is below it and has nothing longer. */
static bool inherits(const struct compiled *compiled, uint32_t entry, uint32_t value)
{
	if (entry & SIXLANE_FIB_NODE)
		entry = *compiled_open(&compiled->store, entry).best;
	return entry == value;
}

static void set_leaf(uint32_t *leaf, uint32_t value)
{
	if (*leaf != value)
		publish_entry(leaf, value);
}

/*
 * What holds at an entry for lack of anything longer is another value from now on. All that a node
 * has of it, from what covers it, is equal to its best: no other prefix has this length, which is
 * part of the value.
 */
static void set_inherited(struct compiled *compiled, uint32_t *entry, uint32_t value)
{
	struct compiled_node node;
	uint32_t old;

	if (!(*entry & SIXLANE_FIB_NODE)) {
		set_leaf(entry, value);
		return;
	}
	node = compiled_open(&compiled->store, *entry);
	old = *node.best;
	if (old == value)
		return;
	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		if (inherits(compiled, node.cells[i], old))
			set_inherited(compiled, &node.cells[i], value);
	}
	publish_entry(node.best, value);
}

struct cells {
	struct compiled_node *node;
	uint32_t begin;	   /* bits behind an address that has passed the node's skip */
	uint32_t shortest; /* prefixes that are among the cells: from this length on */
};

/* Of what covers the prefix and is among the same cells the longest that has a value; or what came
 * to the node. */
static uint32_t covering_value(const struct change *change, const struct cells *cells)
{
	const struct radix_node *at = change->routes->root;
	uint32_t found = *cells->node->best, value;

	while (at && at->prefix.len < change->dst->len && prefix_covers(&at->prefix, change->dst)) {
		value = at->prefix.len >= cells->shortest ? value_of(change, at) : 0;
		if (value)
			found = value;
		at = at->child[compiled_slice(change->addr, at->prefix.len, 1)];
	}
	return found;
}

/*
 * What is longer than the prefix keeps its cells: from the longest down nothing is written twice.
 * n: cells from first on that belong to node, which has no value or is the prefix itself.
 */
static void set_around(const struct change *change, const struct cells *cells,
		       const struct radix_node *node, uint64_t first, uint64_t n, uint32_t value)
{
	uint32_t end = cells->begin + cells->node->stride;
	uint64_t at = first;

	for (int i = 0; node && i < 2; i++) {
		const struct radix_node *child = node->child[i];
		uint64_t child_first, child_n;

		if (!child || child->prefix.len > end)
			continue;
		child_first = compiled_slice(compiled_addr(&child->prefix.addr), cells->begin,
					     cells->node->stride);
		child_n = 1ull << (end - child->prefix.len);
		for (; at < child_first; at++)
			set_inherited(change->compiled, &cells->node->cells[at], value);
		if (!value_of(change, child))
			set_around(change, cells, child, child_first, child_n, value);
		at = child_first + child_n;
	}
	for (; at < first + n; at++)
		set_inherited(change->compiled, &cells->node->cells[at], value);
}

/* The prefix is among these cells. */
static void set_cells(const struct change *change, const struct cells *cells)
{
	const struct radix_node *node = radix_top_under(change->routes, change->dst);
	struct radix_node above = { .child = { (struct radix_node *)node } };
	uint64_t first = compiled_slice(change->addr, cells->begin, cells->node->stride);
	uint64_t n = 1ull << (cells->begin + cells->node->stride - change->dst->len);
	bool here = node && node->prefix.len == change->dst->len;
	uint32_t value = here ? value_of(change, node) : 0;

	set_around(change, cells, here ? node : &above, first, n,
		   value ?: covering_value(change, cells));
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* All below the place anew. */
static int rebuild(const struct change *change, const struct place *place)
{
	struct compiled *compiled = change->compiled;
	struct compiled_build build = { .store = &compiled->store, .value = change->value };
	struct prefix at = { .addr = change->dst->addr, .len = (uint8_t)place->depth };
	uint32_t old = *place->entry, entry;
	struct radix_node *top;

	prefix_mask(&at);
	top = radix_top_under(change->routes, &at);
	compiled_plan(top, change->value);
	compiled_note(&compiled->store);
	entry = change->is_root
			? compiled_build_root(&build, top)
			: compiled_build(&build, top, place->depth, place->held, place->leaf);
	if (build.failed) {
		compiled_undo_noted(&compiled->store);
		return -ENOSPC;
	}
	compiled_keep_noted(&compiled->store);
	publish_entry(place->entry, entry);
	*change->gone = old & SIXLANE_FIB_NODE ? old : 0;
	return 0;
}

/* The same, though the shape might do as it is: only if there is room at hand. */
static int improve(const struct change *change, const struct place *place)
{
	struct compiled_store *store = &change->compiled->store;
	int err;

	store->sparing = true;
	err = rebuild(change, place);
	store->sparing = false;
	return err;
}

/* Whether there are at most so many prefixes, glue counted, at and below node. */
static bool are_few(const struct radix_node *node, uint32_t *left)
{
	if (!node)
		return true;
	if (!*left)
		return false;
	--*left;
	return are_few(node->child[0], left) && are_few(node->child[1], left);
}

/* Nodes on the way to the prefix. */
static uint32_t count_levels(const struct change *change, uint32_t entry)
{
	uint32_t n = 0, depth = 0;

	for (; entry & SIXLANE_FIB_NODE && depth < change->dst->len; n++) {
		struct compiled_node node = compiled_open(&change->compiled->store, entry);

		if (compiled_slice(change->addr, depth, node.skip) != node.key)
			break;
		depth += node.skip;
		entry = node.cells[compiled_slice(change->addr, depth, node.stride)];
		depth += node.stride;
	}
	return n;
}

/* So many prefixes at most are built anew at once when the prefix comes or goes. */
static uint32_t choose_few(const struct change *change, uint32_t root)
{
	uint32_t levels = count_levels(change, root);
	uint32_t more = levels > REBUILD_LEVELS ? levels - REBUILD_LEVELS : 0;

	return REBUILD_PREFIXES << (more < 24 ? more : 24);
}

static bool is_small(const struct change *change, const struct place *place, uint32_t few)
{
	struct prefix at = { .addr = change->dst->addr, .len = (uint8_t)place->depth };
	uint32_t left = few;

	prefix_mask(&at);
	return are_few(radix_top_under(change->routes, &at), &left);
}

/* Where the prefix is, as seen from a node. */
enum where { ABOVE_CELLS, AMONG_CELLS, BELOW_CELLS };

static enum where find_in(const struct change *change, const struct place *place,
			  const struct compiled_node *node)
{
	uint32_t begin = place->depth + node->skip;

	if (change->dst->len < begin ||
	    compiled_slice(change->addr, place->depth, node->skip) != node->key)
		return ABOVE_CELLS;
	return change->dst->len <= begin + node->stride ? AMONG_CELLS : BELOW_CELLS;
}

int compiled_change_in(struct compiled *compiled, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       uint32_t *gone)
{
	struct change change = {
		compiled, routes, value, dst, compiled_addr(&dst->addr), true, gone
	};
	struct place place = { .entry = root, .held = COMPILED_HELD };
	struct compiled_node node;
	struct cells cells;
	uint32_t few;

	*gone = 0;
	compiled->store.preferred = sixlane_fib_chunk_of(*root);
	if (!dst->len) {
		set_inherited(compiled, root,
			      routes->root && !routes->root->prefix.len
				      ? value_of(&change, routes->root)
				      : 0);
		return 0;
	}
	few = same_prefixes ? 0 : choose_few(&change, *root);
	while (*place.entry & SIXLANE_FIB_NODE) {
		node = compiled_open(&compiled->store, *place.entry);
		place.leaf = *node.best;
		/* As far up as that is cheap, so that no chain grows node by node. */
		if (few && is_small(&change, &place, few) && !improve(&change, &place))
			return 0;
		cells = (struct cells){ &node, place.depth + node.skip,
					place.depth + (node.skip ?: 1) };
		switch (find_in(&change, &place, &node)) {
		case ABOVE_CELLS:
			return rebuild(&change, &place);
		case AMONG_CELLS:
			set_cells(&change, &cells);
			return 0;
		default:
			compiled->store.preferred = sixlane_fib_chunk_of(*place.entry);
			place.depth = cells.begin + node.stride;
			place.held = node.held ?: place.held;
			place.entry =
				&node.cells[compiled_slice(change.addr, cells.begin, node.stride)];
			place.leaf = *place.entry;
			change.is_root = false;
		}
	}
	return rebuild(&change, &place);
}
