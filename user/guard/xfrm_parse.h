/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of NETLINK_XFRM about policies. Pure: knows no socket.
 */
#ifndef GUARD_XFRM_PARSE_H
#define GUARD_XFRM_PARSE_H

#include <libmnl/libmnl.h>

#include "policies.h"

/*
 * XFRM_MSG_NEWPOLICY, as a dump has it. 1: *out is a policy that may touch a forwarded IPv6 packet
 * of a real port; 0: it cannot, or only lets packets go on as they are. -EBADMSG.
 */
int xfrm_parse_policy(const struct nlmsghdr *nlh, struct policy *out);

/* XFRM_MSG_GETDEFAULT, the answer. reason: why everything is held back; "" if it is not. 0 or
 * -EBADMSG. */
int xfrm_parse_default(const struct nlmsghdr *nlh, char reason[GUARD_REASON_LEN]);

/* Whether a notification may mean that policies or defaults are others than before. */
bool xfrm_parse_is_change(const struct nlmsghdr *nlh);

#endif
