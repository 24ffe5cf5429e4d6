/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the maps should say, and the difference to what they do say. Owns the ids of next hops and
 * of source sets, the slots of neighbours and ports, and the buckets of groups; remembers what
 * was written. Pure but for the writer that it is given: maps/write.c on a router, a recorder
 * in tests.
 *
 * Invariants
 * - Whatever is named is written first, with all that it names in turn: neighbour and port, next
 *   hop, buckets or the entries of a source set, route. It is written anew, for another meaning,
 *   only after nothing names it any more and a grace period has passed.
 * - While a route names a next hop, only its next-hop entry changes, by one store, and only if it
 * is of an object, or waits for room, or is punted because a route that names it cannot be changed.
 *   While a packet may come to a group's bucket, the bucket changes only if it is a bucket.
 * - A source set is written once. Its entries go shorter prefixes first, when no route names
 *   it any more: a packet that is still under way finds its next-hop entry there or nothing.
 * - While a prefix could not be written (the trie is full, a write failed), every entry that
 *   covers it in its table says PUNT_MAP_FULL: a missing /48 never leaves by its /32. Nor does
 *   it leave by another table: SIXLANE_META_GAPS is set.
 * - A destination that was marked is under a prefix with the mark, whatever comes, goes or changes
 *   in the trie (fib_set_exception_flag()).
 */
#ifndef FIB_FIB_H
#define FIB_FIB_H

#include "../compiled/compiled.h"
#include "target.h"

/*
 * Writes to the maps; ctx is the writer's own. Functions that return int: 0 or -errno. The
 * void ones are plain stores to mapped memory and cannot fail.
 */
struct fib_writer {
	void *ctx;
	int (*route_set)(void *ctx, const struct sixlane_route_key *key, uint32_t value);
	int (*route_del)(void *ctx, const struct sixlane_route_key *key);
	/* Memory of the compiled FIB and where it begins: see compiled_memory. NULL: there is none.
	 */
	void *(*fib_chunk)(void *ctx, uint32_t n);
	void (*fib_publish)(void *ctx, union sixlane_fib fib);
	int (*source_set)(void *ctx, const struct sixlane_route_key *key, uint32_t value);
	int (*source_del)(void *ctx, const struct sixlane_route_key *key);
	void (*next_hop_set)(void *ctx, uint32_t id, const struct sixlane_next_hop *next_hop);
	void (*next_hop_set_entry)(void *ctx, uint32_t id,
				   union sixlane_nh_entry nh_entry); /* one store */
	void (*bucket_set)(void *ctx, uint32_t index,
			   union sixlane_nh_bucket bucket); /* one store */
	void (*neigh_set)(void *ctx, uint32_t slot, const struct sixlane_neigh *neigh);
	void (*neigh_set_mac)(void *ctx, uint32_t slot, union sixlane_mac mac); /* one store */
	int (*neigh_index_set)(void *ctx, const struct sixlane_neigh_key *key, uint32_t slot);
	int (*neigh_index_del)(void *ctx, const struct sixlane_neigh_key *key);
	/*
	 * Field by field, flags last when they grow and first when they shrink. _hold goes half of
	 * the way, to what both before and after allow, unless the port is to stand for something
	 * else; true: packets are under way that know of more, for which port_set would wait.
	 */
	bool (*port_hold)(void *ctx, uint32_t slot, const struct sixlane_port *port);
	void (*port_set)(void *ctx, uint32_t slot, const struct sixlane_port *port);
	int (*port_index_set)(void *ctx, uint32_t ifindex, uint32_t slot);
	int (*port_index_del)(void *ctx, uint32_t ifindex);
	int (*vlan_set)(void *ctx, const struct sixlane_vlan_key *key, uint32_t slot);
	int (*vlan_del)(void *ctx, const struct sixlane_vlan_key *key);
	/* SIXLANE_META_GAPS: set before the first prefix goes missing, cleared after the last. */
	void (*gaps_set)(void *ctx, bool gaps);
	/*
	 * The whole value but the datapath's figures and an added_ns of 0, which an entry that is
	 * there keeps, and what is only the maps' own. -ENOSPC, -ENOMEM or another -errno: there is
	 * none if there was none, else it is as before, or passes all packets.
	 */
	int (*exception_set)(void *ctx, const union sixlane_addr *dst,
			     const struct sixlane_exception *value);
	int (*exception_del)(void *ctx, const union sixlane_addr *dst);
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
 * Groups and source sets keep forwarding as they are until their routes are set anew.
 * 0, -ENOMEM, or -EINVAL for contents that contradict themselves (id out of range …): that entry
 * was left out and will be overwritten or deleted by the next synchronisation.
 */
int fib_adopt_next_hop(struct fib *fib, uint32_t id, const struct sixlane_next_hop *next_hop);
int fib_adopt_neigh(struct fib *fib, uint32_t slot, const struct sixlane_neigh *neigh);
int fib_adopt_port(struct fib *fib, uint32_t slot, const struct sixlane_port *port);
int fib_adopt_vlan(struct fib *fib, const struct sixlane_vlan_key *key, uint32_t slot);
int fib_adopt_source(struct fib *fib, const struct sixlane_route_key *key, uint32_t value);
int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value);
/* After all next hops and routes: one of the operator's, which stays as it is until it is set. */
int fib_adopt_exception(struct fib *fib, const union sixlane_addr *dst,
			const struct sixlane_exception *value);
