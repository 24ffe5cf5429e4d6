// SPDX-License-Identifier: GPL-2.0-only
/*
 * Applies one change of a route while packets read the nodes. bpf/abi/fib.h has the layout of a
 * node, README.md a picture. From the root downwards, enum step says what to do at each node:
 * - The prefix ends within the node: each affected cell is written atomically, so a reader gets the
 *   old or the new route.
 * - The prefix ends at the end of the bits that a wide cell checks: see needs_copy().
 * - Nodes must be added or removed below an entry: the subtree is rebuilt in new memory, and one
 *   write to the entry replaces it. A small subtree is always rebuilt, to keep its shape good.
 */
#include <errno.h>
#include <string.h>

#include "build.h"

/* A subtree of at most so many prefixes is rebuilt at each change, so that its shape stays good. */
#define REBUILD_PREFIXES 32u
/*
 * On a path of more than so many nodes, REBUILD_PREFIXES doubles with each further node. Even a new
 * FIB has some paths of this depth.
 */
#define REBUILD_LEVELS 12u

/* A cell, and the state of a lookup there. */
struct place {
	struct compiled_node node;
	uint32_t *above; /* the entry that leads to the node */
	uint64_t number; /* of the cell in the node */
	struct compiled_cursor cursor;
	uint32_t cover; /* the value of addresses that no longer prefix matches */
};

struct change {
	struct compiled_store *store;
	const struct radix *routes;
	const struct prefix *dst;
	compiled_bits addr; /* dst's */
	bool is_root;	    /* the current place holds the root, which is always a node */
	struct compiled_replaced *replaced;
	struct compiled_build build;
};

static uint32_t value_of(const struct change *change, const struct radix_node *route)
{
	return route->glue ? 0 : change->build.value(route);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Whether the entry, or its node, returns value for addresses that no longer prefix matches. */
static bool inherits(const struct compiled_store *store, uint32_t entry, uint32_t value)
{
	if (entry & SIXLANE_FIB_NODE)
		entry = *compiled_open(store, entry).default_leaf;
	return entry == value;
}

static void set_leaf(uint32_t *leaf, uint32_t value)
{
	if (*leaf != value)
		__atomic_store_n(leaf, value, __ATOMIC_RELEASE);
}

/*
 * Replaces the value that an entry inherits from a cover. A cell inherits if it equals the default
 * leaf of its node. Equality is enough: a value contains its prefix length, and only one covering
 * prefix has this length.
 */
static void set_inherited(struct compiled_store *store, uint32_t *entry, uint32_t value)
{
	struct compiled_node node;
	uint32_t old;

	if (!(*entry & SIXLANE_FIB_NODE)) {
		set_leaf(entry, value);
		return;
	}
	node = compiled_open(store, *entry);
	old = *node.default_leaf;
	if (old == value)
		return;
	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		uint32_t *below = compiled_entry(&node, i);

		if (inherits(store, *below, old))
			set_inherited(store, below, value);
	}
	set_leaf(node.default_leaf, value);
}

/*
 * A reader whose address fails the check of a wide cell loads the default leaf next, perhaps much
 * later. So as long as the node exists, the default leaf must be right for such addresses. A cell
 * that checks bits therefore keeps checking the same; any other change is made in a copy of the
 * node.
 */
static bool needs_copy(uint64_t old, uint64_t cell)
{
	return sixlane_fib_checked(old) && old >> 32 != cell >> 32;
}

/* Copy the node that entry leads to, and set *node to the copy. Its entry, 0: out of memory. */
static uint32_t copy_node(struct compiled_store *store, uint32_t entry, struct compiled_node *node)
{
	uint32_t copy = compiled_alloc(store, node->n_units);

	if (!copy)
		return 0;
	copy = sixlane_fib_node(copy, sixlane_fib_skip(entry), sixlane_fib_stride(entry));
	memcpy(compiled_at(store, copy), compiled_at(store, entry),
	       (size_t)node->n_units * SIXLANE_FIB_UNIT_BYTES);
	*node = compiled_open(store, copy);
	return copy;
}

