/* SPDX-License-Identifier: GPL-2.0-only */
/* The shape of the compiled FIB: on how many bits each node branches. Private to compiled/. */
#ifndef USER_COMPILED_PLAN_H
#define USER_COMPILED_PLAN_H

#include "../rib/radix.h"

/*
 * The value in the map sl_routes (sixlane_route_value() and flags); 0: the map has no such entry.
 * node is never glue.
 */
typedef uint32_t (*compiled_value_fn)(const struct radix_node *node);

/*
 * Choose the shape of all at and below top, and store it in the nodes' plan. Nodes that are no
 * vertex of the shape (deleted from the map, still in the trie) are marked so.
 */
void compiled_plan(struct radix_node *top, compiled_value_fn value);

/* After compiled_plan(): the topmost vertex at or below node, NULL: none. */
struct radix_node *compiled_vertex(struct radix_node *node);
/* Bits to branch on at a vertex. from_above: the node starts above the vertex, and skips bits. */
uint32_t compiled_stride(const struct radix_node *vertex, bool from_above);
/* The same for a wide node, which skips none; 0: a plain node is better. */
uint32_t compiled_wide_stride(const struct radix_node *vertex);

#endif
