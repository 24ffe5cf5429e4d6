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

#include "level.h"
#include "mixture.h"
#include "radix.h"

/*
 * A route at rest: struct route without what its place says (table, destination), in order that
 * a full table takes little memory. The fields mean the same.
 */
struct rib_route {
	struct rib_route *next; /* ascending metric; equal ones in the kernel's order */
	struct prefix src;
	uint64_t expires_ns; /* the earliest time that was told of this lifetime; 0: never */
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
	bool set : 1;	   /* a multipath set, if only of one hop yet: see rib_route_is_set() */
	bool repeated : 1; /* fib6 may have it twice: replaced by a twin, or unlike encapsulations
			    */
	bool untold : 1;   /* stands for what a dump may have left out: see rib_untold() */
	bool equal : 1; /* … and the kernel seems to have just what is known: see rib_compare() */
	bool uniform : 1; /* a set is announced with one hop's attributes: they hold for each */
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
 * the earlier end is the safe one. Returns 0, -ENOMEM, or -EAGAIN when the message fits the state
 * only if something was missed (the caller then synchronises anew; the route was applied all the
 * same), or -EINPROGRESS at a level where something is untold, now or since before: rib_settle()
 * shows whether anything was missed, and there is no hurry.
 */
int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags);

/*
 * The kernel tells a route that ends within some hundredths of a second, or has just ended, as one
 * that does not. expires_ns of a route at the level of this one that says so, if what was told
 * between two moments may be that; 0: none.
 */
uint64_t rib_ending(const struct rib *rib, const struct route *route, uint64_t from_ns,
		    uint64_t to_ns);

/*
 * Apply one RTM_DELROUTE in each of its shapes: one hop of a multipath route, one message for all
 * hops, a whole single-path route. 0; -EAGAIN as above (also when nothing matched, or when
 * hops are left whose own attributes only a dump can tell: they are marked truncated meanwhile);
 * -EINPROGRESS as above; -ENOMEM: nothing changed.
 */
int rib_del(struct rib *rib, const struct route *route);

/*
 * What the routes that name a next-hop object, best or not, have for fib6 to keep in the one route
 * that it caches at each hop of the object for all of them (ip6_rt_pcpu_alloc): type, MTU and its
 * lock. Of more than one kind there are two values. n is 0: no route names it.
 */
struct mixture rib_by_object(const struct rib *rib, uint32_t next_hop_id);

/*
 * Any route by a next-hop object has, or had, own_source: fib6 may have cached it at the object's
 * hops for all other routes by them. It never becomes false again.
 */
bool rib_object_sources(const struct rib *rib);

/* rib_by_object() is more by change from now on. The RIB is in the middle of a change. */
typedef void (*rib_used_fn)(void *ctx, uint32_t next_hop_id, const struct mixture *change);
/* NULL: nobody is told any more. */
void rib_tell_uses(struct rib *rib, rib_used_fn used, void *ctx);

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

/* Routes in all tables, without those that are untold. */
size_t rib_routes(const struct rib *rib);

/*
 * Dumps leave out what stands between the hops of a multipath set (fib6_dump_node goes on behind
 * the last one), and of the hops' MTUs, lifetimes, preferences and types they tell one's, as
 * announcements do. So a set that a dump tells, or whose hops may be unlike, has a route of no hops
 * at its level (destination, source, metric), marked untold: what may be there. It stays, whatever
 * becomes of the set, until rib_settle(), or until a later dump has no set there. How many there
 * are:
 */
size_t rib_untold(const struct rib *rib);

/* Whether fib6 has just what is known at this level, of which dst, src, table and metric count. */
typedef bool (*rib_equal_fn)(const struct route *level, const struct level_sum *known, void *ctx);

/*
 * Ask fn of each level where something is untold. What is equal may still be another state than
 * the one that messages under way begin from: the caller applies all that have come, and
 * rib_settle() then drops the untold routes of those levels that none of them spoke of.
 */
void rib_compare(struct rib *rib, rib_equal_fn fn, void *ctx);
void rib_settle(struct rib *rib);

#endif
