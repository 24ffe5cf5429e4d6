/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive, path-compressed binary trie over IPv6 prefixes. Knows nothing of what an entry
 * contains. Not thread-safe.
 *
 * An entry has struct radix_node as its first member. It belongs to the trie: a removed entry that
 * still branches stays as glue in its own memory, so that removal never fails.
 */
#ifndef RIB_RADIX_H
#define RIB_RADIX_H

#include <stddef.h>

#include "prefix.h"

struct radix_node {
	struct radix_node *parent, *child[2];
	struct prefix prefix;
	bool glue;     /* a branching point without an entry, owned and set by the trie */
	uint16_t plan; /* used by compiled/plan.c; a new node has 0 */
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
 * Allocate an entry of so many zeroed bytes, and insert it. The prefix must not be in the trie yet.
 * NULL: no memory, and the trie is unchanged.
 */
void *radix_add(struct radix *radix, const struct prefix *prefix, size_t bytes);

/* The trie frees the entry, now or when it no longer branches. */
void radix_remove(struct radix *radix, struct radix_node *node);

/*
 * Entries under (and at) prefix in address order, shorter before longer:
 *	for (n = radix_first_under(r, p); n; n = radix_next_under(n, p))
 * The current node may be removed once the next has been taken.
 */
struct radix_node *radix_first_under(const struct radix *radix, const struct prefix *prefix);
struct radix_node *radix_next_under(const struct radix_node *node, const struct prefix *prefix);

/* The first entry after prefix in that order, whether or not prefix is one; NULL: none. */
struct radix_node *radix_after(const struct radix *radix, const struct prefix *prefix);

/* In reverse: longer before shorter. Adding in this order never gives a wrong longest match. */
struct radix_node *radix_last_under(const struct radix *radix, const struct prefix *prefix);
struct radix_node *radix_prev_under(const struct radix_node *node, const struct prefix *prefix);

/* The topmost node that prefix covers, glue too; NULL: none. */
struct radix_node *radix_top_under(const struct radix *radix, const struct prefix *prefix);

#endif
