// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that XDP redirects are never queued. So a qdisc may be bypassed only if it does no more
 * than the kernel's default ones: queue, and drop or mark under default limits.
 *
 * Options that share the queue among flows (quanta, numbers of flows, bands, hashes) or that pace
 * local sockets (fq's rates except maxrate, its horizon) limit no forwarded packet: it has no
 * socket, and ip6_forward() clears its departure time.
 */
#include "queueing.h"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>

#include "../netlink/parse_attr.h"

#define FQ_OFFLOAD_HORIZON_6_13 18 /* TCA_FQ_OFFLOAD_HORIZON, the last one so far */

void queueing_free(struct queueing *queueing)
{
	if (!queueing)
		return;
	free(queueing->at);
	free(queueing);
}

static int compare_devices(const void *a, const void *b)
{
	const struct queueing_device *one = a, *two = b;

	return one->ifindex < two->ifindex ? -1 : one->ifindex > two->ifindex;
}

struct queueing_device *queueing_find(const struct queueing *queueing, uint32_t ifindex)
{
	const struct queueing_device key = { .ifindex = ifindex };

	return queueing->n ? bsearch(&key, queueing->at, queueing->n, sizeof(key), compare_devices)
			   : NULL;
}

/* NULL on lack of memory. */
static struct queueing_device *add_device(struct queueing *queueing, uint32_t ifindex)
{
	size_t at = queueing->n;

	if (queueing->n == queueing->capacity) {
		size_t capacity = queueing->capacity ? 2 * queueing->capacity : 16;
		struct queueing_device *grown =
			reallocarray(queueing->at, capacity, sizeof(*grown));

		if (!grown)
			return NULL;
		queueing->at = grown;
		queueing->capacity = capacity;
	}
	while (at && queueing->at[at - 1].ifindex > ifindex)
		at--;
	memmove(&queueing->at[at + 1], &queueing->at[at],
		(queueing->n - at) * sizeof(*queueing->at));
	queueing->at[at] = (struct queueing_device){ .ifindex = ifindex };
	queueing->n++;
	return &queueing->at[at];
}

int queueing_add(struct queueing *queueing, uint32_t ifindex, bool egress, const char *reason)
{
	struct queueing_device *device =
		queueing_find(queueing, ifindex) ?: add_device(queueing, ifindex);
	char *at;

	if (!device)
		return -ENOMEM;
	at = egress ? device->egress : device->ingress;
	if (!at[0])
		snprintf(at, GUARD_REASON_LEN, "%s", reason);
	return 0;
}

/* --- qdiscs --- */

/* An option of a default qdisc. */
struct option {
	const char *name; /* as tc calls it; NULL: no limit, whatever its value */
	uint32_t minimum; /* the kernel's default; less is a limit */
	bool unset;	  /* by default it is not set at all */
};

/* sch_fq.c: fq_init(), fq_dump() */
static const struct option fq_options[] = {
	[TCA_FQ_PLIMIT] = { .name = "limit", .minimum = 10000 },
	[TCA_FQ_FLOW_PLIMIT] = { .name = "flow_limit", .minimum = 100 },
	[TCA_FQ_FLOW_MAX_RATE] = { .name = "maxrate", .minimum = UINT32_MAX },
	[TCA_FQ_CE_THRESHOLD] = { .name = "ce_threshold", .minimum = UINT32_MAX },
	[FQ_OFFLOAD_HORIZON_6_13] = { 0 },
};

/* sch_fq_codel.c: fq_codel_init(), codel_params_init(); times in microseconds as dumped */
static const struct option fq_codel_options[] = {
	[TCA_FQ_CODEL_TARGET] = { .name = "target", .minimum = 4999 },
	[TCA_FQ_CODEL_LIMIT] = { .name = "limit", .minimum = 10240 },
	[TCA_FQ_CODEL_INTERVAL] = { .name = "interval", .minimum = 99999 },
	[TCA_FQ_CODEL_ECN] = { .name = "ecn", .minimum = 1 },
	[TCA_FQ_CODEL_CE_THRESHOLD] = { .name = "ce_threshold", .unset = true },
	[TCA_FQ_CODEL_MEMORY_LIMIT] = { .name = "memory_limit", .minimum = 32u << 20 },
	[TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR] = { 0 },
	[TCA_FQ_CODEL_CE_THRESHOLD_MASK] = { 0 },
};

enum kind_how { KIND_PLAIN, KIND_PACKETS, KIND_BYTES, KIND_OPTIONS };

/* The default qdiscs, also those of net.core.default_qdisc. */
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

bool qdisc_needs_device(const struct qdisc *qdisc)
{
	const struct kind *kind = kind_of(qdisc);

	return kind && (kind->how == KIND_PACKETS || kind->how == KIND_BYTES);
}

/* The kernel finds the root qdisc also with handle 0, but no other. */
bool qdisc_takes_filters(const struct qdisc *qdisc)
{
	return !strcmp(qdisc->kind, "fq_codel") && (qdisc->handle || qdisc->parent == TC_H_ROOT);
}

_printf_(3, 4) static bool punt(const struct qdisc *qdisc, char *reason, const char *format, ...)
{
	int used = snprintf(reason, GUARD_REASON_LEN, "qdisc %s %x:", qdisc->kind,
			    TC_H_MAJ(qdisc->handle) >> 16);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason + used, GUARD_REASON_LEN - (size_t)used, format, arguments);
	va_end(arguments);
	return true;
}

