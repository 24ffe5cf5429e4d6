/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What next hops consist of: getting the parts of each kind, all or none, and giving them back when
 * the last reference is gone. The layer above leaves, groups, objects and source-specific tables.
 */
#ifndef USER_FIB_PARTS_H
#define USER_FIB_PARTS_H

#include "nexthop.h"

/* A reference to the next hop with this key. It may have no id, or be pending. NULL: no memory. */
struct fib_next_hop *fib_next_hop_get(struct fib *fib, const struct fib_key *key);
/* Drop a reference, and free all that becomes unused. */
void fib_next_hop_put(struct fib *fib, struct fib_next_hop *next_hop);
/* Free the next hops in fib->unused, and those that become unused by that. */
void fib_next_hop_free_unused(struct fib *fib);
/* Try again to get what next hops lack. */
void fib_next_hop_retry(struct fib *fib);
/* For fib_free(): writes nothing. */
void fib_next_hop_free_all(struct fib *fib);

#endif