/* buckets is [SIXLANE_MAX_NH_BUCKETS], read once, by the first call that is not one of these. */
void fib_adopt_buckets(struct fib *fib, const union sixlane_nh_bucket *buckets);

/* The prefix's next-hop entry in a table is target; NULL: the prefix has no entry. 0 or -ENOMEM. */
int fib_set(struct fib *fib, uint32_t table, const struct prefix *dst,
	    const struct fib_target *target);

/* The longest prefix of a table that has a next hop and covers addr. False: there is none. */
bool fib_find_prefix(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     struct prefix *out);
/*
 * The next-hop object that packets to addr go by, whatever their source. 0: by none. False: that
 * depends on the source.
 */
bool fib_find_object(const struct fib *fib, uint32_t table, const union sixlane_addr *addr,
		     uint32_t *object);
/*
 * Write once more what a prefix's next hop consists of, whatever stands in the maps: it may have
 * been overwritten by others. The prefix itself is not written.
 */
void fib_rewrite(struct fib *fib, uint32_t table, const struct prefix *dst);

/*
 * What a next-hop object means from now on, for every target of kind FIB_OBJECT that names it, by
 * one store each; NULL, or never set: PUNT_NEXT_HOP_OBJECT. Of a resilient group with the same
 * number of buckets only the buckets that differ are written. 0 or -ENOMEM (the old meaning
 * is replaced by PUNT_NEXT_HOP_OBJECT). Between fib_sync_begin and _end: objects not set since
 * are forgotten afterwards, and those that come to mean something else are punted meanwhile.
 */
int fib_set_object(struct fib *fib, uint32_t id, const struct fib_object *object);

/* What a destination has of its own: a Path MTU, another next hop, or both. */
enum fib_origin { FIB_KERNEL, FIB_OPERATOR, FIB_N_ORIGINS };

struct fib_exception {
	enum fib_origin origin;
	uint32_t table;	 /* packets whose route is of another one do not heed it */
	uint32_t mtu;	 /* bytes, at least 1280; 0: none */
	bool mtu_locked; /* see SIXLANE_EXCEPTION_LOCKED */
	bool has_hop;
	bool observe;	     /* count, do not apply */
	struct fib_hop hop;  /* its weight does not count */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t added_ns;   /* CLOCK_MONOTONIC; 0: when it is written first */
	uint32_t reading;    /* the caller's own; 0 of one that is adopted */
};

/*
 * The destination has this from now on, whatever it had before; NULL: nothing. The caller marks it
 * (fib_set_exception_flag()). -ENOSPC, -ENOMEM: it has what it had before, if anything.
 */
int fib_set_exception(struct fib *fib, const union sixlane_addr *dst,
		      const struct fib_exception *exception);
typedef void (*fib_exception_fn)(void *ctx, const union sixlane_addr *dst,
				 const struct fib_exception *told);
/* As it was told; NULL: none. Valid until something is set. */
const struct fib_exception *fib_exception(const struct fib *fib, const union sixlane_addr *dst);
/* All of them, in no order. fn may set that one to nothing. */
void fib_exception_each(struct fib *fib, fib_exception_fn fn, void *ctx);