static bool option_punts(const struct qdisc *qdisc, const struct option *option, uint32_t n,
			 char *reason)
{
	bool has = qdisc->has & 1u << n;

	if (!option->name)
		return false;
	if (option->unset)
		return has && punt(qdisc, reason, " with %s", option->name);
	if (!has)
		return punt(qdisc, reason, " with an unknown %s", option->name);
	return qdisc->options[n] < option->minimum &&
	       punt(qdisc, reason, " with %s %u", option->name, qdisc->options[n]);
}

static bool options_punt(const struct qdisc *qdisc, const struct kind *kind, char *reason)
{
	uint32_t unknown = kind->n < QDISC_N_OPTIONS ? qdisc->has >> kind->n : 0;

	if (unknown || qdisc->has_more)
		return punt(qdisc, reason, " with options unknown to sixlane");
	for (uint32_t i = 0; i < kind->n; i++)
		if (option_punts(qdisc, &kind->options[i], i, reason))
			return true;
	return false;
}

/* fifo_init() */
static bool fifo_punts(const struct qdisc *qdisc, const struct kind *kind,
		       const struct qdisc_device *device, char *reason)
{
	uint64_t minimum = device ? device->queue_len : 0;

	if (!device || !(qdisc->has & 1))
		return punt(qdisc, reason, " with an unknown limit");
	if (kind->how == KIND_BYTES)
		minimum *= device->frame_len;
	return qdisc->options[0] < minimum &&
	       punt(qdisc, reason, " with limit %u", qdisc->options[0]);
}

bool qdisc_punts(const struct qdisc *qdisc, const struct qdisc_device *device, char *reason)
{
	const struct kind *kind = kind_of(qdisc);

	if (qdisc_is_hook(qdisc))
		return false;
	if (!kind)
		return punt(qdisc, reason, "%s", "");
	if (qdisc->has_size_table)
		return punt(qdisc, reason, " with a size table");
	if (kind->how == KIND_PLAIN)
		return false;
	if (kind->how == KIND_OPTIONS)
		return options_punt(qdisc, kind, reason);
	return fifo_punts(qdisc, kind, device, reason);
}

/* --- messages: options are parsed by their format --- */

static const struct attr_spec tc_attrs[] = {
	[TCA_KIND] = ATTR_STRING(IFNAMSIZ),
	[TCA_OPTIONS] = ATTR_ANY,
	[TCA_STAB] = ATTR_ANY,
};

static const struct attr_spec link_attrs[] = {
	[IFLA_MTU] = ATTR_U32,
	[IFLA_TXQLEN] = ATTR_U32,
};

static void option_set(struct qdisc *qdisc, const struct nlattr *attr)
{
	uint16_t type = mnl_attr_get_type(attr);
	size_t size = mnl_attr_get_payload_len(attr);

	if (type >= QDISC_N_OPTIONS) {
		qdisc->has_more = true;
		return;
	}
	qdisc->has |= 1u << type;
	if (size == sizeof(uint8_t))
		qdisc->options[type] = attr_u8(attr, 0);
	else if (size == sizeof(uint16_t))
		qdisc->options[type] = attr_u16(attr, 0);
	else if (size == sizeof(uint32_t))
		qdisc->options[type] = attr_u32(attr, 0);
}

static int options_parse(const struct nlattr *options, struct qdisc *qdisc)
{
	const struct nlattr *attr = mnl_attr_get_payload(options);
	size_t left = mnl_attr_get_payload_len(options), step;

	while (left > 0) {
		if (!attr_fits(attr, left))
			return -EBADMSG;
		option_set(qdisc, attr);
		step = MNL_ALIGN(mnl_attr_get_len(attr));
		if (step >= left)
			break; /* the last one may have no padding */
		left -= step;
		attr = mnl_attr_next(attr);
	}
	return 0;
}

