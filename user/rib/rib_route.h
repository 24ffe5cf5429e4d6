/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One route at rest: what makes two of them the same for fib6, and the arithmetic on sets of
 * hops. Private to rib/. Knows nothing of destinations or tables.
 */
#ifndef RIB_RIB_ROUTE_H
#define RIB_RIB_ROUTE_H

#include "rib.h"

/* A copy of route, with other hops than its own. NULL on lack of memory. */
struct rib_route *rib_route_new(const struct route *route, const struct route_hop *hops,
				uint16_t n_hops);

/* Of a route by an object, what rib_by_object() tells apart. */
uint64_t rib_route_cached_value(const struct rib_route *route);

/* The route as it was announced; its hops are those of at_rest. */
struct route rib_route_view(const struct rib_route *at_rest, uint32_t table,
			    const struct prefix *dst);

/*
 * rt6_qualify_for_ecmp: it is, or may become, one set with the others of its metric. Routes that
 * the kernel learnt from router advertisements never do, though they have a gateway; those
 * that a daemon learnt for it do, which shows only once there are two hops.
 */
bool rib_route_is_set(const struct route *route);

/* Of one source prefix and one metric: what a message can replace. */
bool rib_route_same_key(const struct rib_route *a, const struct route *b);

/* rt6_duplicate_nexthop: fib6 takes only one of them at a level. Both not sets. */
bool rib_route_same(const struct rib_route *a, const struct route *b);

/*
 * Nothing that rib.h promises to report differs; the order of hops does not count, nor does a
 * lifetime of b that ends a little later than that of a.
 */
bool rib_route_equal(const struct rib_route *a, const struct route *b);

/* The same but for the hops. */
bool rib_route_same_attributes(const struct rib_route *a, const struct route *b);

/* As multisets: with an encapsulation, two hops may have one gateway and device. */
bool rib_route_same_hops(const struct rib_route *a, const struct route *b);

bool rib_hop_equal(const struct route_hop *a, const struct route_hop *b);

/* Index in hops of a hop with this gateway and device, or -1. */
int rib_hop_find(const struct route_hop *hops, uint16_t n, const struct route_hop *hop);

#endif
