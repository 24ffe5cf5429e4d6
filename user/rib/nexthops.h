/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's next-hop objects for IPv6, groups and buckets. Pure. Follows also what the kernel
 * does to them without a word: an object that goes leaves its groups, an empty group goes. What
 * it cannot know: where the buckets of a member that left are now (they are not known then), and
 * what goes with a device (the owner reads all objects anew).
 */
#ifndef RIB_NEXTHOPS_H
#define RIB_NEXTHOPS_H

#include <stddef.h>

#include "rib.h"

struct nexthops;

/* What an id means changed, or it is gone; groups with a changed member are told too. */
typedef void (*nexthops_changed_fn)(void *ctx, uint32_t id);

/*
 * An object with all that it leads to. A group is NEXT_HOP_OTHER while one of its members is not
 * known, or is neither NEXT_HOP_ONE nor a blackhole.
 */
struct nexthop_view {
	enum next_hop_kind kind;
	bool mixed;		      /* routes by one of its hops differ: see nexthops_follow() */
	uint32_t n_hops;	      /* 1 for NEXT_HOP_ONE; of a group its members; else 0 */
	const struct route_hop *hops; /* of a blackhole member: ifindex 0 */
	const uint32_t *weights;      /* [n_hops] */
	/* Of a resilient group: index in hops for each bucket; UINT16_MAX: not known. */
	uint32_t n_buckets;
	const uint16_t *buckets;
};

/* changed may be NULL. NULL on lack of memory. */
struct nexthops *nexthops_new(nexthops_changed_fn changed, void *ctx);
void nexthops_free(struct nexthops *nexthops);

/*
 * From now on hops know of the routes by them. The kernel keeps one cached route at each hop for
 * all routes by it, in whatever groups (rt6_get_pcpu_route), and what becomes of packets is up to
 * that one: to the type and the MTU of whichever route came first. Where these differ, the hop is
 * mixed. rib outlives nexthops, and has no other listener.
 *
 * What is cached outlives the route that it was made of, until fib6 has a new serial number
 * (rt6_get_pcpu_route), which it has with every route that comes (fib6_add) but not with those that
 * go. So what is mixed stays so until nexthops_renewed(): fib6 has one, since all that was told so
 * far.
 */
void nexthops_follow(struct nexthops *nexthops, struct rib *rib);
/* Something waits for that. */
bool nexthops_outdated(const struct nexthops *nexthops);
void nexthops_renewed(struct nexthops *nexthops);
/* Routes of which nobody was told may be cached: all hops are mixed until nexthops_renewed(). */
void nexthops_doubt(struct nexthops *nexthops);

/*
 * Store or replace. 0, or -ENOMEM: the object is not known, or is NEXT_HOP_OTHER. Between mark and
 * sweep a group may come before its members, as in a dump; else they come first.
 */
int nexthops_set(struct nexthops *nexthops, const struct next_hop *next_hop);
/* 0, or -ENOENT: of a group, bucket or member that is not known (the caller reads all anew). */
int nexthops_set_bucket(struct nexthops *nexthops, const struct next_hop_bucket *bucket);
void nexthops_delete(struct nexthops *nexthops, uint32_t id);

/*
 * False: no such object. May be called by changed. The arrays of *view are the store's, valid until
 * its next change or the next nexthops_view().
 */
bool nexthops_view(struct nexthops *nexthops, uint32_t id, struct nexthop_view *view);

/* Resilient groups are there: their buckets must be asked for. */
bool nexthops_any_resilient(const struct nexthops *nexthops);
/* Some object leads out by this device. */
bool nexthops_use_device(const struct nexthops *nexthops, uint32_t ifindex);
size_t nexthops_count(const struct nexthops *nexthops);

/* Every object's id. */
void nexthops_each(const struct nexthops *nexthops, void (*fn)(void *ctx, uint32_t id), void *ctx);

/*
 * Mark and sweep; changed is called for what goes, and not before the sweep for groups of which
 * buckets changed. Returns how many went.
 */
void nexthops_mark(struct nexthops *nexthops);
size_t nexthops_sweep(struct nexthops *nexthops);

#endif
