/* SPDX-License-Identifier: GPL-2.0-only */
/* Doubly linked rings: a head and its items. An item is in one ring or in none. */
#ifndef USER_FIB_LIST_H
#define USER_FIB_LIST_H

#include <stdbool.h>

struct fib_list {
	struct fib_list *prev, *next;
};

static inline void fib_list_init(struct fib_list *item)
{
	item->prev = item->next = item;
}

static inline bool fib_list_is_empty(const struct fib_list *list)
{
	return list->next == list;
}

/* Does nothing to an item that is in no ring. */
static inline void fib_list_unlink(struct fib_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	fib_list_init(item);
}

static inline void fib_list_append(struct fib_list *list, struct fib_list *item)
{
	item->prev = list->prev;
	item->next = list;
	list->prev->next = item;
	list->prev = item;
}

#endif
