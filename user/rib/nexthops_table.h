/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next-hop objects by id, and a list of the groups among them. Private to rib/. Knows neither
 * messages nor routes.
 */
#ifndef RIB_NEXTHOPS_TABLE_H
#define RIB_NEXTHOPS_TABLE_H

#include "nexthop_object.h"
#include "rib.h"

#define NEXTHOPS_BUCKETS 4096u

/* What an id means changed, or the object is gone. Groups with a changed member are reported too.
 */
typedef void (*nexthops_changed_fn)(void *ctx, uint32_t id);

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

#endif
