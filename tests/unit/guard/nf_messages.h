/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of nf_tables about table fw, for unit tests and the fuzzer. The next message is built in
 * the same buffer.
 */
#ifndef UNIT_GUARD_NF_MESSAGES_H
#define UNIT_GUARD_NF_MESSAGES_H

#include <arpa/inet.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../netlink/netlink_build.h"

static inline struct nlmsghdr *nf_message(uint16_t type, uint8_t family)
{
	return nftnl_nlmsg_build_hdr((char *)message_start(), type, family, 0, 0);
}

static inline struct nlmsghdr *table_message(uint8_t family)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWTABLE, family);

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, "fw");
	mnl_attr_put_u32(nlh, NFTA_TABLE_FLAGS, 0);
	return nlh;
}

static inline struct nlmsghdr *chain_message(uint8_t family, const char *table, const char *name)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWCHAIN, family);

	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, name);
	return nlh;
}

static inline struct nlmsghdr *flowtable_message(const char *table)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWFLOWTABLE, NFPROTO_INET);

	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_NAME, "f");
	return nlh;
}

/* A device of a hook: the attribute's type, and whether the name has its NUL. */
struct hook_device {
	const char *name;
	uint16_t type;
	bool terminated;
};

/* A hook of a chain or a flowtable; the attributes have the same numbers. */
static inline void put_hook(struct nlmsghdr *nlh, uint16_t nest, uint32_t number,
			    const struct hook_device *devices, size_t n)
{
	struct nlattr *hook = mnl_attr_nest_start(nlh, nest), *list;

	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(number));
	if (n) {
		list = mnl_attr_nest_start(nlh, nest == NFTA_CHAIN_HOOK ? NFTA_HOOK_DEVS
									: NFTA_FLOWTABLE_HOOK_DEVS);
		for (size_t i = 0; i < n; i++)
			mnl_attr_put(nlh, devices[i].type,
				     strlen(devices[i].name) + devices[i].terminated,
				     devices[i].name);
		mnl_attr_nest_end(nlh, list);
	}
	mnl_attr_nest_end(nlh, hook);
}

#endif