static void link_copy(const struct change *change, uint32_t *above, uint32_t copy)
{
	change->replaced->node = *above;
	set_leaf(above, copy);
}

struct cells {
	struct compiled_node node;
	uint32_t *above;   /* the entry that leads to it */
	uint32_t copy;	   /* the entry of node, if that is a copy; 0: it is not */
	uint32_t begin;	   /* bits consumed before the cells, the node's skip included */
	uint32_t loaded;   /* bits loaded there */
	uint32_t shortest; /* the least length of a prefix that can have cells here */
};

/* A cell that checks bits gets a cover other than the default leaf, and so a node of its own. */
static void cover_cell(struct change *change, struct cells *cells, uint64_t number, uint32_t value)
{
	struct compiled_store *store = change->store;
	const struct compiled_cursor cursor = { .depth = cells->begin + cells->node.stride,
						.loaded = cells->loaded };
	uint32_t covered = compiled_build_cover(&change->build, compiled_cell(&cells->node, number),
						&cursor, value);
	struct compiled_node node;
	uint32_t *below;

	if (covered && !cells->copy)
		cells->copy = copy_node(store, *cells->above, &cells->node);
	if (!covered || !cells->copy) {
		change->build.failed = true;
		return;
	}
	node = compiled_open(store, covered);
	below = compiled_entry(&node, 0);
	if (inherits(store, *below, *cells->node.default_leaf))
		set_inherited(store, below, value);
	compiled_set_cell(&cells->node, number, covered);
}

/* The reverse: the cover is the default leaf again, so that the cell can check the bits itself. */
static void uncover_cell(struct compiled_store *store, const struct cells *cells, uint64_t number)
{
	uint32_t entry = *compiled_entry(&cells->node, number), below;
	struct compiled_node node;

	if (!(entry & SIXLANE_FIB_NODE))
		return;
	node = compiled_open(store, entry);
	below = *compiled_entry(&node, 0);
	if (node.stride || !node.skip || node.skip > SIXLANE_FIB_CHECK_MAX ||
	    cells->begin + cells->node.stride + node.skip > cells->loaded)
		return;
	/* Nodes below may use bits that only a long header loads. */
	if (node.loaded && below & SIXLANE_FIB_NODE)
		return;
	compiled_set_cell(&cells->node, number, compiled_checking(below, node.key, node.skip));
	compiled_retire(store, sixlane_fib_unit(entry), node.n_units);
}

static void set_cell(struct change *change, struct cells *cells, uint64_t number, uint32_t value)
{
	struct compiled_store *store = change->store;
	bool is_default = value == *cells->node.default_leaf;

	if (!sixlane_fib_checked(compiled_cell(&cells->node, number))) {
		set_inherited(store, compiled_entry(&cells->node, number), value);
		if (is_default && cells->node.is_wide)
			uncover_cell(store, cells, number);
	} else if (!is_default) {
		cover_cell(change, cells, number, value);
	}
}

/* The value of the longest cover that has cells in the same node; else the node's default leaf. */
static uint32_t covering_value(const struct change *change, const struct cells *cells)
{
	const struct radix_node *at = change->routes->root;
	uint32_t found = *cells->node.default_leaf, value;

	while (at && at->prefix.len < change->dst->len && prefix_covers(&at->prefix, change->dst)) {
		value = at->prefix.len >= cells->shortest ? value_of(change, at) : 0;
		if (value)
			found = value;
		at = at->child[compiled_slice(change->addr, at->prefix.len, 1)];
	}
	return found;
}

/*
 * Set n cells from first on, except those of longer prefixes. They belong to route, which has no
 * value or is the prefix itself. No cell is written twice.
 */
