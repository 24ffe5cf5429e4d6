// SPDX-License-Identifier: GPL-2.0-only
/*
 * ip6_forward() looks up a policy of direction fwd in __xfrm_policy_check(), then one of direction
 * out in xfrm6_route_forward(). A policy matters if xfrm_policy_match() can find it for a packet,
 * and it does more than allow. One that allows may have priority over one that blocks: packets are
 * then punted needlessly, which is only slower.
 *
 * A dump continues at a position in the kernel's list, and is never marked as interrupted. A policy
 * that it misses is not lost: the kernel notifies after each change, also of PF_KEY.
 */
#include "xfrm.h"

#include <linux/xfrm.h>

#include <sys/socket.h>

#include "../netlink/parse_attr.h"
#include "../rib/radix.h"

#define TIMEOUT_MS 10000
#define ATTEMPTS 5

/* The attributes of dump_one_policy(). */
static const struct attr_spec policy_attrs[] = {
	[XFRMA_TMPL] = ATTR_ANY,
	[XFRMA_SEC_CTX] = ATTR_ANY,
	[XFRMA_POLICY_TYPE] = ATTR_MIN(sizeof(struct xfrm_userpolicy_type)),
	[XFRMA_MARK] = ATTR_MIN(sizeof(struct xfrm_mark)),
	[XFRMA_PAD] = ATTR_ANY,
	[XFRMA_OFFLOAD_DEV] = ATTR_ANY,
	[XFRMA_IF_ID] = ATTR_U32,
};
#define N_ATTRS ARRAY_SIZE(policy_attrs)

/*
 * A dump includes per-socket policies, with higher directions. A forwarded packet has no socket,
 * and does not meet direction in (but see is_sub()).
 */
static bool is_of_forwarding(const struct xfrm_userpolicy_info *info)
{
	if (info->dir != XFRM_POLICY_FWD && info->dir != XFRM_POLICY_OUT)
		return false;
	/* The kernel refuses AF_UNSPEC today; it would mean every address. */
	return info->sel.family != AF_INET;
}

/*
 * A packet has if_id 0 unless it comes from an xfrm interface, which is no port. It has mark 0
 * unless netfilter or tc sets one, for which other parts of the guard punt.
 */
static bool can_match(const struct nlattr *const *at)
{
	struct xfrm_mark mark = { 0 };

	if (at[XFRMA_MARK])
		attr_copy(&mark, at[XFRMA_MARK], sizeof(mark));
	return attr_u32(at[XFRMA_IF_ID], 0) == 0 && (mark.v & mark.m) == 0;
}

/*
 * More than its own action matters: after one of direction fwd, __xfrm_policy_check() looks up one
 * of the main type, and of direction in.
 */
static bool is_sub(const struct nlattr *const *at)
{
	struct xfrm_userpolicy_type type = { .type = XFRM_POLICY_TYPE_MAIN };

	if (at[XFRMA_POLICY_TYPE])
		attr_copy(&type, at[XFRMA_POLICY_TYPE], sizeof(type));
	return type.type != XFRM_POLICY_TYPE_MAIN;
}

/* It compares no security label, and its use starts no expiry timer. */
static bool only_allows(const struct xfrm_userpolicy_info *info, const struct nlattr *const *at)
{
	return info->action == XFRM_POLICY_ALLOW && !at[XFRMA_TMPL] && !at[XFRMA_SEC_CTX] &&
	       !at[XFRMA_OFFLOAD_DEV] && !is_sub(at) && !info->lft.soft_use_expires_seconds &&
	       !info->lft.hard_use_expires_seconds;
}

static void set_prefix(struct prefix *out, const struct xfrm_selector *sel,
		       const xfrm_address_t *addr, uint8_t len)
{
	*out = (struct prefix){ 0 };
	if (sel->family != AF_INET6)
		return; /* any address */
	memcpy(&out->addr, addr, sizeof(out->addr));
	out->len = len;
	prefix_mask(out);
}

