// SPDX-License-Identifier: GPL-2.0-only
/*
 * One change, while readers are under way. What changes is found from the top: the node that has
 * the prefix among its cells, where every place that holds what the prefix says is right for its
 * addresses before and after its own store; or the lowest entry below which nodes come, go, or
 * are too few bits apart: then all below it is built anew, beside what is there, and the entry
 * leads to it by one store. Where a wide cell is to check other bits than it does, its node is
 * copied first.
 */
#include <errno.h>
#include <string.h>

#include "compiled_internal.h"

/* So few prefixes are built anew rather than let their shape become a poor one … */
#define REBUILD_PREFIXES 32u
/* … and twice as many for each node that a way has more than this: some planned ones have. */
#define REBUILD_LEVELS 12u

/* A cell, and which addresses come to it. Of a root: the only one of a node that is none. */
struct place {
	struct compiled_node node;
	uint32_t *above; /* the entry that leads to the node */
	uint64_t number;
	struct compiled_arrival arrival;
	uint32_t cover; /* what holds there where nothing longer does */
};

struct change {
	struct compiled *compiled;
	const struct radix *routes;
	const struct prefix *dst;
	compiled_bits addr; /* dst's */
	bool is_root;	    /* nothing was descended yet: a node in any case */
	struct compiled_gone *gone;
	struct compiled_build build;
};

static uint32_t value_of(const struct change *change, const struct radix_node *node)
{
	return node->glue ? 0 : change->build.value(node);
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
		__atomic_store_n(leaf, value, __ATOMIC_RELEASE);
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
		uint32_t *below = compiled_entry(&node, i);

		if (inherits(compiled, *below, old))
			set_inherited(compiled, below, value);
	}
	set_leaf(node.best, value);
}

/*
 * A reader that has found what a wide cell checks to be otherwise goes on to the node's best, and
 * may be late: from then on, as long as it lives, the best has to be what holds for such addresses.
 * So a cell that checks bits goes on to check the same, or another one is one of a copy, to which
 * readers come instead.
 */
static bool needs_copy(uint64_t old, uint64_t cell)
{
	return sixlane_fib_checked(old) && old >> 32 != cell >> 32;
}

/* Of the node to which the entry leads; 0: no room. *node becomes it. */
static uint32_t copy_node(struct compiled *compiled, uint32_t entry, struct compiled_node *node)
{
	struct compiled_store *store = &compiled->store;
	uint32_t copy = compiled_take(store, node->n_units);

	if (!copy)
		return 0;
	copy = sixlane_fib_node(copy, sixlane_fib_skip(entry), sixlane_fib_stride(entry));
	memcpy(compiled_at(store, copy), compiled_at(store, entry),
	       (size_t)node->n_units * SIXLANE_FIB_UNIT_BYTES);
	*node = compiled_open(store, copy);
	return copy;
}

static void lead_to_copy(const struct change *change, uint32_t *above, uint32_t copy)
{
	change->gone->node = *above;
	set_leaf(above, copy);
}

struct cells {
	struct compiled_node node;
	uint32_t *above;   /* the entry that leads to it */
	uint32_t copy;	   /* it is a copy of that one by now: its entry */
	uint32_t begin;	   /* bits behind an address that has passed the node's skip */
	uint32_t held;	   /* and up to which it has at hand */
	uint32_t shortest; /* prefixes that are among the cells: from this length on */
};

/* A cell that checks bits is covered by the best of its node, or becomes one that checks none. */
static void cover_cell(struct change *change, struct cells *cells, uint64_t number, uint32_t value)
{
	struct compiled *compiled = change->compiled;
	const struct compiled_arrival arrival = { .depth = cells->begin + cells->node.stride,
						  .held = cells->held };
	uint32_t covered = compiled_build_cover(&change->build, compiled_cell(&cells->node, number),
						&arrival, value);
	struct compiled_node node;
	uint32_t *below;

	if (covered && !cells->copy)
		cells->copy = copy_node(compiled, *cells->above, &cells->node);
	if (!covered || !cells->copy) {
		change->build.failed = true;
		return;
	}
	node = compiled_open(&compiled->store, covered);
	below = compiled_entry(&node, 0);
	if (inherits(compiled, *below, *cells->node.best))
		set_inherited(compiled, below, value);
	compiled_set_cell(&cells->node, number, covered);
}

/* The contrary: around what is alone the best of the node holds again. */
static void uncover_cell(struct compiled *compiled, const struct cells *cells, uint64_t number)
{
	uint32_t entry = *compiled_entry(&cells->node, number), below;
	struct compiled_node node;

	if (!(entry & SIXLANE_FIB_NODE))
		return;
	node = compiled_open(&compiled->store, entry);
	below = *compiled_entry(&node, 0);
	if (node.stride || !node.skip || node.skip > SIXLANE_FIB_CHECK_MAX ||
	    cells->begin + cells->node.stride + node.skip > cells->held)
		return;
	/* What is below may look at bits that only a long header brings. */
	if (node.held && below & SIXLANE_FIB_NODE)
		return;
	compiled_set_cell(&cells->node, number, compiled_checking(below, node.key, node.skip));
	compiled_give(&compiled->store, sixlane_fib_unit(entry), node.n_units);
}

