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
static uint32_t new_node(struct compiled_build *build, const struct spot *spot, uint32_t skip,
			 uint32_t stride, uint32_t best, struct compiled_node *out)
{
	uint32_t code = spot->past + skip + stride > spot->held ? SIXLANE_FIB_SKIP_LONG
								: compiled_skip_code(skip);
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
		out->cells[i] = best;
	return entry;
}

static uint32_t build_above(struct compiled_build *build, struct radix_node *vertex, uint32_t depth,
			    uint32_t held, uint32_t best);

/* What is strictly longer than the vertex, for a node above that ends there. */
static uint32_t build_below(struct compiled_build *build, struct radix_node *vertex, uint32_t held,
			    uint32_t best)
{
	struct radix_node *left = compiled_vertex(vertex->child[0]);
	struct radix_node *right = compiled_vertex(vertex->child[1]);

	if (left && right)
		return build_above(build, vertex, vertex->prefix.len, held, best);
	if (left || right)
		return build_above(build, left ? left : right, vertex->prefix.len, held, best);
	return best;
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
	uint32_t stride = span->node->stride, way = vertex->prefix.len - span->begin;
	uint64_t cell = compiled_slice(compiled_addr(&vertex->prefix.addr), span->begin, stride);
	uint32_t value = vertex->glue ? 0 : build->value(vertex);

	if (way > stride) {
		span->node->cells[cell] = build_above(build, vertex, span->begin + stride,
						      span->node->held, span->node->cells[cell]);
		return;
	}
	for (uint64_t i = 0; value && i < 1ull << (stride - way); i++)
		span->node->cells[cell + i] = value;
	if (way == stride)
		span->node->cells[cell] =
			build_below(build, vertex, span->node->held, span->node->cells[cell]);
	else
		fill_children(build, span, vertex);
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
		entry = new_node(build, &spot, skip, 0, best, &node);
		if (entry)
			node.cells[0] = build_above(build, vertex, depth + skip, node.held, best);
		return entry;
	}
	entry = new_node(build, &spot, skip, compiled_stride(vertex, skip != 0), best, &node);
	span = (struct span){ &node, depth + skip };
	if (entry && skip)
		fill(build, &span, vertex);
	else if (entry)
		fill_children(build, &span, vertex);
	return entry;
}

uint32_t compiled_build(struct compiled_build *build, struct radix_node *top, uint32_t depth,
			uint32_t held, uint32_t best)
{
	struct radix_node *vertex = compiled_vertex(top);

	if (!vertex)
		return best;
	return vertex->prefix.len > depth ? build_above(build, vertex, depth, held, best)
					  : build_below(build, vertex, held, best);
}

uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top)
{
	struct radix_node *vertex = compiled_vertex(top);
	uint32_t best = vertex && !vertex->prefix.len && !vertex->glue ? build->value(vertex) : 0;
	const struct spot spot = { .held = COMPILED_HELD };
	uint32_t entry = compiled_build(build, top, 0, COMPILED_HELD, best);
	struct compiled_node node;

	if (!build->failed && !(entry & SIXLANE_FIB_NODE))
		entry = new_node(build, &spot, 0, 0, best, &node);
	return entry;
}

void compiled_give_all(struct compiled_store *store, uint32_t entry)
{
	struct compiled_node node = compiled_open(store, entry);

	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		if (node.cells[i] & SIXLANE_FIB_NODE)
			compiled_give_all(store, node.cells[i]);
	}
	compiled_give(store, sixlane_fib_unit(entry), node.n_units);
}
