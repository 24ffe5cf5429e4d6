// SPDX-License-Identifier: GPL-2.0-only
/*
 * One dump lists all qdiscs. For each qdisc that can have filters, a dump of its filters is ended
 * after the first one. tcx programs, which belong to no qdisc, are found by BPF_PROG_QUERY.
 *
 * The kernel dumps a block of filters that devices share as if it were the device's own.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>

#include "tc.h"

#define TIMEOUT_MS 5000
#define ATTEMPTS 8
/* Only qdiscs that need requests of their own count. */
#define MAX_QDISCS 262144u

/* BPF_TCX_INGRESS and _EGRESS of Linux 6.6, which the oldest headers lack. */
#define TCX_INGRESS_6_6 ((enum bpf_attach_type)46)
#define TCX_EGRESS_6_6 ((enum bpf_attach_type)47)
#define MAX_TCX 64u /* BPF_MPROG_MAX */

/* The result, and qdiscs that need requests of their own. */
struct reading {
	struct nl_socket *dump;
	struct nl_socket *filters; /* NULL after a dump that was ended early */
	struct queueing *queueing;
	struct qdisc *pending;
	size_t n, capacity;
};

static void reading_clear(struct reading *reading)
{
	nl_socket_free(reading->dump);
	nl_socket_free(reading->filters);
	queueing_free(reading->queueing);
	free(reading->pending);
}

const struct notifications tc_notifications = {
	.protocol = NETLINK_ROUTE,
	.groups = { RTNLGRP_TC },
	.is_change = tc_parse_is_change,
};

/* --- qdiscs ----------------------------------------------------------------------------------- */

static int add_pending(struct reading *reading, const struct qdisc *qdisc)
{
	if (reading->n == reading->capacity) {
		size_t capacity = reading->capacity ? 2 * reading->capacity : 64;
		struct qdisc *grown;

		if (capacity > MAX_QDISCS)
			return -E2BIG;
		grown = reallocarray(reading->pending, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		reading->pending = grown;
		reading->capacity = capacity;
	}
	reading->pending[reading->n++] = *qdisc;
	return 0;
}

static int check_qdisc(struct reading *reading, const struct qdisc *qdisc,
		       const struct qdisc_device *device)
{
	char reason[GUARD_REASON_LEN];

	if (!qdisc_punts(qdisc, device, reason))
		return 0;
	return queueing_add(reading->queueing, qdisc->ifindex, true, reason);
}

static int qdisc_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct reading *reading = ctx;
	struct qdisc qdisc;
	int r = tc_parse_qdisc(nlh, &qdisc);

	if (r)
		return r == -ENOMSG ? 0 : r;
	if (qdisc_is_hook(&qdisc) || qdisc_takes_filters(&qdisc) || qdisc_needs_device(&qdisc))
		r = add_pending(reading, &qdisc);
	if (!r && !qdisc_needs_device(&qdisc))
		r = check_qdisc(reading, &qdisc, NULL);
	return r;
}

static struct nlmsghdr *tc_request(void *buf, uint16_t type, uint32_t ifindex, uint32_t parent)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tcm;

	nlh->nlmsg_type = type;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_ifindex = (int)ifindex;
	tcm->tcm_parent = parent;
	return nlh;
}

#define TC_REQUEST_BYTES (MNL_ALIGN(sizeof(struct nlmsghdr)) + MNL_ALIGN(sizeof(struct tcmsg)))

static int qdiscs_dump(struct reading *reading)
{
	uint8_t buf[TC_REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));

	return nl_socket_dump(reading->dump, tc_request(buf, RTM_GETQDISC, 0, 0), qdisc_message,
			      reading, NULL, NULL, TIMEOUT_MS, NULL);
}

/* --- filters ---------------------------------------------------------------------------------- */

/* Keeps the first filter. */
static int filter_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct filter *filter = ctx;
	int r;

	if (filter->kind[0])
		return 0;
	r = tc_parse_filter(nlh, filter);
	return r == -ENOMSG ? 0 : r;
}

static int wait_for(const struct nl_socket *socket)
{
	struct pollfd pfd = { .fd = nl_socket_fd(socket), .events = POLLIN };
	int r;

	do
		r = poll(&pfd, 1, TIMEOUT_MS);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r ? 0 : -ETIMEDOUT;
}

/* The first filter of a class; kind is "" without one. Only to close its socket ends a dump early.
 */
