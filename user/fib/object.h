/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next-hop objects (`ip nexthop`): what each means now, and its users, which are the next hops that
 * follow it: one for each MTU and expiry among its routes. A change is prepared beside the old
 * meaning, and published by one store a user; then the old one is given back. An object without
 * users takes no room in the maps.
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
	struct fib_next_hop *users; /* list by next_user */
	uint32_t n_expiring;	    /* users that expire: even one hop is a group then */
	bool pending;
	/*
	 * Punted until the synchronisation ends. The kernel may have given the id to another
	 * object, and routes that were not set yet may name it for the old one.
	 */
	bool punted;
};

/* The state of an object, added if it is not known. NULL: no memory. */
struct fib_object_state *fib_object_get(struct fib *fib, uint32_t id);
/* From now on next_hop follows the object. The caller publishes its first entry. */
void fib_object_attach(struct fib *fib, struct fib_object_state *object,
		       struct fib_next_hop *next_hop);
void fib_object_detach(struct fib *fib, struct fib_next_hop *next_hop);
/* The entry of a user. expires: the user's routes expire. */
union sixlane_nh_entry fib_object_entry(const struct fib_object_state *object, bool expires);
/* See fib_set_object(). */
int fib_object_set(struct fib *fib, uint32_t id, const struct fib_object *object);
/* Try again if the object is pending. */
void fib_object_retry(struct fib *fib, struct fib_object_state *object);
/* The synchronisation ends: forget the object if it was not set; otherwise lift its punt. */
void fib_object_confirm(struct fib *fib, struct fib_object_state *object);
void fib_object_free(void *object);

#endif
