// SPDX-License-Identifier: GPL-2.0-only
/* See socket_features.h. The numbers are from linux/netdev.h, which older headers lack. */
#include "socket_features.h"

#include <errno.h>
#include <linux/genetlink.h>

#include "parse.h"

#define FAMILY "netdev"
#define GROUP "mgmt"
#define DEV_GET 1
#define VERSION 1
#define TIMEOUT_MS 10000

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
	ret = nl_socket_request(socket, nlh, add_family, out, TIMEOUT_MS);
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
				    &each, NULL, NULL, TIMEOUT_MS, NULL);
}
