/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The desired state of the maps. It remembers what was written, and writes what differs. It owns
 * the ids of next hops and source-specific tables, the slots of neighbours and ports, and the
 * buckets of groups. It knows no kernel and no map: all effects are calls of the writer. Not
 * thread-safe.
 *
 * Invariants
 * - Order: a thing is written before anything names it. It is written again with another meaning
 *   only after nothing names it any more and a grace period has passed.
 * - While a route names a next hop, only its entry changes, by one store: when its object changes,
 *   when it gets what it lacked, or when it is punted because a route that names it wrongly cannot
 *   be changed.
 * - While packets may come to a bucket, it changes only if its group is resilient.
 * - A source-specific table is written once. When no route names it any more, its entries are
 *   deleted, shorter prefixes first: a packet under way finds its own entry or none.
 * - While a prefix could not be written (the trie is full, a write failed), every entry that covers
 *   it in its table is PUNT_MAP_FULL: a missing /48 never leaves by its /32. Nor does it leave by
 *   another table: SIXLANE_META_GAPS is set.
 */
#ifndef FIB_FIB_H
#define FIB_FIB_H

#include "../compiled/compiled.h"
#include "exception.h"
#include "target.h"
#include "writer.h"

struct fib;

/* max_routes: entries of sl_routes at most. writer is copied. NULL on lack of memory. */
struct fib *fib_new(const struct fib_writer *writer, uint32_t max_routes);
void fib_free(struct fib *fib);

/*
 * Set what a prefix of a table leads to; target NULL: it has no route. 0, or -ENOMEM: its packets
 * are punted until a full synchronisation.
 */
int fib_set(struct fib *fib, uint32_t table, const struct prefix *dst,
	    const struct fib_target *target);

/* The longest prefix of a table that has a next hop and covers addr. False: there is none. */
bool fib_find_prefix(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     struct prefix *out);
/*
 * The next-hop object of the route to addr; *object 0: it has none. False: it depends on the
 * packet's source.
 */
bool fib_find_object(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     uint32_t *object);
/*
 * Write again all that a prefix's next hop consists of, since another program may have overwritten
 * it. The prefix itself is not written.
 */
void fib_rewrite(struct fib *fib, uint32_t table, const struct prefix *dst);

/*
 * Set what a next-hop object means, for every target of kind FIB_OBJECT that names it, by one store
 * each. NULL, or never set: PUNT_NEXT_HOP_OBJECT. If a resilient group keeps its number of buckets,
 * only buckets that differ are written. 0, or -ENOMEM: it means PUNT_NEXT_HOP_OBJECT.
 *
 * Between fib_sync_begin() and _end() an object whose meaning changes is punted; objects that were
 * not set are forgotten at the end.
 */
int fib_set_object(struct fib *fib, uint32_t id, const struct fib_object *object);

/*
 * Full synchronisation: begin, set all that there is, end, which deletes what was not set. If
 * longer prefixes are set before the shorter ones that cover them (radix_last_under), packets meet
 * the next hop of before or the one of afterwards, never a third.
 */
void fib_sync_begin(struct fib *fib);
void fib_sync_end(struct fib *fib);

/*
 * A neighbour is usable (mac) or not (NULL). Those that a synchronisation does not set are
 * unresolved afterwards. 0, -ENOMEM, or -ENOSPC: there is no slot, and packets pass.
 */
int fib_set_neigh(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr,
		  const uint8_t mac[6]);

/*
 * port->ifindex is the key; flags 0: the device is gone. With SIXLANE_PORT_TAGGED frames that enter
 * by lower with tag belong to this port. 0, -ENOMEM, or -ENOSPC: there is no slot.
 */
int fib_set_port(struct fib *fib, const struct sixlane_port *port);
/*
 * Call for several ports before fib_set_port(), so that they wait together, once, in
 * fib_wait_ports(). Until then a port does what both its old and its new value allow. A port that
 * becomes another one is not held, and waits alone. Returns whether there is something to wait for.
 */
bool fib_prepare_port(struct fib *fib, const struct sixlane_port *port);
void fib_wait_ports(struct fib *fib);
/* Slot of a device, 0: none. */
uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex);

/*
 * Try again what failed or found no room. Returns how much is still missing: prefixes that are
 * punted or absent, and next hops and objects that punt all their prefixes.
 */
size_t fib_retry(struct fib *fib);

/*
 * Build the compiled FIB, after a full synchronisation, unless it exists. It follows the trie until
 * that fails, and is absent then. 0, or -errno: see compiled_begin().
 */
int fib_compile(struct fib *fib);
bool fib_is_compiled(const struct fib *fib);
/* The compiled FIB was found wrong: it is absent until fib_compile(), and counted as a failure. */
void fib_decompile(struct fib *fib);

/*
 * Comparing the compiled FIB with what the trie was given, at the edges of every prefix. It runs in
 * pieces; between them the routes may change.
 */
struct fib_verify {
	uint64_t checked, wrong; /* addresses so far */
	/* private: */
	uint32_t *tables; /* ids */
	size_t n_tables, table;
	struct prefix last; /* that was checked in the table, if began */
	bool began;
};
/* trie and compiled: the values of both, as in sl_routes; 0: no route. */
typedef void (*fib_verify_fn)(void *ctx, uint32_t table, const union sixlane_addr *addr,
			      uint32_t trie, uint32_t compiled);
/* 0, -ENODATA: there is no compiled FIB, or -ENOMEM. */
int fib_verify_begin(const struct fib *fib, struct fib_verify *verify);
/*
 * Check at most max prefixes more; calls fn for each wrong address. 1: there may be more; 0: that
 * was all; -ENODATA: the compiled FIB is gone.
 */
int fib_verify_some(const struct fib *fib, struct fib_verify *verify, size_t max, fib_verify_fn fn,
		    void *ctx);
void fib_verify_end(struct fib_verify *verify);

struct fib_stats {
	uint64_t routes, next_hops, neighbours; /* entries in the maps now */
	uint64_t sources, buckets;
	uint64_t missing; /* as fib_retry() */
	uint64_t writes;  /* of routes, since the start */
	uint64_t write_errors;
	uint64_t exceptions; /* entries of sl_exceptions */
	struct compiled_stats compiled;
};
void fib_get_stats(const struct fib *fib, struct fib_stats *out);

/* --- adopt.c ---------------------------------------------------------------------------------- */

/*
 * Taking over what an earlier daemon left in the maps: all fib_adopt_*() functions, then
 * fib_adopt_end(), before any other function of fib.h.
 *
 * Ids and slots that are named stay as they are. Entries that nothing confirms go with the next
 * fib_sync_end(). Groups and source-specific tables keep forwarding as they are until their routes
 * are set again.
 */
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
/*
 * Call after all next hops and routes. An exception of the operator, which stays until
 * fib_set_exception() replaces or deletes it.
 */
int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value);
/* Call last. buckets is [SIXLANE_MAX_NH_BUCKETS], as found in the map. */
void fib_adopt_end(struct fib *fib, const union sixlane_nh_bucket *buckets);

#endif
