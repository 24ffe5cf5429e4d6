/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds messages of NETLINK_XFRM, for unit tests and the fuzzer. All are built in one buffer.
 */
#ifndef GUARD_XFRM_MESSAGES_H
#define GUARD_XFRM_MESSAGES_H

#include <arpa/inet.h>
#include <linux/xfrm.h>

#include "../netlink/netlink_build.h"

#define MAX_TEMPLATES 6 /* XFRM_MAX_DEPTH of the kernel */

/* A policy as `ip xfrm policy add` makes it. */
struct policy_row {
	uint8_t dir, action, flags;
	uint16_t family; /* 0: AF_INET6 */
	const char *src, *dst;
	uint8_t src_len, dst_len;
	uint64_t use_expires; /* seconds */
	int n_templates;
	bool optional; /* `level use` */
	bool sub;
	bool security, offload;
	struct xfrm_mark mark;
	uint32_t if_id;
	uint16_t unknown; /* type of one more attribute */
	const char *text; /* of its prefixes, for tests */
};

/* Parts of rows. */
#define FROM_A_TO_B .src = "2001:db8:a::", .src_len = 64, .dst = "2001:db8:b::", .dst_len = 64
#define FROM_A_TO_B_TEXT "2001:db8:a::/64 to 2001:db8:b::/64"
#define BLOCK .action = XFRM_POLICY_BLOCK
#define FWD FROM_A_TO_B, .dir = XFRM_POLICY_FWD
#define OUT FROM_A_TO_B, .dir = XFRM_POLICY_OUT
#define ESP .n_templates = 1

static inline struct nlmsghdr *xfrm_message(uint16_t type)
{
	struct nlmsghdr *nlh = message_start();

	nlh->nlmsg_type = type;
	return nlh;
}

static inline void put_policy_attrs(struct nlmsghdr *nlh, const struct policy_row *row)
{
	struct xfrm_user_tmpl templates[MAX_TEMPLATES] = { 0 };
	const struct xfrm_userpolicy_type type = { .type = row->sub };
	const char context[8] = { 8 };

	for (int i = 0; i < row->n_templates; i++) {
		templates[i].id.proto = IPPROTO_ESP;
		templates[i].family = AF_INET6;
		templates[i].optional = row->optional;
	}
	if (row->n_templates)
		mnl_attr_put(nlh, XFRMA_TMPL, row->n_templates * sizeof(*templates), templates);
	if (row->security)
		mnl_attr_put(nlh, XFRMA_SEC_CTX, sizeof(context), context);
	mnl_attr_put(nlh, XFRMA_POLICY_TYPE, sizeof(type), &type);
	if (row->mark.v || row->mark.m)
		mnl_attr_put(nlh, XFRMA_MARK, sizeof(row->mark), &row->mark);
	if (row->if_id)
		mnl_attr_put_u32(nlh, XFRMA_IF_ID, row->if_id);
	if (row->offload)
		mnl_attr_put(nlh, XFRMA_OFFLOAD_DEV, sizeof(context), context);
	if (row->unknown)
		mnl_attr_put_u32(nlh, row->unknown, 1);
}

static inline struct nlmsghdr *build_policy(const struct policy_row *row)
{
	struct nlmsghdr *nlh = xfrm_message(XFRM_MSG_NEWPOLICY);
	struct xfrm_userpolicy_info *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	struct xfrm_selector *sel = &info->sel;

	sel->family = row->family ? row->family : AF_INET6;
	inet_pton(sel->family == AF_INET ? AF_INET : AF_INET6, row->src, &sel->saddr);
	inet_pton(sel->family == AF_INET ? AF_INET : AF_INET6, row->dst, &sel->daddr);
	sel->prefixlen_s = row->src_len;
	sel->prefixlen_d = row->dst_len;
	info->lft.hard_byte_limit = info->lft.hard_packet_limit = XFRM_INF;
	info->lft.hard_use_expires_seconds = row->use_expires;
	info->dir = row->dir;
	info->action = row->action;
	info->flags = row->flags;
	info->index = 17;
	info->priority = 5;
	put_policy_attrs(nlh, row);
	return nlh;
}

static inline struct nlmsghdr *build_default(uint8_t in, uint8_t fwd, uint8_t out)
{
	struct nlmsghdr *nlh = xfrm_message(XFRM_MSG_GETDEFAULT);
	struct xfrm_userpolicy_default *defaults =
		mnl_nlmsg_put_extra_header(nlh, sizeof(*defaults));

	*defaults = (struct xfrm_userpolicy_default){ .in = in, .fwd = fwd, .out = out };
	return nlh;
}

#endif
