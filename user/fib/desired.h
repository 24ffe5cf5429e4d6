/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct fib: the desired state of the maps, and what was written so far. Private to fib/; each
 * object in it has a header of its own.
 *
 * Invariants beside those of fib.h
 * - Objects are reference-counted by what names them in the maps or is about to. An object leaves
 *   the maps with its last reference.
 * - A port or a neighbour has a slot exactly while the index map names it.
 * - Next hops are found by their key (key.h); each key has one id.
 * - A next hop without an id is not in the maps: its prefixes are PUNT_MAP_FULL. A pending next
 *   hop has an id, but lacks a part: its entry is a punt until a retry succeeds.
 */
#ifndef USER_FIB_DESIRED_H
#define USER_FIB_DESIRED_H

#include "../compiled/compiled.h"
#include "buckets.h"
#include "hash.h"
#include "key.h"
#include "list.h"
#include "pool.h"
#include "writer.h"

/* The next hop that punts what finds no room. Reserved, so that a punt can never fail. */
#define FIB_ID_FULL 1u

struct fib {
	struct fib_writer writer;
	struct compiled *compiled; /* NULL: the writer has no memory for it */
	struct compiled_view view; /* of it, as readers see it */
	uint64_t n_distrusted;	   /* calls of fib_decompile() that made it absent */
	struct fib_pool port_pool, neigh_pool, next_hop_pool, source_pool;
	struct fib_buckets buckets;
	struct fib_hash tables, ports, vlans, neighs, next_hops, objects, source_tables, exceptions;
	struct fib_next_hop **by_id;	   /* [SIXLANE_MAX_NEXT_HOPS] */
	struct fib_neigh **neigh_by_slot;  /* [SIXLANE_MAX_NEIGHBOURS] */
	struct fib_port **port_by_slot;	   /* [SIXLANE_MAX_PORTS] */
	struct fib_next_hop *full;	   /* FIB_ID_FULL */
	struct fib_list retry;		   /* next hops without an id, and pending ones */
	struct fib_list unused;		   /* next hops without references */
	struct fib_key_buffer scratch;	   /* of fib_set() */
	struct sixlane_route_key *orphans; /* adopted keys that no prefix can have */
	size_t n_orphans;
	size_t n_ids;			      /* next hops that have an id */
	size_t n_written, n_absent, n_failed; /* prefixes */
	size_t n_pending;		      /* next hops and objects */
	size_t n_sources;		      /* entries of sl_src_routes */
	size_t n_dying_tables;		      /* source tables that could not be deleted yet */
	size_t n_exceptions;		      /* entries of sl_exceptions */
	uint64_t writes, write_errors;	      /* writes: of routes */
	uint32_t max_routes;
	uint32_t generation;				/* of the last synchronisation */
	const union sixlane_nh_bucket *adopted_buckets; /* borrowed; may be NULL */
	bool adopted;					/* fib_adopt_*() found something */
	bool syncing; /* between fib_sync_begin() and fib_sync_end() */
	/* Of the current fib_retry(): */
	bool retrying;
	bool no_room;	     /* an insertion failed, so others will, too */
	bool no_source_room; /* the same of sl_src_routes */
	bool graced;	     /* a grace period was asked for */
	/* SIXLANE_META_GAPS: */
	bool gaps;	 /* as written last, or as an earlier daemon may have left it */
	bool gaps_known; /* false: only a synchronisation may clear it */
	/* Prefixes that there was no memory to remember; the entries that cover them are stale. */
	bool incomplete;
	bool incomplete_in_sync;  /* since fib_sync_begin() */
	bool exception_undeleted; /* an exception could not be deleted */
	bool any_flag;		  /* some entry should have SIXLANE_ROUTE_EXCEPTIONS */
	bool flag_uncovered;	  /* so should a prefix that comes without a cover */
};

static inline union sixlane_nh_entry fib_verdict_entry(uint32_t verdict)
{
	return (union sixlane_nh_entry){ .type = (uint16_t)verdict };
}

#endif
