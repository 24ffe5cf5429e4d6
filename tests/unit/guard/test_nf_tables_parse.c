// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that no nft of Debian can cause, and malformed ones. Ordinary rulesets are tested with
 * the kernel, by tests/e2e/test_guard_nft.py.
 */
#include "../unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../../../user/guard/nf_tables_parse.h"
#include "../../../user/guard/nf_tables_rule.h"
#include "../../../user/guard/ruleset_query.h"
#include "../../../user/lib/util.h"
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

static struct nlmsghdr *chain_message(uint8_t family, const char *table, const char *name)
{
	struct nlmsghdr *nlh = message(NFT_MSG_NEWCHAIN, family);

	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, name);
	return nlh;
}

/* Of the base chain, with one expression; name NULL: without one. */
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

static struct nlmsghdr *flowtable_message(const char *table)
{
	struct nlmsghdr *nlh = message(NFT_MSG_NEWFLOWTABLE, NFPROTO_INET);

	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_NAME, "f");
	return nlh;
}

/* A hook of a chain or a flowtable; the attributes have the same numbers. device: NULL: none. */
static void put_hook(struct nlmsghdr *nlh, uint16_t nest, uint32_t number, const char *device,
		     uint16_t type, bool terminated)
{
	struct nlattr *hook = mnl_attr_nest_start(nlh, nest), *devices;

	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(number));
	if (device) {
		devices = mnl_attr_nest_start(
			nlh, nest == NFTA_CHAIN_HOOK ? NFTA_HOOK_DEVS : NFTA_FLOWTABLE_HOOK_DEVS);
		mnl_attr_put(nlh, type, strlen(device) + terminated, device);
		mnl_attr_nest_end(nlh, devices);
	}
	mnl_attr_nest_end(nlh, hook);
}

static struct guard_ruleset *rules;
static struct nf_parser *parser;

/* Table inet fw, with an accepting chain base at the forward hook. */
static int setup(void **state)
{
	struct nlmsghdr *nlh;

	rules = guard_ruleset_new();
	parser = nf_parser_new(rules);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_INET), parser), 0);
	nlh = chain_message(NFPROTO_INET, "fw", "base");
	put_hook(nlh, NFTA_CHAIN_HOOK, NF_INET_FORWARD, NULL, 0, false);
	mnl_attr_put_u32(nlh, NFTA_CHAIN_POLICY, htonl(NF_ACCEPT));
	assert_int_equal(nf_parse_chain(nlh, parser), 0);
	return 0;
}

static int teardown(void **state)
{
	nf_parser_free(parser);
	guard_ruleset_free(rules);
	return 0;
}

static void test_unknown_expression(void **state)
{
	char reason[GUARD_REASON_LEN];

	assert_int_equal(nf_parse_rule(rule_message("frobnicate"), parser), 0);
	assert_true(guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason));
	assert_string_equal(reason, "table inet fw, chain base, rule handle 7: expression "
				    "frobnicate, unknown to libnftnl");
}

static void test_malformed(void **state)
{
	struct nlmsghdr *nlh;

	assert_int_equal(nf_parse_rule(rule_message(NULL), parser), -EBADMSG);
	assert_int_equal(nf_parse_rule(message(NFT_MSG_NEWRULE, NFPROTO_INET), parser), -EBADMSG);
	assert_int_equal(nf_parse_table(message(NFT_MSG_NEWTABLE, NFPROTO_INET), parser), -EBADMSG);
	nlh = chain_message(NFPROTO_INET, "fw", "base");
	nlh->nlmsg_len -= 5;
	assert_int_equal(nf_parse_chain(nlh, parser), -EBADMSG);
	nlh = chain_message(NFPROTO_INET, "fw", "another");
	mnl_attr_nest_end(nlh, mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK));
	assert_int_equal(nf_parse_chain(nlh, parser), -EBADMSG);
	assert_int_equal(nf_parse_flowtable(flowtable_message("fw"), parser), -EBADMSG);
	assert_false(guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, &lan, &wan, NULL));
}

