/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive chained hash table that grows. Knows nothing of its keys: the user hashes them
 * and compares them along the chain. Private to fib/.
 */
#ifndef USER_FIB_HASH_H
#define USER_FIB_HASH_H

#include <stddef.h>
#include <stdint.h>

struct fib_hash_node {
	struct fib_hash_node *next;
	uint32_t hash;
};

struct fib_hash {
	struct fib_hash_node **buckets;
	uint32_t n_buckets; /* a power of two */
	size_t count;
};

/* 0, or -ENOMEM: then it can still be walked and freed. */
int fib_hash_init(struct fib_hash *hash);
/* The nodes are the user's. */
void fib_hash_free(struct fib_hash *hash);

/* bytes: a multiple of 4 that has no padding, aligned for uint32_t. */
uint32_t fib_hash_of(const void *key, size_t bytes);

void fib_hash_insert(struct fib_hash *hash, struct fib_hash_node *node, uint32_t value);
void fib_hash_remove(struct fib_hash *hash, struct fib_hash_node *node);

/* The first node of this hash value, and the one after; NULL: none. */
struct fib_hash_node *fib_hash_first(const struct fib_hash *hash, uint32_t value);
struct fib_hash_node *fib_hash_next(const struct fib_hash_node *node);

/* Every node; fn may remove the node that it is given. */
void fib_hash_each(const struct fib_hash *hash, void (*fn)(struct fib_hash_node *node, void *ctx),
		   void *ctx);

#endif
