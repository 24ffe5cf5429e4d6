/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's IPv6 routes as announced: all tables, all metrics, every prefix. Applies
 * notifications and dumps with fib6's rules of identity (fib6_add_rt2node, fib6_del_route), so that
 * a prefix has the same routes as in fib6, in the same order. Pure: knows neither netlink sockets
 * nor maps, and does not select a best path (resolve/ does).
 */
#ifndef RIB_RIB_H
#define RIB_RIB_H

#include <stddef.h>

#include "radix.h"
#include "route.h"
#include "value_sums.h"

/*
 * A stored route: struct route without table and destination, so that a full table takes little
 * memory. The fields mean the same.
 */
struct rib_route {
	struct rib_route *next; /* ascending metric; equal ones in the kernel's order */
	struct prefix src;
	uint64_t expires_ns; /* the earliest announced end of this lifetime; 0: never */
	uint32_t metric;
	uint32_t next_hop_id;
	uint32_t mtu;
	uint32_t run;	     /* the last run of messages for this prefix that had it */
	uint16_t generation; /* of the last dump or notification that had it */
	uint16_t n_hops;
	uint8_t type;
	uint8_t protocol;
	uint8_t preference : 2;
	bool mtu_locked : 1;
	bool own_source : 1;
	bool encap : 1;
	bool unknown : 1;
	bool expires : 1;
	bool truncated : 1;
	bool set : 1;	 /* a multipath set, perhaps of one hop: see rib_route_is_set() */
	bool unlike : 1; /* a set whose hops differ in more than gateway, device and weight */
	bool stale : 1;	 /* an incomplete set, see below */
	struct route_hop hops[];
};

/* All routes of one destination prefix in one table, source-specific ones included. */
struct rib_dest {
	struct radix_node node;	  /* .prefix: the destination */
	struct rib_route *routes; /* never NULL */
};

struct rib;

/* The routes to dst (which may be gone by now) changed. */
typedef void (*rib_changed_fn)(void *ctx, uint32_t table, const struct prefix *dst);

/*
 * changed may be NULL. It is called for each destination that rib_put(), rib_prune() or rib_sweep()
 * changed; rib_add() and rib_del() return that. NULL on lack of memory.
 */
struct rib *rib_new(rib_changed_fn changed, void *ctx);
void rib_free(struct rib *rib);

/* Two announcements whose lifetimes end within less than this may mean the same lifetime. */
#define RIB_LIFETIME_SLACK_NS 2000000000u

/*
 * Apply one RTM_NEWROUTE. nlm_flags: those of a notification, never 0; or 0 for a dump's message.
 * Cloned routes are ignored. A repeated message changes nothing, even if its expires_ns is later by
 * less than RIB_LIFETIME_SLACK_NS; the earlier end is the safe one. *changed: whether the
 * destination's routes changed. Returns:
 * - 0;
 * - -ENOMEM: nothing changed;
 * - -EAGAIN: a message was missed. The route was applied, and the caller must read the destination
 *   from the kernel (rib_put(), or a dump);
 * - -EINPROGRESS: the message does not show all that changed, and the set is stale.
 */
int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags, bool *changed);

/*
 * Apply one RTM_DELROUTE in each of its shapes: one hop of a multipath route, one message for all
 * hops, a whole single-path route. 0; -EAGAIN as above, also when nothing matched; -EINPROGRESS as
 * above; -ENOMEM: nothing changed. *changed as above.
 */
int rib_del(struct rib *rib, const struct route *route, bool *changed);

/*
 * What fib6 would cache of the routes that name a next-hop object, best or not: type, MTU and its
 * lock (ip6_rt_pcpu_alloc). One value if all are equal, two if they differ; n is 0 if no route
 * names it.
 */
struct value_sums rib_by_object(const struct rib *rib, uint32_t next_hop_id);

/*
 * Some route by a next-hop object has, or had, own_source. fib6 may have cached it for other routes
 * by the same hops. Never becomes false again.
 */
bool rib_object_sources(const struct rib *rib);

