// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap of heap.h: an item's children are at twice its place and the place after that.
 */
#include <errno.h>
#include <stdlib.h>

#include "heap.h"

#define LEAST_ROOM 64u

int fib_heap_reserve(struct fib_heap *heap, size_t n)
{
	size_t room = heap->room ? heap->room : LEAST_ROOM;
	struct fib_heap_item **items;

	while (room < n)
		room *= 2;
	if (room == heap->room)
		return 0;
	items = realloc(heap->items, (room + 1) * sizeof(struct fib_heap_item *));
	if (!items)
		return -ENOMEM;
	heap->items = items;
	heap->room = room;
	return 0;
}

void fib_heap_free(struct fib_heap *heap)
{
	free(heap->items);
	*heap = (struct fib_heap){ 0 };
}

static void put(struct fib_heap *heap, struct fib_heap_item *item, size_t at)
{
	heap->items[at] = item;
	item->at = at;
}

static void rise(struct fib_heap *heap, struct fib_heap_item *item)
{
	size_t at = item->at;

	for (; at > 1 && heap->items[at / 2]->key > item->key; at /= 2)
		put(heap, heap->items[at / 2], at);
	put(heap, item, at);
}

static void sink(struct fib_heap *heap, struct fib_heap_item *item)
{
	size_t at = item->at, child;

	for (; (child = 2 * at) <= heap->n; at = child) {
		if (child < heap->n && heap->items[child + 1]->key < heap->items[child]->key)
			child++;
		if (heap->items[child]->key >= item->key)
			break;
		put(heap, heap->items[child], at);
	}
	put(heap, item, at);
}

void fib_heap_set(struct fib_heap *heap, struct fib_heap_item *item, uint64_t key)
{
	item->key = key;
	if (!item->at)
		put(heap, item, ++heap->n);
	rise(heap, item);
	sink(heap, item);
}

void fib_heap_remove(struct fib_heap *heap, struct fib_heap_item *item)
{
	struct fib_heap_item *last;

	if (!item->at)
		return;
	last = heap->items[heap->n--];
	if (last != item) {
		put(heap, last, item->at);
		rise(heap, last);
		sink(heap, last);
	}
	item->at = 0;
}

struct fib_heap_item *fib_heap_first(const struct fib_heap *heap)
{
	return heap->n ? heap->items[1] : NULL;
}
