/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One stored route: what makes two routes the same for fib6, and comparisons of hops. Private to
 * rib/. Knows nothing of destinations or tables.
 */
#ifndef RIB_RIB_ROUTE_H
#define RIB_RIB_ROUTE_H

#include "rib.h"

/* A copy of route, with other hops than its own. NULL on lack of memory. */
struct rib_route *rib_route_new(const struct route *route, const struct route_hop *hops,
				uint16_t n_hops);

/* Of a route by an object: what fib6 caches of it, see rib_by_object(). */
uint64_t rib_route_cached_value(const struct rib_route *route);

/* The route as it was announced. The hops are not copied. */
struct route rib_route_view(const struct rib_route *stored, uint32_t table,
			    const struct prefix *dst);

/*
 * rt6_qualify_for_ecmp: it is, or can become, one set with others of its metric. The kernel's own
 * routes of router advertisements never do, though they have a gateway. Those that a daemon adds
 * do, which shows only when there are two hops.
 */
bool rib_route_is_set(const struct route *route);

/* They have the same key, source prefix and metric: one can replace the other. */
bool rib_route_same_key(const struct rib_route *a, const struct route *b);

/* rt6_duplicate_nexthop: fib6 accepts only one of them for a key. Neither is a set. */
bool rib_route_same(const struct rib_route *a, const struct route *b);

/* No reportable difference. The order of hops is ignored, and a slightly later end of b. */
bool rib_route_equal(const struct rib_route *a, const struct route *b);

/* The same for all but the hops. */
bool rib_route_same_attributes(const struct rib_route *a, const struct route *b);

/* As multisets: with an encapsulation, two hops may have one gateway and device. */
bool rib_route_same_hops(const struct rib_route *a, const struct route *b);

bool rib_hop_equal(const struct route_hop *a, const struct route_hop *b);

/* Index in hops of a hop with this gateway and device, or -1. */
int rib_hop_find(const struct route_hop *hops, uint16_t n, const struct route_hop *hop);

#endif
