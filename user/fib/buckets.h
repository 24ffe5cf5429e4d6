/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocation of sl_nh_buckets: ranges, each from the lowest place where it fits. A range that was
 * given back waits for fib_buckets_release(), as ids do (pool.h).
 */
#ifndef USER_FIB_BUCKETS_H
#define USER_FIB_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

struct fib_buckets {
	uint64_t *busy;			  /* bitmap: taken or waiting */
	uint64_t *waiting;		  /* bitmap: waiting for a grace period */
	union sixlane_nh_bucket *written; /* [SIXLANE_MAX_NH_BUCKETS]; valid where taken */
	uint32_t limit;
	uint32_t n_taken, n_waiting;
	uint32_t lowest; /* all below are busy */
};

/* 0 or -ENOMEM. */
int fib_buckets_init(struct fib_buckets *buckets, uint32_t limit);
void fib_buckets_free(struct fib_buckets *buckets);
/* Take n adjacent buckets, the first of which is *first. False: there is no such range. */
bool fib_buckets_take(struct fib_buckets *buckets, uint32_t n, uint32_t *first);
void fib_buckets_give(struct fib_buckets *buckets, uint32_t first, uint32_t n);
/* Give back buckets that were never published. */
void fib_buckets_give_unused(struct fib_buckets *buckets, uint32_t first, uint32_t n);
/* A grace period has passed. */
void fib_buckets_release(struct fib_buckets *buckets);
/* All buckets wait: an earlier daemon may have used them. */
void fib_buckets_adopt_all(struct fib_buckets *buckets);
/* Take a waiting range with its contents. False: it is no range, or part of it is taken. */
bool fib_buckets_adopt(struct fib_buckets *buckets, uint32_t first, uint32_t n,
		       const union sixlane_nh_bucket *contents);

#endif