int xfrm_parse_policy(const struct nlmsghdr *nlh, struct policy *out)
{
	struct xfrm_userpolicy_info info;
	const void *header = attr_header(nlh, sizeof(info));
	const struct nlattr *at[N_ATTRS];
	uint16_t unknown = 0;
	int r;

	if (!header || nlh->nlmsg_type != XFRM_MSG_NEWPOLICY)
		return -EBADMSG;
	memcpy(&info, header, sizeof(info));
	r = attr_walk_message(nlh, sizeof(info), policy_attrs, N_ATTRS, at, &unknown);
	if (r < 0)
		return r;
	if (info.sel.prefixlen_s > 128 || info.sel.prefixlen_d > 128)
		return -EBADMSG;
	if (!is_of_forwarding(&info))
		return 0;
	/* A policy with an unknown attribute may match and do anything. */
	if (!unknown && (!can_match(at) || only_allows(&info, at)))
		return 0;
	*out = (struct policy){
		.dir = info.dir,
		/*
		 * Since Linux 6.8 an ICMPv6 error without a policy is looked up again by the
		 * packet in it, with source and destination swapped: fwd policies with any flags
		 * in xfrm_in_fwd_icmp(), out policies with this flag in xfrm_out_fwd_icmp(). That
		 * packet is taken to begin 48 bytes into the error, also if extension headers are
		 * there.
		 */
		.icmp = info.dir == XFRM_POLICY_FWD || info.flags & XFRM_POLICY_ICMP,
		.index = info.index,
		.priority = info.priority,
	};
	set_prefix(&out->src, &info.sel, &info.sel.saddr, info.sel.prefixlen_s);
	set_prefix(&out->dst, &info.sel, &info.sel.daddr, info.sel.prefixlen_d);
	return 1;
}

int xfrm_parse_default(const struct nlmsghdr *nlh, void *reason)
{
	const struct xfrm_userpolicy_default *defaults = attr_header(nlh, sizeof(*defaults));

	if (!defaults || nlh->nlmsg_type != XFRM_MSG_GETDEFAULT)
		return -EBADMSG;
	*(char *)reason = '\0';
	if (defaults->fwd != XFRM_USERPOLICY_ACCEPT)
		snprintf(reason, GUARD_REASON_LEN, "the default action of fwd policies is block");
	else if (defaults->out != XFRM_USERPOLICY_ACCEPT)
		snprintf(reason, GUARD_REASON_LEN, "the default action of out policies is block");
	return 0;
}

static bool is_change(const struct nlmsghdr *nlh, const void *ctx)
{
	(void)ctx;
	switch (nlh->nlmsg_type) {
	case XFRM_MSG_NEWSA:
	case XFRM_MSG_DELSA:
	case XFRM_MSG_UPDSA:
	case XFRM_MSG_FLUSHSA:
	case XFRM_MSG_EXPIRE:
	case XFRM_MSG_NEWAE:
		return false; /* of states, which policies do not name */
	}
	return true;
}

/* XFRMNLGRP_EXPIRE: the only notification of a policy that a timer removes. */
const struct notifications xfrm_notifications = {
	.protocol = NETLINK_XFRM,
	.groups = { XFRMNLGRP_POLICY, XFRMNLGRP_EXPIRE },
	.is_change = is_change,
};

/* --- reading --- */

static int policy_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct policy policy;
	int r = xfrm_parse_policy(nlh, &policy);

	return r <= 0 ? r : policies_add(ctx, &policy);
}

static int read_default(struct nl_socket *socket, struct policies *policies)
{
	char buffer[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	int r;

	nlh->nlmsg_type = XFRM_MSG_GETDEFAULT;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_default));
	r = nl_socket_request_one(socket, nlh, xfrm_parse_default, policies->all, TIMEOUT_MS);
	return r == -EINVAL ? 0 : r; /* before Linux 5.15 the default is accept */
}

static int read_policies(struct nl_socket *socket, struct policies *policies)
{
	char buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = XFRM_MSG_GETPOLICY;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_id));
	return nl_socket_dump(socket, nlh, policy_message, policies, NULL, NULL, TIMEOUT_MS, NULL);
}

static int read_once(struct policies **out)
{
	_cleanup_(policies_freep) struct policies *policies = policies_new();
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int r = policies ? nl_socket_new(NETLINK_XFRM, 0, &socket) : -ENOMEM;

	if (r == 0)
		r = read_default(socket, policies);
	else if (r == -EPROTONOSUPPORT)
		r = 0; /* This kernel has no xfrm. */
	if (r == 0 && socket)
		r = read_policies(socket, policies);
	if (r < 0)
		return r;
	*out = policies;
	policies = NULL;
	return 0;
}

int xfrm_read(struct policies **out)
{
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++)
		r = read_once(out);
	return r;
}
