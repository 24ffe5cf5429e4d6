// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of nf_tables that no nft of Debian can be made to cause, and those that are malformed.
 * What ordinary rulesets come to is tested with the kernel (tests/e2e/test_guard_nft.py).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../../../user/guard/nf_tables_parse.h"
#include "../../../user/guard/nf_tables_rule.h"
#include "../../../user/guard/ruleset_query.h"
#include "../../../user/lib/util.h"
#include "../unit.h"
#include "ruleset_text.h"

static char buffer[4096] __attribute__((aligned(8)));

static struct nlmsghdr *message(uint16_t type, uint8_t family)
{
	memset(buffer, 0, sizeof(buffer));
	return nftnl_nlmsg_build_hdr(buffer, type, family, 0, 0);
}

static struct nlmsghdr *table_message(uint8_t family)
{
	struct nlmsghdr *nlh = message(NFT_MSG_NEWTABLE, family);

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, "fw");
	return nlh;
}

static struct nlmsghdr *chain_message(uint8_t family, const char *table)
{
	struct nlmsghdr *nlh = message(NFT_MSG_NEWCHAIN, family);

	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, "base");
	return nlh;
}

static void put_hook(struct nlmsghdr *nlh, uint32_t hook)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);

	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(hook));
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_put_u32(nlh, NFTA_CHAIN_POLICY, htonl(NF_ACCEPT));
}

/* A rule of the base chain with one expression; name NULL: without one. */
static struct nlmsghdr *rule_message(const char *name)
{
	struct nlmsghdr *nlh = message(NFT_MSG_NEWRULE, NFPROTO_INET);
	struct nlattr *list, *expression;

	mnl_attr_put_strz(nlh, NFTA_RULE_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_RULE_CHAIN, "base");
	mnl_attr_put_u64(nlh, NFTA_RULE_HANDLE, htobe64(7));
	list = mnl_attr_nest_start(nlh, NFTA_RULE_EXPRESSIONS);
	expression = mnl_attr_nest_start(nlh, NFTA_LIST_ELEM);
	if (name)
		mnl_attr_put_strz(nlh, NFTA_EXPR_NAME, name);
	mnl_attr_nest_end(nlh, expression);
	mnl_attr_nest_end(nlh, list);
	return nlh;
}

struct world {
	struct guard_ruleset *rules;
	struct nf_parser *parser;
};

static void open_world(struct world *world)
{
	struct nlmsghdr *nlh;

	world->rules = guard_ruleset_new();
	world->parser = nf_parser_new(world->rules);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_INET), world->parser), 0);
	nlh = chain_message(NFPROTO_INET, "fw");
	put_hook(nlh, NF_INET_FORWARD);
	assert_int_equal(nf_parse_chain(nlh, world->parser), 0);
}

static void close_world(struct world *world)
{
	nf_parser_free(world->parser);
	guard_ruleset_free(world->rules);
}

static void test_unknown_expression(void **state)
{
	char reason[GUARD_REASON_LEN];
	struct world world;

	open_world(&world);
	assert_int_equal(nf_parse_rule(rule_message("frobnicate"), world.parser), 0);
	assert_true(guard_ruleset_holds(world.rules, GUARD_HOOK_FORWARD, &lan, &wan, reason));
	assert_string_equal(reason, "table inet fw, chain base, rule handle 7: expression "
				    "frobnicate, unknown to libnftnl");
	close_world(&world);
}

