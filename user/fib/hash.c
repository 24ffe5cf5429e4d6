// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash table of hash.h. Growing is done when memory allows: without it chains grow
 * longer, and nothing else happens.
 */
#include <errno.h>
#include <stdlib.h>

#include "hash.h"

#define FIRST_BUCKETS 64u

int fib_hash_init(struct fib_hash *hash)
{
	hash->buckets = calloc(FIRST_BUCKETS, sizeof(*hash->buckets));
	hash->n_buckets = hash->buckets ? FIRST_BUCKETS : 0;
	hash->count = 0;
	return hash->buckets ? 0 : -ENOMEM;
}

void fib_hash_free(struct fib_hash *hash)
{
	free(hash->buckets);
	hash->buckets = NULL;
}

uint32_t fib_hash_of(const void *key, size_t bytes)
{
	const uint32_t *words = key;
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < bytes / sizeof(*words); i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

static void link_node(struct fib_hash *hash, struct fib_hash_node *node)
{
	struct fib_hash_node **bucket = &hash->buckets[node->hash & (hash->n_buckets - 1)];

	node->next = *bucket;
	*bucket = node;
}

static void grow(struct fib_hash *hash)
{
	struct fib_hash bigger = { .n_buckets = hash->n_buckets * 2, .count = hash->count };

	bigger.buckets = calloc(bigger.n_buckets, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return;
	for (uint32_t i = 0; i < hash->n_buckets; i++) {
		struct fib_hash_node *node, *next;

		for (node = hash->buckets[i]; node; node = next) {
			next = node->next;
			link_node(&bigger, node);
		}
	}
	free(hash->buckets);
	*hash = bigger;
}

void fib_hash_insert(struct fib_hash *hash, struct fib_hash_node *node, uint32_t value)
{
	if (hash->count >= hash->n_buckets)
		grow(hash);
	node->hash = value;
	link_node(hash, node);
	hash->count++;
}

void fib_hash_remove(struct fib_hash *hash, struct fib_hash_node *node)
{
	struct fib_hash_node **link = &hash->buckets[node->hash & (hash->n_buckets - 1)];

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	hash->count--;
}

static struct fib_hash_node *skip_others(struct fib_hash_node *node, uint32_t value)
{
	while (node && node->hash != value)
		node = node->next;
	return node;
}

struct fib_hash_node *fib_hash_first(const struct fib_hash *hash, uint32_t value)
{
	return skip_others(hash->buckets[value & (hash->n_buckets - 1)], value);
}

struct fib_hash_node *fib_hash_next(const struct fib_hash_node *node)
{
	return skip_others(node->next, node->hash);
}

void fib_hash_each(const struct fib_hash *hash, void (*fn)(struct fib_hash_node *node, void *ctx),
		   void *ctx)
{
	for (uint32_t i = 0; i < hash->n_buckets; i++) {
		struct fib_hash_node *node, *next;

		for (node = hash->buckets[i]; node; node = next) {
			next = node->next;
			fn(node, ctx);
		}
	}
}
