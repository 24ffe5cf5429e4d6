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
 * The first tcx program, in GUARD_REASON_LEN bytes of reason; "" for none. They come and go without
 * a notification.
 */
int tc_read_tcx(uint32_t ifindex, bool egress, char *reason);

#endif
