/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds messages about traffic control as the kernel does, for unit tests and the fuzzer. All are
 * built in one buffer.
 */
#ifndef GUARD_TC_BUILD_H
#define GUARD_TC_BUILD_H

#include <arpa/inet.h>
#include <linux/if_arp.h>
#include <linux/pkt_sched.h>

#include "../netlink/netlink_build.h"

static inline struct nlmsghdr *build_tc(uint16_t type, uint32_t handle, uint32_t parent,
					const char *kind)
{
	struct nlmsghdr *nlh = message_start();
	struct tcmsg *tcm = header_put(nlh, sizeof(*tcm), AF_UNSPEC);

	nlh->nlmsg_type = type;
	tcm->tcm_ifindex = 7;
	tcm->tcm_handle = handle;
	tcm->tcm_parent = parent;
	mnl_attr_put_strz(nlh, TCA_KIND, kind);
	return nlh;
}

/* With default options. */
static inline struct nlmsghdr *build_fq_codel(void)
{
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0x80010000, TC_H_ROOT, "fq_codel");
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_TARGET, 4999);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_LIMIT, 10240);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_INTERVAL, 99999);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_ECN, 1);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_QUANTUM, 1514);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_DROP_BATCH_SIZE, 64);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_MEMORY_LIMIT, 32u << 20);
	mnl_attr_put_u32(nlh, TCA_FQ_CODEL_FLOWS, 1024);
	mnl_attr_nest_end(nlh, options);
	return nlh;
}

static inline struct nlmsghdr *build_pfifo(void)
{
	const struct tc_fifo_qopt fifo = { .limit = 10 };
	struct nlmsghdr *nlh = build_tc(RTM_NEWQDISC, 0x10000, TC_H_ROOT, "pfifo");

	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(fifo), &fifo);
	return nlh;
}

static inline struct nlmsghdr *build_filter(void)
{
	struct nlmsghdr *nlh =
		build_tc(RTM_NEWTFILTER, 1, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), "flower");
	struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

	tcm->tcm_info = TC_H_MAKE(49152u << 16, htons(0x86dd));
	mnl_attr_put_u32(nlh, TCA_CHAIN, 0);
	return nlh;
}

static inline struct nlmsghdr *build_queue(void)
{
	struct nlmsghdr *nlh = build_link_unspec();
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_type = ARPHRD_ETHER;
	mnl_attr_put_u32(nlh, IFLA_TXQLEN, 1000);
	return nlh;
}

#endif
