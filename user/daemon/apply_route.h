/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RTM_NEWROUTE and RTM_DELROUTE.
 */
#ifndef USER_DAEMON_APPLY_ROUTE_H
#define USER_DAEMON_APPLY_ROUTE_H

struct nlmsghdr;
struct sync;

/* 0 or -errno. */
int apply_route(struct sync *sync, const struct nlmsghdr *nlh);

#endif
