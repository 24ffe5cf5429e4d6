/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the maps should say, and the difference to what they do say. Owns the ids of next hops
 * and the slots of neighbours and ports; remembers what was written. Pure but for the writer
 * that it is given: fib/maps.c on a router, a recorder in tests.
 *
 * Invariants
 * - A next hop is written before a route names it, and its id is reused only after the
 *   route is gone and a grace period has passed. The same holds for neighbours' and ports' slots.
 * - While a prefix could not be written (the trie is full, a write failed), every entry
 *   that covers it says PUNT_MAP_FULL: a missing /48 never leaves by its /32.
 */
#ifndef FIB_FIB_H
#define FIB_FIB_H

#include "resolve.h"

/*
 * Writes to the maps; ctx is the writer's own. Functions that return int: 0 or -errno. The
 * void ones are plain stores to mapped memory and cannot fail.
 */
struct fib_writer {
	void *ctx;
	int (*route_set)(void *ctx, const struct sixlane_route_key *key, uint32_t value);
	int (*route_del)(void *ctx, const struct sixlane_route_key *key);
	void (*next_hop_set)(void *ctx, uint32_t id, const struct sixlane_next_hop *next_hop);
	void (*neigh_set)(void *ctx, uint32_t slot, const struct sixlane_neigh *neigh);
	void (*neigh_set_mac)(void *ctx, uint32_t slot, union sixlane_mac mac); /* one store */
	int (*neigh_index_set)(void *ctx, const struct sixlane_neigh_key *key, uint32_t slot);
	int (*neigh_index_del)(void *ctx, const struct sixlane_neigh_key *key);
	/* Field by field, flags last when they grow and first when they shrink. */
	void (*port_set)(void *ctx, uint32_t slot, const struct sixlane_port *port);
	int (*port_index_set)(void *ctx, uint32_t ifindex, uint32_t slot);
	int (*port_index_del)(void *ctx, uint32_t ifindex);
	/* Wait until every packet that was under way at the call has left. 0 or -errno. */
	int (*grace)(void *ctx);
};

struct fib;

/* max_routes: entries of sl_routes at most. NULL on lack of memory. writer is copied. */
struct fib *fib_new(const struct fib_writer *writer, uint32_t max_routes);
void fib_free(struct fib *fib);
void fib_freep(struct fib **fib);

/*
 * Take over what an earlier daemon left in the maps, before anything else is called. Ids and slots
 * that are named stay as they are; entries that nothing confirms go with the next fib_sync_end().
 * 0, -ENOMEM, or -EINVAL for contents that contradict themselves (id out of range …): that entry
 * was left out and will be overwritten or deleted by the next synchronisation.
 */
int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *next_hop);
int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *neigh);
int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *port);
int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value);

/* The prefix's fate is target; NULL: the prefix has no entry. 0 or -ENOMEM. */
int fib_set(struct fib *fib, const struct prefix *dst, const struct fib_target *target);

/*
 * Full synchronisation: begin, fib_set for all that there is, end (deletes what was not set).
 * With longer prefixes set before the shorter ones that cover them (radix_last_under), every
 * packet meets meanwhile the fate of before or the fate of afterwards, never a third.
 */
void fib_sync_begin(struct fib *fib);
void fib_sync_end(struct fib *fib);

/* A neighbour that may be used (mac) or not (NULL). 0, -ENOMEM, -ENOSPC (no slot: packets pass). */
int fib_set_neigh(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr,
		  const uint8_t mac[6]);
/* Between fib_sync_begin and _end: neighbours not set since are unresolved afterwards. */

/* port->ifindex names it; flags 0 when the device is gone. 0, -ENOMEM, -ENOSPC (no slot). */
int fib_set_port(struct fib *fib, const struct sixlane_port *port);
/* Slot of a device, 0: none. */
uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex);

/* Try again what found no room. Returns how many prefixes are still missing. */
size_t fib_retry(struct fib *fib);

struct fib_stats {
	uint64_t routes, next_hops, neighbours; /* entries in the maps now */
	uint64_t missing;			/* prefixes that found no room */
	uint64_t writes;			/* of routes, since the start */
	uint64_t write_errors;
};
void fib_get_stats(const struct fib *fib, struct fib_stats *out);

#endif
