/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's IPv6 routes as it announced them: all tables, all metrics, every prefix. Applies
 * notifications and dumps with the kernel's own rules of identity (fib6_add_rt2node,
 * fib6_del_route), so that what is left at a prefix is what fib6 has there, in fib6's order.
 * Pure: knows neither netlink sockets nor maps; does not choose a best path (resolve/ does).
 */
#ifndef RIB_RIB_H
#define RIB_RIB_H

#include <stddef.h>

#include "radix.h"
#include "route.h"
#include "value_sums.h"

/*
 * A route at rest: struct route without what its place says (table, destination), in order that
 * a full table takes little memory. The fields mean the same.
 */
struct rib_route {
	struct rib_route *next; /* ascending metric; equal ones in the kernel's order */
	struct prefix src;
	uint64_t expires_ns; /* the earliest end that was told of this lifetime; 0: never */
	uint32_t metric;
	uint32_t next_hop_id;
	uint32_t mtu;
	uint32_t visit;	     /* of the run of messages for this prefix that said it last */
	uint16_t generation; /* of the dump or notification that said it last */
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
	bool set : 1;	 /* a multipath set, if only of one hop yet: see rib_route_is_set() */
	bool unlike : 1; /* a set whose hops differ in more than gateway, device and weight */
	bool stale : 1;	 /* a set of which not all is known: see below */
	struct route_hop hops[];
};

/* All routes of one destination prefix in one table, source-specific ones included. */
struct rib_dest {
	struct radix_node node;	  /* .prefix: the destination */
	struct rib_route *routes; /* never NULL */
};

struct rib;

/* Something changed at a prefix (which may be gone by now). */
typedef void (*rib_changed_fn)(void *ctx, uint32_t table, const struct prefix *dst);

/* changed may be NULL. NULL on lack of memory. */
struct rib *rib_new(rib_changed_fn changed, void *ctx);
void rib_free(struct rib *rib);
void rib_freep(struct rib **rib);

/* Two announcements whose lifetimes end within less than this may speak of the same one. */
#define RIB_LIFETIME_SLACK_NS 2000000000u

/*
 * Apply one RTM_NEWROUTE. nlm_flags: those of a notification (NLM_F_REPLACE counts, and that
 * there are any, which tells it from a dump's message, for which 0 is passed). Cloned routes are
 * ignored. Applying the same message twice is the same as once; so it is when expires_ns is later
 * by less than RIB_LIFETIME_SLACK_NS, since no lifetime is told twice to the same nanosecond and
 * the earlier end is the safe one. Returns 0, -ENOMEM, or
 * -EAGAIN when the message fits the state only if something was missed; the route was applied all
 * the same, and the destination is to be read from the kernel (rib_put(), or a dump);
 * -EINPROGRESS when the message does not tell all that changed, and the set is stale.
 */
int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags);

/*
 * Apply one RTM_DELROUTE in each of its shapes: one hop of a multipath route, one message for all
 * hops, a whole single-path route. 0; -EAGAIN as above, also when nothing matched; -EINPROGRESS as
 * above; -ENOMEM: nothing changed.
 */
int rib_del(struct rib *rib, const struct route *route);

/*
 * What the routes that name a next-hop object, best or not, have for fib6 to keep in the one route
 * that it caches at each hop of the object for all of them (ip6_rt_pcpu_alloc): type, MTU and its
 * lock. Of more than one kind there are two values. n is 0: no route names it.
 */
struct value_sums rib_by_object(const struct rib *rib, uint32_t next_hop_id);

/*
 * Any route by a next-hop object has, or had, own_source: fib6 may have cached it at the object's
 * hops for all other routes by them. It never becomes false again.
 */
bool rib_object_sources(const struct rib *rib);

/* rib_by_object() is more by change from now on. The RIB is in the middle of a change. */
typedef void (*rib_used_fn)(void *ctx, uint32_t next_hop_id, const struct value_sums *change);
/* NULL: nobody is told any more. */
void rib_set_used_fn(struct rib *rib, rib_used_fn used, void *ctx);

