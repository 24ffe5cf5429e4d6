/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's next-hop objects for IPv6, with groups and buckets. Pure: knows neither netlink
 * sockets nor maps. Also applies what the kernel does without a message: a deleted object leaves
 * its groups, and an empty group is deleted.
 *
 * It cannot know the new owner of the buckets of a member that left, which become unknown. Nor can
 * it know which objects go with a device; the owner dumps all objects again.
 */
#ifndef RIB_NEXTHOPS_H
#define RIB_NEXTHOPS_H

#include "nexthops_cache.h"

/*
 * An object with its hops. A group is NEXT_HOP_OTHER while one of its members is unknown, or is
 * neither NEXT_HOP_ONE nor a blackhole.
 */
struct nexthop_view {
	enum next_hop_kind kind;
	bool mixed;		      /* routes by one of its hops differ, see nexthops_cache.h */
	uint32_t n_hops;	      /* NEXT_HOP_ONE: 1; a group: its members; else 0 */
	const struct route_hop *hops; /* of a blackhole member: ifindex 0 */
	const uint32_t *weights;      /* [n_hops] */
	/* Of a resilient group: index in hops for each bucket; UINT16_MAX: unknown. */
	uint32_t n_buckets;
	const uint16_t *buckets;
};

/* changed may be NULL. NULL on lack of memory. */
struct nexthops *nexthops_new(nexthops_changed_fn changed, void *ctx);
void nexthops_free(struct nexthops *nexthops);

/*
 * Store or replace. 0, or -ENOMEM: the object is unknown, or NEXT_HOP_OTHER. Between mark and sweep
 * a group may come before its members, as in a dump; otherwise members come first.
 */
int nexthops_set(struct nexthops *nexthops, const struct next_hop *next_hop);
/* 0, or -ENOENT: the group, bucket or member is unknown, and the caller must dump all objects. */
int nexthops_set_bucket(struct nexthops *nexthops, const struct next_hop_bucket *bucket);
void nexthops_delete(struct nexthops *nexthops, uint32_t id);

/*
 * False: no such object. May be called by changed. The arrays of *view belong to the store, and are
 * valid until its next change or the next nexthops_view().
 */
bool nexthops_view(struct nexthops *nexthops, uint32_t id, struct nexthop_view *view);

/* There are resilient groups, whose buckets must be requested. */
bool nexthops_any_resilient(const struct nexthops *nexthops);
/* Some object uses this device. */
bool nexthops_use_device(const struct nexthops *nexthops, uint32_t ifindex);
size_t nexthops_count(const struct nexthops *nexthops);
void nexthops_each(const struct nexthops *nexthops, void (*fn)(void *ctx, uint32_t id), void *ctx);

/*
 * Mark and sweep: objects not set since the mark are deleted and reported. A group whose buckets
 * changed is reported once, by the sweep. Returns how many were deleted.
 */
void nexthops_mark(struct nexthops *nexthops);
size_t nexthops_sweep(struct nexthops *nexthops);

#endif
