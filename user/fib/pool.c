// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets which id or slot. What is given back may still be in a packet's hands, so it waits in
 * quarantine until a grace period has passed; since that blocks, it is asked for only when a
 * pool would otherwise be empty or no other id will do, and then for all pools and the buckets at
 * once.
 */
#include <errno.h>
#include <stdlib.h>

#include "fib_internal.h"

int fib_pool_init(struct fib_pool *pool, uint32_t limit)
{
	pool->limit = limit;
	pool->fresh = 1;
	/* As many as there are, so that giving back never needs memory; untouched pages are free.
	 */
	pool->free = calloc(limit, sizeof(*pool->free));
	pool->quarantine = calloc(limit, sizeof(*pool->quarantine));
	return pool->free && pool->quarantine ? 0 : -ENOMEM;
}

void fib_pool_free(struct fib_pool *pool)
{
	free(pool->free);
	free(pool->quarantine);
}

static void release(struct fib_pool *pool)
{
	while (pool->n_quarantine)
		pool->free[pool->n_free++] = pool->quarantine[--pool->n_quarantine];
}

bool fib_grace(struct fib *fib)
{
	/* One retry may try in vain for many that lack the same. */
	if (fib->retrying && fib->graced)
		return false;
	fib->graced = true;
	if (fib->writer.grace(fib->writer.ctx))
		return false;
	release(&fib->port_pool);
	release(&fib->neigh_pool);
	release(&fib->next_hop_pool);
	release(&fib->set_pool);
	fib_buckets_release(&fib->buckets);
	return true;
}

uint32_t fib_pool_take(struct fib *fib, struct fib_pool *pool)
{
	if (!pool->n_free && pool->fresh < pool->limit)
		return pool->fresh++;
	if (!pool->n_free && pool->n_quarantine)
		fib_grace(fib);
	return pool->n_free ? pool->free[--pool->n_free] : 0;
}

static bool take_free(struct fib_pool *pool, uint32_t id)
{
	for (uint32_t i = 0; i < pool->n_free; i++) {
		if (pool->free[i] == id) {
			pool->free[i] = pool->free[--pool->n_free];
			return true;
		}
	}
	return false;
}

static bool is_quarantined(const struct fib_pool *pool, uint32_t id)
{
	for (uint32_t i = 0; i < pool->n_quarantine; i++)
		if (pool->quarantine[i] == id)
			return true;
	return false;
}

bool fib_pool_take_this(struct fib *fib, struct fib_pool *pool, uint32_t id)
{
	if (!id || id >= pool->limit)
		return false;
	while (pool->fresh <= id)
		pool->free[pool->n_free++] = pool->fresh++;
	if (take_free(pool, id))
		return true;
	/* Of maps that were adopted everything is there at first. */
	return is_quarantined(pool, id) && fib_grace(fib) && take_free(pool, id);
}

void fib_pool_give(struct fib_pool *pool, uint32_t id)
{
	pool->quarantine[pool->n_quarantine++] = id;
}

void fib_pool_give_unused(struct fib_pool *pool, uint32_t id)
{
	pool->free[pool->n_free++] = id;
}

void fib_pool_adopt(struct fib_pool *pool, bool (*taken)(const struct fib *fib, uint32_t id),
		    const struct fib *fib)
{
	for (uint32_t id = pool->fresh; id < pool->limit; id++) {
		if (!taken(fib, id))
			fib_pool_give(pool, id);
	}
	pool->fresh = pool->limit;
}