/* A route by an object that discards is announced as a blackhole on the loopback device. */
bool rib_route_is_by_discard(const struct rib_route *route);

/*
 * False: no route leads by this device alone, without an object. Quick, so that nobody need look
 * for them.
 */
bool rib_may_use_device(const struct rib *rib, uint32_t ifindex);

/* Drop the routes that fn picks, in a walk through all that are known. Returns how many went. */
size_t rib_prune(struct rib *rib, bool (*fn)(const struct route *route, void *ctx), void *ctx);

/* Mark and sweep: what is added from here on is of a new generation … */
void rib_mark(struct rib *rib);
/* A dump begins, on top of the one before. */
void rib_dump_again(struct rib *rib);
/* … and what was not added since rib_mark goes. Returns how many went. */
size_t rib_sweep(struct rib *rib);

/* The table's destinations, NULL if the table has none. Valid until the next change. */
const struct radix *rib_table(const struct rib *rib, uint32_t table);
/* fn for each table that has destinations. */
void rib_each_table(const struct rib *rib, void (*fn)(void *ctx, uint32_t table), void *ctx);
/* The table has source-specific routes. */
bool rib_table_has_sources(const struct rib *rib, uint32_t table);
/* What is known at exactly this prefix, or NULL. */
const struct rib_dest *rib_find(const struct rib *rib, uint32_t table, const struct prefix *dst);

/* Routes in all tables. */
size_t rib_routes(const struct rib *rib);

/* --- what messages do not tell --------------------------------------------------------------- */

/*
 * Stale multipath sets: a dump leaves out what stands between the hops of a set
 * (fib6_dump_node() goes on behind the last one), and tells one hop's MTU, lifetime, preference
 * and type, as announcements do. So a set of several hops that a dump tells, or whose hops may be
 * unlike, is stale until rib_put() says what is there.
 *
 * Of one whose hops have all gone a trace stays: a dump may have left out others.
 */
bool rib_route_is_trace(const struct rib_route *route);
/* The kernel changes those with a lifetime, or of router advertisements, without a message; … */
bool rib_route_is_transient(const struct rib_route *route);
/* … of others the MTU, which may follow a device's. How many there are of either kind. */
bool rib_route_is_unsteady(const struct rib_route *route);
size_t rib_unsteady(const struct rib *rib);

/* In what the kernel's own table differs from what is known of a destination. */
enum rib_difference {
	RIB_SAME,
	RIB_RENEWED,	/* not at all; but it is stale here, or a lifetime is about to be over */
	RIB_LIFETIME,	/* one ends sooner, or has an end only in one of the two */
	RIB_MTU,	/* also whether it is locked */
	RIB_ATTRIBUTES, /* others: preference, type, protocol, … */
	RIB_REPLACED,	/* the kernel has other routes, or in another order */
	RIB_EXTRA,	/* it has fewer */
	RIB_MISSING,	/* it has more */
	RIB_N_DIFFERENCES
};
extern const char *const rib_difference_names[RIB_N_DIFFERENCES];

/*
 * A lifetime that is longer in the kernel is taken over when so much of the known one is left:
 * until then the earlier end is right, too.
 */
#define RIB_RENEW_NS 5000000000ull

/*
 * Compare a destination with its routes in the kernel's order, of which rib_put() says what they
 * are. dest may be NULL: none is known. now_ns: CLOCK_MONOTONIC. Of several differences the last
 * in the list above.
 */
enum rib_difference rib_compare(const struct rib_dest *dest, const struct route *routes, size_t n,
				uint64_t now_ns);

/*
 * The destination has just these n routes, as the kernel's own table has them at this moment: a set
 * is one of them, at its first hop's place. Of a route by an object the type and the hops stay as
 * they were announced, and of any route what is `unknown`. 0 or -ENOMEM: nothing changed.
 */
int rib_put(struct rib *rib, uint32_t table, const struct prefix *dst, const struct route *routes,
	    size_t n);

#endif
