// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path-compressed trie of radix.h. Knows only prefixes.
 *
 * Invariants
 * - A child's prefix is longer than its parent's and covered by it; child[b] continues
 *   with bit b.
 * - Glue has two children, always: with fewer it would not branch and is taken out.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "radix.h"

static unsigned int bit_of(const union sixlane_addr *addr, unsigned int i)
{
	return addr->bytes[i / 8] >> (7 - i % 8) & 1;
}

/* How many leading bits a and b share, at most limit. */
static unsigned int common_bits(const union sixlane_addr *a, const union sixlane_addr *b,
				unsigned int limit)
{
	uint64_t diff = be64toh(a->halves[0] ^ b->halves[0]);
	unsigned int n;

	if (diff) {
		n = (unsigned int)__builtin_clzll(diff);
	} else {
		diff = be64toh(a->halves[1] ^ b->halves[1]);
		n = diff ? 64 + (unsigned int)__builtin_clzll(diff) : 128;
	}
	return n < limit ? n : limit;
}

/* The pointer that leads to node. */
static struct radix_node **link_to(struct radix *radix, const struct radix_node *node)
{
	struct radix_node *parent = node->parent;

	return parent ? &parent->child[parent->child[1] == node] : &radix->root;
}

static void adopt_child(struct radix_node *parent, struct radix_node *child)
{
	parent->child[bit_of(&child->prefix.addr, parent->prefix.len)] = child;
	child->parent = parent;
}

struct radix_node *radix_find(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *node = radix->root;

	/* Compares all bits once, at the end; on the path only the branching bits. */
	while (node && node->prefix.len < prefix->len)
		node = node->child[bit_of(&prefix->addr, node->prefix.len)];
	if (!node || node->glue || !prefix_equal(&node->prefix, prefix))
		return NULL;
	return node;
}

struct radix_node *radix_match(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *node = radix->root, *best = NULL;

	while (node && prefix_covers(&node->prefix, prefix)) {
		if (!node->glue)
			best = node;
		if (node->prefix.len == prefix->len)
			break;
		node = node->child[bit_of(&prefix->addr, node->prefix.len)];
	}
	return best;
}

struct radix_node *radix_cover(const struct radix_node *node)
{
	struct radix_node *cover = node->parent;

	while (cover && cover->glue)
		cover = cover->parent;
	return cover;
}

/* Replace glue of the same prefix by node. */
static void replace_glue(struct radix *radix, struct radix_node *glue, struct radix_node *node)
{
	*link_to(radix, glue) = node;
	node->parent = glue->parent;
	adopt_child(node, glue->child[0]);
	adopt_child(node, glue->child[1]);
	free(glue);
}

/* Insert node above "below"; if neither covers the other, both get glue as their parent. */
static int insert_above(struct radix *radix, struct radix_node *below, struct radix_node *node,
			unsigned int common)
{
	struct radix_node **link = link_to(radix, below);
	struct radix_node *top = node;

	if (common < node->prefix.len) {
		top = calloc(1, sizeof(*top));
		if (!top)
			return -ENOMEM;
		top->glue = true;
		top->prefix.addr = node->prefix.addr;
		top->prefix.len = (uint8_t)common;
		prefix_mask(&top->prefix);
		adopt_child(top, node);
	}
	top->parent = below->parent;
	adopt_child(top, below);
	*link = top;
	return 0;
}

/* Insert a new node, whose prefix is not in the trie yet. */
static int insert(struct radix *radix, struct radix_node *node)
{
	struct radix_node **link = &radix->root, *parent = NULL, *at;
	unsigned int common;

	for (; (at = *link); link = &at->child[bit_of(&node->prefix.addr, at->prefix.len)]) {
		common = common_bits(&at->prefix.addr, &node->prefix.addr,
				     at->prefix.len < node->prefix.len ? at->prefix.len
								       : node->prefix.len);
		if (common < at->prefix.len)
			return insert_above(radix, at, node, common);
		if (at->prefix.len == node->prefix.len) {
			replace_glue(radix, at, node);
			return 0;
		}
		parent = at;
	}
	*link = node;
	node->parent = parent;
	return 0;
}

