/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct fib: the desired state of the maps, and what was written so far. Private to fib/; each
 * object in it has a header of its own.
 *
 * Invariants beside those of fib.h
 * - Objects are reference-counted by what names them in the maps or is about to. An object leaves
 *   the maps with its last reference.
 * - A port or a neighbour has a slot exactly while the index map names it.
 * - Next hops are found by their key (nexthop.h); each key has one id.
 * - A next hop without an id is not in the maps: its prefixes are PUNT_MAP_FULL. A pending next
 *   hop has an id, but lacks a part: its entry is a punt until a retry succeeds.
 */
#ifndef USER_FIB_DESIRED_H
#define USER_FIB_DESIRED_H

#include "../compiled/compiled.h"
#include "hash.h"
#include "ids.h"
#include "writer.h"

/* A doubly linked ring: a head and its items. An item is in one ring or in none. */
struct fib_list {
	struct fib_list *prev, *next;
};

static inline void fib_list_init(struct fib_list *item)
{
	item->prev = item->next = item;
}

static inline bool fib_list_is_empty(const struct fib_list *list)
{
	return list->next == list;
}

/* Does nothing to an item that is in no ring. */
static inline void fib_list_unlink(struct fib_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	fib_list_init(item);
}

static inline void fib_list_append(struct fib_list *list, struct fib_list *item)
{
	item->prev = list->prev;
	item->next = list;
	list->prev->next = item;
	list->prev = item;
}

/* The next hop that punts what finds no room. Reserved, so that a punt can never fail. */
#define FIB_ID_FULL 1u

struct fib {
	struct fib_writer writer;
	struct compiled *compiled;
	uint64_t n_distrusted; /* calls of fib_decompile() that made it absent */
	struct fib_ids port_ids, neigh_ids, next_hop_ids, source_ids, buckets;
	union sixlane_nh_bucket *written_buckets; /* [SIXLANE_MAX_NH_BUCKETS]; valid where taken */
	struct fib_hash tables, ports, vlans, neighs, next_hops, objects, source_tables, exceptions;
	struct fib_next_hop **by_id;	  /* [SIXLANE_MAX_NEXT_HOPS] */
	struct fib_neigh **neigh_by_slot; /* [SIXLANE_MAX_NEIGHBOURS] */
	struct fib_port **port_by_slot;	  /* [SIXLANE_MAX_PORTS] */
	struct fib_next_hop *full;	  /* FIB_ID_FULL */
	struct fib_list retry;		  /* next hops without an id, and pending ones */
	struct fib_list unused;		  /* next hops without references */
	struct fib_key_buffer {
		uint8_t *bytes;
		size_t used, size;
	} scratch;			   /* of fib_set() */
	struct sixlane_route_key *orphans; /* adopted keys that no prefix can have */
	size_t n_orphans;
	size_t n_ids;			      /* next hops that have an id */
	size_t n_written, n_absent, n_failed; /* prefixes */
	size_t n_pending;		      /* next hops and objects */
	size_t n_sources;		      /* entries of sl_src_routes */
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
	/* There was no memory for the entries of some prefixes; what covers these is stale. */
	bool incomplete;
	bool incomplete_in_sync; /* since fib_sync_begin() */
	bool unswept;  /* fib_retry() has more to do than prefixes: failed writes, tags, orphans */
	bool any_flag; /* some entry should have SIXLANE_ROUTE_EXCEPTIONS */
	bool flag_uncovered; /* so should a prefix that comes without a cover */
};

static inline union sixlane_nh_entry fib_verdict_entry(uint32_t verdict)
{
	return (union sixlane_nh_entry){ .type = (uint16_t)verdict };
}

/* --- write.c: writes to the maps, counted in the statistics ----------------------------------- */

/* 0 or -errno. Tries several times on -ENOMEM. */
int fib_write_set(struct fib *fib, enum fib_map map, const void *key, const void *value);
/* 0, also if there was no such entry, or -errno. */
int fib_write_del(struct fib *fib, enum fib_map map, const void *key);
void fib_write_store(struct fib *fib, enum fib_map map, uint32_t index, const void *value);
void fib_write_word(struct fib *fib, enum fib_map map, uint32_t index, uint64_t word);
void fib_write_bucket(struct fib *fib, uint32_t index, union sixlane_nh_bucket bucket);

#endif
