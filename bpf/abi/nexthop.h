/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Next hops (sl_next_hops) and the buckets of groups (sl_nh_buckets). */
#ifndef BPF_ABI_NEXTHOP_H
#define BPF_ABI_NEXTHOP_H

#include "verdicts.h"

#define SIXLANE_MAX_NEXT_HOPS 65536u
#define SIXLANE_MAX_NH_BUCKETS 262144u
#define SIXLANE_MAX_EQUAL_METRIC 16u /* members of SIXLANE_NH_EQUAL_METRIC; more are punted */

/* --- sl_next_hops: ARRAY, mmapable; index = next-hop id -------------------------------- */

/* What a route leads to, in one word, so that it changes by one store. */
union sixlane_nh_entry {
	__u64 word;
	struct {
		/*
		 * enum sixlane_verdict: SIXLANE_FORWARD by port and neighbour, any other is the
		 * next-hop entry of every packet that gets here (local, blackhole, punt …); or one
		 * of SIXLANE_KIND_*.
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

#define SIXLANE_NH_GROUP 64u /* the packet's hash picks a member */
#define SIXLANE_NH_EQUAL_METRIC \
	65u		       /* the first member, but the one by the ingress port comes first */
#define SIXLANE_NH_SOURCES 66u /* look the source up, too */
_Static_assert(SIXLANE_NH_GROUP >= SIXLANE_MAX_VERDICTS, "kinds and verdicts share a number");

#define SIXLANE_NEXT_HOP_OBJECT (1u << 0) /* of next-hop objects, which go with their carrier */
#define SIXLANE_NEXT_HOP_LOCKED (1u << 1) /* mtu is locked: `mtu lock` */
/* What this router sends by it is unlike what the port says: `src`, `hoplimit`. No answers by it.
 */
#define SIXLANE_NEXT_HOP_NO_ANSWER (1u << 2)

/*
 * Written whole before a route or a group names it; while one does only next-hop entry may change,
 * by one store. Members of groups are next hops of kind FORWARD or of a verdict; their mtu and
 * expires_ns do not count, nor does expires_ns of a next hop that is no group (a route with an
 * expiry is a group of one: others pay nothing for it).
 */
struct sixlane_next_hop {
	union sixlane_nh_entry nh_entry;
	__u32 mtu;	  /* bytes, of a route with one; 0: the egress port's alone */
	__u32 flags;	  /* SIXLANE_NEXT_HOP_* */
	__u64 expires_ns; /* CLOCK_MONOTONIC; from then on packets pass; 0: never */
	__u64 reserved;
};
_Static_assert(sizeof(struct sixlane_next_hop) == 32, "layout is ABI");

/* --- sl_nh_buckets: ARRAY, mmapable; the members of groups ----------------------------- */

/*
 * A group's buckets stand side by side. A 32-bit hash times their number is the bucket (upper half)
 * and a fraction (lower half): below bound it is the one member, else the other (Walker's alias
 * method: any weights, one load). A bucket of a resilient group has one member twice.
 */
union sixlane_nh_bucket {
	__u64 word;
	struct {
		__u32 bound;
		__u16 below, above; /* next-hop ids */
	};
};
_Static_assert(SIXLANE_MAX_NEXT_HOPS <= 65536u, "a cell names next hops by 16 bits");

#endif
