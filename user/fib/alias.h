/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buckets of a group whose members are picked by weight. Pure. Private to fib/.
 */
#ifndef USER_FIB_ALIAS_H
#define USER_FIB_ALIAS_H

#include "key.h"

/*
 * Fill n buckets, which name members by index, so that a draw falls upon i with the probability
 * hops[i].weight over the sum of all, each weight being at least 1. 0 or -ENOMEM.
 */
int fib_alias_build(const struct fib_key_hop *hops, uint32_t n, union sixlane_nh_bucket *buckets);

#endif
