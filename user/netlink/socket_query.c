// SPDX-License-Identifier: GPL-2.0-only
/* See socket_query.h. For each question a socket is opened, unless the caller has one. */
#include "socket_query.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if.h> /* ALTIFNAMSIZ, behind net/if.h */
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "parse.h"

/* --- devices ---------------------------------------------------------------------------------- */

#define TIMEOUT_MS 5000

static int parse_device(const struct nlmsghdr *nlh, void *ctx)
{
	return parse_link(nlh, ctx);
}

static int ask_device(const char *name, struct link *link)
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
	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name); /* of both kinds */
	return nl_socket_request_one(socket, nlh, parse_device, link, TIMEOUT_MS);
}

uint32_t nl_link_find(const char *name, char own[IFNAMSIZ])
{
	struct link link = { 0 };
	int ret = *name && strlen(name) < ALTIFNAMSIZ ? ask_device(name, &link) : -ENODEV;

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

/* --- routes ----------------------------------------------------------------------------------- */

struct reply {
	uint32_t ifindex, len;
};

static int parse_match(const struct nlmsghdr *nlh, void *ctx)
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

static int ask_route(struct nl_socket *socket, const union sixlane_addr *dst, uint32_t flags,
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
	return nl_socket_request_one(socket, nlh, parse_match, reply, TIMEOUT_MS);
}

/*
 * It takes two requests: the reply with the resolved route has the device, and only the one with
 * the matched table entry (RTM_F_FIB_MATCH) has the prefix.
 */
int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct reply used = { 0 }, matched = { 0 };
	int ret = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (!ret)
		ret = ask_route(socket, dst, 0, &used);
	if (!ret)
		ret = ask_route(socket, dst, RTM_F_FIB_MATCH, &matched);
	if (ret)
		return ret;
	*ifindex = used.ifindex;
	*len = matched.len;
	return 0;
}

/* --- features: the numbers are from linux/netdev.h, which older headers lack ------------------ */

#define FAMILY "netdev"
#define GROUP "mgmt"
#define DEV_GET 1
#define VERSION 1
#define FEATURES_TIMEOUT_MS 10000

static struct nlmsghdr *start(char *buf, uint16_t type, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *body;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
	body->cmd = cmd;
	body->version = VERSION;
	return nlh;
}

static int add_family(const struct nlmsghdr *nlh, void *ctx)
{
	struct nl_features_family *family = ctx;
	int ret = parse_genl_family(nlh, GROUP, &family->id, &family->group);

	return ret == -ENOMSG ? 0 : ret;
}

int nl_features_family(struct nl_socket *socket, struct nl_features_family *out)
{
	char buf[NL_FEATURES_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = start(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	int ret;

	*out = (struct nl_features_family){ 0 };
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, FAMILY);
	ret = nl_socket_request(socket, nlh, add_family, out, FEATURES_TIMEOUT_MS);
	return ret == -ENOENT ? 0 : ret;
}

struct nlmsghdr *nl_features_request(char buf[NL_FEATURES_BYTES], uint16_t family)
{
	return start(buf, family, DEV_GET);
}

struct each {
	nl_features_fn fn;
	void *ctx;
};

static int report_device(const struct nlmsghdr *nlh, void *ctx)
{
	const struct each *each = ctx;
	uint64_t features;
	uint32_t ifindex;
	int ret = parse_netdev(nlh, &ifindex, &features);

	if (!ret)
		each->fn(each->ctx, ifindex, features);
	return ret == -ENOMSG ? 0 : ret;
}

int nl_features_each(nl_features_fn fn, void *ctx)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	char buf[NL_FEATURES_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct each each = { fn, ctx };
	struct nl_features_family family;
	int ret = nl_socket_new(NETLINK_GENERIC, 0, &socket);

	if (!ret)
		ret = nl_features_family(socket, &family);
	if (!ret && !family.id)
		return -EOPNOTSUPP;
	return ret ? ret
		   : nl_socket_dump(socket, nl_features_request(buf, family.id), report_device,
				    &each, NULL, NULL, FEATURES_TIMEOUT_MS, NULL);
}
