// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shape of the compiled FIB: on how many bits each node branches. Dynamic programming over the
 * trie of prefixes, from the longest up: the cheapest shape of what is below a vertex does not hang
 * on how it was come to, but for how many bits a node above takes of its first ones.
 *
 * (Bar that a long header may be needed for bits that a lookup does not hold, which is not seen
 * here.)
 *
 * What is paid for: bytes, and for each prefix each node on its way, as if addresses came to all
 * prefixes alike.
 *
 * A vertex is a node of the trie that has a value or branches. What was removed from sl_routes but
 * not yet from the trie is none.
 */
#include <stddef.h>

#include "compiled_internal.h"

/* Bytes that one node less on the way to one prefix is worth. */
#ifndef COMPILED_VISIT_BYTES
#define COMPILED_VISIT_BYTES 32
#endif

/*
 * Bytes, for each prefix below, by which a wide node has to be cheaper than a plain one. Where both
 * kinds are mixed a lookup often does not foresee the next one's, which costs it more than a node.
 */
#ifndef COMPILED_WIDE_SAVES_BYTES
#define COMPILED_WIDE_SAVES_BYTES 16
#endif

/* radix_node.plan: the stride of a node that begins right here … */
#define PLAN_STRIDE 0x0fu
#define PLAN_ALONE 0x10u   /* … and come to from above, one that does not branch is cheaper */
#define PLAN_PASS 0x20u	   /* no vertex, but something below it is */
#define PLAN_NOTHING 0x40u /* nothing here or below is */
#define PLAN_WIDE_SHIFT 8  /* the stride of a wide one, 0: none is so much cheaper */

#define STRIDES (SIXLANE_FIB_STRIDE_MAX + 1)
/* Of wide nodes, which changes copy. */
#define WIDE_STRIDE_MAX 10u

struct cost {
	struct radix_node *vertex; /* that this is about, NULL: nothing */
	uint64_t node;		   /* of a node come to from above, and all below */
	/* All below, if a node above, plain or wide, ends n bits behind the vertex. [0]: and takes
	 * its value. */
	uint64_t below[2][STRIDES];
	uint64_t n; /* prefixes */
};

static uint64_t node_cost(uint32_t skip_code, uint32_t stride, uint64_t n_prefixes)
{
	return compiled_units(skip_code, stride) * SIXLANE_FIB_UNIT_BYTES +
	       COMPILED_VISIT_BYTES * n_prefixes;
}

/* A child's node that is come to with so many bits to skip. */
static uint64_t skipping_cost(const struct cost *child, uint32_t skip)
{
	uint32_t stride = compiled_stride(child->vertex, true);

	return child->node +
	       SIXLANE_FIB_UNIT_BYTES * (compiled_units(compiled_skip_code(skip), stride) -
					 compiled_units(0, stride));
}

/* A cell of a wide node, of which the best holds around the vertex, can check what is between it
 * and the child. */
static uint64_t below_child(const struct radix_node *vertex, const struct cost *child,
			    uint32_t stride, bool is_wide)
{
	uint32_t way;

	if (!child->vertex)
		return 0;
	way = child->vertex->prefix.len - vertex->prefix.len;
	if (way <= stride)
		return child->below[is_wide][stride - way];
	if (is_wide && way - stride <= SIXLANE_FIB_CHECK_MAX)
		return child->below[is_wide][0];
	return skipping_cost(child, way - stride);
}

static uint64_t below_children(const struct radix_node *vertex, const struct cost children[2],
			       uint32_t stride, bool is_wide)
{
	return below_child(vertex, &children[0], stride, is_wide) +
	       below_child(vertex, &children[1], stride, is_wide);
}

/* The stride of the cheapest node that begins at a vertex which branches, and what it costs. */
struct choice {
	uint32_t stride;
	uint64_t cost;
};

static void consider(struct choice *choice, uint32_t stride, uint64_t cost)
{
	if (cost < choice->cost)
		*choice = (struct choice){ stride, cost };
}

static void choose(struct radix_node *vertex, uint32_t value, const struct cost children[2],
		   struct cost *out)
{
	bool branches = children[0].vertex && children[1].vertex;
	struct choice node = { 1, UINT64_MAX }, wide = { 0, UINT64_MAX };
	uint64_t alone;

	out->vertex = vertex;
	out->n = children[0].n + children[1].n + (value != 0);
	for (uint32_t k = 1; k < STRIDES; k++) {
		uint64_t below = below_children(vertex, children, k, false);
		uint64_t below_wide = below_children(vertex, children, k, true);

		out->below[false][k] = below;
		/* Its value is not the best of a node above. */
		out->below[true][k] = value ? below : below_wide;
		if (vertex->prefix.len + k > 128)
			continue;
		consider(&node, k, below + node_cost(0, k, out->n));
		if (k <= WIDE_STRIDE_MAX)
			consider(&wide, k,
				 below_wide + node_cost(SIXLANE_FIB_SKIP_WIDE, k, out->n));
	}
	if (!wide.stride || wide.cost + COMPILED_WIDE_SAVES_BYTES * out->n >= node.cost)
		wide = (struct choice){ 0, node.cost };
	/* Children are longer by one bit at least: the node above leads to the one there is. */
	out->below[false][0] = branches ? wide.cost : below_children(vertex, children, 0, false);
	out->below[true][0] = out->below[false][0];
	alone = out->below[false][0] + node_cost(0, 0, out->n);
	out->node = value && alone <= node.cost ? alone : node.cost;
	vertex->plan = (uint16_t)(node.stride | wide.stride << PLAN_WIDE_SHIFT |
				  (value && alone <= node.cost ? PLAN_ALONE : 0));
}

static void plan(struct radix_node *node, compiled_value_fn value_of, struct cost *out)
{
	struct cost children[2];
	uint32_t value;

	for (int i = 0; i < 2; i++) {
		children[i].vertex = NULL;
		children[i].n = 0;
		if (node->child[i])
			plan(node->child[i], value_of, &children[i]);
	}
	value = node->glue ? 0 : value_of(node);
	if (value || (children[0].vertex && children[1].vertex)) {
		choose(node, value, children, out);
		return;
	}
	node->plan = children[0].vertex || children[1].vertex ? PLAN_PASS : PLAN_NOTHING;
	if (node->plan == PLAN_PASS)
		*out = children[children[1].vertex != NULL];
}

void compiled_plan(struct radix_node *top, compiled_value_fn value)
{
	struct cost cost = { 0 };

	if (top)
		plan(top, value, &cost);
}

struct radix_node *compiled_vertex(struct radix_node *node)
{
	while (node && node->plan & PLAN_PASS)
		node = node->child[!node->child[0] || node->child[0]->plan & PLAN_NOTHING];
	return node && !(node->plan & PLAN_NOTHING) ? node : NULL;
}

uint32_t compiled_stride(const struct radix_node *vertex, bool above)
{
	return above && vertex->plan & PLAN_ALONE ? 0 : vertex->plan & PLAN_STRIDE;
}

uint32_t compiled_wide_stride(const struct radix_node *vertex)
{
	return vertex->plan >> PLAN_WIDE_SHIFT;
}