static int filter_find(struct reading *reading, uint32_t ifindex, uint32_t class,
		       struct filter *filter)
{
	uint8_t buf[TC_REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int r = reading->filters ? 0 : nl_socket_new(NETLINK_ROUTE, 0, &reading->filters);

	*filter = (struct filter){ 0 };
	if (r)
		return r;
	r = nl_socket_dump_start(reading->filters, tc_request(buf, RTM_GETTFILTER, ifindex, class));
	if (!r)
		r = 1;
	while (r == 1 && !filter->kind[0]) {
		r = wait_for(reading->filters);
		if (!r)
			r = nl_socket_dump_next(reading->filters, filter_message, filter);
	}
	if (r) {
		nl_socket_free(reading->filters);
		reading->filters = NULL;
	}
	/* A filter was found, whatever else went wrong. */
	return filter->kind[0] ? 0 : r;
}

static int read_filter(struct reading *reading, const struct qdisc *qdisc, uint32_t class,
		       bool egress)
{
	char reason[GUARD_REASON_LEN];
	struct filter filter;
	int r = filter_find(reading, qdisc->ifindex, class, &filter);

	if (r || !filter.kind[0])
		return r;
	if (qdisc_is_hook(qdisc))
		snprintf(reason, sizeof(reason), "filter %s at %s (%s), priority %u", filter.kind,
			 egress ? "egress" : "ingress", qdisc->kind, filter.priority);
	else
		snprintf(reason, sizeof(reason), "filter %s of qdisc %s %x:, priority %u",
			 filter.kind, qdisc->kind, TC_H_MAJ(qdisc->handle) >> 16, filter.priority);
	return queueing_add(reading->queueing, qdisc->ifindex, egress, reason);
}

static int read_hook(struct reading *reading, const struct qdisc *qdisc)
{
	int r = read_filter(reading, qdisc, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), false);

	/* Any class of an ingress qdisc has the same filters. */
	if (r || strcmp(qdisc->kind, "clsact") != 0)
		return r;
	return read_filter(reading, qdisc, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), true);
}

static int device_message(const struct nlmsghdr *nlh, void *ctx)
{
	int r = tc_parse_device(nlh, ctx);

	return r == -ENOMSG ? 0 : r;
}

static int device_read(struct reading *reading, uint32_t ifindex, struct qdisc_device *device)
{
	uint8_t buf[MNL_ALIGN(sizeof(struct nlmsghdr)) + MNL_ALIGN(sizeof(struct ifinfomsg))]
		__attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_GETLINK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	return nl_socket_request_one(reading->dump, nlh, device_message, device, TIMEOUT_MS);
}

static int read_pending(struct reading *reading)
{
	struct qdisc_device device = { 0 };
	uint32_t known = 0; /* the ifindex of device: qdiscs of one device are adjacent */
	int r = 0;

	for (size_t i = 0; i < reading->n && !r; i++) {
		const struct qdisc *qdisc = &reading->pending[i];

		if (qdisc_is_hook(qdisc)) {
			r = read_hook(reading, qdisc);
		} else if (qdisc_takes_filters(qdisc)) {
			r = read_filter(reading, qdisc, qdisc->handle, true);
		} else {
			if (known != qdisc->ifindex)
				r = device_read(reading, qdisc->ifindex, &device);
			known = qdisc->ifindex;
			/* The device is gone, and its notification is on its way. */
			if (r == -ENODEV)
				r = known = 0;
			else if (!r)
				r = check_qdisc(reading, qdisc, &device);
		}
	}
	return r;
}

static int read_once(struct queueing **out)
{
	_cleanup_(reading_clear) struct reading reading = {
		.queueing = calloc(1, sizeof(*reading.queueing)),
	};
	int r = reading.queueing ? nl_socket_new(NETLINK_ROUTE, 0, &reading.dump) : -ENOMEM;

	if (!r)
		r = qdiscs_dump(&reading);
	if (!r)
		r = read_pending(&reading);
	if (r)
		return r;
	*out = reading.queueing;
	reading.queueing = NULL;
	return 0;
}

int tc_read(struct queueing **out)
{
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++)
		r = read_once(out);
	return r;
}

/* --- tcx ---------------------------------------------------------------------------------- */

int tc_read_tcx(uint32_t ifindex, bool egress, char *reason)
{
	uint32_t ids[MAX_TCX] = { 0 };
	struct bpf_prog_query_opts query = { .sz = sizeof(query),
					     .prog_ids = ids,
					     .prog_cnt = ARRAY_SIZE(ids) };
	int r = bpf_prog_query_opts((int)ifindex, egress ? TCX_EGRESS_6_6 : TCX_INGRESS_6_6,
				    &query);

	/* EINVAL: before Linux 6.6. */
	if (r && r != -EINVAL && r != -ENODEV && r != -ENOSPC)
		return r;
	reason[0] = '\0';
	if (r == -ENOSPC || (!r && query.prog_cnt))
		snprintf(reason, GUARD_REASON_LEN, "tcx program %u at %s", ids[0],
			 egress ? "egress" : "ingress");
	return 0;
}
