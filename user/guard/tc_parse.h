/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses messages about traffic control. Pure. */
#ifndef GUARD_TC_PARSE_H
#define GUARD_TC_PARSE_H

#include <linux/netlink.h>

#include "queueing.h"

struct filter {
	char kind[IFNAMSIZ];
	uint32_t priority;
};

/* 0, -ENOMSG for another message, -EBADMSG. */
int tc_parse_qdisc(const struct nlmsghdr *nlh, struct qdisc *out);
int tc_parse_filter(const struct nlmsghdr *nlh, struct filter *out);
/* From RTM_NEWLINK. */
int tc_parse_device(const struct nlmsghdr *nlh, struct qdisc_device *out);

/* A notification: qdiscs or filters may have changed. */
bool tc_parse_is_change(const struct nlmsghdr *nlh);

#endif
