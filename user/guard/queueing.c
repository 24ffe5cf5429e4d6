// SPDX-License-Identifier: GPL-2.0-only
/*
 * What qdiscs do to forwarded packets. Redirected frames are never queued, so that a qdisc may be
 * left out only if it does no more than the ones that the kernel attaches by itself: queue, and
 * drop or mark under the limits that the kernel has chosen.
 *
 * Options that share the queue among flows (quanta, numbers of flows, bands, hashes) or that pace
 * sockets of this machine (fq's rates without maxrate, its horizon) limit no forwarded packet: the
 * kernel clears a packet's time of departure when it forwards (ip6_forward), and it has no socket.
 */
#include "queueing.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"

#define FQ_OFFLOAD_HORIZON_6_13 18 /* TCA_FQ_OFFLOAD_HORIZON, the last one so far */

void queueing_free(struct queueing *queueing)
{
	if (!queueing)
		return;
	free(queueing->at);
	free(queueing);
}

void queueing_freep(struct queueing **queueing)
{
	queueing_free(*queueing);
}

static size_t lower_bound(const struct queueing *queueing, uint32_t ifindex)
{
	size_t low = 0, high = queueing->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (queueing->at[middle].ifindex < ifindex)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct queueing_device *queueing_find(const struct queueing *queueing, uint32_t ifindex)
{
	size_t at = lower_bound(queueing, ifindex);

	return at < queueing->n && queueing->at[at].ifindex == ifindex ? &queueing->at[at] : NULL;
}

static struct queueing_device *find_or_add(struct queueing *queueing, uint32_t ifindex)
{
	size_t at = lower_bound(queueing, ifindex);

	if (at < queueing->n && queueing->at[at].ifindex == ifindex)
		return &queueing->at[at];
	if (queueing->n == queueing->capacity) {
		size_t capacity = queueing->capacity ? 2 * queueing->capacity : 16;
		struct queueing_device *grown =
			reallocarray(queueing->at, capacity, sizeof(*grown));

		if (!grown)
			return NULL;
		queueing->at = grown;
		queueing->capacity = capacity;
	}
	memmove(&queueing->at[at + 1], &queueing->at[at],
		(queueing->n - at) * sizeof(*queueing->at));
	queueing->at[at] = (struct queueing_device){ .ifindex = ifindex };
	queueing->n++;
	return &queueing->at[at];
}

int queueing_hold(struct queueing *queueing, uint32_t ifindex, bool egress, const char *reason)
{
	struct queueing_device *device = find_or_add(queueing, ifindex);
	char *at;

	if (!device)
		return -ENOMEM;
	at = egress ? device->egress : device->ingress;
	if (!at[0])
		snprintf(at, GUARD_REASON_LEN, "%s", reason);
	return 0;
}

/* An option of a kind that the kernel attaches by itself. */
struct option {
	const char *name; /* tc's word; NULL: no limit, whatever its value */
	uint32_t least;	  /* the kernel's own value, under which it is an operator's limit */
	bool strange;	  /* the kernel by itself never sets it */
};

/* sch_fq.c: fq_init(), fq_dump() */
static const struct option fq_options[] = {
	[TCA_FQ_PLIMIT] = { .name = "limit", .least = 10000 },
	[TCA_FQ_FLOW_PLIMIT] = { .name = "flow_limit", .least = 100 },
	[TCA_FQ_FLOW_MAX_RATE] = { .name = "maxrate", .least = UINT32_MAX },
	[TCA_FQ_CE_THRESHOLD] = { .name = "ce_threshold", .least = UINT32_MAX },
	[FQ_OFFLOAD_HORIZON_6_13] = { 0 },
};

/* sch_fq_codel.c: fq_codel_init(), codel_params_init(); times in microseconds as they are told */
static const struct option fq_codel_options[] = {
	[TCA_FQ_CODEL_TARGET] = { .name = "target", .least = 4999 },
	[TCA_FQ_CODEL_LIMIT] = { .name = "limit", .least = 10240 },
	[TCA_FQ_CODEL_INTERVAL] = { .name = "interval", .least = 99999 },
	[TCA_FQ_CODEL_ECN] = { .name = "ecn", .least = 1 },
	[TCA_FQ_CODEL_CE_THRESHOLD] = { .name = "ce_threshold", .strange = true },
	[TCA_FQ_CODEL_MEMORY_LIMIT] = { .name = "memory_limit", .least = 32u << 20 },
	[TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR] = { 0 },
	[TCA_FQ_CODEL_CE_THRESHOLD_MASK] = { 0 },
};

enum kind_how { KIND_PLAIN, KIND_PACKETS, KIND_BYTES, KIND_OPTIONS };

/* What the kernel attaches by itself, or may be told to (net.core.default_qdisc). */
static const struct kind {
	const char *name;
	const struct option *options; /* of KIND_OPTIONS, n of them */
	enum kind_how how;
	uint32_t n;
} kinds[] = {
	{ "noqueue", NULL, KIND_PLAIN, 0 },
	{ "mq", NULL, KIND_PLAIN, 0 },
	{ "pfifo_fast", NULL, KIND_PLAIN, 0 }, /* its limit is txqueuelen, also when that changes */
	{ "pfifo", NULL, KIND_PACKETS, 0 },
	{ "bfifo", NULL, KIND_BYTES, 0 },
	{ "fq", fq_options, KIND_OPTIONS, ARRAY_SIZE(fq_options) },
	{ "fq_codel", fq_codel_options, KIND_OPTIONS, ARRAY_SIZE(fq_codel_options) },
};

static const struct kind *kind_of(const struct qdisc *qdisc)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(qdisc->kind, kinds[i].name))
			return &kinds[i];
	return NULL;
}

