// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes from routes, in the shape that was planned; and letting go of them.
 */
#include <string.h>

#include "compiled_internal.h"

/* Where a node is to stand, and which addresses come to it. */
struct spot {
	compiled_bits addr; /* of those that pass its skip */
	uint32_t past;	    /* bits behind them */
	uint32_t held;	    /* bits up to which they have at hand */
};

static void write_header(uint8_t *at, const struct spot *spot, uint32_t code, uint32_t skip,
			 uint32_t best)
{
	const uint64_t key = compiled_slice(spot->addr, spot->past, skip);
	const struct sixlane_fib_header header = { .key = (uint32_t)key, .best = best };
	const uint64_t word = skip | spot->past << 8 | key << 16;
	const struct sixlane_fib_long_header long_header = {
		.words = { (uint32_t)word, (uint32_t)(word >> 32) },
		.best = best,
	};

	if (code < SIXLANE_FIB_SKIP_LONG) {
		memcpy(at, &header, sizeof(header));
		return;
	}
	memcpy(at, &long_header, sizeof(long_header));
}

/* A node without anything longer than what came to it. Its entry, 0: no room. */
static uint32_t new_node(struct compiled_build *build, const struct spot *spot, uint32_t code,
			 uint32_t skip, uint32_t stride, uint32_t best, struct compiled_node *out)
{
	uint32_t entry = compiled_take(build->store, compiled_units(code, stride));

	if (!entry) {
		build->failed = true;
		return 0;
	}
	entry = sixlane_fib_node(entry, code, stride);
	write_header(compiled_at(build->store, entry), spot, code, skip, best);
	*out = compiled_open(build->store, entry);
	out->held = out->held ?: spot->held;
	for (uint32_t i = 0; i < 1u << stride; i++)
		compiled_set_cell(out, i, best);
	return entry;
}

/* The same, with the header that it needs, and no wide one. */
static uint32_t new_plain_node(struct compiled_build *build, const struct spot *spot, uint32_t skip,
			       uint32_t stride, uint32_t best, struct compiled_node *out)
{
	bool fits = spot->past + skip + stride <= spot->held;

	return new_node(build, spot, fits ? compiled_skip_code(skip) : SIXLANE_FIB_SKIP_LONG, skip,
			stride, best, out);
}

static uint32_t build_above(struct compiled_build *build, struct radix_node *vertex, uint32_t depth,
			    uint32_t held, uint32_t best);

static uint32_t build_wide(struct compiled_build *build, struct radix_node *vertex, uint32_t held,
			   uint32_t best);

/* What is strictly longer than the vertex, for a node above that ends there. */
static uint32_t build_below(struct compiled_build *build, struct radix_node *vertex, uint32_t held,
			    uint32_t best)
{
	struct radix_node *left = compiled_vertex(vertex->child[0]);
	struct radix_node *right = compiled_vertex(vertex->child[1]);
	uint32_t wide = compiled_wide_stride(vertex);

	if (left && right)
		return wide && vertex->prefix.len + wide <= held
			       ? build_wide(build, vertex, held, best)
			       : build_above(build, vertex, vertex->prefix.len, held, best);
	if (left || right)
		return build_above(build, left ? left : right, vertex->prefix.len, held, best);
	return best;
}

static uint32_t value_of(const struct compiled_build *build, const struct radix_node *vertex)
{
	return vertex->glue ? 0 : build->value(vertex);
}

/* A cell for the vertex and all below. */
static uint64_t build_cell(struct compiled_build *build, struct radix_node *vertex,
			   const struct compiled_arrival *arrival, uint32_t cover)
{
	uint32_t len = vertex->prefix.len, skip = len - arrival->depth;
	bool checks = arrival->is_wide && arrival->best == cover && skip <= SIXLANE_FIB_CHECK_MAX &&
		      len <= arrival->held;
	uint64_t key;

	if (skip && !checks)
		return build_above(build, vertex, arrival->depth, arrival->held, cover);
	key = compiled_slice(compiled_addr(&vertex->prefix.addr), arrival->depth, skip);
	return compiled_checking(
		build_below(build, vertex, arrival->held, value_of(build, vertex) ?: cover), key,
		skip);
}

struct span {
	struct compiled_node *node;
	uint32_t begin; /* bits behind an address that has come to the node and passed its skip */
};

static void fill(struct compiled_build *build, const struct span *span, struct radix_node *vertex);

static void fill_children(struct compiled_build *build, const struct span *span,
			  const struct radix_node *vertex)
{
	for (int i = 0; i < 2 && !build->failed; i++) {
		struct radix_node *child = compiled_vertex(vertex->child[i]);

		if (child)
			fill(build, span, child);
	}
}

