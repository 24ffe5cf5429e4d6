/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Next-hop objects and buckets of resilient groups.
 */
#ifndef USER_DAEMON_APPLY_NEXTHOP_H
#define USER_DAEMON_APPLY_NEXTHOP_H

#include <stdint.h>

struct nlmsghdr;
struct sync;

/* RTM_NEWNEXTHOP, RTM_DELNEXTHOP; RTM_NEWNEXTHOPBUCKET. 0 or -errno. */
int apply_next_hop(struct sync *sync, const struct nlmsghdr *nlh);
int apply_next_hop_bucket(struct sync *sync, const struct nlmsghdr *nlh);
void apply_all_next_hops(struct sync *sync);
/* The store's callback: an object changed there. ctx: struct sync. */
void apply_next_hop_changed(void *ctx, uint32_t id);

#endif
