// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of this machine (RTM_NEWADDR), of its neighbours (RTM_NEWNEIGH), and advertised
 * prefixes (RTM_NEWPREFIX). Which addresses are local is in the local table. RTM_NEWADDR shows
 * which source the kernel uses, and, like RTM_NEWPREFIX, that a prefix's route may have got another
 * lifetime.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
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
	int r = attr_walk_inet6(nlh, RTM_NEWADDR, sizeof(*ifa), SPECS(address_attrs), at,
				&address.unknown_attr);

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
	int r = attr_walk_inet6(nlh, RTM_NEWPREFIX, sizeof(*msg), SPECS(advertised_attrs), at,
				NULL);

	if (r < 0)
		return r;
	if (!at[PREFIX_ADDRESS] || msg->prefix_ifindex <= 0 ||
	    attr_prefix(at[PREFIX_ADDRESS], msg->prefix_len, prefix) < 0)
		return -EBADMSG;
	*ifindex = (uint32_t)msg->prefix_ifindex;
	return 0;
}

/* The length of NDA_LLADDR depends on the device. */
static const struct attr_spec neigh_attrs[] = {
	[NDA_DST] = ATTR_ADDR,	    [NDA_LLADDR] = ATTR_ANY, [NDA_FLAGS_EXT] = ATTR_U32,
	[NDA_CACHEINFO] = ATTR_ANY, [NDA_PROBES] = ATTR_ANY, [NDA_PROTOCOL] = ATTR_ANY,
};

int parse_neigh(const struct nlmsghdr *nlh, struct neigh *out)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *at[ARRAY_SIZE(neigh_attrs)];
	struct neigh neigh = { 0 };
	int r = attr_walk_inet6(nlh, RTM_NEWNEIGH, sizeof(*ndm), SPECS(neigh_attrs), at,
				&neigh.unknown_attr);

	if (r < 0)
		return r;
	/* first: proxy entries may have no device */
	if (ndm->ndm_flags & NTF_PROXY)
		return -ENOMSG;
	if (!at[NDA_DST] || ndm->ndm_ifindex <= 0)
		return -EBADMSG;
	neigh.ifindex = (uint32_t)ndm->ndm_ifindex;
	neigh.state = ndm->ndm_state;
	neigh.flags = ndm->ndm_flags;
	neigh.flags_ext = attr_u32(at[NDA_FLAGS_EXT], 0);
	attr_copy(&neigh.addr, at[NDA_DST], sizeof(neigh.addr));
	if (!neigh.unknown_attr && at[NDA_LLADDR] &&
	    mnl_attr_get_payload_len(at[NDA_LLADDR]) == sizeof(neigh.mac)) {
		neigh.has_mac = true;
		attr_copy(neigh.mac, at[NDA_LLADDR], sizeof(neigh.mac));
	}
	*out = neigh;
	return 0;
}
