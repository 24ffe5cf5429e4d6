/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads traffic control, over NETLINK_ROUTE and by BPF_PROG_QUERY. Returns 0 or -errno. */
#ifndef GUARD_TC_H
#define GUARD_TC_H

#include "queueing.h"

struct tc;

/* rcvbuf_bytes: of notifications; 0 for the system's default. */
int tc_new(size_t rcvbuf_bytes, struct tc **out);
void tc_free(struct tc *tc);
int tc_fd(const struct tc *tc); /* to be polled for input */
/*
 * Read the notifications. True: qdiscs or filters may have changed. A device that comes up may get
 * its qdiscs without a notification.
 */
bool tc_read_events(struct tc *tc);
/* Qdiscs and filters of all devices. Free with queueing_free(). */
int tc_read(struct tc *tc, struct queueing **out);
/*
 * tcx programs, which come and go without a notification, as reasons of GUARD_REASON_LEN bytes; ""
 * for none.
 */
int tc_read_tcx(uint32_t ifindex, char *ingress, char *egress);

#endif
