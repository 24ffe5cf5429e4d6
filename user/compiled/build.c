// SPDX-License-Identifier: GPL-2.0-only
/* Nodes from routes, in the planned shape, see build.h. */
#include <string.h>

#include "build.h"

/* The place of a new node: the state of a lookup that arrives there. */
struct spot {
	compiled_bits addr; /* of a prefix below it, for the skipped bits */
	uint32_t past;	    /* bits consumed */
	uint32_t loaded;    /* bits loaded */
};

static void write_header(uint8_t *at, const struct spot *spot, uint32_t code, uint32_t skip,
			 uint32_t leaf)
{
	const uint64_t key = compiled_slice(spot->addr, spot->past, skip);
	const struct sixlane_fib_header header = { .key = (uint32_t)key, .default_leaf = leaf };
	const uint64_t word = skip | spot->past << 8 | key << 16;
	const struct sixlane_fib_long_header long_header = {
		.words = { (uint32_t)word, (uint32_t)(word >> 32) },
		.default_leaf = leaf,
	};

	if (code < SIXLANE_FIB_SKIP_LONG) {
		memcpy(at, &header, sizeof(header));
		return;
	}
	memcpy(at, &long_header, sizeof(long_header));
}

/* A node in which every cell is leaf. Its entry, 0: out of memory. */
static uint32_t new_node(struct compiled_build *build, const struct spot *spot, uint32_t code,
			 uint32_t skip, uint32_t stride, uint32_t leaf, struct compiled_node *out)
{
	uint32_t entry = compiled_alloc(build->store, compiled_units(code, stride));

	if (!entry) {
		build->failed = true;
		return 0;
	}
	entry = sixlane_fib_node(entry, code, stride);
	write_header(compiled_at(build->store, entry), spot, code, skip, leaf);
	*out = compiled_open(build->store, entry);
	out->loaded = out->loaded ?: spot->loaded;
	for (uint32_t i = 0; i < 1u << stride; i++)
		compiled_set_cell(out, i, leaf);
	return entry;
}

/* The same for a node that is not wide, with a short or a long header as needed. */
static uint32_t new_plain_node(struct compiled_build *build, const struct spot *spot, uint32_t skip,
			       uint32_t stride, uint32_t leaf, struct compiled_node *out)
{
	bool fits = spot->past + skip + stride <= spot->loaded;

	return new_node(build, spot, fits ? compiled_skip_code(skip) : SIXLANE_FIB_SKIP_LONG, skip,
			stride, leaf, out);
}

static uint32_t build_above(struct compiled_build *build, struct radix_node *vertex, uint32_t depth,
			    uint32_t loaded, uint32_t leaf);

static uint32_t build_wide(struct compiled_build *build, struct radix_node *vertex, uint32_t loaded,
			   uint32_t leaf);

/* An entry for all prefixes longer than the vertex, in a node above that ends at the vertex. */
static uint32_t build_below(struct compiled_build *build, struct radix_node *vertex,
			    uint32_t loaded, uint32_t leaf)
{
	struct radix_node *left = compiled_vertex(vertex->child[0]);
	struct radix_node *right = compiled_vertex(vertex->child[1]);
	uint32_t wide = compiled_wide_stride(vertex);

	if (left && right)
		return wide && vertex->prefix.len + wide <= loaded
			       ? build_wide(build, vertex, loaded, leaf)
			       : build_above(build, vertex, vertex->prefix.len, loaded, leaf);
	if (left || right)
		return build_above(build, left ? left : right, vertex->prefix.len, loaded, leaf);
	return leaf;
}

static uint32_t value_of(const struct compiled_build *build, const struct radix_node *vertex)
{
	return vertex->glue ? 0 : build->value(vertex);
}

/* A cell for the vertex and all below it. */
static uint64_t build_cell(struct compiled_build *build, struct radix_node *vertex,
			   const struct compiled_cursor *cursor, uint32_t cover)
{
	uint32_t len = vertex->prefix.len, skip = len - cursor->depth;
	bool checks = cursor->is_wide && cursor->default_leaf == cover &&
		      skip <= SIXLANE_FIB_CHECK_MAX && len <= cursor->loaded;
	uint64_t key;

	if (skip && !checks)
		return build_above(build, vertex, cursor->depth, cursor->loaded, cover);
	key = compiled_slice(compiled_addr(&vertex->prefix.addr), cursor->depth, skip);
	return compiled_checking(
		build_below(build, vertex, cursor->loaded, value_of(build, vertex) ?: cover), key,
		skip);
}

