/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the kernel into the stores, and from there into the FIB. While schedule.quiet is set
 * only the stores are filled; the functions about all objects then bring the FIB to the same state.
 */
#ifndef USER_DAEMON_APPLY_H
#define USER_DAEMON_APPLY_H

#include "../rib/radix.h"

struct fib_target;
struct nlmsghdr;
struct stores;
struct sync;

/* --- handlers of messages: 0, -ENOMSG (not for us) or -errno */

/* RTM_NEWROUTE, RTM_DELROUTE. */
int apply_route(struct sync *sync, const struct nlmsghdr *nlh);
/* RTM_NEWLINK; RTM_DELLINK; RTM_NEWNETCONF, RTM_DELNETCONF; "netdev" messages. */
int apply_link(struct sync *sync, const struct nlmsghdr *nlh);
int apply_link_gone(struct sync *sync, const struct nlmsghdr *nlh);
int apply_netconf(struct sync *sync, const struct nlmsghdr *nlh);
int apply_features(struct sync *sync, const struct nlmsghdr *nlh);
/* RTM_NEWADDR, RTM_DELADDR; RTM_NEWPREFIX; RTM_NEWNEIGH, RTM_DELNEIGH. */
int apply_address(struct sync *sync, const struct nlmsghdr *nlh);
int apply_advertised(struct sync *sync, const struct nlmsghdr *nlh);
int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh);
/* RTM_NEWNEXTHOP, RTM_DELNEXTHOP; RTM_NEWNEXTHOPBUCKET. */
int apply_next_hop(struct sync *sync, const struct nlmsghdr *nlh);
int apply_next_hop_bucket(struct sync *sync, const struct nlmsghdr *nlh);
/*
 * RTM_NEWRULE, RTM_DELRULE. During a dump: into the list. Otherwise every packet passes until the
 * list is read again.
 */
int apply_rule(struct sync *sync, const struct nlmsghdr *nlh);

/* --- callbacks: something changed in a store, or is to be written again. ctx: struct sync */

/* See rib_changed_fn. */
void apply_route_changed(void *ctx, uint32_t table, const struct prefix *dst);
/* See resolve_each_fn. */
void apply_target(void *ctx, uint32_t table, const struct prefix *dst, int error,
		  const struct fib_target *target);
void apply_next_hop_changed(void *ctx, uint32_t id);

/* --- from the stores into the FIB */

/* One prefix; all prefixes of a table; of all tables. */
void apply_prefix(struct sync *sync, uint32_t table, const struct prefix *dst);
void apply_prefixes_in(struct sync *sync, uint32_t table);
void apply_all_prefixes(struct sync *sync);
void apply_all_next_hops(struct sync *sync);
void apply_all_neighs(struct sync *sync);
/* A whole list was read, or a device that rules may name came, went or was renamed. */
void apply_rules(struct sync *sync);

/* The kernel may remove the routes of a device that goes down, or loses IPv6, without a message. */
void apply_routes_stale(struct sync *sync, uint32_t ifindex);
/*
 * Flush the routes that the kernel caches at hops of next-hop objects, see nexthops_set_rib(). On
 * failure routes with objects become punts, logged.
 */
void apply_flush_cached_routes(struct stores *stores);

#endif
