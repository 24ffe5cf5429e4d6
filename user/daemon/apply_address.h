/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses, and prefixes of router advertisements.
 */
#ifndef USER_DAEMON_APPLY_ADDRESS_H
#define USER_DAEMON_APPLY_ADDRESS_H

struct nlmsghdr;
struct sync;

/* RTM_NEWADDR, RTM_DELADDR; RTM_NEWPREFIX. 0 or -errno. */
int apply_address(struct sync *sync, const struct nlmsghdr *nlh);
int apply_advertised(struct sync *sync, const struct nlmsghdr *nlh);

#endif
