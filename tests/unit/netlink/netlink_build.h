/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For test_parse*.c: the smallest message that each parser takes, to put attributes behind. They
 * share one buffer: one message at a time.
 */
#ifndef NETLINK_BUILD_H
#define NETLINK_BUILD_H

#include <libmnl/libmnl.h>

#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/netlink/parse.h"

#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

/* Parse what was built, from exactly its size. */
#define PARSE(parse, nlh, ...)                                         \
	({                                                             \
		size_t size_ = (nlh)->nlmsg_len;                       \
		_cleanup_free_ struct nlmsghdr *copy_ = malloc(size_); \
		memcpy(copy_, nlh, size_);                             \
		parse(copy_, __VA_ARGS__);                             \
	})

static inline struct nlmsghdr *message_start(void)
{
	static char buffer[65536] __attribute__((aligned(8)));

	return mnl_nlmsg_put_header(buffer);
}

static inline void *header_put(struct nlmsghdr *nlh, size_t size, uint8_t family)
{
	uint8_t *header = mnl_nlmsg_put_extra_header(nlh, size);

	header[0] = family;
	return header;
}

static inline struct nlmsghdr *build_route(void)
{
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = RTM_NEWROUTE;
	header_put(nlh, sizeof(struct rtmsg), AF_INET6);
	return nlh;
}

static inline struct nlmsghdr *build_link(uint8_t family)
{
	struct nlmsghdr *nlh = message_start();
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = header_put(nlh, sizeof(*ifi), family);
	ifi->ifi_index = 7;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "port");
	mnl_attr_put_u32(nlh, IFLA_MTU, 1500);
	return nlh;
}

static inline struct nlmsghdr *build_link_unspec(void)
{
	return build_link(AF_UNSPEC);
}

static inline struct nlmsghdr *build_link_inet6(void)
{
	return build_link(AF_INET6);
}

static inline struct nlmsghdr *build_netconf(void)
{
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = RTM_NEWNETCONF;
	header_put(nlh, sizeof(struct netconfmsg), AF_INET6);
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, 7);
	return nlh;
}

static inline struct nlmsghdr *build_neigh(void)
{
	struct nlmsghdr *nlh = message_start();
	union sixlane_addr addr = { .bytes = { 0xfe, 0x80 } };
	struct ndmsg *ndm;

	nlh->nlmsg_type = RTM_NEWNEIGH;
	ndm = header_put(nlh, sizeof(*ndm), AF_INET6);
	ndm->ndm_ifindex = 7;
	mnl_attr_put(nlh, NDA_DST, sizeof(addr), &addr);
	return nlh;
}

static inline struct nlmsghdr *build_rule(void)
{
	struct nlmsghdr *nlh = message_start();
	struct fib_rule_hdr *frh;

	nlh->nlmsg_type = RTM_NEWRULE;
	frh = header_put(nlh, sizeof(*frh), AF_INET6);
	frh->action = FR_ACT_TO_TBL;
	return nlh;
}

static inline struct nlmsghdr *build_address(void)
{
	const union sixlane_addr addr = { .bytes = { 0x20, [15] = 1 } };
	struct nlmsghdr *nlh = message_start();
	struct ifaddrmsg *ifa;

	nlh->nlmsg_type = RTM_NEWADDR;
	ifa = header_put(nlh, sizeof(*ifa), AF_INET6);
	ifa->ifa_index = 7;
	mnl_attr_put(nlh, IFA_ADDRESS, sizeof(addr), &addr);
	return nlh;
}

static inline struct nlmsghdr *build_next_hop_of(uint8_t family)
{
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = RTM_NEWNEXTHOP;
	header_put(nlh, sizeof(struct nhmsg), family);
	mnl_attr_put_u32(nlh, NHA_ID, 5);
	return nlh;
}

static inline struct nlmsghdr *build_next_hop(void)
{
	return build_next_hop_of(AF_INET6);
}

/* A group of one member, the object 6. */
static inline struct nlmsghdr *build_group(void)
{
	const struct nexthop_grp member = { .id = 6 };
	struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);

	mnl_attr_put(nlh, NHA_GROUP, sizeof(member), &member);
	return nlh;
}

static inline struct nlmsghdr *build_bucket(void)
{
	struct nlmsghdr *nlh = build_next_hop_of(AF_UNSPEC);
	struct nlattr *nest = mnl_attr_nest_start(nlh, NHA_RES_BUCKET);

	nlh->nlmsg_type = RTM_NEWNEXTHOPBUCKET;
	mnl_attr_put_u16(nlh, NHA_RES_BUCKET_INDEX, 3);
	mnl_attr_put_u32(nlh, NHA_RES_BUCKET_NH_ID, 6);
	mnl_attr_nest_end(nlh, nest);
	return nlh;
}

static inline struct nlmsghdr *build_netdev(void)
{
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = NLMSG_MIN_TYPE + 4;
	header_put(nlh, sizeof(struct genlmsghdr), 1);
	mnl_attr_put_u32(nlh, 1, 7);
	mnl_attr_put_u64(nlh, 3, 1);
	return nlh;
}

static inline struct nlmsghdr *build_family(void)
{
	struct nlmsghdr *nlh = message_start();
	struct nlattr *groups, *group;

	nlh->nlmsg_type = GENL_ID_CTRL;
	header_put(nlh, sizeof(struct genlmsghdr), CTRL_CMD_NEWFAMILY);
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, 20);
	groups = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS);
	group = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, "mgmt");
	mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, 4);
	mnl_attr_nest_end(nlh, group);
	mnl_attr_nest_end(nlh, groups);
	return nlh;
}

#endif
