// SPDX-License-Identifier: GPL-2.0-only
/* RTM_NEWNEIGH and RTM_DELNEIGH of AF_INET6. */
#include "parse.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "parse_attr.h"

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
	int r = attr_walk_inet6(nlh, RTM_NEWNEIGH, sizeof(*ndm), neigh_attrs,
				ARRAY_SIZE(neigh_attrs), at, &neigh.unknown_attr);

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