bool qdisc_is_hook(const struct qdisc *qdisc)
{
	return qdisc->parent == TC_H_INGRESS &&
	       (!strcmp(qdisc->kind, "clsact") || !strcmp(qdisc->kind, "ingress"));
}

bool qdisc_wants_device(const struct qdisc *qdisc)
{
	const struct kind *kind = kind_of(qdisc);

	return kind && (kind->how == KIND_PACKETS || kind->how == KIND_BYTES);
}

/* The kernel finds a root without asking for its handle (0 of its own), but no other. */
bool qdisc_takes_filters(const struct qdisc *qdisc)
{
	return !strcmp(qdisc->kind, "fq_codel") && (qdisc->handle || qdisc->parent == TC_H_ROOT);
}

_printf_(3, 4) static bool hold(const struct qdisc *qdisc, char *reason, const char *format, ...)
{
	int used = snprintf(reason, GUARD_REASON_LEN, "qdisc %s %x:", qdisc->kind,
			    TC_H_MAJ(qdisc->handle) >> 16);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason + used, GUARD_REASON_LEN - (size_t)used, format, arguments);
	va_end(arguments);
	return true;
}

static bool option_holds(const struct qdisc *qdisc, const struct option *option, uint32_t n,
			 char *reason)
{
	bool has = qdisc->has & 1u << n;

	if (!option->name)
		return false;
	if (option->strange)
		return has && hold(qdisc, reason, " with %s", option->name);
	if (!has)
		return hold(qdisc, reason, " with an unknown %s", option->name);
	return qdisc->options[n] < option->least &&
	       hold(qdisc, reason, " with %s %u", option->name, qdisc->options[n]);
}

/* An option that is not known may be a limit. */
static bool options_hold(const struct qdisc *qdisc, const struct kind *kind, char *reason)
{
	uint32_t unknown = kind->n < QDISC_N_OPTIONS ? qdisc->has >> kind->n : 0;

	if (unknown || qdisc->has_more)
		return hold(qdisc, reason, " with options unknown to sixlane");
	for (uint32_t i = 0; i < kind->n; i++) {
		if (option_holds(qdisc, &kind->options[i], i, reason))
			return true;
	}
	return false;
}

/* fifo_init() */
static bool fifo_holds(const struct qdisc *qdisc, const struct kind *kind,
		       const struct qdisc_device *device, char *reason)
{
	uint64_t least = device ? device->queue_len : 0;

	if (!device || !(qdisc->has & 1))
		return hold(qdisc, reason, " with an unknown limit");
	if (kind->how == KIND_BYTES)
		least *= device->frame_len;
	return qdisc->options[0] < least &&
	       hold(qdisc, reason, " with limit %u", qdisc->options[0]);
}

bool qdisc_holds(const struct qdisc *qdisc, const struct qdisc_device *device, char *reason)
{
	const struct kind *kind = kind_of(qdisc);

	if (qdisc_is_hook(qdisc))
		return false;
	if (!kind)
		return hold(qdisc, reason, "%s", "");
	if (qdisc->sized)
		return hold(qdisc, reason, " with a size table");
	if (kind->how == KIND_PLAIN)
		return false;
	if (kind->how == KIND_OPTIONS)
		return options_hold(qdisc, kind, reason);
	return fifo_holds(qdisc, kind, device, reason);
}
