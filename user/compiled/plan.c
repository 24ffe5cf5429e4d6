// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shape, by dynamic programming over the trie of prefixes, from the longest up. The cheapest
 * shape below a vertex depends only on how many of its bits a node above consumes.
 *
 * The cost is bytes, plus a price for each node on the path of each prefix, as if all prefixes were
 * looked up equally often. It ignores that a node may need a long header.
 *
 * A vertex is a route, a node of the trie, that has a value or branches. A prefix that is deleted
 * from sl_routes, but still in the trie, is no vertex.
 */
#include <stddef.h>

#include "build.h"

/* Bytes worth spending to save one node on the path of one prefix. */
#define VISIT_BYTES 32

/*
 * Bytes for each prefix below by which a wide node must be cheaper than a plain one. Lookups that
 * meet both kinds mispredict more often, which costs more than a node.
 */
#define WIDE_SAVES_BYTES 16

/* radix_node.plan */
#define PLAN_STRIDE 0x0fu  /* of a node that begins here */
#define PLAN_ALONE 0x10u   /* a node from above is cheaper if it does not branch */
#define PLAN_PASS 0x20u	   /* no vertex, but something below it is */
#define PLAN_NOTHING 0x40u /* nothing here or below is */
#define PLAN_WIDE_SHIFT 8  /* the stride of a wide node, 0: not cheap enough */

#define STRIDES (SIXLANE_FIB_STRIDE_MAX + 1)
/* Of wide nodes, which are copied by changes. */
#define WIDE_STRIDE_MAX 10u

struct cost {
	struct radix_node *vertex; /* NULL: nothing here */
	uint64_t node;		   /* of a node from above, with all below it */
	/* [is_wide][n]: of all below, if a plain or wide node from above ends n bits after the
	 * vertex. [0]: the cell has the vertex's value. */
	uint64_t below[2][STRIDES];
	uint64_t n; /* prefixes */
};

static uint64_t node_cost(uint32_t skip_code, uint32_t stride, uint64_t n_prefixes)
{
	return compiled_units(skip_code, stride) * SIXLANE_FIB_UNIT_BYTES +
	       VISIT_BYTES * n_prefixes;
}

/* A child's node from above that skips so many bits. */
static uint64_t skipping_cost(const struct cost *child, uint32_t skip)
{
	uint32_t stride = compiled_stride(child->vertex, true);

	return child->node +
	       SIXLANE_FIB_UNIT_BYTES * (compiled_units(compiled_skip_code(skip), stride) -
					 compiled_units(0, stride));
}

/* A cell of a wide node can check the bits up to the child, if its default leaf covers them. */
static uint64_t below_child(const struct radix_node *vertex, const struct cost *child,
			    uint32_t stride, bool is_wide)
{
	uint32_t distance;

	if (!child->vertex)
		return 0;
	distance = child->vertex->prefix.len - vertex->prefix.len;
	if (distance <= stride)
		return child->below[is_wide][stride - distance];
	if (is_wide && distance - stride <= SIXLANE_FIB_CHECK_MAX)
		return child->below[is_wide][0];
	return skipping_cost(child, distance - stride);
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
		/* Its value is not the default leaf of a node above. */
		out->below[true][k] = value ? below : below_wide;
		if (vertex->prefix.len + k > 128)
			continue;
		consider(&node, k, below + node_cost(0, k, out->n));
		if (k <= WIDE_STRIDE_MAX)
			consider(&wide, k,
				 below_wide + node_cost(SIXLANE_FIB_SKIP_WIDE, k, out->n));
	}
	if (!wide.stride || wide.cost + WIDE_SAVES_BYTES * out->n >= node.cost)
		wide = (struct choice){ 0, node.cost };
	/* Children are at least one bit longer: the node above leads to a node here. */
	out->below[false][0] = branches ? wide.cost : below_children(vertex, children, 0, false);
	out->below[true][0] = out->below[false][0];
	alone = out->below[false][0] + node_cost(0, 0, out->n);
	out->node = value && alone <= node.cost ? alone : node.cost;
	vertex->plan = (uint16_t)(node.stride | wide.stride << PLAN_WIDE_SHIFT |
				  (value && alone <= node.cost ? PLAN_ALONE : 0));
}

static void plan(struct radix_node *route, compiled_value_fn value_of, struct cost *out)
{
	struct cost children[2];
	uint32_t value;

	for (int i = 0; i < 2; i++) {
		children[i].vertex = NULL;
		children[i].n = 0;
		if (route->child[i])
			plan(route->child[i], value_of, &children[i]);
	}
	value = route->glue ? 0 : value_of(route);
	if (value || (children[0].vertex && children[1].vertex)) {
		choose(route, value, children, out);
		return;
	}
	route->plan = children[0].vertex || children[1].vertex ? PLAN_PASS : PLAN_NOTHING;
	if (route->plan == PLAN_PASS)
		*out = children[children[1].vertex != NULL];
}

void compiled_plan(struct radix_node *top, compiled_value_fn value)
{
	struct cost cost = { 0 };

	if (top)
		plan(top, value, &cost);
}

struct radix_node *compiled_vertex(struct radix_node *route)
{
	while (route && route->plan & PLAN_PASS)
		route = route->child[!route->child[0] || route->child[0]->plan & PLAN_NOTHING];
	return route && !(route->plan & PLAN_NOTHING) ? route : NULL;
}

uint32_t compiled_stride(const struct radix_node *vertex, bool from_above)
{
	return from_above && vertex->plan & PLAN_ALONE ? 0 : vertex->plan & PLAN_STRIDE;
}

uint32_t compiled_wide_stride(const struct radix_node *vertex)
{
	return vertex->plan >> PLAN_WIDE_SHIFT;
}