void *radix_add(struct radix *radix, const struct prefix *prefix, size_t bytes)
{
	struct radix_node *node = calloc(1, bytes);

	if (!node)
		return NULL;
	node->prefix = *prefix;
	if (insert(radix, node)) {
		free(node);
		return NULL;
	}
	radix->entries++;
	return node;
}

/* Remove and free a node that has at most one child. */
static void splice_out(struct radix *radix, struct radix_node *node)
{
	struct radix_node *child = node->child[0] ? node->child[0] : node->child[1];

	*link_to(radix, node) = child;
	if (child)
		child->parent = node->parent;
	free(node);
}

void radix_remove(struct radix *radix, struct radix_node *node)
{
	struct radix_node *parent = node->parent;

	radix->entries--;
	if (node->child[0] && node->child[1]) {
		node->glue = true;
		return;
	}
	splice_out(radix, node);
	if (parent && parent->glue && !(parent->child[0] && parent->child[1]))
		splice_out(radix, parent);
}

/* The node after this one in preorder, glue too, that prefix covers. */
static struct radix_node *next_in_order(const struct radix_node *node, const struct prefix *prefix)
{
	const struct radix_node *parent;

	if (node->child[0]) {
		__builtin_prefetch(node->child[1]); /* soon the next one */
		return node->child[0];
	}
	if (node->child[1])
		return node->child[1];
	for (; (parent = node->parent) && parent->prefix.len >= prefix->len; node = parent)
		if (parent->child[0] == node && parent->child[1])
			return parent->child[1];
	return NULL;
}

struct radix_node *radix_top_under(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *node = radix->root;

	while (node && node->prefix.len < prefix->len)
		node = node->child[bit_of(&prefix->addr, node->prefix.len)];
	return node && prefix_covers(prefix, &node->prefix) ? node : NULL;
}

struct radix_node *radix_first_under(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *top = radix_top_under(radix, prefix);

	return top && top->glue ? radix_next_under(top, prefix) : top;
}

struct radix_node *radix_next_under(const struct radix_node *node, const struct prefix *prefix)
{
	struct radix_node *next = next_in_order(node, prefix);

	while (next && next->glue)
		next = next_in_order(next, prefix);
	return next;
}

/* The first entry at or below node, which may be NULL. */
static struct radix_node *first_below(struct radix_node *node)
{
	while (node && node->glue)
		node = node->child[0];
	return node;
}

struct radix_node *radix_after(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *node = radix->root, *after = NULL;
	unsigned int bit, common;

	while (node && node->prefix.len <= prefix->len) {
		common = common_bits(&node->prefix.addr, &prefix->addr, node->prefix.len);
		if (common < node->prefix.len)
			return first_below(bit_of(&prefix->addr, common) ? after : node);
		bit = node->prefix.len == prefix->len ? 0 : bit_of(&prefix->addr, common);
		if (!bit && node->child[1])
			after = node->child[1];
		node = node->child[bit];
	}
	if (!node)
		return first_below(after);
	common = common_bits(&node->prefix.addr, &prefix->addr, prefix->len);
	return first_below(common < prefix->len && bit_of(&prefix->addr, common) ? after : node);
}

/* The last one in order at or below node: a leaf, which is never glue. */
static struct radix_node *last_below(struct radix_node *node)
{
	while (node->child[0] || node->child[1])
		node = node->child[1] ? node->child[1] : node->child[0];
	return node;
}

struct radix_node *radix_last_under(const struct radix *radix, const struct prefix *prefix)
{
	struct radix_node *top = radix_top_under(radix, prefix);

	return top ? last_below(top) : NULL;
}

struct radix_node *radix_prev_under(const struct radix_node *node, const struct prefix *prefix)
{
	struct radix_node *parent;

	for (; (parent = node->parent) && parent->prefix.len >= prefix->len; node = parent) {
		if (parent->child[1] == node && parent->child[0])
			return last_below(parent->child[0]);
		if (!parent->glue)
			return parent;
	}
	return NULL;
}
