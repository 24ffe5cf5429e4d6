/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink bytes -> plain structs. Pure: no I/O, no state, no allocation; knows neither sockets nor
 * the RIB. The size of every attribute is checked before it is read.
 *
 * An unknown attribute, as newer kernels add, never makes a message malformed. Where it may concern
 * packets, the object reports it (unknown_attr), and its packets are left to the kernel.
 *
 * All functions take one whole message, whose nlmsg_len is within the buffer (mnl_nlmsg_ok()).
 * Returns:
 * 0         *out is filled; it is untouched otherwise
 * -EBADMSG  the message is malformed: too short, wrong attribute size, prefix length over 128 …
 * -ENOMSG   the message is of another kind or family
 */
#ifndef NETLINK_PARSE_H
#define NETLINK_PARSE_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../rib/addrs.h"
#include "../rib/link.h"
#include "../rib/neighs.h"
#include "../rib/nexthops.h"
#include "../rib/rules.h"

/*
 * The RTAX_FEATURES that only TCP uses; bit 4 is RTAX_FEATURE_TCP_USEC_TS of Linux 6.7. Not
 * RTAX_FEATURE_ALLFRAG: kernels before 6.7 add a fragment header to each packet of such a route.
 */
#define PARSE_HARMLESS_FEATURES \
	(RTAX_FEATURE_ECN | RTAX_FEATURE_SACK | RTAX_FEATURE_TIMESTAMP | 1u << 4)
#define PARSE_MIN_MTU_BYTES 1280 /* ip6_append_data() refuses a smaller one */

/*
 * RTM_NEWROUTE, RTM_DELROUTE, also of exceptions (cloned). hops: the caller's storage, to which
 * out->hops points afterwards.
 *
 * lifetime_ms is what was left when the kernel wrote the message. Count it from an earlier time,
 * such as the request of the dump. 0 with expires: the route has expired. The kernel counts in
 * hundredths of a second, with 0 for "does not expire", so that a route looks permanent in the last
 * hundredth before it expires and the first one after.
 */
int parse_route(const struct nlmsghdr *nlh, struct route *out,
		struct route_hop hops[ROUTE_MAX_HOPS]);

/*
 * RTNH_F_* of each hop of the same message, in the order of parse_route(). Returns the number of
 * hops or -errno. They are not in struct route, because they change without a change of the route.
 */
int parse_route_flags(const struct nlmsghdr *nlh, uint8_t flags[ROUTE_MAX_HOPS]);

/* RTM_NEWLINK, RTM_DELLINK of AF_UNSPEC. Wireless events, which describe no device: -ENOMSG. */
int parse_link(const struct nlmsghdr *nlh, struct link *out);

/*
 * Calls fn for each name of the device, first its own, then the alternative ones. parse_link() must
 * have accepted nlh. On -EBADMSG fn may have been called for some of them.
 */
typedef void (*link_name_fn)(void *ctx, const char *name);
int parse_link_names(const struct nlmsghdr *nlh, link_name_fn fn, void *ctx);

/*
 * IFLA_INET6_CONF in an RTM_NEWLINK of AF_INET6 (IFLA_PROTINFO) or AF_UNSPEC (IFLA_AF_SPEC). A
 * message without it: -ENOMSG.
 */
int parse_link_ipv6(const struct nlmsghdr *nlh, struct link_ipv6 *out);

/*
 * RTM_NEWNETCONF of AF_INET6, and RTM_DELNETCONF, which has only the ifindex: IPv6 was disabled on
 * the device (such as by an MTU below 1280). No RTM_NEWLINK announces that.
 */
int parse_netconf(const struct nlmsghdr *nlh, struct netconf *out);

/* RTM_NEWNEIGH, RTM_DELNEIGH of AF_INET6. Proxy entries (NTF_PROXY): -ENOMSG. */
int parse_neigh(const struct nlmsghdr *nlh, struct neigh *out);

/* RTM_NEWADDR, RTM_DELADDR of AF_INET6. */
int parse_address(const struct nlmsghdr *nlh, struct address *out);

/* RTM_NEWPREFIX: a device received a router advertisement with a prefix. */
int parse_advertised(const struct nlmsghdr *nlh, struct prefix *prefix, uint32_t *ifindex);

/*
 * RTM_NEWRULE, RTM_DELRULE of AF_INET6. User ids in a dump are those of the reader's user
 * namespace. In a notification they are those of whoever changed the rules: rely on dumps.
 *
 * tclass_mask excludes the two ECN bits, as kernels since 5.18 do. On older ones (uname(2)) the
 * same message means all eight bits: there the caller must treat each rule with a tclass_mask as
 * `unknown`.
 */
int parse_rule(const struct nlmsghdr *nlh, struct rule *out);

/*
 * RTM_NEWNEXTHOP, and RTM_DELNEXTHOP, of which only the id counts. members: the caller's storage,
 * to which out->members points afterwards.
 *
 * IPv4 objects (AF_INET): -ENOMSG. Groups are AF_UNSPEC; those of IPv4 members are accepted, but no
 * IPv6 route can use them. A group with a weight over 256 is NEXT_HOP_OTHER unless the kernel marks
 * 16-bit weights as valid (Linux 6.12; not the backports without NHA_OP_FLAGS).
 */
int parse_next_hop(const struct nlmsghdr *nlh, struct next_hop *out,
		   struct next_hop_member members[NEXT_HOP_MAX_MEMBERS]);

/* RTM_NEWNEXTHOPBUCKET: replies to RTM_GETNEXTHOPBUCKET, and notifications. */
int parse_next_hop_bucket(const struct nlmsghdr *nlh, struct next_hop_bucket *out);

/*
 * The generic netlink family "netdev" (Linux 6.3): replies to NETDEV_CMD_DEV_GET, and notifications
 * of new and changed devices (of deleted ones: -ENOMSG). *features: NETDEV_XDP_ACT_* bits.
 */
#define PARSE_XDP_ACT_NDO_XMIT (1u << 2) /* NETDEV_XDP_ACT_NDO_XMIT of linux/netdev.h */
int parse_netdev(const struct nlmsghdr *nlh, uint32_t *ifindex, uint64_t *features);

/*
 * The reply to CTRL_CMD_GETFAMILY: the ids of the family and of one of its multicast groups.
 * -ENOMSG: the family has no such group.
 */
int parse_genl_family(const struct nlmsghdr *nlh, const char *group, uint16_t *family_id,
		      uint32_t *group_id);

#endif
