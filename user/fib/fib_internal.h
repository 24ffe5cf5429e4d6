/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the fib know of each other: ids and slots (fib_pool.c), ports, neighbours,
 * next hops, and the trie's entries on top (fib_route.c, fib_cover.c). Each object is
 * reference-counted by what names it in the maps or is about to; it leaves the maps with its
 * last reference. Private to fib/.
 *
 * Invariants beside those of fib.h
 * - A port or a neighbour has a slot exactly while the index map names it.
 * - A next hop's content never changes while a route names its id, except for its verdict, which
 *   may turn to PUNT_MAP_FULL and back ("poisoned"): one store, safe at any moment.
 */
#ifndef FIB_FIB_INTERNAL_H
#define FIB_FIB_INTERNAL_H

#include "../rib/radix.h"
#include "fib.h"
#include "fib_hash.h"

/* The next hop that punts what found no room. Reserved, so that a punt can never fail. */
#define FIB_ID_FULL 1u

/* Ids or slots from 1 to limit - 1. */
struct fib_pool {
	uint32_t limit;
	uint32_t fresh; /* from here on, none was ever given out */
	uint32_t n_free, n_quarantine;
	uint32_t *free;	      /* may be reused */
	uint32_t *quarantine; /* may be reused after a grace period */
};

struct fib_port {
	struct fib_hash_node node; /* by ifindex */
	struct sixlane_port port;  /* as written */
	uint32_t slot;
	uint32_t refs; /* next hops */
	bool known;    /* the device is there */
	bool adopted;  /* nobody confirmed it yet */
};

struct fib_neigh {
	struct fib_hash_node node; /* by key */
	struct sixlane_neigh_key key;
	union sixlane_mac mac; /* as written */
	uint32_t slot;
	uint32_t refs;	     /* next hops that have it as gateway */
	uint32_t generation; /* of the synchronisation that set it last */
	bool known;	     /* the kernel has it in a state to use */
	bool adopted;
};

struct fib_next_hop {
	struct fib_hash_node node; /* by target, if hashed */
	struct fib_target target;
	struct sixlane_next_hop content; /* as written, but for a poisoned verdict */
	struct fib_port *port;
	struct fib_neigh *neigh;
	uint32_t id;	 /* 0: starved, there was no id, slot or port to be had */
	uint32_t wanted; /* entries that should name it */
	uint32_t named;	 /* entries that name it in the trie */
	uint32_t stuck;	 /* of those, how many should not and could not be changed */
	bool hashed;
	bool valid; /* target tells what content means */
};

/* A prefix in the trie, or that should be. */
struct fib_entry {
	struct radix_node node;
	struct fib_next_hop *wanted; /* NULL: withdrawn, or adopted and not understood */
	uint32_t written;	     /* id that the trie names here, 0: not in the trie */
	uint32_t missing_below;	     /* absent entries that this one covers */
	uint32_t generation;	     /* of the synchronisation that set it last */
	bool absent : 1;	     /* wanted, not in the trie, and counted in its covers */
	bool failed : 1;	     /* the trie does not say what it should */
	bool stuck : 1;		     /* names the wrong next hop, which is poisoned for it */
	bool foreign : 1;	     /* adopted with a value that we would not have written */
	bool doubtful : 1; /* something it covers may have been lost: punted until synchronised */
};

struct fib {
	struct fib_writer writer;
	struct fib_pool port_pool, neigh_pool, next_hop_pool;
	struct fib_hash ports, neighs, next_hops;
	struct fib_next_hop **by_id; /* [SIXLANE_MAX_NEXT_HOPS] */
	struct fib_neigh **by_slot;  /* [SIXLANE_MAX_NEIGHBOURS] */
	struct fib_next_hop *full;   /* FIB_ID_FULL */
	struct radix entries;
	struct sixlane_route_key *strays; /* adopted keys that we would not have written */
	size_t n_strays;
	size_t n_ids; /* next hops that have an id */
	size_t n_written, n_absent, n_failed;
	uint64_t writes, write_errors;
	uint32_t max_routes;
	uint32_t generation;
	bool adopting;	   /* nothing but fib_adopt_* was called yet */
	bool adopted;	   /* something was adopted */
	bool retrying;	   /* in fib_retry() … */
	bool no_room;	   /* … and an insertion failed: further ones will too */
	bool lost;	   /* lack of memory made us forget a prefix: some entries are doubtful */
	bool lost_in_sync; /* since fib_sync_begin() */
};