static void set_around(struct change *change, struct cells *cells, const struct radix_node *route,
		       uint64_t first, uint64_t n, uint32_t value)
{
	uint32_t end = cells->begin + cells->node.stride;
	uint64_t at = first;

	for (int i = 0; route && i < 2; i++) {
		const struct radix_node *child = route->child[i];
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

/* The prefix's new value, 0: none. top: the topmost route that it covers. */
static uint32_t new_value(const struct change *change, const struct radix_node *top)
{
	return top && top->prefix.len == change->dst->len ? value_of(change, top) : 0;
}

/* Set all cells of the prefix. 0 or -ENOSPC. */
static int set_cells(struct change *change, struct cells *cells)
{
	const struct radix_node *route = radix_top_under(change->routes, change->dst);
	struct radix_node above = { .child = { (struct radix_node *)route } };
	uint64_t first = compiled_slice(change->addr, cells->begin, cells->node.stride);
	uint64_t n = 1ull << (cells->begin + cells->node.stride - change->dst->len);
	bool here = route && route->prefix.len == change->dst->len;

	set_around(change, cells, here ? route : &above, first, n,
		   new_value(change, route) ?: covering_value(change, cells));
	if (change->build.failed)
		return -ENOSPC;
	if (cells->copy)
		link_copy(change, cells->above, cells->copy);
	return 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct radix_node *top_at(const struct change *change, const struct place *place)
{
	struct prefix at = { .addr = change->dst->addr, .len = (uint8_t)place->cursor.depth };

	prefix_mask(&at);
	return radix_top_under(change->routes, &at);
}

/* Set the cell by one store, in its node or in a copy of that. False: out of memory. */
static bool put_cell(const struct change *change, const struct place *place, uint64_t cell)
{
	struct compiled_node node = place->node;
	uint64_t old = compiled_cell(&node, place->number);
	uint32_t copy = 0;

	/* The check may stay: passed or not, the answer is the default leaf. */
	if (sixlane_fib_checked(old) && cell == *node.default_leaf)
		cell |= old >> 32 << 32;
	if (needs_copy(old, cell)) {
		copy = copy_node(change->store, *place->above, &node);
		if (!copy)
			return false;
	}
	compiled_set_cell(&node, place->number, cell);
	if (copy)
		link_copy(change, place->above, copy);
	return true;
}

/* Rebuild all below the place. */
static int rebuild(struct change *change, const struct place *place)
{
	struct compiled_store *store = change->store;
	uint32_t old = *compiled_entry(&place->node, place->number);
	struct radix_node *top = top_at(change, place);
	uint64_t cell;

	compiled_plan(top, change->build.value);
	compiled_undo_begin(store);
	cell = change->is_root ? compiled_build_root(&change->build, top)
			       : compiled_build(&change->build, top, &place->cursor, place->cover);
	if (change->build.failed || !put_cell(change, place, cell)) {
		change->build.failed = false;
		compiled_undo_apply(store);
		return -ENOSPC;
	}
	compiled_undo_drop(store);
	change->replaced->tree = old & SIXLANE_FIB_NODE ? old : 0;
	return 0;
}

/* The same for the sake of the shape only, so it fails rather than wait for memory. */
static int improve(struct change *change, const struct place *place)
{
	struct compiled_store *store = change->store;
	int err;

	store->no_wait = true;
	err = rebuild(change, place);
	store->no_wait = false;
	return err;
}

/* There are at most *left prefixes, glue included, at and below route. */
static bool has_at_most(const struct radix_node *route, uint32_t *left)
{
	if (!route)
		return true;
	if (!*left)
		return false;
	--*left;
	return has_at_most(route->child[0], left) && has_at_most(route->child[1], left);
}

/* Nodes on the path to the prefix. */
static uint32_t count_levels(const struct change *change, uint32_t entry)
{
	uint32_t n = 0, depth = 0;

	for (; entry & SIXLANE_FIB_NODE && depth < change->dst->len; n++) {
		struct compiled_node node = compiled_open(change->store, entry);
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

/* How many prefixes may be rebuilt at once when the prefix is added or deleted. */
static uint32_t rebuild_limit(const struct change *change, uint32_t root)
{
	uint32_t levels = count_levels(change, root);
	uint32_t more = levels > REBUILD_LEVELS ? levels - REBUILD_LEVELS : 0;

	return REBUILD_PREFIXES << (more < 24 ? more : 24);
}

static bool is_below_limit(const struct change *change, const struct place *place, uint32_t limit)
{
	uint32_t left = limit;

	return has_at_most(top_at(change, place), &left);
}

/* --- from the root down ----------------------------------------------------------------------- */

/* The cell that the prefix is below. */
static struct place place_in(const struct change *change, const struct cells *cells)
{
	const struct compiled_node *node = &cells->node;
	struct place place = {
		.node = *node,
		.above = cells->above,
		.number = compiled_slice(change->addr, cells->begin, node->stride),
		.cursor = { cells->begin + node->stride, cells->loaded, node->is_wide,
			    *node->default_leaf },
	};
	uint64_t cell = compiled_cell(node, place.number);

	place.cover = sixlane_fib_entry(cell);
	if (sixlane_fib_checked(cell))
		place.cover = *node->default_leaf;
	else if (place.cover & SIXLANE_FIB_NODE)
		place.cover = *compiled_open(change->store, place.cover).default_leaf;
	return place;
}

/* What to do at a place. */
enum step { REBUILD, SET_CELLS, SET_DEFAULT, DESCEND };

/* cells: of the node below the place, for SET_CELLS and DESCEND. */
static enum step classify(const struct change *change, const struct place *place,
			  struct cells *cells)
{
	struct compiled_node node;
	uint64_t cell = compiled_cell(&place->node, place->number);
	uint32_t depth = place->cursor.depth, len = change->dst->len;
	uint32_t checked = sixlane_fib_checked(cell);

	if (!sixlane_fib_passes(cell, compiled_slice(change->addr, depth, 32) << 32))
		return REBUILD;
	depth += checked;
	if (checked && len == depth)
		return SET_DEFAULT;
	if (!(cell & SIXLANE_FIB_NODE))
		return REBUILD;
	node = compiled_open(change->store, sixlane_fib_entry(cell));
	*cells = (struct cells){
		.node = node,
		.above = compiled_entry(&place->node, place->number),
		.begin = depth + node.skip,
		.loaded = node.loaded ?: place->cursor.loaded,
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

/* 0 or -errno: done; 1: continue at *place. */
static int change_from(struct change *change, struct place *place, uint32_t limit)
{
	struct compiled_store *store = change->store;
	uint32_t *entry = compiled_entry(&place->node, place->number);
	const struct radix_node *top;
	struct cells cells;

	/* As far up as that is cheap, so that chains do not grow node by node. */
	if (limit && !is_leaf(place) && is_below_limit(change, place, limit) &&
	    !improve(change, place))
		return 0;
	switch (classify(change, place, &cells)) {
	case SET_DEFAULT:
		top = radix_top_under(change->routes, change->dst);
		set_inherited(change->store, entry, new_value(change, top) ?: place->cover);
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

int compiled_change_in(struct compiled_store *store, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       struct compiled_replaced *replaced)
{
	struct change change = {
		.store = store,
		.routes = routes,
		.dst = dst,
		.addr = compiled_addr(&dst->addr),
		.is_root = true,
		.replaced = replaced,
		.build = { .store = store, .value = value },
	};
	uint32_t none = 0, limit;
	struct place place = {
		.node = { .cells = root, .default_leaf = &none },
		.above = root,
		.cursor = { .loaded = COMPILED_BITS_LOADED },
		.cover = *compiled_open(store, *root).default_leaf,
	};
	int ret;

	*replaced = (struct compiled_replaced){ 0 };
	store->preferred = sixlane_fib_chunk_of(*root);
	if (!dst->len) {
		set_inherited(store, root, new_value(&change, routes->root));
		return 0;
	}
	limit = same_prefixes ? 0 : rebuild_limit(&change, *root);
	do
		ret = change_from(&change, &place, limit);
	while (ret > 0);
	return ret;
}
