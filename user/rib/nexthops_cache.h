/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which routes fib6 may have cached at a next-hop object. Knows nothing of messages.
 *
 * fib6 keeps one cached route at each hop of an object for all routes by that hop, whatever group
 * they name (rt6_get_pcpu_route). All packets get the type and the MTU of whichever route was
 * cached first. A hop whose routes differ in these is "mixed".
 *
 * A cached route outlives the route it was made of, until fib6 gets a new serial number. Every
 * route that is added brings one (fib6_add), a deleted one does not. So a mixed hop stays mixed,
 * then called stale, until nexthops_cache_flushed().
 */
#ifndef RIB_NEXTHOPS_CACHE_H
#define RIB_NEXTHOPS_CACHE_H

#include "nexthops_table.h"

/* Use the routes of rib, which outlives nexthops and has no other listener for its uses. */
void nexthops_set_rib(struct nexthops *nexthops, struct rib *rib);
/* Some hop is stale. */
bool nexthops_cache_is_stale(const struct nexthops *nexthops);
/* fib6 got a new serial number after all that was announced so far. */
void nexthops_cache_flushed(struct nexthops *nexthops);
/* Unannounced routes may be cached: all hops are mixed until nexthops_cache_flushed(). */
void nexthops_cache_set_stale(struct nexthops *nexthops);

bool nexthops_is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop);

/* --- for nexthops.c: routes follow the objects that they name --------------------------------- */

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
