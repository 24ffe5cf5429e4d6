/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For unit tests: the smallest route, rule and link that the parsers accept, to put attributes
 * behind. They share one buffer: one message at a time.
 */
#ifndef NETLINK_BUILD_H
#define NETLINK_BUILD_H

#include <libmnl/libmnl.h>

#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/netlink/parse.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>

/* Parses a copy of the message in memory of exactly its size, which AddressSanitizer watches. */
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

static inline struct nlmsghdr *build_rule(void)
{
	struct nlmsghdr *nlh = message_start();
	struct fib_rule_hdr *frh;

	nlh->nlmsg_type = RTM_NEWRULE;
	frh = header_put(nlh, sizeof(*frh), AF_INET6);
	frh->action = FR_ACT_TO_TBL;
	return nlh;
}

static inline struct nlmsghdr *build_link_unspec(void)
{
	struct nlmsghdr *nlh = message_start();
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = header_put(nlh, sizeof(*ifi), AF_UNSPEC);
	ifi->ifi_index = 7;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "port");
	mnl_attr_put_u32(nlh, IFLA_MTU, 1500);
	return nlh;
}

#endif
