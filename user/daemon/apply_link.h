/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices, their IPv6 settings and features.
 */
#ifndef USER_DAEMON_APPLY_LINK_H
#define USER_DAEMON_APPLY_LINK_H

struct nlmsghdr;
struct route;
struct sync;

/* RTM_NEWLINK; RTM_DELLINK; RTM_NEWNETCONF, RTM_DELNETCONF; "netdev" messages. 0 or -errno. */
int apply_link(struct sync *sync, const struct nlmsghdr *nlh);
int apply_link_gone(struct sync *sync, const struct nlmsghdr *nlh);
int apply_netconf(struct sync *sync, const struct nlmsghdr *nlh);
int apply_features(struct sync *sync, const struct nlmsghdr *nlh);
/* A device's multicast route came or went, and so did its IPv6. */
void apply_link_ipv6_toggled(struct sync *sync, const struct route *route);

#endif
