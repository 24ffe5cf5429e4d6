/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive binary heap: the item with the smallest key first. Moving, adding within what was
 * reserved, and removing need no memory. Private to fib/.
 */
#ifndef USER_FIB_HEAP_H
#define USER_FIB_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct fib_heap_item {
	uint64_t key;
	size_t at; /* place in the heap, from 1 on; 0: in none */
};

struct fib_heap {
	struct fib_heap_item **items; /* [1] is the first */
	size_t n, room;
};

/* Room for so many items. 0 or -ENOMEM. */
int fib_heap_reserve(struct fib_heap *heap, size_t n);
void fib_heap_free(struct fib_heap *heap);

/* Add the item, or move it, to where the key belongs. */
void fib_heap_set(struct fib_heap *heap, struct fib_heap_item *item, uint64_t key);
/* Harmless if it is not there. */
void fib_heap_remove(struct fib_heap *heap, struct fib_heap_item *item);
/* NULL: there is none. */
struct fib_heap_item *fib_heap_first(const struct fib_heap *heap);

#endif
