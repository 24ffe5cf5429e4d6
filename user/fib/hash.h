/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive chained hash table that grows. An entry is a struct whose first member is its
 * struct fib_hash_node; the table finds the key inside the entry by its offset. A key has no
 * padding and is aligned for uint32_t. Entries belong to the caller.
 */
#ifndef USER_FIB_HASH_H
#define USER_FIB_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fib_hash_node {
	struct fib_hash_node *next;
	uint32_t hash;
};

struct fib_hash {
	struct fib_hash_node **buckets;
	uint32_t n_buckets; /* a power of two */
	uint32_t key_offset, key_bytes;
	size_t count;
};

/*
 * key_bytes is a multiple of 4. If it is 0, the first 32-bit word of each key is its length in
 * bytes. Returns 0 or -ENOMEM; the table can be walked and freed in either case.
 */
int fib_hash_init(struct fib_hash *hash, size_t key_offset, size_t key_bytes);
/* Calls free_entry for every entry; the table is empty afterwards. */
void fib_hash_free(struct fib_hash *hash, void (*free_entry)(void *entry));

/* The entry with this key, or NULL. */
void *fib_hash_find(const struct fib_hash *hash, const void *key);
/* A new zeroed entry of so many bytes with this key, which is of fixed length. NULL: no memory. */
void *fib_hash_add(struct fib_hash *hash, const void *key, size_t bytes);
/* The key of entry must not be in the table yet. Cannot fail: chains grow without memory. */
void fib_hash_insert(struct fib_hash *hash, void *entry);
void fib_hash_remove(struct fib_hash *hash, void *entry);

/* The first entry, and the one after entry, in no particular order; NULL at the end. */
void *fib_hash_first(const struct fib_hash *hash);
void *fib_hash_after(const struct fib_hash *hash, const void *entry);

/* Declares `at`, a pointer to type; the body may remove it. */
#define FIB_HASH_EACH(type, at, hash)                      \
	for (type *at = fib_hash_first(hash), *at##_after; \
	     at && (at##_after = fib_hash_after(hash, at), true); at = at##_after)

#endif