/* rib_by_object() changed by *change. Called in the middle of a change of the RIB. */
typedef void (*rib_used_fn)(void *ctx, uint32_t next_hop_id, const struct value_sums *change);
/* used may be NULL. */
void rib_set_used_fn(struct rib *rib, rib_used_fn used, void *ctx);

/* A route by an object that discards is announced as a blackhole on the loopback device. */
bool rib_route_is_by_discard(const struct rib_route *route);

/* False: no route without an object has this device as its only hop. True may be wrong. O(1). */
bool rib_may_use_device(const struct rib *rib, uint32_t ifindex);

/* Delete all routes for which fn returns true. */
void rib_prune(struct rib *rib, bool (*fn)(const struct route *route, void *ctx), void *ctx);

/* Mark and sweep: routes that are not added after the mark are deleted. */
void rib_mark(struct rib *rib);
void rib_sweep(struct rib *rib);
/* Another dump begins before the sweep. */
void rib_dump_again(struct rib *rib);

/* The table's destinations, NULL if the table has none. Valid until the next change. */
const struct radix *rib_table(const struct rib *rib, uint32_t table);
/* fn for each table that has destinations. */
void rib_each_table(const struct rib *rib, void (*fn)(void *ctx, uint32_t table), void *ctx);
/* The table has source-specific routes. */
bool rib_table_has_sources(const struct rib *rib, uint32_t table);
/* The routes of exactly this prefix, or NULL. */
const struct rib_dest *rib_find(const struct rib *rib, uint32_t table, const struct prefix *dst);

/* Routes in all tables. */
size_t rib_routes(const struct rib *rib);

/* --- what messages do not show --------------------------------------------------------------- */

/*
 * Stale multipath sets. A dump leaves out routes between the hops of a set (fib6_dump_node()
 * continues after the last hop). Like announcements, it has the MTU, lifetime, preference and type
 * of one hop only. So a set of several hops from a dump, or with hops that may be unlike, is stale
 * until rib_put().
 *
 * A stale set without hops stays as a trace: a dump may have left out other routes.
 */
bool rib_route_is_trace(const struct rib_route *route);
/* Has a lifetime, or is of a router advertisement: the kernel changes it without a message. */
bool rib_route_is_transient(const struct rib_route *route);
/* Transient, or has an MTU, which may follow a device's without a message. */
bool rib_route_is_unsteady(const struct rib_route *route);
/* How many routes are unsteady. */
size_t rib_unsteady(const struct rib *rib);

/* How the kernel's own table differs from the RIB at a destination. */
enum rib_difference {
	RIB_SAME,
	RIB_RENEWED,	/* it does not, but the RIB is stale, or a lifetime ends soon */
	RIB_LIFETIME,	/* one ends sooner, or has an end in only one of the two */
	RIB_MTU,	/* also whether it is locked */
	RIB_ATTRIBUTES, /* others: preference, type, protocol, … */
	RIB_REPLACED,	/* the kernel has other routes, or in another order */
	RIB_EXTRA,	/* it has fewer */
	RIB_MISSING,	/* it has more */
	RIB_N_DIFFERENCES
};
extern const char *const rib_difference_names[RIB_N_DIFFERENCES];

/* A lifetime that is longer in the kernel is copied when this much of the known one is left. */
#define RIB_RENEW_NS 5000000000ull

/*
 * Compare a destination with its routes in the kernel, as for rib_put(). dest may be NULL. now_ns:
 * CLOCK_MONOTONIC. Returns the difference that comes last in the list above.
 */
enum rib_difference rib_compare(const struct rib_dest *dest, const struct route *routes, size_t n,
				uint64_t now_ns);

/*
 * Replace the routes of a destination by the n routes of the kernel's own table, in its order. A
 * set counts as one route, in the place of its first hop. Type and hops of a route by an object
 * stay as announced, and so does `unknown`. 0 or -ENOMEM: nothing changed.
 */
int rib_put(struct rib *rib, uint32_t table, const struct prefix *dst, const struct route *routes,
	    size_t n);

#endif
