// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTM_NEWADDR, RTM_DELADDR and RTM_NEWPREFIX. The local table says which addresses are this
 * machine's. These messages say which source address the kernel uses, and that the route of a
 * prefix may have got another lifetime; RTM_NEWPREFIX says only the latter.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "parse.h"
#include "parse_attr.h"

#define LIFETIME_INFINITE 0xffffffffu /* INFINITY_LIFE_TIME of include/net/addrconf.h */

static const struct attr_spec address_attrs[] = {
	[IFA_ADDRESS] = ATTR_ADDR,
	[IFA_LOCAL] = ATTR_ADDR,
	[IFA_CACHEINFO] = ATTR_MIN(sizeof(struct ifa_cacheinfo)),
	[IFA_FLAGS] = ATTR_U32,
	[IFA_RT_PRIORITY] = ATTR_ANY,
	[IFA_TARGET_NETNSID] = ATTR_ANY,
	[IFA_PROTO] = ATTR_ANY,
};

int parse_address(const struct nlmsghdr *nlh, struct address *out)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *at[ARRAY_SIZE(address_attrs)], *own;
	struct ifa_cacheinfo info = { .ifa_valid = LIFETIME_INFINITE };
	struct address address = { 0 };
	int r = attr_walk_inet6(nlh, RTM_NEWADDR, sizeof(*ifa), address_attrs,
				ARRAY_SIZE(address_attrs), at, &address.unknown_attr);

	if (r < 0)
		return r;
	/* with a peer, IFA_ADDRESS is the peer's */
	own = at[IFA_LOCAL] ? at[IFA_LOCAL] : at[IFA_ADDRESS];
	if (!own || !ifa->ifa_index || ifa->ifa_index > INT32_MAX)
		return -EBADMSG;
	attr_copy(&address.addr, own, sizeof(address.addr));
	if (at[IFA_CACHEINFO])
		attr_copy(&info, at[IFA_CACHEINFO], sizeof(info));
	address.ifindex = ifa->ifa_index;
	address.flags = attr_u32(at[IFA_FLAGS], ifa->ifa_flags);
	address.expires = info.ifa_valid != LIFETIME_INFINITE;
	if (attr_prefix(own, ifa->ifa_prefixlen, &address.prefix) < 0)
		return -EBADMSG;
	if (at[IFA_LOCAL] && at[IFA_ADDRESS])
		attr_copy(&address.peer, at[IFA_ADDRESS], sizeof(address.peer));
	*out = address;
	return 0;
}

static const struct attr_spec advertised_attrs[] = {
	[PREFIX_ADDRESS] = ATTR_ADDR,
	[PREFIX_CACHEINFO] = ATTR_ANY,
};

int parse_advertised(const struct nlmsghdr *nlh, struct prefix *prefix, uint32_t *ifindex)
{
	const struct prefixmsg *msg = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *at[ARRAY_SIZE(advertised_attrs)];
	int r = attr_walk_inet6(nlh, RTM_NEWPREFIX, sizeof(*msg), advertised_attrs,
				ARRAY_SIZE(advertised_attrs), at, NULL);

	if (r < 0)
		return r;
	if (!at[PREFIX_ADDRESS] || msg->prefix_ifindex <= 0 ||
	    attr_prefix(at[PREFIX_ADDRESS], msg->prefix_len, prefix) < 0)
		return -EBADMSG;
	*ifindex = (uint32_t)msg->prefix_ifindex;
	return 0;
}
