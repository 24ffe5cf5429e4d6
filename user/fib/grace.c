// SPDX-License-Identifier: GPL-2.0-only
/* See grace.h. */
#include "grace.h"

/* Wait until all that was given back may be taken again. False: it may not. */
static bool wait_grace(struct fib *fib)
{
	/* In fib_retry() many may lack the same: one grace period is enough for all. */
	if (fib->retrying && fib->graced)
		return false;
	fib->graced = true;
	if (fib->writer.grace(fib->writer.ctx))
		return false;
	fib_pool_release(&fib->port_pool);
	fib_pool_release(&fib->neigh_pool);
	fib_pool_release(&fib->next_hop_pool);
	fib_pool_release(&fib->source_pool);
	fib_buckets_release(&fib->buckets);
	return true;
}

uint32_t fib_take_id(struct fib *fib, struct fib_pool *pool)
{
	uint32_t id = fib_pool_take(pool);

	if (!id && pool->n_quarantine && wait_grace(fib))
		id = fib_pool_take(pool);
	return id;
}

bool fib_take_this_id(struct fib *fib, struct fib_pool *pool, uint32_t id)
{
	return fib_pool_take_this(pool, id) || (fib_pool_is_quarantined(pool, id) &&
						wait_grace(fib) && fib_pool_take_this(pool, id));
}

bool fib_take_buckets(struct fib *fib, uint32_t n, uint32_t *first)
{
	return fib_buckets_take(&fib->buckets, n, first) ||
	       (fib->buckets.n_waiting && wait_grace(fib) &&
		fib_buckets_take(&fib->buckets, n, first));
}
