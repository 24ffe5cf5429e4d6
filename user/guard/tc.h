/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads traffic control, over NETLINK_ROUTE and by BPF_PROG_QUERY. Functions return 0 or -errno.
 */
#ifndef GUARD_TC_H
#define GUARD_TC_H

#include "notifications.h"
#include "queueing.h"

/*
 * Qdiscs and filters; the context is not used. A device that comes up may get its qdiscs without a
 * notification.
 */
extern const struct notifications tc_notifications;
/* Qdiscs and filters of all devices. Free with queueing_free(). */
int tc_read(struct queueing **out);
/*
 * tcx programs, which come and go without a notification, as reasons of GUARD_REASON_LEN bytes; ""
 * for none.
 */
int tc_read_tcx(uint32_t ifindex, char *ingress, char *egress);

struct filter {
	char kind[IFNAMSIZ];
	uint32_t priority;
};

/* Parsers, which are pure: 0, -ENOMSG for another message, -EBADMSG. */
int tc_parse_qdisc(const struct nlmsghdr *nlh, struct qdisc *out);
int tc_parse_filter(const struct nlmsghdr *nlh, struct filter *out);
/* From RTM_NEWLINK. */
int tc_parse_device(const struct nlmsghdr *nlh, struct qdisc_device *out);
/* A notification: qdiscs or filters may have changed. ctx is not used. */
bool tc_parse_is_change(const struct nlmsghdr *nlh, const void *ctx);

#endif
