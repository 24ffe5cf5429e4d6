/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One next-hop object at rest. Private to rib/. Knows nothing of other objects: members and the
 * owners of buckets are ids.
 */
#ifndef RIB_NEXTHOPS_OBJECT_H
#define RIB_NEXTHOPS_OBJECT_H

#include "mixture.h"
#include "object.h"

#define NEXTHOP_MAX_BUCKETS UINT16_MAX /* the kernel counts them in 16 bits */

struct nexthop_object {
	struct nexthop_object *next;	    /* in the hash */
	struct nexthop_object *next_group;  /* in the list of groups */
	struct nexthop_object *next_turned; /* in the list of those that turned, if it did */
	uint32_t id;
	uint32_t generation;
	enum next_hop_kind kind;
	bool dirty;	       /* buckets changed, and nobody was told */
	struct route_hop hop;  /* zero but for NEXT_HOP_ONE and NEXT_HOP_OTHER */
	struct mixture routes; /* that may go by it: of no group */
	bool turned;	       /* they differ, or do not any more, and nobody was told */
	bool stale;	       /* they differed, and the kernel may have one of them cached */
	bool unseen;	       /* a group of which the members are not known */
	uint32_t n_members, n_buckets;
	struct next_hop_member *members;
	uint32_t *buckets; /* ids of members; 0: not known */
};

void nexthop_object_free(struct nexthop_object *object);

/* Of a group without members, or with too many of anything, nothing can be expressed: OTHER. */
enum next_hop_kind nexthop_object_kind(const struct next_hop *next_hop);

static inline bool nexthop_kind_is_group(enum next_hop_kind kind)
{
	return kind == NEXT_HOP_GROUP || kind == NEXT_HOP_RESILIENT;
}

/* It leads somewhere by itself, or discards. */
static inline bool nexthop_object_is_hop(const struct nexthop_object *object)
{
	return !nexthop_kind_is_group(object->kind) && !object->unseen;
}

/* It is a group, and its members are not known. */
bool nexthop_object_is_unseen(const struct next_hop *next_hop);

/* The object is what next_hop says. */
bool nexthop_object_equal(const struct nexthop_object *object, const struct next_hop *next_hop);

/*
 * Make the object what next_hop says; lists and generation are the caller's. Buckets of members
 * that stay stay, the others are not known. 0, or -ENOMEM: it is NEXT_HOP_OTHER then, since it
 * must not go on being what it was.
 */
int nexthop_object_set(struct nexthop_object *object, const struct next_hop *next_hop);

/* Index of a member, -1: it is none. */
int nexthop_object_find(const struct nexthop_object *group, uint32_t id);

/* A member goes. Whose its buckets are now is not known. */
void nexthop_object_drop(struct nexthop_object *group, uint32_t id);

#endif
