// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTM_NEWRULE and RTM_DELRULE of AF_INET6. A rule counts as plain only if all that it says is
 * known to be harmless: kernels keep adding selectors (DSCP, flow label, port masks), and one
 * that is overlooked would send packets by a table that the kernel does not use for them.
 */
#include "parse.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "parse_attr.h"

/* Those that select nothing, or nothing with the values that plain_attrs checks. */
static const struct attr_spec rule_attrs[] = {
	[FRA_PRIORITY] = ATTR_U32,
	[FRA_SUPPRESS_IFGROUP] = ATTR_U32,
	[FRA_SUPPRESS_PREFIXLEN] = ATTR_U32,
	[FRA_TABLE] = ATTR_U32,
	[FRA_PAD] = ATTR_ANY,
	[FRA_L3MDEV] = ATTR_U8,
	[FRA_PROTOCOL] = ATTR_U8,
};

/* The kernel says -1 for "no suppressor". */
static bool plain_attrs(const struct nlattr **at)
{
	return attr_u32(at[FRA_SUPPRESS_PREFIXLEN], UINT32_MAX) == UINT32_MAX &&
	       attr_u32(at[FRA_SUPPRESS_IFGROUP], UINT32_MAX) == UINT32_MAX;
}

static bool plain_header(const struct fib_rule_hdr *frh)
{
	return frh->dst_len == 0 && frh->src_len == 0 && frh->tos == 0 &&
	       frh->action != FR_ACT_GOTO && (frh->flags & ~(uint32_t)FIB_RULE_PERMANENT) == 0;
}

int parse_rule(const struct nlmsghdr *nlh, struct rule *out)
{
	const struct fib_rule_hdr *frh = attr_header(nlh, sizeof(*frh));
	const struct nlattr *at[ARRAY_SIZE(rule_attrs)];
	bool unknown;
	int r;

	if (nlh->nlmsg_type != RTM_NEWRULE && nlh->nlmsg_type != RTM_DELRULE)
		return -ENOMSG;
	if (!frh)
		return -EBADMSG;
	if (frh->family != AF_INET6)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*frh), rule_attrs, ARRAY_SIZE(rule_attrs), at, &unknown);
	if (r < 0)
		return r;
	if (frh->dst_len > 128 || frh->src_len > 128)
		return -EBADMSG;
	*out = (struct rule){
		.priority = attr_u32(at[FRA_PRIORITY], 0),
		.table = attr_u32(at[FRA_TABLE], frh->table),
		.action = frh->action,
		.l3mdev = attr_u8(at[FRA_L3MDEV], 0),
		.selective = unknown || !plain_header(frh) || !plain_attrs(at),
	};
	return 0;
}
