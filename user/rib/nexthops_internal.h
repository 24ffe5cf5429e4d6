/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What nexthops.c, the objects, and nexthops_routes.c, the routes by them, know of each other.
 * Private to rib/.
 */
#ifndef RIB_NEXTHOPS_INTERNAL_H
#define RIB_NEXTHOPS_INTERNAL_H

#include "nexthops.h"
#include "nexthops_object.h"

#define NEXTHOPS_BUCKETS 4096u

struct nexthops {
	nexthops_changed_fn changed;
	void *ctx;
	struct rib *rib; /* whose routes count; may be NULL */
	struct nexthop_object *objects[NEXTHOPS_BUCKETS];
	struct nexthop_object *groups;
	struct nexthop_object *turned; /* hops of which nobody was told yet */
	struct mixture unseen;	       /* routes by groups whose members are not known */
	size_t n, n_stale;
	bool doubtful; /* the kernel may have cached what nobody knows of */
	uint32_t generation;
	bool marked; /* between mark and sweep */
	/* What the last view points to. */
	struct route_hop hops[NEXT_HOP_MAX_MEMBERS];
	uint32_t weights[NEXT_HOP_MAX_MEMBERS];
	uint16_t owners[NEXTHOP_MAX_BUCKETS];
};

/* --- nexthops.c ------------------------------------------------------------------------------- */

void nexthops_report(const struct nexthops *nexthops, uint32_t id);
/* NULL: there is none. */
struct nexthop_object *nexthops_find(const struct nexthops *nexthops, uint32_t id);

/* --- nexthops_routes.c ------------------------------------------------------------------------ */

/* A digest of those that name an object. */
struct mixture nexthops_routes_of(const struct nexthops *nexthops, uint32_t id);
/* Of those that may go by a hop that was none until now. */
struct mixture nexthops_routes_by_hop(const struct nexthops *nexthops, uint32_t id);
/* by: 1 or -1, so many routes more that name the object, … */
void nexthops_count_routes(struct nexthops *nexthops, struct nexthop_object *object,
			   const struct mixture *routes, int by);
/* … or a group of these members … */
void nexthops_count_members(struct nexthops *nexthops, const struct next_hop_member *members,
			    uint32_t n, const struct mixture *routes, int by);
/* … or one whose members are not known. */
void nexthops_count_unseen(struct nexthops *nexthops, const struct mixture *routes, int by);
/* After a change that has counted anything. */
void nexthops_tell_turned(struct nexthops *nexthops);
bool nexthops_is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop);

#endif
