/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic control of devices, as far as it may touch forwarded packets: filters at ingress and
 * egress, qdiscs that do more than queue. Pure.
 */
#ifndef GUARD_QUEUEING_H
#define GUARD_QUEUEING_H

#include "ruleset.h"

struct queueing_device {
	uint32_t ifindex;
	/* What stands in the way, for people: "filter at ingress (clsact), priority 49152", "qdisc
	 * htb 1:". "": nothing. */
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

#endif