static int fifo_parse(const struct nlattr *options, struct qdisc *qdisc)
{
	struct tc_fifo_qopt fifo;

	if (mnl_attr_get_payload_len(options) < sizeof(fifo))
		return -EBADMSG;
	attr_copy(&fifo, options, sizeof(fifo));
	qdisc->has = 1;
	qdisc->options[0] = fifo.limit;
	return 0;
}

/* Other kinds have structures, or no options. */
static int kind_parse(const struct nlattr *options, struct qdisc *qdisc)
{
	if (!options)
		return 0;
	if (!strcmp(qdisc->kind, "pfifo") || !strcmp(qdisc->kind, "bfifo"))
		return fifo_parse(options, qdisc);
	if (!strcmp(qdisc->kind, "fq") || !strcmp(qdisc->kind, "fq_codel"))
		return options_parse(options, qdisc);
	return 0;
}

/* Checks a message about traffic control, which has TCA_KIND. 0, -ENOMSG, -EBADMSG. */
static int tc_message(const struct nlmsghdr *nlh, uint16_t type, const struct tcmsg **tcm,
		      const struct nlattr **at)
{
	int r;

	*tcm = attr_header(nlh, sizeof(**tcm));
	if (nlh->nlmsg_type != type)
		return -ENOMSG;
	if (!*tcm)
		return -EBADMSG;
	r = attr_walk_message(nlh, sizeof(**tcm), tc_attrs, ARRAY_SIZE(tc_attrs), at, NULL);
	return r < 0 || at[TCA_KIND] ? r : -EBADMSG;
}

int tc_parse_qdisc(const struct nlmsghdr *nlh, struct qdisc *out)
{
	const struct nlattr *at[ARRAY_SIZE(tc_attrs)];
	const struct tcmsg *tcm;
	struct qdisc qdisc = { 0 };
	int r = tc_message(nlh, RTM_NEWQDISC, &tcm, at);

	if (r < 0)
		return r;
	if (tcm->tcm_ifindex <= 0)
		return -EBADMSG;
	attr_copy_string(qdisc.kind, sizeof(qdisc.kind), at[TCA_KIND]);
	qdisc.ifindex = (uint32_t)tcm->tcm_ifindex;
	qdisc.handle = tcm->tcm_handle;
	qdisc.parent = tcm->tcm_parent;
	qdisc.has_size_table = at[TCA_STAB];
	r = kind_parse(at[TCA_OPTIONS], &qdisc);
	if (r < 0)
		return r;
	*out = qdisc;
	return 0;
}

int tc_parse_filter(const struct nlmsghdr *nlh, struct filter *out)
{
	const struct nlattr *at[ARRAY_SIZE(tc_attrs)];
	const struct tcmsg *tcm;
	int r = tc_message(nlh, RTM_NEWTFILTER, &tcm, at);

	if (r < 0)
		return r;
	attr_copy_string(out->kind, sizeof(out->kind), at[TCA_KIND]);
	out->priority = TC_H_MAJ(tcm->tcm_info) >> 16;
	return 0;
}

/* Netlink does not report what psched_mtu() adds for the link header. */
int tc_parse_device(const struct nlmsghdr *nlh, struct qdisc_device *out)
{
	const struct ifinfomsg *ifi = attr_header(nlh, sizeof(*ifi));
	const struct nlattr *at[ARRAY_SIZE(link_attrs)];
	uint32_t header;
	int r;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return -ENOMSG;
	if (!ifi)
		return -EBADMSG;
	r = attr_walk_message(nlh, sizeof(*ifi), link_attrs, ARRAY_SIZE(link_attrs), at, NULL);
	if (r < 0)
		return r;
	if (!at[IFLA_MTU] || !at[IFLA_TXQLEN])
		return -EBADMSG;
	header = ifi->ifi_type == ARPHRD_ETHER ? ETH_HLEN : 0;
	out->queue_len = attr_u32(at[IFLA_TXQLEN], 0);
	out->frame_len = attr_u32(at[IFLA_MTU], 0) + header;
	return 0;
}

bool tc_parse_is_change(const struct nlmsghdr *nlh, const void *ctx)
{
	(void)ctx;
	switch (nlh->nlmsg_type) {
	case RTM_NEWQDISC:
	case RTM_DELQDISC:
	case RTM_NEWTFILTER:
	case RTM_DELTFILTER:
	case RTM_NEWCHAIN:
	case RTM_DELCHAIN:
		return true;
	default:
		return false;
	}
}