/* The ruleset has changed since the messages before. */
static void test_another_ruleset(void **state)
{
	struct nlmsghdr *nlh;

	assert_int_equal(nf_parse_table(table_message(NFPROTO_INET), parser), -EINTR);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_INET, "fw", "base"), parser), -EINTR);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_INET, "other", "c"), parser), -EINTR);
	assert_int_equal(nf_parse_chain(chain_message(NFPROTO_IPV6, "fw", "c"), parser), -EINTR);
	nlh = flowtable_message("other");
	put_hook(nlh, NFTA_FLOWTABLE_HOOK, NF_NETDEV_INGRESS, NULL, 0, false);
	assert_int_equal(nf_parse_flowtable(nlh, parser), -EINTR);
}

static void test_other_families_are_ignored(void **state)
{
	struct nlmsghdr *chain = chain_message(NFPROTO_BRIDGE, "any", "c");

	assert_int_equal(nf_parse_chain(chain, parser), 0);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_IPV4), parser), 0);
	assert_int_equal(nf_parse_flowtable(message(NFT_MSG_NEWFLOWTABLE, NFPROTO_IPV4), parser),
			 0);
	assert_false(nf_parser_concerns(parser, table_message(NFPROTO_IPV4)));
}

static void test_notifications(void **state)
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
		{ NFT_MSG_NEWSETELEM, true },	{ NFT_MSG_DELSETELEM, true }, /* of which set? */
	};
	struct nlmsghdr *nlh;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(nf_parser_concerns(parser, message(rows[i].type, NFPROTO_INET)),
				 rows[i].expected);
	nlh = message(NFT_MSG_NEWSETELEM, NFPROTO_INET);
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, "unknown");
	assert_false(nf_parser_concerns(parser, nlh));
}

/* A prefix is a name without NUL in Linux 6.16, and has an attribute of its own in 6.18. */
static void test_devices(void **state)
{
	static const struct {
		const char *device;
		uint16_t type;
		bool terminated, matches_lan0;
	} rows[] = {
		{ "lan0", 1, true, true }, { "lan", 1, true, false }, { "lan", 1, false, true },
		{ "lan", 2, true, true },  { "wan", 2, true, false }, { "wan", 1, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh;

		teardown(state);
		setup(state);
		nlh = chain_message(NFPROTO_INET, "fw", "in");
		put_hook(nlh, NFTA_CHAIN_HOOK, NF_INET_INGRESS, rows[i].device, rows[i].type,
			 rows[i].terminated);
		assert_int_equal(nf_parse_chain(nlh, parser), 0);
		assert_int_equal(guard_ruleset_punts(rules, GUARD_HOOK_INGRESS, &lan, NULL, NULL),
				 rows[i].matches_lan0);
	}
}

static void test_flowtables(void **state)
{
	static const struct {
		const char *device;
		uint16_t type;
		uint32_t flags; /* 0: not in messages of older kernels */
		enum guard_flows expected;
	} rows[] = {
		{ "lan0", 1, 0, GUARD_FLOWS_XDP },
		{ "lan", 2, 0, GUARD_FLOWS_XDP },
		{ "wan0", 1, 0, GUARD_FLOWS_NONE },
		{ "lan0", 1, NFT_FLOWTABLE_HW_OFFLOAD, GUARD_FLOWS_KERNEL },
		{ "lan0", 1, NFT_FLOWTABLE_COUNTER, GUARD_FLOWS_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh;
		char reason[GUARD_REASON_LEN] = "";

		teardown(state);
		setup(state);
		nlh = flowtable_message("fw");
		put_hook(nlh, NFTA_FLOWTABLE_HOOK, NF_NETDEV_INGRESS, rows[i].device, rows[i].type,
			 true);
		if (rows[i].flags)
			mnl_attr_put_u32(nlh, NFTA_FLOWTABLE_FLAGS, htonl(rows[i].flags));
		assert_int_equal(nf_parse_flowtable(nlh, parser), 0);
		assert_int_equal(guard_ruleset_flows(rules, &lan, reason), rows[i].expected);
		assert_string_equal(reason, rows[i].expected ? "table inet fw, flowtable f: "
							       "forwards its flows"
							     : "");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_unknown_expression), TEST(test_malformed),
		TEST(test_another_ruleset),    TEST(test_other_families_are_ignored),
		TEST(test_notifications),      TEST(test_devices),
		TEST(test_flowtables),
	};

	return cmocka_run_group_tests_name("nf_tables messages", tests, NULL, NULL);
}
