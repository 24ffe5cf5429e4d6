/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stored next-hop objects by id, and the routes that fib6 may have cached at them. Private to rib/.
 * An object knows nothing of others: members and the owners of buckets are ids.
 */
#ifndef RIB_NEXTHOPS_TABLE_H
#define RIB_NEXTHOPS_TABLE_H

#include "nexthops.h"

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

/* --- the table -------------------------------------------------------------------------------- */

#define NEXTHOPS_BUCKETS 4096u

struct nexthops {
	nexthops_changed_fn changed; /* may be NULL */
	void *ctx;
	struct rib *rib; /* whose routes use the objects; may be NULL */
	struct nexthop_object *objects[NEXTHOPS_BUCKETS];
	struct nexthop_object *groups;
	struct nexthop_object *unreported; /* hops that became mixed or uniform since */
	struct value_sums of_incomplete;   /* of routes by groups with unknown members */
	size_t n, n_stale;
	bool all_stale; /* any hop may have any route cached */
	uint32_t generation;
	bool marked; /* between mark and sweep */
	/* What the last view points to. */
	struct route_hop hops[NEXT_HOP_MAX_MEMBERS];
	uint32_t weights[NEXT_HOP_MAX_MEMBERS];
	uint16_t owners[NEXTHOP_MAX_BUCKETS];
};

void nexthops_report(const struct nexthops *nexthops, uint32_t id);
/* NULL: there is none. */
struct nexthop_object *nexthops_find(const struct nexthops *nexthops, uint32_t id);
/* The object, created if there is none. NULL: no memory. */
struct nexthop_object *nexthops_get(struct nexthops *nexthops, uint32_t id);
/* Unlink an object, which the caller then frees. */
void nexthops_unlink(struct nexthops *nexthops, struct nexthop_object *object);
void nexthops_groups_add(struct nexthops *nexthops, struct nexthop_object *group);
void nexthops_groups_del(struct nexthops *nexthops, const struct nexthop_object *group);

/* --- cached routes: nexthops_cache.c ---------------------------------------------------------- */

bool nexthops_is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop);

/* The values of the routes that name an object, as rib_by_object() returns them. */
struct value_sums nexthops_values_of(const struct nexthops *nexthops, uint32_t id);
/* The values of the routes that may use a hop, directly or by a group. */
struct value_sums nexthops_values_by_hop(const struct nexthops *nexthops, uint32_t id);
/* Routes with these values name an object (by = 1), or no longer do (-1). */
void nexthops_values_add(struct nexthops *nexthops, struct nexthop_object *object,
			 const struct value_sums *values, int by);
/* The same for a group with these members. */
void nexthops_values_add_members(struct nexthops *nexthops, const struct next_hop_member *members,
				 uint32_t n, const struct value_sums *values, int by);
/* The same for a group with unknown members, which may be any hop. */
void nexthops_values_add_all(struct nexthops *nexthops, const struct value_sums *values, int by);
/* Report hops that became mixed or uniform, once for all of the above calls. */
void nexthops_report_mixed(struct nexthops *nexthops);

#endif
