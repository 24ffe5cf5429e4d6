/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One stored next-hop object. Private to rib/. Knows nothing of other objects: members and the
 * owners of buckets are ids.
 */
#ifndef RIB_NEXTHOP_OBJECT_H
#define RIB_NEXTHOP_OBJECT_H

#include "next_hop.h"
#include "value_sums.h"

#define NEXTHOP_MAX_BUCKETS UINT16_MAX /* the kernel counts them in 16 bits */

struct nexthop_object {
	struct nexthop_object *next;		/* in the hash */
	struct nexthop_object *next_group;	/* in the list of groups */
	struct nexthop_object *next_unreported; /* if unreported */
	uint32_t id;
	uint32_t generation;
	enum next_hop_kind kind;
	bool dirty;		  /* buckets changed, not yet reported */
	struct route_hop hop;	  /* zero but for NEXT_HOP_ONE and NEXT_HOP_OTHER */
	struct value_sums values; /* of a hop: of the routes that may use it */
	bool unreported;	  /* became mixed or uniform, not yet reported */
	bool stale;		  /* was mixed, and fib6 may still have a route cached */
	bool incomplete;	  /* a group whose members are unknown */
	uint32_t n_members, n_buckets;
	struct next_hop_member *members;
	uint32_t *buckets; /* ids of members; 0: unknown */
};

void nexthop_object_free(struct nexthop_object *object);

/* NEXT_HOP_OTHER for a group without members, or with too many members or buckets. */
enum next_hop_kind nexthop_object_kind(const struct next_hop *next_hop);

static inline bool nexthop_kind_is_group(enum next_hop_kind kind)
{
	return kind == NEXT_HOP_GROUP || kind == NEXT_HOP_RESILIENT;
}

/* It is a hop by itself, also one that discards. */
static inline bool nexthop_object_is_hop(const struct nexthop_object *object)
{
	return !nexthop_kind_is_group(object->kind) && !object->incomplete;
}

/* It is a group, and its members are unknown. */
bool nexthop_object_is_incomplete(const struct next_hop *next_hop);

/* The object is the same as in the message. */
bool nexthop_object_equal(const struct nexthop_object *object, const struct next_hop *next_hop);

/*
 * Set the object from a message; lists and generation are the caller's. Buckets of members that
 * stay are kept, others become unknown. 0, or -ENOMEM: the object is then NEXT_HOP_OTHER, since it
 * must not keep its old meaning.
 */
int nexthop_object_set(struct nexthop_object *object, const struct next_hop *next_hop);

/* Index of a member, -1: it is none. */
int nexthop_object_find(const struct nexthop_object *group, uint32_t id);

/* Remove a member. The owners of its buckets become unknown. */
void nexthop_object_drop(struct nexthop_object *group, uint32_t id);

#endif
