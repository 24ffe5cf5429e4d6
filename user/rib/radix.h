/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive, path-compressed binary trie over IPv6 prefixes. Knows nothing of what hangs
 * on a prefix. Not thread-safe.
 *
 * The owner allocates an entry with malloc, struct radix_node being its first member, and
 * gives it away with radix_remove(): an entry that is removed but still branches stays as
 * glue in its own memory, so that removal needs no memory and cannot fail.
 */
#ifndef RIB_RADIX_H
#define RIB_RADIX_H

#include <stddef.h>

#include "prefix.h"

struct radix_node {
	struct radix_node *parent, *child[2];
	struct prefix prefix;
	bool glue;     /* a branching point without an entry, owned by the trie; set by the trie */
	uint16_t plan; /* of the compiled FIB's builder, for what it is building; the trie's own is
			* 0 */
};

struct radix {
	struct radix_node *root;
	size_t entries; /* glue not counted */
};

/* The entry at exactly this prefix, or NULL. */
struct radix_node *radix_find(const struct radix *radix, const struct prefix *prefix);

/* The entry with the longest prefix that covers addr/len (itself included), or NULL. */
struct radix_node *radix_match(const struct radix *radix, const struct prefix *prefix);

/* The next shorter entry that covers node, or NULL. node may be an entry only. */
struct radix_node *radix_cover(const struct radix_node *node);

/*
 * node->prefix is set by the caller and must not be in the trie yet (look with radix_find).
 * 0, or -ENOMEM with the trie unchanged.
 */
int radix_insert(struct radix *radix, struct radix_node *node);

/*
 * The same of an entry of so many zeroed bytes that is made here: what the node is the first member
 * of. NULL: no memory.
 */
void *radix_add(struct radix *radix, const struct prefix *prefix, size_t bytes);

/* node is an entry. It is the trie's afterwards: freed now, or when it no longer branches. */
void radix_remove(struct radix *radix, struct radix_node *node);

/*
 * Entries under (and at) prefix in address order, shorter before longer:
 *	for (n = radix_first_under(r, p); n; n = radix_next_under(n, p))
 * The current node may be removed once the next has been taken.
 */
struct radix_node *radix_first_under(const struct radix *radix, const struct prefix *prefix);
struct radix_node *radix_next_under(const struct radix_node *node, const struct prefix *prefix);

/* The first entry behind prefix in that order, whether or not prefix is one; NULL: none. */
struct radix_node *radix_after(const struct radix *radix, const struct prefix *prefix);

/* The same in reverse: longer before shorter, the order in which adding breaks no longest match. */
struct radix_node *radix_last_under(const struct radix *radix, const struct prefix *prefix);
struct radix_node *radix_prev_under(const struct radix_node *node, const struct prefix *prefix);

/* The topmost node that prefix covers, glue too; NULL: none. */
struct radix_node *radix_top_under(const struct radix *radix, const struct prefix *prefix);

#endif