static void set_cell(struct change *change, struct cells *cells, uint64_t number, uint32_t value)
{
	struct compiled *compiled = change->compiled;
	bool is_best = value == *cells->node.best;

	if (!sixlane_fib_checked(compiled_cell(&cells->node, number))) {
		set_inherited(compiled, compiled_entry(&cells->node, number), value);
		if (is_best && cells->node.is_wide)
			uncover_cell(compiled, cells, number);
	} else if (!is_best) {
		cover_cell(change, cells, number, value);
	}
}

/* Of what covers the prefix and is among the same cells the longest that has a value; or what came
 * to the node. */
static uint32_t covering_value(const struct change *change, const struct cells *cells)
{
	const struct radix_node *at = change->routes->root;
	uint32_t found = *cells->node.best, value;

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
static void set_around(struct change *change, struct cells *cells, const struct radix_node *node,
		       uint64_t first, uint64_t n, uint32_t value)
{
	uint32_t end = cells->begin + cells->node.stride;
	uint64_t at = first;

	for (int i = 0; node && i < 2; i++) {
		const struct radix_node *child = node->child[i];
		uint64_t child_first, child_n;

		if (!child || child->prefix.len > end)
			continue;
		child_first = compiled_slice(compiled_addr(&child->prefix.addr), cells->begin,
					     cells->node.stride);
		child_n = 1ull << (end - child->prefix.len);
		for (; at < child_first; at++)
			set_cell(change, cells, at, value);
		if (!value_of(change, child))
			set_around(change, cells, child, child_first, child_n, value);
		at = child_first + child_n;
	}
	for (; at < first + n; at++)
		set_cell(change, cells, at, value);
}

/* The value that the prefix has, 0: none. top: the topmost node that it covers. */
static uint32_t new_value(const struct change *change, const struct radix_node *top)
{
	return top && top->prefix.len == change->dst->len ? value_of(change, top) : 0;
}

/* The prefix is among these cells. 0 or -ENOSPC. */
static int set_cells(struct change *change, struct cells *cells)
{
	const struct radix_node *node = radix_top_under(change->routes, change->dst);
	struct radix_node above = { .child = { (struct radix_node *)node } };
	uint64_t first = compiled_slice(change->addr, cells->begin, cells->node.stride);
	uint64_t n = 1ull << (cells->begin + cells->node.stride - change->dst->len);
	bool here = node && node->prefix.len == change->dst->len;

	set_around(change, cells, here ? node : &above, first, n,
		   new_value(change, node) ?: covering_value(change, cells));
	if (change->build.failed)
		return -ENOSPC;
	if (cells->copy)
		lead_to_copy(change, cells->above, cells->copy);
	return 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct radix_node *top_at(const struct change *change, const struct place *place)
{
	struct prefix at = { .addr = change->dst->addr, .len = (uint8_t)place->arrival.depth };

	prefix_mask(&at);
	return radix_top_under(change->routes, &at);
}

/* One store, that leads to the cell or to a copy of its node with it. False: no room. */
static bool put_cell(const struct change *change, const struct place *place, uint64_t cell)
{
	struct compiled_node node = place->node;
	uint64_t old = compiled_cell(&node, place->number);
	uint32_t copy = 0;

	/* Whatever it checks, the best holds. */
	if (sixlane_fib_checked(old) && cell == *node.best)
		cell |= old >> 32 << 32;
	if (needs_copy(old, cell)) {
		copy = copy_node(change->compiled, *place->above, &node);
		if (!copy)
			return false;
	}
	compiled_set_cell(&node, place->number, cell);
	if (copy)
		lead_to_copy(change, place->above, copy);
	return true;
}

/* All below the place anew. */
static int rebuild(struct change *change, const struct place *place)
{
	struct compiled_store *store = &change->compiled->store;
	uint32_t old = *compiled_entry(&place->node, place->number);
	struct radix_node *top = top_at(change, place);
	uint64_t cell;

	compiled_plan(top, change->build.value);
	compiled_note(store);
	cell = change->is_root ? compiled_build_root(&change->build, top)
			       : compiled_build(&change->build, top, &place->arrival, place->cover);
	if (change->build.failed || !put_cell(change, place, cell)) {
		change->build.failed = false;
		compiled_undo_noted(store);
		return -ENOSPC;
	}
	compiled_keep_noted(store);
	change->gone->tree = old & SIXLANE_FIB_NODE ? old : 0;
	return 0;
}

/* The same, though the shape might do as it is: only if there is room at hand. */
static int improve(struct change *change, const struct place *place)
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
		uint64_t cell;

		if (compiled_slice(change->addr, depth, node.skip) != node.key)
			break;
		depth += node.skip;
		cell = compiled_cell(&node, compiled_slice(change->addr, depth, node.stride));
		depth += node.stride;
		if (!sixlane_fib_passes(cell, compiled_slice(change->addr, depth, 32) << 32))
			break;
		depth += sixlane_fib_checked(cell);
		entry = sixlane_fib_entry(cell);
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
	uint32_t left = few;

	return are_few(top_at(change, place), &left);
}

/* --- the way down ----------------------------------------------------------------------------- */

/* The one of the cells that the prefix is below. */
static struct place place_in(const struct change *change, const struct cells *cells)
{
	const struct compiled_node *node = &cells->node;
	struct place place = {
		.node = *node,
		.above = cells->above,
		.number = compiled_slice(change->addr, cells->begin, node->stride),
		.arrival = { cells->begin + node->stride, cells->held, node->is_wide, *node->best },
	};
	uint64_t cell = compiled_cell(node, place.number);

	place.cover = sixlane_fib_entry(cell);
	if (sixlane_fib_checked(cell))
		place.cover = *node->best;
	else if (place.cover & SIXLANE_FIB_NODE)
		place.cover = *compiled_open(&change->compiled->store, place.cover).best;
	return place;
}

/* What is to be done at a place. */
enum step { REBUILD, SET_CELLS, SET_BEST, DESCEND };

/* cells: those that the place leads to, if they are to be set or descended to. */
static enum step look_at(const struct change *change, const struct place *place,
			 struct cells *cells)
{
	struct compiled_node node;
	uint64_t cell = compiled_cell(&place->node, place->number);
	uint32_t depth = place->arrival.depth, len = change->dst->len;
	uint32_t checked = sixlane_fib_checked(cell);

	if (!sixlane_fib_passes(cell, compiled_slice(change->addr, depth, 32) << 32))
		return REBUILD;
	depth += checked;
	if (checked && len == depth)
		return SET_BEST;
	if (!(cell & SIXLANE_FIB_NODE))
		return REBUILD;
	node = compiled_open(&change->compiled->store, sixlane_fib_entry(cell));
	*cells = (struct cells){
		.node = node,
		.above = compiled_entry(&place->node, place->number),
		.begin = depth + node.skip,
		.held = node.held ?: place->arrival.held,
		.shortest = depth + (node.skip ?: 1),
	};
	if (len < cells->begin || compiled_slice(change->addr, depth, node.skip) != node.key)
		return REBUILD;
	return len <= cells->begin + node.stride ? SET_CELLS : DESCEND;
}

static bool is_leaf(const struct place *place)
{
	uint64_t cell = compiled_cell(&place->node, place->number);

	return !(cell & SIXLANE_FIB_NODE) && !sixlane_fib_checked(cell);
}

/* 0 or -errno: it is done; 1: it is to be done from the place that is there then. */
static int change_from(struct change *change, struct place *place, uint32_t few)
{
	struct compiled_store *store = &change->compiled->store;
	uint32_t *entry = compiled_entry(&place->node, place->number);
	const struct radix_node *top;
	struct cells cells;

	/* As far up as that is cheap, so that no chain grows node by node. */
	if (few && !is_leaf(place) && is_small(change, place, few) && !improve(change, place))
		return 0;
	switch (look_at(change, place, &cells)) {
	case SET_BEST:
		top = radix_top_under(change->routes, change->dst);
		set_inherited(change->compiled, entry, new_value(change, top) ?: place->cover);
		return 0;
	case SET_CELLS:
		return set_cells(change, &cells);
	case DESCEND:
		store->preferred = sixlane_fib_chunk_of(*entry);
		*place = place_in(change, &cells);
		change->is_root = false;
		return 1;
	default:
		return rebuild(change, place);
	}
}

int compiled_change_in(struct compiled *compiled, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       struct compiled_gone *gone)
{
	struct change change = {
		.compiled = compiled,
		.routes = routes,
		.dst = dst,
		.addr = compiled_addr(&dst->addr),
		.is_root = true,
		.gone = gone,
		.build = { .store = &compiled->store, .value = value },
	};
	uint32_t none = 0, few;
	struct place place = {
		.node = { .cells = root, .best = &none },
		.above = root,
		.arrival = { .held = COMPILED_HELD },
		.cover = *compiled_open(&compiled->store, *root).best,
	};
	int ret;

	*gone = (struct compiled_gone){ 0 };
	compiled->store.preferred = sixlane_fib_chunk_of(*root);
	if (!dst->len) {
		set_inherited(compiled, root, new_value(&change, routes->root));
		return 0;
	}
	few = same_prefixes ? 0 : choose_few(&change, *root);
	do
		ret = change_from(&change, &place, few);
	while (ret > 0);
	return ret;
}
