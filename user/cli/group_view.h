/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of a group in the maps, with the weights that it was made of. */
#ifndef USER_CLI_GROUP_VIEW_H
#define USER_CLI_GROUP_VIEW_H

#include "hop_view.h"

#define GROUP_MAX_MEMBERS 256u

struct member_view {
	struct hop_view hop;
	uint64_t share;	 /* of all buckets, in units of a bucket / 2^32 */
	uint32_t weight; /* in lowest terms; in a resilient group the number of buckets */
	bool skipped;	 /* its port is down */
};

struct group_view {
	uint32_t type;	    /* SIXLANE_NH_*; 0: no group */
	uint32_t n_buckets; /* 1: no choice, the group only has an expiry */
	bool resilient;	    /* each bucket has one member */
	uint32_t n_members;
	struct member_view members[GROUP_MAX_MEMBERS];
};

/* flags: SIXLANE_NEXT_HOP_*. limit: the route's MTU, 0: none. */
void group_view_read(const struct maps *maps, union sixlane_nh_entry entry, uint32_t flags,
		     uint32_t limit, struct group_view *group);

/* A member's share of all packets, from 0 to 1. */
double group_view_share(const struct group_view *group, const struct member_view *member);

#endif
