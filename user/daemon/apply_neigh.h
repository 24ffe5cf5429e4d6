/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RTM_NEWNEIGH and RTM_DELNEIGH.
 */
#ifndef USER_DAEMON_APPLY_NEIGH_H
#define USER_DAEMON_APPLY_NEIGH_H

struct nlmsghdr;
struct sync;

/* 0 or -errno. */
int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh);
void apply_all_neighs(struct sync *sync);

#endif
