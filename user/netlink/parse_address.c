// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses: only what they say of their prefix's route. Which addresses are this machine's is told
 * by the local table.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "parse.h"
#include "parse_attr.h"

#define LIFETIME_INFINITE 0xffffffffu /* INFINITY_LIFE_TIME of include/net/addrconf.h */

static const struct attr_spec address_attrs[] = {
	[IFA_CACHEINFO] = ATTR_MIN(sizeof(struct ifa_cacheinfo)),
};

int parse_address_lifetime(const struct nlmsghdr *nlh, bool *finite)
{
	const struct ifaddrmsg *ifa = attr_header(nlh, sizeof(*ifa));
	const struct nlattr *at[ARRAY_SIZE(address_attrs)];
	struct ifa_cacheinfo info = { .ifa_valid = LIFETIME_INFINITE };
	int r;

	if (nlh->nlmsg_type != RTM_NEWADDR && nlh->nlmsg_type != RTM_DELADDR)
		return -ENOMSG;
	if (!ifa)
		return -EBADMSG;
	if (ifa->ifa_family != AF_INET6)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*ifa), address_attrs, ARRAY_SIZE(address_attrs), at,
			      NULL);
	if (r < 0)
		return r;
	if (at[IFA_CACHEINFO])
		attr_copy(&info, at[IFA_CACHEINFO], sizeof(info));
	*finite = info.ifa_valid != LIFETIME_INFINITE;
	return 0;
}
