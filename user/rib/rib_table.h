/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the RIB share: tables, destinations, stored routes. Private to rib/. */
#ifndef RIB_RIB_TABLE_H
#define RIB_RIB_TABLE_H

#include "rib.h"

#define RIB_TABLE_BUCKETS 64u
#define RIB_USE_BUCKETS 4096u
/* Counters of routes by device. Several devices share one; 0 means that none has routes. */
#define RIB_DEVICE_COUNTS 4096u

struct rib_table {
	struct rib_table *next;
	struct rib *rib;
	struct radix radix;
	size_t sources; /* source-specific routes */
	uint32_t id;
};

/* A next-hop object that routes name. */
struct rib_use {
	struct rib_use *next;
	uint32_t id;
	struct value_sums routes; /* what fib6 caches of each, see rib_by_object() */
};

struct rib {
	rib_changed_fn changed;
	rib_used_fn used; /* may be NULL */
	void *ctx, *used_ctx;
	size_t routes, unsteady; /* see rib_unsteady() */
	uint32_t run;		 /* counts runs of messages for one destination */
	uint16_t generation;	 /* set in every route that a message confirms */
	bool object_sources;	 /* see rib_object_sources() */
	uint32_t last_table;	 /* of the previous message */
	struct prefix last_dst;
	struct rib_table *tables[RIB_TABLE_BUCKETS];
	struct rib_use *uses[RIB_USE_BUCKETS];
	uint32_t by_device[RIB_DEVICE_COUNTS]; /* routes with one hop and no object */
};

/*
 * A destination and its table. create: add what is missing; then the caller adds a route or calls
 * rib_dest_close(). NULL: there is none, or no memory.
 */
struct rib_dest *rib_dest_open(struct rib *rib, uint32_t id, const struct prefix *dst, bool create,
			       struct rib_table **table);
/* After a change of its routes. A destination without routes is deleted. */
void rib_dest_close(struct rib_table *table, struct rib_dest *dest);
/* The same, and rib_changed_fn is called. */
void rib_dest_close_changed(struct rib_table *table, struct rib_dest *dest);

/* --- stored routes ---------------------------------------------------------------------------- */

/* Insert route before *link. rib_use_reserve() was called for its object. */
void rib_insert(struct rib_table *table, struct rib_route **link, struct rib_route *route);
/* Remove and free *link. */
void rib_remove(struct rib_table *table, struct rib_route **link);
/* A message has this route. */
void rib_confirm(const struct rib_table *table, struct rib_route *route);

/* Needed before a route that names the object is inserted. 0, or -ENOMEM. */
int rib_use_reserve(struct rib *rib, uint32_t id);

/* A copy of route, with other hops than its own. NULL on lack of memory. */
struct rib_route *rib_route_new(const struct route *route, const struct route_hop *hops,
				uint16_t n_hops);
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
/* Whether the hops are equal as multisets: with an encapsulation, two hops of one route may have
 * the same gateway and device. */
bool rib_route_same_hops(const struct rib_route *a, const struct route *b);

bool rib_hop_equal(const struct route_hop *a, const struct route_hop *b);
/*
 * Index of a hop of route that equals hop, with weighted also in its weight, and that is not taken,
 * which it is then; n_hops: none.
 */
uint16_t rib_hop_match(const struct route *route, bool *taken, const struct route_hop *hop,
		       bool weighted);

#endif
