/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic control that may touch forwarded packets, by device: filters at ingress and egress,
 * qdiscs that do more than queue; and messages about them. Pure.
 */
#ifndef GUARD_QUEUEING_H
#define GUARD_QUEUEING_H

#include <libmnl/libmnl.h>
#include <net/if.h>

#include "terms.h"

struct queueing_device {
	uint32_t ifindex;
	/* "filter flower at ingress (clsact), priority 49152", "qdisc htb 1:"; "" for none. */
	char ingress[GUARD_REASON_LEN], egress[GUARD_REASON_LEN];
};

struct queueing {
	struct queueing_device *at; /* by ascending ifindex; only those with a reason */
	size_t n, capacity;
};

void queueing_free(struct queueing *queueing);

/* NULL: the device has no reason. */
struct queueing_device *queueing_find(const struct queueing *queueing, uint32_t ifindex);

/* Adds a reason, unless the direction has one. 0 or -ENOMEM. */
int queueing_add(struct queueing *queueing, uint32_t ifindex, bool egress, const char *reason);

/* Over TCA_FQ_MAX and TCA_FQ_CODEL_MAX of the newest kernel. */
#define QDISC_N_OPTIONS 32u

struct qdisc {
	uint32_t ifindex, handle, parent;
	char kind[IFNAMSIZ];
	bool has_size_table; /* TCA_STAB */
	/* Options by number, with values if they have 1, 2 or 4 bytes. A fifo's limit is 0. */
	uint32_t has; /* bit n: option n is there */
	uint32_t options[QDISC_N_OPTIONS];
	bool has_more; /* options with higher numbers */
};

/* What the default limit of a fifo depends on. */
struct qdisc_device {
	uint32_t queue_len; /* packets, txqueuelen */
	uint32_t frame_len; /* bytes, MTU and link header */
};

/* qdisc_punts() needs the device. */
bool qdisc_needs_device(const struct qdisc *qdisc);

/* Filters that classify packets may be attached, though the qdisc itself does not punt. */
bool qdisc_takes_filters(const struct qdisc *qdisc);

/* An ingress or clsact qdisc: it has filters, and queues no packet. */
bool qdisc_is_hook(const struct qdisc *qdisc);

/*
 * Forwarded packets may be dropped, delayed or marked beyond the kernel's default limits. device:
 * NULL if it is not needed. reason: GUARD_REASON_LEN bytes, set only if so.
 */
bool qdisc_punts(const struct qdisc *qdisc, const struct qdisc_device *device, char *reason);

struct filter {
	char kind[IFNAMSIZ];
	uint32_t priority;
};

/* Parsers: 0, -ENOMSG for another message, -EBADMSG. */
int tc_parse_qdisc(const struct nlmsghdr *nlh, struct qdisc *out);
int tc_parse_filter(const struct nlmsghdr *nlh, struct filter *out);
/* Parses RTM_NEWLINK. */
int tc_parse_device(const struct nlmsghdr *nlh, struct qdisc_device *out);
/* A notification: qdiscs or filters may have changed. ctx is not used. */
bool tc_parse_is_change(const struct nlmsghdr *nlh, const void *ctx);

#endif
