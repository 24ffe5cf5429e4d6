/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Neighbours: slots of (address, device) in sl_neighbours. The gateway of a next hop and a
 * neighbour that the kernel has resolved share one slot. After the index or a next hop names a
 * slot, only its MAC changes, by one store.
 */
#ifndef USER_FIB_NEIGH_H
#define USER_FIB_NEIGH_H

#include "desired.h"

struct fib_neigh {
	struct fib_hash_node node;
	struct sixlane_neigh_key key;
	union sixlane_mac mac; /* as written */
	uint32_t slot;
	uint32_t refs;	     /* next hops that have it as gateway */
	uint32_t generation; /* of the synchronisation that set it last */
	bool known;	     /* the kernel has a usable entry */
	bool adopted;	     /* not confirmed yet */
};

/* A reference; a new one is unresolved. NULL: no room or no memory. */
struct fib_neigh *fib_neigh_get(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr);
void fib_neigh_put(struct fib *fib, struct fib_neigh *neigh);
/* Free unused neighbours; with confirm also those that this synchronisation did not set. */
void fib_neigh_sweep(struct fib *fib, bool confirm);

#endif