static void test_malformed(void **state)
{
	struct nlmsghdr *nlh;
	struct world world;

	open_world(&world);
	assert_int_equal(nf_parse_rule(rule_message(NULL), world.parser), -EBADMSG);
	assert_int_equal(nf_parse_table(message(NFT_MSG_NEWTABLE, NFPROTO_INET), world.parser),
			 -EBADMSG);
	assert_int_equal(nf_parse_rule(message(NFT_MSG_NEWRULE, NFPROTO_INET), world.parser),
			 -EBADMSG);
	nlh = chain_message(NFPROTO_INET, "fw");
	nlh->nlmsg_len -= 5;
	assert_int_equal(nf_parse_chain(nlh, world.parser), -EBADMSG);
	nlh = chain_message(NFPROTO_INET, "fw");
	mnl_attr_nest_end(nlh, mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK));
	assert_int_equal(nf_parse_chain(nlh, world.parser), -EINTR); /* there is one of that name */
	assert_false(guard_ruleset_holds(world.rules, GUARD_HOOK_FORWARD, &lan, &wan, NULL));
	close_world(&world);
}

/* Of another ruleset than the messages before. */
static void test_what_was_not_told_of(void **state)
{
	struct world world;

	open_world(&world);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_INET), world.parser), -EINTR);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_INET, "other"), world.parser),
			 -EINTR);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_IPV6, "fw"), world.parser), -EINTR);
	close_world(&world);
}

static void test_other_families_are_left_out(void **state)
{
	struct world world;

	open_world(&world);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_IPV4), world.parser), 0);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_BRIDGE, "any"), world.parser), 0);
	assert_false(nf_parser_concerns(world.parser, chain_message(NFPROTO_IPV4, "fw")));
	close_world(&world);
}

static struct nlmsghdr *typed(struct nlmsghdr *nlh, uint16_t type)
{
	nlh->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | type;
	return nlh;
}

static void test_what_concerns(void **state)
{
	static const struct {
		uint16_t type;
		bool expected;
	} rows[] = {
		{ NFT_MSG_NEWTABLE, true },	{ NFT_MSG_DELTABLE, true },
		{ NFT_MSG_NEWCHAIN, true },	{ NFT_MSG_DELCHAIN, true },
		{ NFT_MSG_NEWRULE, true },	{ NFT_MSG_DELRULE, true },
		{ NFT_MSG_NEWSET, false },	{ NFT_MSG_DELSET, false },
		{ NFT_MSG_NEWOBJ, false },	{ NFT_MSG_NEWGEN, false },
		{ NFT_MSG_NEWFLOWTABLE, true }, { NFT_MSG_DELFLOWTABLE, true },
	};
	struct nlmsghdr *nlh;
	struct world world;

	open_world(&world);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(nf_parser_concerns(world.parser, typed(table_message(NFPROTO_INET),
									rows[i].type)),
				 rows[i].expected);
	/* Elements: of a set that is not known, and of one that cannot be told. */
	nlh = typed(message(NFT_MSG_NEWSETELEM, NFPROTO_INET), NFT_MSG_NEWSETELEM);
	assert_true(nf_parser_concerns(world.parser, nlh));
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, "set");
	assert_false(nf_parser_concerns(world.parser, nlh));
	close_world(&world);
}

static bool hangs_at(const char *device, uint16_t type, bool terminated)
{
	struct nlmsghdr *nlh = chain_message(NFPROTO_INET, "fw");
	struct world world = { .rules = guard_ruleset_new() };
	struct nlattr *hook, *devices;
	bool held;

	world.parser = nf_parser_new(world.rules);
	hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(NF_INET_INGRESS));
	devices = mnl_attr_nest_start(nlh, NFTA_HOOK_DEVS);
	mnl_attr_put(nlh, type, strlen(device) + terminated, device);
	mnl_attr_nest_end(nlh, devices);
	mnl_attr_nest_end(nlh, hook);
	{
		_cleanup_free_ void *copy = malloc(nlh->nlmsg_len);

		memcpy(copy, nlh, nlh->nlmsg_len);
		assert_int_equal(nf_parse_table(table_message(NFPROTO_INET), world.parser), 0);
		assert_int_equal(nf_parse_chain(copy, world.parser), 0);
	}
	held = guard_ruleset_holds(world.rules, GUARD_HOOK_INGRESS, &lan, NULL, NULL);
	close_world(&world);
	return held;
}

