// SPDX-License-Identifier: GPL-2.0-only
/*
 * See socket_route.h. It takes two requests: the reply with the resolved route has the device, and
 * only the one with the matched table entry (RTM_F_FIB_MATCH) has the prefix.
 */
#include "socket_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "socket.h"

#define TIMEOUT_MS 5000

struct reply {
	uint32_t ifindex, len;
};

static int parse_reply(const struct nlmsghdr *nlh, void *ctx)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(nlh);
	struct reply *reply = ctx;
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(nlh) < sizeof(*route))
		return -EPROTO;
	reply->len = route->rtm_dst_len;
	mnl_attr_for_each(attr, nlh, sizeof(*route))
	{
		if (mnl_attr_get_type(attr) == RTA_OIF && !mnl_attr_validate(attr, MNL_TYPE_U32))
			reply->ifindex = mnl_attr_get_u32(attr);
	}
	return 0;
}

static int ask(struct nl_socket *socket, const union sixlane_addr *dst, uint32_t flags,
	       struct reply *reply)
{
	char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *route;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	route = mnl_nlmsg_put_extra_header(nlh, sizeof(*route));
	route->rtm_family = AF_INET6;
	route->rtm_dst_len = 128;
	route->rtm_flags = flags;
	mnl_attr_put(nlh, RTA_DST, sizeof(*dst), dst);
	return nl_socket_request_one(socket, nlh, parse_reply, reply, TIMEOUT_MS);
}

int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct reply used = { 0 }, matched = { 0 };
	int ret = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (!ret)
		ret = ask(socket, dst, 0, &used);
	if (!ret)
		ret = ask(socket, dst, RTM_F_FIB_MATCH, &matched);
	if (ret)
		return ret;
	*ifindex = used.ifindex;
	*len = matched.len;
	return 0;
}
