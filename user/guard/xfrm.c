// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dump of policies continues at a position in the kernel's list, and is never marked as
 * interrupted. A policy that it misses is not lost: the kernel notifies after each change, also of
 * PF_KEY, and the caller reads again.
 */
#include <linux/xfrm.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "../netlink/socket.h"
#include "xfrm.h"
#include "xfrm_parse.h"

#define TIMEOUT_MS 10000
#define ATTEMPTS 5

struct xfrm {
	struct nl_socket *events, *requests; /* NULL: this kernel has no xfrm */
};

static int open_sockets(struct xfrm *xfrm)
{
	int r = nl_socket_new(NETLINK_XFRM, 0, &xfrm->events);

	if (r == -EPROTONOSUPPORT)
		return 0;
	if (r < 0)
		return r;
	r = nl_socket_join(xfrm->events, XFRMNLGRP_POLICY);
	if (r < 0)
		return r;
	/* The only notification of a policy that a timer removes. */
	r = nl_socket_join(xfrm->events, XFRMNLGRP_EXPIRE);
	if (r < 0)
		return r;
	return nl_socket_new(NETLINK_XFRM, 0, &xfrm->requests);
}

int xfrm_new(struct xfrm **out)
{
	struct xfrm *xfrm = calloc(1, sizeof(*xfrm));
	int r;

	if (!xfrm)
		return -ENOMEM;
	r = open_sockets(xfrm);
	if (r < 0) {
		xfrm_free(xfrm);
		return r;
	}
	*out = xfrm;
	return 0;
}

void xfrm_free(struct xfrm *xfrm)
{
	if (!xfrm)
		return;
	nl_socket_free(xfrm->events);
	nl_socket_free(xfrm->requests);
	free(xfrm);
}

int xfrm_fd(const struct xfrm *xfrm)
{
	return xfrm->events ? nl_socket_fd(xfrm->events) : -1;
}

static int notification(const struct nlmsghdr *nlh, void *ctx)
{
	bool *changed = ctx;

	*changed |= xfrm_parse_is_change(nlh);
	return 0;
}

bool xfrm_read_events(struct xfrm *xfrm)
{
	bool changed = false;
	int r;

	if (!xfrm->events)
		return false;
	do {
		r = nl_socket_read(xfrm->events, notification, &changed);
		if (r < 0)
			changed = true;
	} while (r == NL_SOCKET_READ_MAX);
	return changed;
}

static int policy_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct policy policy;
	int r = xfrm_parse_policy(nlh, &policy);

	return r <= 0 ? r : policies_add(ctx, &policy);
}

static int default_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct policies *policies = ctx;

	return xfrm_parse_default(nlh, policies->all);
}

static int read_default(struct xfrm *xfrm, struct policies *policies)
{
	char buffer[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	int r;

	nlh->nlmsg_type = XFRM_MSG_GETDEFAULT;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_default));
	r = nl_socket_request_one(xfrm->requests, nlh, default_message, policies, TIMEOUT_MS);
	return r == -EINVAL ? 0 : r; /* before Linux 5.15 the default is accept */
}

static int read_policies(struct xfrm *xfrm, struct policies *policies)
{
	char buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = XFRM_MSG_GETPOLICY;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_id));
	return nl_socket_dump(xfrm->requests, nlh, policy_message, policies, NULL, NULL, TIMEOUT_MS,
			      NULL);
}

static int read_once(struct xfrm *xfrm, struct policies **out)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();
	int r;

	if (!policies)
		return -ENOMEM;
	if (xfrm->requests) {
		r = read_default(xfrm, policies);
		if (r == 0)
			r = read_policies(xfrm, policies);
		if (r < 0)
			return r;
	}
	*out = policies;
	policies = NULL;
	return 0;
}

int xfrm_read(struct xfrm *xfrm, struct policies **out)
{
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++)
		r = read_once(xfrm, out);
	return r;
}
