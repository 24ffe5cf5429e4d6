/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next-hop objects (`ip nexthop`) as netlink messages have them. Filled by
 * netlink/parse_nexthop.c, applied by nexthops.c. Knows neither netlink nor maps.
 */
#ifndef RIB_NEXT_HOP_H
#define RIB_NEXT_HOP_H

#include "route.h"

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

#endif
