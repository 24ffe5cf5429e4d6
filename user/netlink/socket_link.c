// SPDX-License-Identifier: GPL-2.0-only
/* See socket_link.h. IFLA_ALT_IFNAME in a request stands for names of both kinds. */
#include "socket_link.h"

#include <errno.h>
#include <linux/if.h> /* ALTIFNAMSIZ, behind net/if.h */
#include <linux/rtnetlink.h>
#include <string.h>

#include "parse.h"
#include "socket.h"

#define TIMEOUT_MS 5000

static int parse_reply(const struct nlmsghdr *nlh, void *ctx)
{
	return parse_link(nlh, ctx);
}

static int ask(const char *name, struct link *link)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int ret = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (ret)
		return ret;
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name);
	return nl_socket_request_one(socket, nlh, parse_reply, link, TIMEOUT_MS);
}

uint32_t nl_link_find(const char *name, char own[IFNAMSIZ])
{
	struct link link = { 0 };
	int ret = *name && strlen(name) < ALTIFNAMSIZ ? ask(name, &link) : -ENODEV;

	if (ret) {
		errno = -ret;
		return 0;
	}
	if (own)
		memcpy(own, link.name, sizeof(link.name));
	return link.ifindex;
}

const char *nl_link_own_name(const char *name, char own[IFNAMSIZ])
{
	return nl_link_find(name, own) ? own : name;
}
