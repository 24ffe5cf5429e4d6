/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ids, slots and buckets: which numbers are free. A packet may still use a number that was given
 * back, so the number rests until a grace period has passed. Waiting for one blocks. It is the last
 * resort, and serves all allocators of the fib at once. Ranges are taken from the lowest place
 * where they fit.
 */
#ifndef USER_FIB_IDS_H
#define USER_FIB_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct fib;

struct fib_ids {
	uint64_t *busy;	   /* bitmap: taken or waiting */
	uint64_t *waiting; /* bitmap: given back since the last grace period */
	uint32_t n_words;  /* of a bitmap */
	uint32_t limit;	   /* numbers are below it */
	uint32_t n_taken, n_waiting;
	uint32_t lowest;  /* all below are busy */
	uint32_t refused; /* no range of this size is free; 0: not known */
};

/* Numbers from first (less than 64) to limit - 1. 0 or -ENOMEM. */
int fib_ids_init(struct fib_ids *ids, uint32_t first, uint32_t limit);
void fib_ids_free(struct fib_ids *ids);
/* n adjacent numbers, the first of which is *first. False: no room, even after a grace period. */
bool fib_ids_take(struct fib *fib, struct fib_ids *ids, uint32_t n, uint32_t *first);
/* One number; 0, which is none of them: no room. */
uint32_t fib_ids_take_one(struct fib *fib, struct fib_ids *ids);
/* This number, if it is free, maybe after a grace period. */
bool fib_ids_take_this(struct fib *fib, struct fib_ids *ids, uint32_t id);
void fib_ids_give(struct fib_ids *ids, uint32_t first, uint32_t n);
/* Give back numbers that were never published: they need not wait. */
void fib_ids_give_unused(struct fib_ids *ids, uint32_t first, uint32_t n);
/* Let all free numbers wait for a grace period: an earlier daemon may have used them. */
void fib_ids_adopt_all(struct fib_ids *ids);
/* Take a range that waits. False: it is no range, or part of it is taken. */
bool fib_ids_adopt(struct fib_ids *ids, uint32_t first, uint32_t n);

#endif