/* --- fib_pool.c ------------------------------------------------------------------------------- */

int fib_pool_init(struct fib_pool *pool, uint32_t limit);
void fib_pool_free(struct fib_pool *pool);
/* 0: none left, nor after a grace period. */
uint32_t fib_pool_take(struct fib *fib, struct fib_pool *pool);
/* Take one id, if it is free now. Linear in the pool's size: for ports only. */
bool fib_pool_take_this(struct fib_pool *pool, uint32_t id);
/* Something may still be reading it. */
void fib_pool_give(struct fib_pool *pool, uint32_t id);
/* It was never published. */
void fib_pool_give_unused(struct fib_pool *pool, uint32_t id);
/* After adopting: whatever is not taken may have been a moment ago. */
void fib_pool_adopt(struct fib_pool *pool, bool (*taken)(const struct fib *fib, uint32_t id),
		    const struct fib *fib);

/* --- fib_port.c ------------------------------------------------------------------------------- */

struct fib_port *fib_port_find(const struct fib *fib, uint32_t ifindex);
struct fib_port *fib_port_at(const struct fib *fib, uint32_t slot);
/* With a reference, made if it is not known. NULL: no room or no memory. */
struct fib_port *fib_port_get(struct fib *fib, uint32_t ifindex);
void fib_port_put(struct fib *fib, struct fib_port *port);
/* Ports that nobody needs. Also what fib_sync_end() does with unconfirmed ones. */
void fib_port_sweep(struct fib *fib, bool confirm);
void fib_port_free_all(struct fib *fib);

/* --- fib_neigh.c ------------------------------------------------------------------------------ */

/* With a reference, unresolved if it is not known. NULL: no room or no memory. */
struct fib_neigh *fib_neigh_get(struct fib *fib, uint32_t ifindex, const union sixlane_addr *addr);
void fib_neigh_put(struct fib *fib, struct fib_neigh *neigh);
/* Neighbours that nobody needs; with confirm, also those that this synchronisation did not set. */
void fib_neigh_sweep(struct fib *fib, bool confirm);
void fib_neigh_free_all(struct fib *fib);

/* --- fib_next_hop.c --------------------------------------------------------------------------- */

/* The next hop for a target, wanted once more. 0, or -ENOMEM. It may be starved. */
int fib_next_hop_want(struct fib *fib, const struct fib_target *target, struct fib_next_hop **out);
void fib_next_hop_unwant(struct fib *fib, struct fib_next_hop *next_hop);
/* An entry's value in the trie turns from id old to id new; 0: none. */
void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new);
/* A route that names id cannot be changed: packets that get there are punted from now on. */
void fib_next_hop_poison(struct fib *fib, uint32_t id);
void fib_next_hop_cure(struct fib *fib, uint32_t id);
/* Look again for what the starved ones need. */
void fib_next_hop_feed(struct fib *fib);
/* The object for an id found in the maps, made if there is none. NULL: no memory. */
struct fib_next_hop *fib_next_hop_adopt(struct fib *fib, uint32_t id);
/* All objects are adopted: what do they mean? */
void fib_next_hop_understand(struct fib *fib);
void fib_next_hop_free_all(struct fib *fib);

/* --- fib_cover.c ------------------------------------------------------------------------------ */

/* Make the trie say at this prefix what it should, as far as it can be made to. */
void fib_entry_settle(struct fib *fib, struct fib_entry *entry);
/* A withdrawn entry that has left the trie: forget it. */
bool fib_entry_is_over(const struct fib_entry *entry);

/* --- fib_route.c ------------------------------------------------------------------------------ */

/* All routes are adopted: those that are understood are wanted until a synchronisation. */
void fib_route_understand(struct fib *fib);
void fib_route_free_all(struct fib *fib);

/* --- fib_adopt.c ------------------------------------------------------------------------------ */

/* The first call of anything but fib_adopt_*. */
void fib_adopt_finish(struct fib *fib);
/* Adopted keys that no prefix of ours has go. */
void fib_adopt_drop_strays(struct fib *fib);

static inline struct fib_entry *fib_entry_of(struct radix_node *node)
{
	return node ? (struct fib_entry *)node : NULL; /* its first member */
}

_Static_assert(__builtin_offsetof(struct fib_entry, node) == 0, "radix_remove() frees the whole");

#endif
