/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses messages of NETLINK_XFRM about policies. Pure. */
#ifndef GUARD_XFRM_PARSE_H
#define GUARD_XFRM_PARSE_H

#include <libmnl/libmnl.h>

#include "policies.h"

/*
 * XFRM_MSG_NEWPOLICY, as in a dump. 1: *out may touch a forwarded IPv6 packet of a port; 0: it
 * cannot, or only allows packets; -EBADMSG.
 */
int xfrm_parse_policy(const struct nlmsghdr *nlh, struct policy *out);

/* The reply to XFRM_MSG_GETDEFAULT. reason: why every packet is punted, or "". 0 or -EBADMSG. */
int xfrm_parse_default(const struct nlmsghdr *nlh, char reason[GUARD_REASON_LEN]);

/* A notification: policies or defaults may have changed. */
bool xfrm_parse_is_change(const struct nlmsghdr *nlh);

#endif
