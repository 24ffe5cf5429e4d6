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

#include "rib.h"

#define NEXT_HOP_MAX_MEMBERS 256

enum next_hop_kind {
	NEXT_HOP_ONE,	    /* hop: by device, with or without a gateway */
	NEXT_HOP_BLACKHOLE, /* discards */
	NEXT_HOP_GROUP,	    /* members by weight (hash threshold) */
	NEXT_HOP_RESILIENT, /* members by bucket */
	NEXT_HOP_OTHER,	    /* encapsulation, IPv4 gateway, fdb, too many members, or an
			       unknown attribute */
};

struct next_hop_member {
	uint32_t id;	 /* of another object */
	uint32_t weight; /* 1 to 65536 */
};

/* One RTM_NEWNEXTHOP. members points into the parser's storage. */
struct next_hop {
	uint32_t id;
	enum next_hop_kind kind;
	bool is_group; /* a group; of NEXT_HOP_OTHER members is then incomplete */
	struct route_hop hop;
	uint32_t n_buckets; /* of a resilient group */
	uint32_t n_members;
	const struct next_hop_member *members;
	uint16_t unknown_attr; /* as in struct route */
};

/* One RTM_NEWNEXTHOPBUCKET: which member a bucket of a resilient group belongs to. */
struct next_hop_bucket {
	uint32_t group; /* id */
	uint32_t index;
	uint32_t member;       /* id; 0: unknown */
	uint16_t unknown_attr; /* as in struct route */
};

struct nexthops;

/*
 * An object with its hops. A group is NEXT_HOP_OTHER while one of its members is unknown, or is
 * neither NEXT_HOP_ONE nor a blackhole.
 */
struct nexthop_view {
	enum next_hop_kind kind;
	bool mixed;		      /* routes by one of its hops differ, see below */
	uint32_t n_hops;	      /* NEXT_HOP_ONE: 1; a group: its members; else 0 */
	const struct route_hop *hops; /* of a blackhole member: ifindex 0 */
	const uint32_t *weights;      /* [n_hops] */
	/* Of a resilient group: index in hops for each bucket; UINT16_MAX: unknown. */
	uint32_t n_buckets;
	const uint16_t *buckets;
};

/* What an id means changed, or it is gone. Groups with a changed member are reported, too. */
typedef void (*nexthops_changed_fn)(void *ctx, uint32_t id);

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
 * changed is reported once, by the sweep.
 */
void nexthops_mark(struct nexthops *nexthops);
void nexthops_sweep(struct nexthops *nexthops);

/*
 * Which routes fib6 may have cached at an object.
 *
 * fib6 keeps one cached route at each hop of an object for all routes by that hop, whatever group
 * they name (rt6_get_pcpu_route). All packets get the type and the MTU of whichever route was
 * cached first. A hop whose routes differ in these is "mixed".
 *
 * A cached route outlives the route it was made of, until fib6 gets a new serial number. Every
 * route that is added brings one (fib6_add), a deleted one does not. So a mixed hop stays mixed,
 * then called stale, until nexthops_cache_flushed().
 */

/* Use the routes of rib, which outlives nexthops and has no other listener for its uses. */
void nexthops_set_rib(struct nexthops *nexthops, struct rib *rib);
/* Some hop is stale. */
bool nexthops_cache_is_stale(const struct nexthops *nexthops);
/* fib6 got a new serial number after all that was announced so far. */
void nexthops_cache_flushed(struct nexthops *nexthops);
/* Unannounced routes may be cached: all hops are mixed until nexthops_cache_flushed(). */
void nexthops_cache_set_stale(struct nexthops *nexthops);

#endif
