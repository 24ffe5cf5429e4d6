/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink bytes -> plain structs. Pure: no I/O, no state, no allocation; knows neither
 * sockets nor the RIB. Every attribute's size is checked before it is read. Newer kernels add
 * attributes: one that is not known never makes a message malformed, and where it may say something
 * of packets the object says so (unknown_attr) and is the kernel's to apply.
 *
 * All functions take one whole message (nlmsg_len already within the buffer, as mnl_nlmsg_ok
 * says) and return 0, -EBADMSG for a malformed one (too short, bad attribute size, prefix
 * length over 128 …) or -ENOMSG for a well-formed one that is not for us (another family,
 * a cloned entry is NOT one of them). *out is untouched unless 0 is returned.
 */
#ifndef NETLINK_PARSE_H
#define NETLINK_PARSE_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../rib/addrs.h"
#include "../rib/link.h"
#include "../rib/neighs.h"
#include "../rib/next_hop.h"
#include "../rib/rules.h"

/*
 * Of RTAX_FEATURES those of TCP. RTAX_FEATURE_ALLFRAG is none: kernels before 6.7 give each packet
 * by such a route a fragment header. RTAX_FEATURE_TCP_USEC_TS (bit 4) came with Linux 6.7.
 */
#define PARSE_HARMLESS_FEATURES \
	(RTAX_FEATURE_ECN | RTAX_FEATURE_SACK | RTAX_FEATURE_TIMESTAMP | 1u << 4)
#define PARSE_MIN_MTU_BYTES 1280 /* ip6_append_data() refuses what has less */

/*
 * RTM_NEWROUTE, RTM_DELROUTE. hops: caller's storage, out->hops points to it afterwards.
 *
 * lifetime_ms is what was left when the kernel wrote the message: to be counted from a time
 * before that (for a dump, when it was asked for). 0 with expires: it is past. The kernel says
 * hundredths of a second, and 0 for "does not expire": so for the last one before its end and the
 * first after it, a route looks as if it did not.
 */
int parse_route(const struct nlmsghdr *nlh, struct route *out,
		struct route_hop hops[ROUTE_MAX_HOPS]);

/*
 * RTNH_F_* of each hop of the same message, in the order of parse_route(). The number of hops, or
 * as above. Apart, since they change without a change of the route.
 */
int parse_route_flags(const struct nlmsghdr *nlh, uint8_t flags[ROUTE_MAX_HOPS]);

/*
 * RTM_NEWLINK, RTM_DELLINK of AF_UNSPEC (AF_BRIDGE and AF_INET6 ones, and wireless events
 * without a description of the device: -ENOMSG).
 */
int parse_link(const struct nlmsghdr *nlh, struct link *out);

/*
 * fn for each name of the device, its own and the alternative ones. nlh: parse_link() took it. 0,
 * or -EBADMSG, when fn may have got some of them.
 */
typedef void (*link_name_fn)(void *ctx, const char *name);
int parse_link_names(const struct nlmsghdr *nlh, link_name_fn fn, void *ctx);

/*
 * IFLA_INET6_CONF, in an RTM_NEWLINK of AF_INET6 (IFLA_PROTINFO) or of AF_UNSPEC
 * (IFLA_AF_SPEC). A message without it: -ENOMSG.
 */
int parse_link_ipv6(const struct nlmsghdr *nlh, struct link_ipv6 *out);

/*
 * RTM_NEWNETCONF of AF_INET6, and RTM_DELNETCONF, which has the ifindex only: IPv6 left
 * that device (its MTU fell below 1280, say), with no RTM_NEWLINK to tell so.
 */
int parse_netconf(const struct nlmsghdr *nlh, struct netconf *out);

/* RTM_NEWNEIGH, RTM_DELNEIGH of AF_INET6. Proxy entries (NTF_PROXY): -ENOMSG. */
int parse_neigh(const struct nlmsghdr *nlh, struct neigh *out);

/* RTM_NEWADDR, RTM_DELADDR of AF_INET6. */
int parse_address(const struct nlmsghdr *nlh, struct address *out);

/* RTM_NEWPREFIX: a prefix of a router advertisement that came in by a device. */
int parse_advertised(const struct nlmsghdr *nlh, struct prefix *prefix, uint32_t *ifindex);

/*
 * RTM_NEWRULE, RTM_DELRULE of AF_INET6. A dump tells user ids as the reader sees them, a
 * notification as whoever changed the rules does, perhaps in another user namespace: take what
 * counts from dumps.
 *
 * tclass_mask leaves out the two bits of ECN, as kernels since 5.18 do. Older ones compare all
 * eight: there the caller must take each rule with a tclass_mask for `unknown` (uname(2)), since
 * the same message means something else.
 */
int parse_rule(const struct nlmsghdr *nlh, struct rule *out);

/*
 * RTM_NEWNEXTHOP, RTM_DELNEXTHOP (of which only the id is told). members: caller's storage,
 * out->members points to it afterwards. IPv4 objects (AF_INET): -ENOMSG; groups are AF_UNSPEC, and
 * those of IPv4 members are told as well: no IPv6 route can use them. A weight over 256 counts only
 * from a kernel that says that it means it (6.12; not the stable kernels that took over 16-bit
 * weights without NHA_OP_FLAGS): otherwise the group is NEXT_HOP_OTHER.
 */
int parse_next_hop(const struct nlmsghdr *nlh, struct next_hop *out,
		   struct next_hop_member members[NEXT_HOP_MAX_MEMBERS]);

/* RTM_NEWNEXTHOPBUCKET (RTM_GETNEXTHOPBUCKET's answers, and notifications). */
int parse_next_hop_bucket(const struct nlmsghdr *nlh, struct next_hop_bucket *out);

/*
 * Generic netlink family "netdev" (Linux 6.3): NETDEV_CMD_DEV_GET's answer and its
 * notifications of new and changed devices (of deleted ones: -ENOMSG). *features:
 * NETDEV_XDP_ACT_* bits.
 */
#define PARSE_XDP_ACT_NDO_XMIT (1u << 2) /* NETDEV_XDP_ACT_NDO_XMIT of linux/netdev.h */
int parse_netdev(const struct nlmsghdr *nlh, uint32_t *ifindex, uint64_t *features);

/*
 * CTRL_CMD_GETFAMILY's answer: the family's id and the id of one multicast group in it.
 * -ENOMSG if the family has no such group.
 */
int parse_genl_family(const struct nlmsghdr *nlh, const char *group, uint16_t *family_id,
		      uint32_t *group_id);

#endif
