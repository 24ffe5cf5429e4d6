/* SPDX-License-Identifier: GPL-2.0-only */
/* The buckets of a group whose members are chosen by weight. Pure. */
#ifndef USER_FIB_ALIAS_H
#define USER_FIB_ALIAS_H

#include "key.h"

/*
 * Fill n buckets, which name members by index, for a weighted choice: member i wins with
 * probability hops[i].weight / sum. Weights are at least 1. 0 or -ENOMEM.
 */
int fib_alias_build(const struct fib_key_hop *hops, uint32_t n, union sixlane_nh_bucket *buckets);

#endif
