/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes from routes: their shape (plan.c), making them (build.c), and one change while packets read
 * them (change.c). Private to compiled/.
 */
#ifndef USER_COMPILED_BUILD_H
#define USER_COMPILED_BUILD_H

#include "compiled.h"
#include "node.h"

/* --- plan.c ----------------------------------------------------------------------------------- */

/*
 * Choose the shape of all at and below top, and store it in the routes' plan. Routes that are no
 * vertex of the shape (deleted from the map, still in the trie) are marked so.
 */
void compiled_plan(struct radix_node *top, compiled_value_fn value);

/* After compiled_plan(): the topmost vertex at or below route, NULL: none. */
struct radix_node *compiled_vertex(struct radix_node *route);
/* Bits to branch on at a vertex. from_above: the node starts above the vertex, and skips bits. */
uint32_t compiled_stride(const struct radix_node *vertex, bool from_above);
/* The same for a wide node, which skips none; 0: a plain node is better. */
uint32_t compiled_wide_stride(const struct radix_node *vertex);

/* --- build.c ---------------------------------------------------------------------------------- */

struct compiled_build {
	struct compiled_store *store;
	compiled_value_fn value;
	bool failed; /* out of memory */
};

/* The state of a lookup that arrives at a cell. */
struct compiled_cursor {
	uint32_t depth;	       /* bits consumed */
	uint32_t loaded;       /* bits loaded */
	bool is_wide;	       /* the cell is part of a wide node */
	uint32_t default_leaf; /* of that node */
};

/*
 * Make a cell for all prefixes at and below top, with the nodes that it leads to. They are longer
 * than cursor->depth, and planned. top NULL: there are none. cover: the value of addresses that
 * none of them matches. No reader can reach the nodes yet.
 */
uint64_t compiled_build(struct compiled_build *build, struct radix_node *top,
			const struct compiled_cursor *cursor, uint32_t cover);
/* The same, but always a node, where readers can start. */
uint32_t compiled_build_root(struct compiled_build *build, struct radix_node *top);
/*
 * A node that replaces a cell with checked bits: it checks the bits, leads on as the cell does, and
 * has cover as its default leaf. 0: out of memory.
 */
uint32_t compiled_build_cover(struct compiled_build *build, uint64_t cell,
			      const struct compiled_cursor *cursor, uint32_t cover);

/* Entries that readers can no longer reach, or 0. */
struct compiled_replaced {
	uint32_t tree; /* a node with all below it */
	uint32_t node;
};

void compiled_retire_replaced(struct compiled_store *store,
			      const struct compiled_replaced *replaced);

/* --- change.c --------------------------------------------------------------------------------- */

/*
 * Update the nodes below *root after a change of routes at dst. same_prefixes: only a value
 * changed. If *root changes, the caller publishes it, and then retires *replaced. 0 or -ENOSPC.
 */
int compiled_change_in(struct compiled_store *store, uint32_t *root, const struct radix *routes,
		       compiled_value_fn value, const struct prefix *dst, bool same_prefixes,
		       struct compiled_replaced *replaced);

#endif
