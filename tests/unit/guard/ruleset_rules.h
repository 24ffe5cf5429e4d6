/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules as a person would write them, for tests of rulesets.
 */
#ifndef GUARD_RULESET_RULES_H
#define GUARD_RULESET_RULES_H

#include <net/if_arp.h>
#include <string.h>

#include "../../../user/guard/ruleset_query.h"

static const struct guard_iface lan = {
	.ifindex = 2, .type = ARPHRD_ETHER, .name = "lan0", .kind = ""
};
static const struct guard_iface wan = {
	.ifindex = 3, .type = ARPHRD_ETHER, .name = "wan0", .kind = "veth"
};
static const struct guard_iface tunnel = {
	.ifindex = 4, .type = ARPHRD_NONE, .name = "wg0", .kind = "wireguard"
};

/* A name as a register has it; one that ends in '*' is a prefix. */
static inline void compare_name(struct guard_ruleset *rules, enum guard_meta meta,
				enum guard_compare how, const char *name)
{
	size_t length = strlen(name);
	char padded[16] = { 0 };

	memcpy(padded, name, length);
	guard_load(rules, 16, 16, meta);
	guard_compare(rules, 16, name[length - 1] == '*' ? (unsigned int)length - 1 : 16, how,
		      padded);
}

static inline void iifname(struct guard_ruleset *rules, const char *name)
{
	compare_name(rules, GUARD_META_IIFNAME, GUARD_EQ, name);
}

static inline void oifname(struct guard_ruleset *rules, const char *name)
{
	compare_name(rules, GUARD_META_OIFNAME, GUARD_EQ, name);
}

/* Something of the packet that is not known before it comes. */
static inline void tcp_dport(struct guard_ruleset *rules)
{
	static const uint16_t port = 5632;

	guard_load(rules, 0, 2, GUARD_META_OTHER);
	guard_compare(rules, 0, 2, GUARD_EQ, &port);
}

static inline void set_name(struct guard_ruleset *rules, uint32_t set, const char *name)
{
	char padded[16] = { 0 };

	memcpy(padded, name, strlen(name));
	guard_add_element(rules, set, padded);
}

static inline void map_name(struct guard_ruleset *rules, uint32_t set, const char *name,
			    enum guard_verdict verdict, uint32_t chain)
{
	char padded[16] = { 0 };

	memcpy(padded, name, strlen(name));
	guard_add_verdict_element(rules, set, padded, verdict, chain);
}

/* An accepting or dropping base chain at the forward hook, in a table of its own. */
static inline uint32_t add_forward(struct guard_ruleset *rules, bool accepts)
{
	uint32_t table = guard_add_table(rules, "table inet fw");
	uint32_t chain = guard_add_chain(rules, table, "forward");

	guard_set_base(rules, chain, GUARD_HOOK_FORWARD, accepts, NULL, false);
	return chain;
}

static inline void add_rule(struct guard_ruleset *rules, uint32_t chain)
{
	static uint64_t handle;

	guard_add_rule(rules, chain, ++handle % 9 + 1);
}

#endif
