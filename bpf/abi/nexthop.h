/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Next hops (sl_next_hops) and the buckets of groups (sl_nh_buckets). */
#ifndef BPF_ABI_NEXTHOP_H
#define BPF_ABI_NEXTHOP_H

#include "verdicts.h"

#define SIXLANE_MAX_NEXT_HOPS 65536u
#define SIXLANE_MAX_NH_BUCKETS 262144u
#define SIXLANE_MAX_EQUAL_METRIC 16u /* members of SIXLANE_NH_EQUAL_METRIC; more are punted */

/* --- sl_next_hops: ARRAY, mmapable; index = next-hop id -------------------------------- */

/* The part of a next hop that changes while routes use it: one word, published by one store. */
union sixlane_nh_entry {
	__u64 word;
	struct {
		/*
		 * SIXLANE_FORWARD: to neighbour by port. Another enum sixlane_verdict: the verdict
		 * of all packets (local, blackhole, punt …). Or SIXLANE_NH_*.
		 */
		__u16 type;
		union {
			__u16 port;	 /* egress: index in sl_ports */
			__u16 n_buckets; /* of a group */
		};
		union {
			__u32 neighbour; /* gateway: in sl_neighbours; 0: on-link, by destination */
			__u32 first_bucket; /* of a group: index in sl_nh_buckets */
			__u32 source_table; /* of sources: id in sl_src_routes */
		};
	};
};

#define SIXLANE_NH_GROUP 64u	    /* the packet's hash picks a member */
#define SIXLANE_NH_EQUAL_METRIC 65u /* the first member; one by the ingress port is preferred */
#define SIXLANE_NH_SOURCES 66u	    /* look up the source in sl_src_routes */
_Static_assert(SIXLANE_NH_GROUP >= SIXLANE_MAX_VERDICTS, "types and verdicts share a field");

#define SIXLANE_NEXT_HOP_OBJECT (1u << 0) /* of a next-hop object */
#define SIXLANE_NEXT_HOP_LOCKED (1u << 1) /* mtu is locked: `mtu lock` */
/* The route has `src` or `hoplimit`, so XDP sends no answers by it. */
#define SIXLANE_NEXT_HOP_NO_ANSWER (1u << 2)

/*
 * Written completely before a route or a group refers to it; then only nh_entry may change. Members
 * of groups forward or have a verdict; their mtu and expires_ns are not used. A route that expires
 * is a group of one, so expires_ns is used for groups alone.
 */
struct sixlane_next_hop {
	union sixlane_nh_entry nh_entry;
	__u32 mtu;	  /* bytes, of the route; 0: only that of the egress port */
	__u32 flags;	  /* SIXLANE_NEXT_HOP_* */
	__u64 expires_ns; /* CLOCK_MONOTONIC; packets pass from then on; 0: never */
	__u64 reserved;
};
_Static_assert(sizeof(struct sixlane_next_hop) == 32, "layout is ABI");

/* --- sl_nh_buckets: ARRAY, mmapable; the members of groups ----------------------------- */

/*
 * The buckets of a group are adjacent. A 32-bit hash times their number gives the bucket (upper
 * half) and a fraction (lower half), which selects the member `below` if it is less than bound,
 * else `above`: Walker's alias method, any weights by one load. A bucket of a resilient group has
 * the same member twice.
 */
union sixlane_nh_bucket {
	__u64 word;
	struct {
		__u32 bound;
		__u16 below, above; /* next-hop ids */
	};
};
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= 65536u, "a bucket has ids of 16 bits");

#endif