/*
 * Packets to this destination whose route is in this table are to look for exceptions: the longest
 * prefix there that covers it has SIXLANE_ROUTE_EXCEPTIONS from now on, whatever comes and goes.
 */
void fib_set_exception_flag(struct fib *fib, uint32_t table, const union sixlane_addr *dst);
/* No destination has anything. */
void fib_clear_exception_flags(struct fib *fib);

/*
 * Full synchronisation: begin, fib_set for all that there is, end (deletes what was not set).
 * With longer prefixes set before the shorter ones that cover them (radix_last_under), every
 * packet meets meanwhile the next-hop entry of before or the next-hop entry of afterwards, never a
 * third.
 */
void fib_sync_begin(struct fib *fib);
void fib_sync_end(struct fib *fib);

/* A neighbour that may be used (mac) or not (NULL). 0, -ENOMEM, -ENOSPC (no slot: packets pass). */
int fib_set_neigh(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr,
		  const uint8_t mac[6]);
/* Between fib_sync_begin and _end: neighbours not set since are unresolved afterwards. */

/*
 * port->ifindex names it; flags 0 when the device is gone. With SIXLANE_PORT_TAGGED frames that
 * come in by lower with tag are this port's. 0, -ENOMEM, -ENOSPC (no slot).
 */
int fib_set_port(struct fib *fib, const struct sixlane_port *port);
/*
 * Ahead of that, for several ports: together they wait once, in fib_held_ports(), instead of each.
 * Until fib_set_port() the datapath does with a port what both before and after allow. One that is
 * to stand for something else is not held, and waits alone. Returns whether there is something to
 * wait for.
 */
bool fib_hold_port(struct fib *fib, const struct sixlane_port *port);
void fib_held_ports(struct fib *fib);
/* Slot of a device, 0: none. */
uint32_t fib_port_slot(const struct fib *fib, uint32_t ifindex);

/*
 * Try again what found no room. Returns how much is still missing: prefixes that are punted or
 * not there at all, and next hops (groups, objects, source sets) that punt all of theirs.
 */
size_t fib_retry(struct fib *fib);

/*
 * The compiled FIB says what the trie says from now on, unless that fails. After a full
 * synchronisation; what fails later makes it absent until this is called again. 0, also if it was
 * there; -EOPNOTSUPP: the writer has none; or -errno, see compiled_begin().
 */
int fib_compile(struct fib *fib);
bool fib_is_compiled(const struct fib *fib);
/* It is not to be trusted: absent from now on, counted as a failure, until fib_compile(). */
void fib_decompile(struct fib *fib);

/*
 * Whether the compiled FIB says what the trie was told, at the edges of every prefix; in pieces,
 * between which anything may be said and asked.
 */
struct fib_verify {
	uint64_t checked, wrong; /* addresses so far */
	/* its own */
	uint32_t *tables; /* ids */
	size_t n_tables, table;
	struct prefix last; /* that was looked at in the table, if began */
	bool began;
};
/* values as in sl_routes; 0: none */
typedef void (*fib_verify_fn)(void *ctx, uint32_t table, const union sixlane_addr *addr,
			      uint32_t told, uint32_t compiled);
/* 0, -ENODATA: there is none, or -ENOMEM. */
int fib_verify_begin(const struct fib *fib, struct fib_verify *verify);
/* So many prefixes more; fn is called for each wrong address. 1: there may be more; 0: that was
 * all; -ENODATA: it is gone. */
int fib_verify_some(const struct fib *fib, struct fib_verify *verify, size_t max, fib_verify_fn fn,
		    void *ctx);
void fib_verify_end(struct fib_verify *verify);

struct fib_stats {
	uint64_t routes, next_hops, neighbours; /* entries in the maps now */
	uint64_t sources, buckets;
	uint64_t missing; /* routes, next hops and objects, of what fib_retry() returns */
	uint64_t writes;  /* of routes, since the start */
	uint64_t write_errors;
	uint64_t exceptions; /* entries of sl_exceptions */
	struct compiled_stats compiled;
};
void fib_get_stats(const struct fib *fib, struct fib_stats *out);

#endif
