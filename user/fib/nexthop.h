/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next hops: the table of them by key and by id, their reference counts, and their entries in
 * sl_next_hops. Makes leaves itself, which are verdicts and single hops; parts.h makes the others
 * and frees all. Knows nothing of prefixes.
 *
 * A next hop is referenced (refs) by prefixes, groups, source tables and exceptions, and named
 * (named) by entries of the tries. Without either it goes to fib->unused, for
 * fib_next_hop_free_unused() in parts.h.
 *
 * Punted in place: the entry is PUNT_MAP_FULL, because a route names the id that should not and
 * cannot be changed. One store, safe at any moment, restored when the route is right.
 */
#ifndef USER_FIB_NEXTHOP_H
#define USER_FIB_NEXTHOP_H

#include "desired.h"

struct fib_next_hop {
	struct fib_hash_node node;	 /* by key, if hashed */
	struct fib_list retry;		 /* in fib->retry */
	struct fib_list unused;		 /* in fib->unused */
	struct sixlane_next_hop content; /* as written, unless punted in place */
	/* The parts that the entry leads to: */
	struct fib_port *port;
	struct fib_neigh *neigh;
	struct fib_group *group;
	struct fib_source_table *sources;
	struct fib_object_state *object; /* its entry is that of this object */
	struct fib_next_hop *next_user;	 /* of the same object */
	uint32_t id;			 /* 0: none */
	uint32_t refs, named;
	uint32_t stuck; /* of named: entries that should not name it and could not be changed */
	bool hashed;
	bool pending;
	bool valid;	    /* adopted ones: understood; else its entry is punted for good */
	struct fib_key key; /* last, with variable length; bytes 0: adopted, the key is not known */
};

/* Allocate without an id. NULL: no memory. */
struct fib_next_hop *fib_next_hop_alloc(size_t key_bytes);
/* The same with a key, hashed, and with one reference. */
struct fib_next_hop *fib_next_hop_new(struct fib *fib, const struct fib_key *key);
void fib_next_hop_insert(struct fib *fib, struct fib_next_hop *next_hop);
/* The next hop with an id found in the maps, allocated if there is none. NULL: no memory. */
struct fib_next_hop *fib_next_hop_adopt(struct fib *fib, uint32_t found);
/*
 * Call when it has got its parts (complete) or not: takes an id, writes the entry, and queues a
 * retry if something is missing. A leaf gets no id unless complete; others do, so that their routes
 * are written only once. False: it has no id.
 */
bool fib_next_hop_publish(struct fib *fib, struct fib_next_hop *next_hop, bool complete,
			  union sixlane_nh_entry nh_entry);
void fib_next_hop_set_pending(struct fib *fib, struct fib_next_hop *next_hop, bool pending);

/* Get the port and the neighbour of a leaf, and publish it. */
void fib_leaf_fill(struct fib *fib, struct fib_next_hop *leaf);
/* A reference to the leaf with this key, which has an id. NULL: no memory or no room. */
struct fib_next_hop *fib_leaf_get(struct fib *fib, const struct fib_leaf_key *key);
/* Put the port and the neighbour, if any. */
void fib_leaf_put_parts(struct fib *fib, struct fib_next_hop *leaf);

/* Drop a reference. */
void fib_next_hop_unref(struct fib *fib, struct fib_next_hop *next_hop);
/* An entry of a trie that named id old names id new; 0: none. */
void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new);
void fib_next_hop_queue_if_unused(struct fib *fib, struct fib_next_hop *next_hop);

/* Change the entry by one store, if it differs; it stays punted if it is punted in place. */
void fib_next_hop_set_entry(struct fib *fib, struct fib_next_hop *next_hop,
			    union sixlane_nh_entry nh_entry);
/* One entry more, or one less, names id and cannot be changed. */
void fib_next_hop_punt(struct fib *fib, uint32_t id);
void fib_next_hop_restore(struct fib *fib, uint32_t id);

#endif
