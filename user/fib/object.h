/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next-hop objects (`ip nexthop`): what each means now, and the next hops that follow it, one for
 * each MTU and expiry of routes by it. A change is prepared beside the old meaning and published by
 * one store for each of these; then the old one is given back. An object that no route uses has no
 * room in the maps.
 */
#ifndef USER_FIB_OBJECT_H
#define USER_FIB_OBJECT_H

#include "group.h"

/* A copy of the caller's struct fib_object. */
struct fib_object_def {
	uint32_t verdict;
	struct fib_group_buckets buckets; /* of a group that is not resilient: n_buckets 0 */
	struct fib_key_hop hops[];	  /* in the caller's order; then the buckets' members */
};

struct fib_object_state {
	struct fib_hash_node node;
	uint32_t id;
	uint32_t generation;	    /* of the synchronisation that set it last */
	struct fib_object_def *def; /* NULL: PUNT_NEXT_HOP_OBJECT */
	struct fib_group *group;    /* NULL: none is needed, or it is pending */
	struct fib_next_hop *users; /* one for each MTU and expiry of its routes */
	uint32_t n_expiring;	    /* users that expire: even one hop is a group then */
	bool pending;
	/*
	 * Punted until the synchronisation ends. The id may have come to mean something else while
	 * routes of before still name it, which by now have another next hop.
	 */
	bool punted;
};

/* The state of an object, added if it is not known. NULL: no memory. */
struct fib_object_state *fib_object_get(struct fib *fib, uint32_t id);
/* From now on this next hop follows the object. Its caller publishes its first entry. */
void fib_object_attach(struct fib *fib, struct fib_object_state *object,
		       struct fib_next_hop *next_hop);
void fib_object_detach(struct fib *fib, struct fib_next_hop *next_hop);
/* The entry of a next hop that follows the object; expires: its routes do. */
union sixlane_nh_entry fib_object_entry(const struct fib_object_state *object, bool expires);
/* See fib_set_object(). */
int fib_object_set(struct fib *fib, uint32_t id, const struct fib_object *object);
/* Try again if the object is pending. */
void fib_object_retry(struct fib *fib, struct fib_object_state *object);
/* The synchronisation ends: forget the object if it was not set; otherwise lift its punt. */
void fib_object_confirm(struct fib *fib, struct fib_object_state *object);
void fib_object_free(void *object);

#endif
