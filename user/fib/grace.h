/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking ids, slots and buckets, with a grace period where nothing else is left. A grace period
 * blocks, so it is the last resort, and it ends the quarantine of all pools at once.
 */
#ifndef USER_FIB_GRACE_H
#define USER_FIB_GRACE_H

#include "desired.h"

/* Returns 0 if there is no id, even after a grace period. */
uint32_t fib_take_id(struct fib *fib, struct fib_pool *pool);
/* Take this id if it is free. Linear in the size of the pool. */
bool fib_take_this_id(struct fib *fib, struct fib_pool *pool, uint32_t id);
/* n adjacent buckets. False: there is no room, even after a grace period. */
bool fib_take_buckets(struct fib *fib, uint32_t n, uint32_t *first);

#endif
