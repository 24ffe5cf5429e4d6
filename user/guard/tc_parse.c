// SPDX-License-Identifier: GPL-2.0-only
/* Options of qdiscs are parsed by their format; queueing.c knows what they mean. */
#include "tc.h"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "../netlink/parse_attr.h"

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