/* Values first, as they are longer and longer; then what leads on from the cells. */
static void fill(struct compiled_build *build, const struct span *span, struct radix_node *vertex)
{
	const struct compiled_node *node = span->node;
	const struct compiled_arrival arrival = { span->begin + node->stride, node->held,
						  node->is_wide, *node->best };
	uint32_t way = vertex->prefix.len - span->begin, value = value_of(build, vertex);
	uint64_t cell =
		compiled_slice(compiled_addr(&vertex->prefix.addr), span->begin, node->stride);

	if (way >= node->stride) {
		compiled_set_cell(node, cell,
				  build_cell(build, vertex, &arrival, *compiled_entry(node, cell)));
		return;
	}
	for (uint64_t i = 0; value && i < 1ull << (node->stride - way); i++)
		compiled_set_cell(node, cell + i, value);
	fill_children(build, span, vertex);
}

/* A wide node that begins at the vertex, of which the value is best if it has one. */
static uint32_t build_wide(struct compiled_build *build, struct radix_node *vertex, uint32_t held,
			   uint32_t best)
{
	const struct spot spot = { .past = vertex->prefix.len, .held = held };
	struct compiled_node node;
	const struct span span = { &node, vertex->prefix.len };
	uint32_t entry = new_node(build, &spot, SIXLANE_FIB_SKIP_WIDE, 0,
				  compiled_wide_stride(vertex), best, &node);

	if (entry)
		fill_children(build, &span, vertex);
	return entry;
}

/*
 * A node for the vertex and all below, for addresses with depth bits behind them: it skips the
 * rest. Where there is none to skip the vertex's own value is the node's best.
 */
static uint32_t build_above(struct compiled_build *build, struct radix_node *vertex, uint32_t depth,
			    uint32_t held, uint32_t best)
{
	const struct spot spot = { compiled_addr(&vertex->prefix.addr), depth, held };
	uint32_t skip = vertex->prefix.len - depth, entry;
	struct compiled_node node;
	struct span span;

	if (skip > SIXLANE_FIB_SKIP_MAX) {
		skip = SIXLANE_FIB_SKIP_MAX;
		entry = new_plain_node(build, &spot, skip, 0, best, &node);
		if (entry)
			compiled_set_cell(
				&node, 0,
				build_above(build, vertex, depth + skip, node.held, best));
		return entry;
	}
	entry = new_plain_node(build, &spot, skip, compiled_stride(vertex, skip != 0), best, &node);
	span = (struct span){ &node, depth + skip };
	if (entry && skip)
		fill(build, &span, vertex);
	else if (entry)
		fill_children(build, &span, vertex);
	return entry;
}

uint64_t compiled_build(struct compiled_build *build, struct radix_node *top,
			const struct compiled_arrival *arrival, uint32_t cover)
{
	struct radix_node *vertex = compiled_vertex(top);

	return vertex ? build_cell(build, vertex, arrival, cover) : cover;
}

uint32_t compiled_build_cover(struct compiled_build *build, uint64_t cell,
			      const struct compiled_arrival *arrival, uint32_t cover)
{
	uint32_t n = sixlane_fib_checked(cell);
	const struct spot spot = {
		.addr = (compiled_bits)sixlane_fib_bits(cell, n) << (128 - arrival->depth - n),
		.past = arrival->depth,
		.held = arrival->held,
	};
	struct compiled_node node;
	uint32_t entry = new_plain_node(build, &spot, n, 0, cover, &node);

	if (entry)
		compiled_set_cell(&node, 0, sixlane_fib_entry(cell));
	return entry;
}

uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top)
{
	const struct compiled_arrival arrival = { .held = COMPILED_HELD };
	const struct spot spot = { .held = COMPILED_HELD };
	uint32_t entry = (uint32_t)compiled_build(build, top, &arrival, 0);
	struct compiled_node node;

	if (!build->failed && !(entry & SIXLANE_FIB_NODE))
		entry = new_plain_node(build, &spot, 0, 0, entry, &node);
	return entry;
}

static void give_node(struct compiled_store *store, uint32_t entry)
{
	compiled_give(store, sixlane_fib_unit(entry), compiled_open(store, entry).n_units);
}

static void give_tree(struct compiled_store *store, uint32_t entry)
{
	struct compiled_node node = compiled_open(store, entry);

	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		uint32_t below = *compiled_entry(&node, i);

		if (below & SIXLANE_FIB_NODE)
			give_tree(store, below);
	}
	give_node(store, entry);
}

void compiled_give_gone(struct compiled_store *store, const struct compiled_gone *gone)
{
	if (gone->tree)
		give_tree(store, gone->tree);
	if (gone->node)
		give_node(store, gone->node);
}
