// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash table of hash.h. It grows when memory allows; otherwise its chains get longer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define FIRST_BUCKETS 64u

int fib_hash_init(struct fib_hash *hash, size_t key_offset, size_t key_bytes)
{
	*hash = (struct fib_hash){
		.buckets = calloc(FIRST_BUCKETS, sizeof(*hash->buckets)),
		.key_offset = (uint32_t)key_offset,
		.key_bytes = (uint32_t)key_bytes,
	};
	hash->n_buckets = hash->buckets ? FIRST_BUCKETS : 0;
	return hash->buckets ? 0 : -ENOMEM;
}

void fib_hash_free(struct fib_hash *hash, void (*free_entry)(void *entry))
{
	FIB_HASH_EACH(void, at, hash)
		free_entry(at);
	free(hash->buckets);
	*hash = (struct fib_hash){ 0 };
}

static size_t key_bytes(const struct fib_hash *hash, const void *key)
{
	return hash->key_bytes ? hash->key_bytes : *(const uint32_t *)key;
}

static const void *key_of(const struct fib_hash *hash, const void *entry)
{
	return (const char *)entry + hash->key_offset;
}

static uint32_t hash_key(const uint32_t *words, size_t bytes)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < bytes / sizeof(*words); i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

static struct fib_hash_node **bucket_of(const struct fib_hash *hash, uint32_t value)
{
	return &hash->buckets[value & (hash->n_buckets - 1)];
}

void *fib_hash_find(const struct fib_hash *hash, const void *key)
{
	const size_t bytes = key_bytes(hash, key);
	const uint32_t value = hash_key(key, bytes);
	struct fib_hash_node *node = *bucket_of(hash, value);

	/* A key that starts with its length differs in the first word if it is shorter. */
	while (node && (node->hash != value ||
			*(const uint32_t *)key_of(hash, node) != *(const uint32_t *)key ||
			memcmp(key_of(hash, node), key, bytes) != 0))
		node = node->next;
	return node;
}

static void link_node(struct fib_hash *hash, struct fib_hash_node *node)
{
	struct fib_hash_node **bucket = bucket_of(hash, node->hash);

	node->next = *bucket;
	*bucket = node;
}

static void grow(struct fib_hash *hash)
{
	struct fib_hash bigger = *hash;
	struct fib_hash_node *node, *next;

	bigger.n_buckets *= 2;
	bigger.buckets = calloc(bigger.n_buckets, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return;
	for (uint32_t i = 0; i < hash->n_buckets; i++) {
		for (node = hash->buckets[i]; node; node = next) {
			next = node->next;
			link_node(&bigger, node);
		}
	}
	free(hash->buckets);
	*hash = bigger;
}

void fib_hash_insert(struct fib_hash *hash, void *entry)
{
	const void *key = key_of(hash, entry);
	struct fib_hash_node *node = entry;

	if (hash->count >= hash->n_buckets)
		grow(hash);
	node->hash = hash_key(key, key_bytes(hash, key));
	link_node(hash, node);
	hash->count++;
}

void *fib_hash_add(struct fib_hash *hash, const void *key, size_t bytes)
{
	char *entry = calloc(1, bytes);

	if (!entry)
		return NULL;
	memcpy(entry + hash->key_offset, key, hash->key_bytes);
	fib_hash_insert(hash, entry);
	return entry;
}

void fib_hash_remove(struct fib_hash *hash, void *entry)
{
	struct fib_hash_node *node = entry, **link = bucket_of(hash, node->hash);

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	hash->count--;
}

static struct fib_hash_node *first_from(const struct fib_hash *hash, uint32_t bucket)
{
	while (bucket < hash->n_buckets && !hash->buckets[bucket])
		bucket++;
	return bucket < hash->n_buckets ? hash->buckets[bucket] : NULL;
}

void *fib_hash_first(const struct fib_hash *hash)
{
	return first_from(hash, 0);
}

void *fib_hash_after(const struct fib_hash *hash, const void *entry)
{
	const struct fib_hash_node *node = entry;

	return node->next ?: first_from(hash, (node->hash & (hash->n_buckets - 1)) + 1);
}
