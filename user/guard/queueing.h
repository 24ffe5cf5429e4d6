/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic control of devices, as far as it may touch forwarded packets: filters at ingress and
 * egress, qdiscs that do more than queue. Pure.
 */
#ifndef GUARD_QUEUEING_H
#define GUARD_QUEUEING_H

#include <net/if.h>

#include "terms.h"

struct queueing_device {
	uint32_t ifindex;
	/* What stands in the way, for people: "filter flower at ingress (clsact), priority 49152",
	 * "qdisc htb 1:". "": nothing. */
	char ingress[GUARD_REASON_LEN], egress[GUARD_REASON_LEN];
};

struct queueing {
	struct queueing_device *at; /* by ascending ifindex; those in whose way something stands */
	size_t n, capacity;
};

void queueing_free(struct queueing *queueing);
void queueing_freep(struct queueing **queueing);

/* NULL: nothing stands in its way. */
const struct queueing_device *queueing_find(const struct queueing *queueing, uint32_t ifindex);

/* Something stands in a device's way; the first reason of each direction is kept. 0 or -ENOMEM. */
int queueing_hold(struct queueing *queueing, uint32_t ifindex, bool egress, const char *reason);

/* TCA_FQ_MAX and the like of the newest kernel are below. */
#define QDISC_N_OPTIONS 32u

struct qdisc {
	uint32_t ifindex, handle, parent;
	char kind[IFNAMSIZ];
	bool sized; /* a table of sizes (TCA_STAB) belongs to it */
	/* Its own options by number, those of 1, 2 or 4 bytes with their values; a fifo's limit
	 * is 0. */
	uint32_t has; /* bit n: option n is there */
	uint32_t options[QDISC_N_OPTIONS];
	bool has_more; /* … and options over these */
};

/* What the kernel's own limit of a fifo depends on. */
struct qdisc_device {
	uint32_t queue_len; /* packets, txqueuelen */
	uint32_t frame_len; /* bytes, MTU and link header */
};

/* What the device is to be known for, before qdisc_holds() can say. */
bool qdisc_wants_device(const struct qdisc *qdisc);

/* Where filters that sort packets to classes may be attached to a qdisc that holds nothing back. */
bool qdisc_takes_filters(const struct qdisc *qdisc);

/* Filters at ingress (and, of clsact, at egress) belong to it; no packet is queued there. */
bool qdisc_is_hook(const struct qdisc *qdisc);

/*
 * Whether forwarded packets may be dropped, delayed or marked by more than the limits that the
 * kernel sets by itself. device: NULL if it is not wanted. reason: GUARD_REASON_LEN bytes,
 * untouched if not.
 */
bool qdisc_holds(const struct qdisc *qdisc, const struct qdisc_device *device, char *reason);

#endif