struct span {
	struct compiled_node *node;
	uint32_t begin; /* bits consumed before its cells, its skip included */
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

/* Set the cells of the vertex, then those of longer prefixes, which overwrite them. */
static void fill(struct compiled_build *build, const struct span *span, struct radix_node *vertex)
{
	const struct compiled_node *node = span->node;
	const struct compiled_cursor cursor = { span->begin + node->stride, node->loaded,
						node->is_wide, *node->default_leaf };
	uint32_t below = vertex->prefix.len - span->begin, value = value_of(build, vertex);
	uint64_t cell =
		compiled_slice(compiled_addr(&vertex->prefix.addr), span->begin, node->stride);

	if (below >= node->stride) {
		compiled_set_cell(node, cell,
				  build_cell(build, vertex, &cursor, *compiled_entry(node, cell)));
		return;
	}
	for (uint64_t i = 0; value && i < 1ull << (node->stride - below); i++)
		compiled_set_cell(node, cell + i, value);
	fill_children(build, span, vertex);
}

/* A wide node that begins at the vertex. leaf: the value of the vertex, or of its cover. */
static uint32_t build_wide(struct compiled_build *build, struct radix_node *vertex, uint32_t loaded,
			   uint32_t leaf)
{
	const struct spot spot = { .past = vertex->prefix.len, .loaded = loaded };
	struct compiled_node node;
	const struct span span = { &node, vertex->prefix.len };
	uint32_t entry = new_node(build, &spot, SIXLANE_FIB_SKIP_WIDE, 0,
				  compiled_wide_stride(vertex), leaf, &node);

	if (entry)
		fill_children(build, &span, vertex);
	return entry;
}

/*
 * A node for the vertex and all below it, after depth bits: it skips the bits up to the vertex. If
 * there are none to skip, leaf is the vertex's own value.
 */
static uint32_t build_above(struct compiled_build *build, struct radix_node *vertex, uint32_t depth,
			    uint32_t loaded, uint32_t leaf)
{
	const struct spot spot = { compiled_addr(&vertex->prefix.addr), depth, loaded };
	uint32_t skip = vertex->prefix.len - depth, entry;
	struct compiled_node node;
	struct span span;

	if (skip > SIXLANE_FIB_SKIP_MAX) {
		skip = SIXLANE_FIB_SKIP_MAX;
		entry = new_plain_node(build, &spot, skip, 0, leaf, &node);
		if (entry)
			compiled_set_cell(
				&node, 0,
				build_above(build, vertex, depth + skip, node.loaded, leaf));
		return entry;
	}
	entry = new_plain_node(build, &spot, skip, compiled_stride(vertex, skip != 0), leaf, &node);
	span = (struct span){ &node, depth + skip };
	if (entry && skip)
		fill(build, &span, vertex);
	else if (entry)
		fill_children(build, &span, vertex);
	return entry;
}

uint64_t compiled_build(struct compiled_build *build, struct radix_node *top,
			const struct compiled_cursor *cursor, uint32_t cover)
{
	struct radix_node *vertex = compiled_vertex(top);

	return vertex ? build_cell(build, vertex, cursor, cover) : cover;
}

uint32_t compiled_build_cover(struct compiled_build *build, uint64_t cell,
			      const struct compiled_cursor *cursor, uint32_t cover)
{
	uint32_t n = sixlane_fib_checked(cell);
	const struct spot spot = {
		.addr = (compiled_bits)sixlane_fib_bits(cell, n) << (128 - cursor->depth - n),
		.past = cursor->depth,
		.loaded = cursor->loaded,
	};
	struct compiled_node node;
	uint32_t entry = new_plain_node(build, &spot, n, 0, cover, &node);

	if (entry)
		compiled_set_cell(&node, 0, sixlane_fib_entry(cell));
	return entry;
}

uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top)
{
	const struct compiled_cursor cursor = { .loaded = COMPILED_BITS_LOADED };
	const struct spot spot = { .loaded = COMPILED_BITS_LOADED };
	uint32_t entry = (uint32_t)compiled_build(build, top, &cursor, 0);
	struct compiled_node node;

	if (!build->failed && !(entry & SIXLANE_FIB_NODE))
		entry = new_plain_node(build, &spot, 0, 0, entry, &node);
	return entry;
}

static void retire_node(struct compiled_store *store, uint32_t entry)
{
	compiled_retire(store, sixlane_fib_unit(entry), compiled_open(store, entry).n_units);
}

static void retire_tree(struct compiled_store *store, uint32_t entry)
{
	struct compiled_node node = compiled_open(store, entry);

	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		uint32_t below = *compiled_entry(&node, i);

		if (below & SIXLANE_FIB_NODE)
			retire_tree(store, below);
	}
	retire_node(store, entry);
}

void compiled_retire_replaced(struct compiled_store *store,
			      const struct compiled_replaced *replaced)
{
	if (replaced->tree)
		retire_tree(store, replaced->tree);
	if (replaced->node)
		retire_node(store, replaced->node);
}
