// SPDX-License-Identifier: GPL-2.0-only
/* The pool of pool.h: a stack of free ids and a stack of quarantined ones. */
#include <errno.h>
#include <stdlib.h>

#include "pool.h"

int fib_pool_init(struct fib_pool *pool, uint32_t limit)
{
	pool->limit = limit;
	pool->fresh = 1;
	/* Room for all ids, so that giving back needs no memory. Untouched pages cost nothing. */
	pool->free = calloc(limit, sizeof(*pool->free));
	pool->quarantine = calloc(limit, sizeof(*pool->quarantine));
	return pool->free && pool->quarantine ? 0 : -ENOMEM;
}

void fib_pool_free(struct fib_pool *pool)
{
	free(pool->free);
	free(pool->quarantine);
}

uint32_t fib_pool_take(struct fib_pool *pool)
{
	if (pool->n_free)
		return pool->free[--pool->n_free];
	return pool->fresh < pool->limit ? pool->fresh++ : 0;
}

bool fib_pool_take_this(struct fib_pool *pool, uint32_t id)
{
	if (!id || id >= pool->limit)
		return false;
	while (pool->fresh <= id)
		pool->free[pool->n_free++] = pool->fresh++;
	for (uint32_t i = 0; i < pool->n_free; i++) {
		if (pool->free[i] == id) {
			pool->free[i] = pool->free[--pool->n_free];
			return true;
		}
	}
	return false;
}

bool fib_pool_is_quarantined(const struct fib_pool *pool, uint32_t id)
{
	for (uint32_t i = 0; i < pool->n_quarantine; i++) {
		if (pool->quarantine[i] == id)
			return true;
	}
	return false;
}

void fib_pool_give(struct fib_pool *pool, uint32_t id)
{
	pool->quarantine[pool->n_quarantine++] = id;
}

void fib_pool_give_unused(struct fib_pool *pool, uint32_t id)
{
	pool->free[pool->n_free++] = id;
}

void fib_pool_release(struct fib_pool *pool)
{
	while (pool->n_quarantine)
		pool->free[pool->n_free++] = pool->quarantine[--pool->n_quarantine];
}

void fib_pool_adopt(struct fib_pool *pool, bool (*is_taken)(const void *ctx, uint32_t id),
		    const void *ctx)
{
	for (; pool->fresh < pool->limit; pool->fresh++) {
		if (!is_taken(ctx, pool->fresh))
			fib_pool_give(pool, pool->fresh);
	}
}