/* Prefixes as Linux 6.16 says them (without a NUL), and 6.18 (by another attribute). */
static void test_devices(void **state)
{
	assert_true(hangs_at("lan0", 1, true));
	assert_false(hangs_at("lan", 1, true));
	assert_true(hangs_at("lan", 1, false));
	assert_true(hangs_at("lan", 2, true));
	assert_false(hangs_at("wan", 2, true));
	assert_false(hangs_at("wan", 1, false));
}

/* At one device. flags: NFTA_FLOWTABLE_FLAGS; 0: older kernels do not say them. */
static enum guard_flows flows_of(const char *device, uint16_t type, uint32_t flags)
{
	struct nlmsghdr *nlh;
	struct nlattr *hook, *devices;
	enum guard_flows flows;
	char reason[GUARD_REASON_LEN] = "";
	struct world world;

	open_world(&world);
	nlh = message(NFT_MSG_NEWFLOWTABLE, NFPROTO_INET);
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_NAME, "f");
	hook = mnl_attr_nest_start(nlh, NFTA_FLOWTABLE_HOOK);
	mnl_attr_put_u32(nlh, NFTA_FLOWTABLE_HOOK_NUM, htonl(NF_NETDEV_INGRESS));
	devices = mnl_attr_nest_start(nlh, NFTA_FLOWTABLE_HOOK_DEVS);
	mnl_attr_put_strz(nlh, type, device);
	mnl_attr_nest_end(nlh, devices);
	mnl_attr_nest_end(nlh, hook);
	if (flags)
		mnl_attr_put_u32(nlh, NFTA_FLOWTABLE_FLAGS, htonl(flags));
	assert_int_equal(nf_parse_flowtable(nlh, world.parser), 0);
	flows = guard_ruleset_flows(world.rules, &lan, reason);
	assert_string_equal(reason, flows ? "table inet fw, flowtable f: forwards its flows" : "");
	close_world(&world);
	return flows;
}

static void test_flowtables(void **state)
{
	assert_int_equal(flows_of("lan0", 1, 0), GUARD_FLOWS_XDP);
	assert_int_equal(flows_of("lan", 2, 0), GUARD_FLOWS_XDP);
	assert_int_equal(flows_of("wan0", 1, 0), GUARD_FLOWS_NONE);
	assert_int_equal(flows_of("lan0", 1, NFT_FLOWTABLE_HW_OFFLOAD), GUARD_FLOWS_KERNEL);
	assert_int_equal(flows_of("lan0", 1, NFT_FLOWTABLE_COUNTER), GUARD_FLOWS_KERNEL);
}

static void test_flowtables_that_are_damaged(void **state)
{
	struct nlmsghdr *nlh;
	struct world world;

	open_world(&world);
	nlh = message(NFT_MSG_NEWFLOWTABLE, NFPROTO_INET);
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_NAME, "f");
	assert_int_equal(nf_parse_flowtable(nlh, world.parser), -EBADMSG);
	nlh = message(NFT_MSG_NEWFLOWTABLE, NFPROTO_INET);
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, "other");
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_NAME, "f");
	mnl_attr_nest_end(nlh, mnl_attr_nest_start(nlh, NFTA_FLOWTABLE_HOOK));
	assert_int_equal(nf_parse_flowtable(nlh, world.parser), -EINTR);
	assert_int_equal(
		nf_parse_flowtable(message(NFT_MSG_NEWFLOWTABLE, NFPROTO_IPV4), world.parser), 0);
	close_world(&world);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_expression),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_what_was_not_told_of),
		cmocka_unit_test(test_other_families_are_left_out),
		cmocka_unit_test(test_what_concerns),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_flowtables),
		cmocka_unit_test(test_flowtables_that_are_damaged),
	};

	return cmocka_run_group_tests_name("nf_tables messages", tests, NULL, NULL);
}
