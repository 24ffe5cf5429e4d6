/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking over what an earlier daemon left in the maps: all fib_adopt_*() functions, then
 * fib_adopt_end(), before any other function of fib.h.
 *
 * Ids and slots that are named stay as they are. Entries that nothing confirms go with the next
 * fib_sync_end(). Groups and source-specific tables keep forwarding as they are until their routes
 * are set again.
 */
#ifndef USER_FIB_ADOPT_H
#define USER_FIB_ADOPT_H

#include <stdint.h>

#include "../../bpf/abi/sixlane.h"

struct fib;

/*
 * 0, -ENOMEM, or -EINVAL for contents that contradict themselves (id out of range ...): that entry
 * was left out, and the next synchronisation overwrites or deletes it.
 */
int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *next_hop);
int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *neigh);
int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *port);
int fib_adopt_vlan(struct fib *fib, const struct sixlane_vlan_key *key, uint32_t slot);
int fib_adopt_source(struct fib *fib, const struct sixlane_route_key *key, uint32_t value);
int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value);
/* After all next hops and routes. An exception of the operator, which stays until it is set. */
int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value);
/* Last. buckets is [SIXLANE_MAX_NH_BUCKETS]. */
void fib_adopt_end(struct fib *fib, const union sixlane_nh_bucket *buckets);

#endif
