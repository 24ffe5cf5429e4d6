/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads IPsec policies over NETLINK_XFRM, and decides which ones may touch a forwarded packet. */
#ifndef GUARD_XFRM_H
#define GUARD_XFRM_H

#include "notifications.h"
#include "policies.h"

/* Policies or defaults; the context is not used. */
extern const struct notifications xfrm_notifications;
/* 0 (free *out with policies_free(); empty if the kernel has no xfrm) or -errno. */
int xfrm_read(struct policies **out);

/*
 * XFRM_MSG_NEWPOLICY, as in a dump. 1: *out may touch a forwarded IPv6 packet of a port; 0: it
 * cannot, or only allows packets; -EBADMSG.
 */
int xfrm_parse_policy(const struct nlmsghdr *nlh, struct policy *out);
/*
 * The reply to XFRM_MSG_GETDEFAULT. reason: GUARD_REASON_LEN bytes, why every packet is punted, or
 * "". 0 or -EBADMSG.
 */
int xfrm_parse_default(const struct nlmsghdr *nlh, void *reason);

#endif
