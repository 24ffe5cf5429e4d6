/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool of ids or slots, from 1 to limit - 1. A packet may still use an id that was given back, so
 * the id stays in quarantine until fib_pool_release(). Knows nothing of grace periods: see grace.h.
 */
#ifndef USER_FIB_POOL_H
#define USER_FIB_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct fib_pool {
	uint32_t limit;
	uint32_t fresh; /* ids from here on were never taken */
	uint32_t n_free, n_quarantine;
	uint32_t *free;	      /* may be taken */
	uint32_t *quarantine; /* may be taken after a grace period */
};

/* 0 or -ENOMEM. */
int fib_pool_init(struct fib_pool *pool, uint32_t limit);
void fib_pool_free(struct fib_pool *pool);
/* Returns 0 if no id is free. */
uint32_t fib_pool_take(struct fib_pool *pool);
/* Take this id if it is free. Linear in the size of the pool. */
bool fib_pool_take_this(struct fib_pool *pool, uint32_t id);
/* Whether the id is in quarantine. Linear in the size of the pool. */
bool fib_pool_is_quarantined(const struct fib_pool *pool, uint32_t id);
/* Into quarantine. */
void fib_pool_give(struct fib_pool *pool, uint32_t id);
/* Give back an id that was never published. */
void fib_pool_give_unused(struct fib_pool *pool, uint32_t id);
/* A grace period has passed: the quarantine ends. */
void fib_pool_release(struct fib_pool *pool);
/* Every id that is not taken goes into quarantine: an earlier daemon may have used it. */
void fib_pool_adopt(struct fib_pool *pool, bool (*is_taken)(const void *ctx, uint32_t id),
		    const void *ctx);

#endif
