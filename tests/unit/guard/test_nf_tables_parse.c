// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that no nft of Debian can cause, and malformed ones. Ordinary rulesets are tested with
 * the kernel, by tests/e2e/test_guard_nft.py.
 */
#include "../unit.h"

#include <errno.h>

#include "../../../user/guard/nf_tables_parse.h"
#include "nf_messages.h"
#include "ruleset_text.h"

/* A rule of the base chain, with the expression of this name; NULL: without any. */
static struct nlmsghdr *rule_message(const char *name)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWRULE, NFPROTO_INET);
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
	put_hook(nlh, NFTA_CHAIN_HOOK, NF_INET_FORWARD, NULL, 0);
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
	assert_int_equal(nf_parse_rule(nf_message(NFT_MSG_NEWRULE, NFPROTO_INET), parser),
			 -EBADMSG);
	assert_int_equal(nf_parse_table(nf_message(NFT_MSG_NEWTABLE, NFPROTO_INET), parser),
			 -EBADMSG);
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
	put_hook(nlh, NFTA_FLOWTABLE_HOOK, NF_NETDEV_INGRESS, NULL, 0);
	assert_int_equal(nf_parse_flowtable(nlh, parser), -EINTR);
}

static void test_other_families_are_ignored(void **state)
{
	struct nlmsghdr *chain = chain_message(NFPROTO_BRIDGE, "any", "c");

	assert_int_equal(nf_parse_chain(chain, parser), 0);
	assert_int_equal(nf_parse_table(table_message(NFPROTO_IPV4), parser), 0);
	assert_int_equal(nf_parse_flowtable(nf_message(NFT_MSG_NEWFLOWTABLE, NFPROTO_IPV4), parser),
			 0);
	assert_false(nf_parser_concerns(table_message(NFPROTO_IPV4), parser));
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
		assert_int_equal(nf_parser_concerns(nf_message(rows[i].type, NFPROTO_INET), parser),
				 rows[i].expected);
	nlh = nf_message(NFT_MSG_NEWSETELEM, NFPROTO_INET);
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, "fw");
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, "unknown");
	assert_false(nf_parser_concerns(nlh, parser));
	assert_true(nf_parser_concerns(nlh, NULL)); /* nothing was read yet */
}

/* A prefix is a name without NUL in Linux 6.16, and has an attribute of its own in 6.18. */
static void test_devices(void **state)
{
	static const struct {
		struct hook_device device;
		bool matches_lan0;
	} rows[] = {
		{ { "lan0", 1, true }, true }, { { "lan", 1, true }, false },
		{ { "lan", 1, false }, true }, { { "lan", 2, true }, true },
		{ { "wan", 2, true }, false }, { { "wan", 1, false }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh;

		teardown(state);
		setup(state);
		nlh = chain_message(NFPROTO_INET, "fw", "in");
		put_hook(nlh, NFTA_CHAIN_HOOK, NF_INET_INGRESS, &rows[i].device, 1);
		assert_int_equal(nf_parse_chain(nlh, parser), 0);
		assert_int_equal(guard_ruleset_punts(rules, GUARD_HOOK_INGRESS, &lan, NULL, NULL),
				 rows[i].matches_lan0);
	}
}

static void test_flowtables(void **state)
{
	static const struct {
		struct hook_device device;
		uint32_t flags; /* 0: not in messages of older kernels */
		enum guard_flows expected;
	} rows[] = {
		{ { "lan0", 1, true }, 0, GUARD_FLOWS_XDP },
		{ { "lan", 2, true }, 0, GUARD_FLOWS_XDP },
		{ { "wan0", 1, true }, 0, GUARD_FLOWS_NONE },
		{ { "lan0", 1, true }, NFT_FLOWTABLE_HW_OFFLOAD, GUARD_FLOWS_KERNEL },
		{ { "lan0", 1, true }, NFT_FLOWTABLE_COUNTER, GUARD_FLOWS_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh;
		char reason[GUARD_REASON_LEN] = "";

		teardown(state);
		setup(state);
		nlh = flowtable_message("fw");
		put_hook(nlh, NFTA_FLOWTABLE_HOOK, NF_NETDEV_INGRESS, &rows[i].device, 1);
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
