// SPDX-License-Identifier: GPL-2.0-only
/*
 * The messages of a small nf_tables ruleset, one of them mutated, through the guard's parsers and
 * then through all queries.
 *
 * Messages that libnftnl parses keep the framing of their attributes: for a wrong size it ends the
 * process ("kernel ABI is broken"). Chains, flowtables and notifications, which sixlane parses, are
 * mutated anywhere. With libFuzzer (see fuzz_parse.c) the input is one such message.
 */

#include <stdio.h>

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>

#include "../../user/guard/nf_tables_parse.h"
#include "../../user/netlink/parse_attr.h"
#include "../unit/guard/nf_messages.h"
#define MUTATE_ITERATIONS 100000
#include "mutate.h"

static void query_all(const struct guard_ruleset *rules)
{
	const struct guard_iface in = { .ifindex = 2, .type = 1, .name = "p0", .kind = "veth" };
	const struct guard_iface out = { .ifindex = 3, .type = 1, .name = "p1", .kind = "" };
	char reason[GUARD_REASON_LEN];

	for (enum guard_hook hook = 0; hook < GUARD_N_HOOKS; hook++) {
		(void)guard_ruleset_punts(rules, hook, &in, &out, reason);
		(void)guard_ruleset_punts(rules, hook, NULL, NULL, reason);
		(void)guard_ruleset_nat(rules, hook, reason);
	}
	(void)guard_ruleset_tracks(rules, reason);
	(void)guard_ruleset_flows(rules, &in, reason);
	(void)guard_ruleset_matches_device(rules, &in);
}

/* The input of libFuzzer is one message. */
static int parse(const uint8_t *data, size_t size)
{
	struct guard_ruleset *rules = guard_ruleset_new();
	struct nf_parser *parser = nf_parser_new(rules);
	_cleanup_free_ struct nlmsghdr *nlh = message_copy(data, size);

	if (nlh) {
		(void)nf_parse_chain(nlh, parser);
		(void)nf_parse_flowtable(nlh, parser);
		(void)nf_parser_concerns(nlh, parser);
		query_all(rules);
	}
	nf_parser_free(parser);
	guard_ruleset_free(rules);
	return 0;
}

FUZZ_ENTRY(parse)

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

/* --- the messages --- */

enum message { TABLE, CHAIN, BASE, FLOWTABLE, NAMES, MAP, RULE, ELEMENTS, N_MESSAGES };

static char messages[N_MESSAGES][MAX_BYTES] __attribute__((aligned(8)));

static const struct hook_device devices[] = { { "p0", 1, true },
					      { "p", 1, false },
					      { "q", 2, true } };

static void keep(enum message message, const struct nlmsghdr *nlh)
{
	memcpy(messages[message], nlh, nlh->nlmsg_len);
}

static void build_flowtable(void)
{
	struct nlmsghdr *nlh = flowtable_message("fw");

	put_hook(nlh, NFTA_FLOWTABLE_HOOK, NF_NETDEV_INGRESS, devices, ARRAY_SIZE(devices));
	mnl_attr_put_u32(nlh, NFTA_FLOWTABLE_FLAGS, 0);
	keep(FLOWTABLE, nlh);
}

static void build_base(void)
{
	struct nlmsghdr *nlh = chain_message(NFPROTO_INET, "fw", "base");

	put_hook(nlh, NFTA_CHAIN_HOOK, NF_INET_INGRESS, devices, ARRAY_SIZE(devices));
	mnl_attr_put_u32(nlh, NFTA_CHAIN_POLICY, htonl(NF_ACCEPT));
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TYPE, "filter");
	keep(BASE, nlh);
}

static void build_set(enum message message, const char *name, bool maps)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWSET, NFPROTO_INET);
	struct nftnl_set *set = nftnl_set_alloc();

	nftnl_set_set_str(set, NFTNL_SET_TABLE, "fw");
	nftnl_set_set_str(set, NFTNL_SET_NAME, name);
	nftnl_set_set_u32(set, NFTNL_SET_ID, 1);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, 16);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, maps ? NFT_SET_MAP : 0);
	if (maps)
		nftnl_set_set_u32(set, NFTNL_SET_DATA_TYPE, NFT_DATA_VERDICT);
	nftnl_set_nlmsg_build_payload(nlh, set);
	keep(message, nlh);
	nftnl_set_free(set);
}

/* The kernel gives all elements one type; libnftnl writes another one for each, and refuses that.
 */
static void renumber_elements(struct nlmsghdr *nlh)
{
	struct nlattr *list, *elem;

	mnl_attr_for_each(list, nlh, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(list) != NFTA_SET_ELEM_LIST_ELEMENTS)
			continue;
		mnl_attr_for_each_nested(elem, list) elem->nla_type = NFTA_LIST_ELEM | NLA_F_NESTED;
	}
}

static void build_elements(void)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWSETELEM, NFPROTO_INET);
	struct nftnl_set *set = nftnl_set_alloc();
	struct nftnl_set_elem *elem;

	nftnl_set_set_str(set, NFTNL_SET_TABLE, "fw");
	nftnl_set_set_str(set, NFTNL_SET_NAME, "map");
	for (unsigned int i = 0; i < 3; i++) {
		char key[16] = { 'p', (char)('0' + i) };

		elem = nftnl_set_elem_alloc();
		nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, key, sizeof(key));
		nftnl_set_elem_set_u32(elem, NFTNL_SET_ELEM_FLAGS, 0);
		nftnl_set_elem_set_u32(elem, NFTNL_SET_ELEM_VERDICT,
				       i ? (uint32_t)NFT_JUMP : NF_ACCEPT);
		if (i)
			nftnl_set_elem_set_str(elem, NFTNL_SET_ELEM_CHAIN, "chain");
		nftnl_set_elem_add(set, elem);
	}
	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	renumber_elements(nlh);
	keep(ELEMENTS, nlh);
	nftnl_set_free(set);
}

/* An expression: numbers, of which attribute 0 ends them, a string, and up to two values. */
struct expression {
	const char *name;
	struct {
		uint16_t attr;
		uint32_t value;
	} numbers[6];
	struct {
		uint16_t attr;
		const char *text;
		uint32_t bytes; /* 0: of a string */
	} values[2];
};

static const struct expression expressions[] = {
	{ "meta",
	  { { NFTNL_EXPR_META_KEY, NFT_META_IIFNAME }, { NFTNL_EXPR_META_DREG, NFT_REG_1 } },
	  {} },
	{ "cmp",
	  { { NFTNL_EXPR_CMP_SREG, NFT_REG_1 }, { NFTNL_EXPR_CMP_OP, NFT_CMP_EQ } },
	  { { NFTNL_EXPR_CMP_DATA, "p0\0", 3 } } },
	{ "lookup",
	  { { NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1 }, { NFTNL_EXPR_LOOKUP_FLAGS, 0 } },
	  { { NFTNL_EXPR_LOOKUP_SET, "names", 0 } } },
	{ "payload",
	  { { NFTNL_EXPR_PAYLOAD_DREG, NFT_REG32_04 },
	    { NFTNL_EXPR_PAYLOAD_BASE, 1 },
	    { NFTNL_EXPR_PAYLOAD_OFFSET, 8 },
	    { NFTNL_EXPR_PAYLOAD_LEN, 16 } },
	  {} },
	{ "range",
	  { { NFTNL_EXPR_RANGE_SREG, NFT_REG32_05 }, { NFTNL_EXPR_RANGE_OP, NFT_RANGE_EQ } },
	  { { NFTNL_EXPR_RANGE_FROM_DATA, "\1\2\3\4", 4 },
	    { NFTNL_EXPR_RANGE_TO_DATA, "\4\3\2\1", 4 } } },
	{ "byteorder",
	  { { NFTNL_EXPR_BYTEORDER_SREG, NFT_REG_2 },
	    { NFTNL_EXPR_BYTEORDER_DREG, NFT_REG_2 },
	    { NFTNL_EXPR_BYTEORDER_OP, 0 },
	    { NFTNL_EXPR_BYTEORDER_LEN, 4 },
	    { NFTNL_EXPR_BYTEORDER_SIZE, 4 } },
	  {} },
	{ "immediate",
	  { { NFTNL_EXPR_IMM_DREG, NFT_REG_3 } },
	  { { NFTNL_EXPR_IMM_DATA, "abcd", 4 } } },
	{ "ct", { { NFTNL_EXPR_CT_KEY, 0 }, { NFTNL_EXPR_CT_DREG, NFT_REG_4 } }, {} },
	{ "numgen",
	  { { NFTNL_EXPR_NG_DREG, NFT_REG_1 },
	    { NFTNL_EXPR_NG_MODULUS, 2 },
	    { NFTNL_EXPR_NG_TYPE, NFT_NG_RANDOM },
	    { NFTNL_EXPR_NG_OFFSET, 0 } },
	  {} },
	{ "match", { { NFTNL_EXPR_MT_REV, 0 } }, { { NFTNL_EXPR_MT_NAME, "comment", 0 } } },
	{ "objref",
	  { { NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER } },
	  { { NFTNL_EXPR_OBJREF_IMM_NAME, "c", 0 } } },
	{ "meta",
	  { { NFTNL_EXPR_META_KEY, NFT_META_OIF }, { NFTNL_EXPR_META_DREG, NFT_REG32_00 } },
	  {} },
	{ "lookup",
	  { { NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1 },
	    { NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT },
	    { NFTNL_EXPR_LOOKUP_FLAGS, 0 } },
	  { { NFTNL_EXPR_LOOKUP_SET, "map", 0 } } },
	{ "immediate",
	  { { NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT }, { NFTNL_EXPR_IMM_VERDICT, NFT_JUMP } },
	  { { NFTNL_EXPR_IMM_CHAIN, "chain", 0 } } },
};

static void add_expression(struct nftnl_rule *rule, const struct expression *expression)
{
	struct nftnl_expr *expr = nftnl_expr_alloc(expression->name);

	for (size_t i = 0; expression->numbers[i].attr; i++)
		nftnl_expr_set_u32(expr, expression->numbers[i].attr, expression->numbers[i].value);
	for (size_t i = 0; i < 2 && expression->values[i].attr; i++) {
		const char *text = expression->values[i].text;
		uint32_t bytes = expression->values[i].bytes;

		nftnl_expr_set(expr, expression->values[i].attr, text, bytes ?: strlen(text) + 1);
	}
	nftnl_rule_add_expr(rule, expr);
}

static void build_one_rule(void)
{
	struct nlmsghdr *nlh = nf_message(NFT_MSG_NEWRULE, NFPROTO_INET);
	struct nftnl_rule *rule = nftnl_rule_alloc();

	nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, "fw");
	nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, "base");
	nftnl_rule_set_u64(rule, NFTNL_RULE_HANDLE, 7);
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++)
		add_expression(rule, &expressions[i]);
	nftnl_rule_nlmsg_build_payload(nlh, rule);
	keep(RULE, nlh);
	nftnl_rule_free(rule);
}

static void build_messages(void)
{
	keep(TABLE, table_message(NFPROTO_INET));
	keep(CHAIN, chain_message(NFPROTO_INET, "fw", "chain"));
	build_base();
	build_flowtable();
	build_set(NAMES, "names", false);
	build_set(MAP, "map", true);
	build_one_rule();
	build_elements();
}

/* --- mutation --- */

/* Attributes from one end to the other. */
static bool is_nest(const struct nlattr *attr)
{
	struct attr_iterator iterator = attr_iterate(attr);
	const struct nlattr *next;
	size_t n = 0;
	int r;

	while ((r = attr_next(&iterator, &next)) > 0 && mnl_attr_get_type(next) <= 32)
		n++;
	return n && !r;
}

/* Changes a byte of a value, not of a length or a type, nor the NUL of a string. */
static void mutate_value(void *bytes, size_t size)
{
	struct nlattr *attrs[64], *attr = bytes;
	size_t n = 0, length;
	char *value;

	for (; (char *)attr < (char *)bytes + size && n < ARRAY_SIZE(attrs);
	     attr = mnl_attr_next(attr))
		attrs[n++] = attr;
	attr = attrs[random_below(n)];
	length = mnl_attr_get_payload_len(attr);
	value = mnl_attr_get_payload(attr);
	if (is_nest(attr))
		mutate_value(value, length);
	else if (length > 1)
		value[random_below(length - !value[length - 1])] = (char)random_next();
}

static int (*const parsers[N_MESSAGES])(const struct nlmsghdr *, void *) = {
	[TABLE] = nf_parse_table,	  [CHAIN] = nf_parse_chain,	  [BASE] = nf_parse_chain,
	[FLOWTABLE] = nf_parse_flowtable, [NAMES] = nf_parse_set,	  [MAP] = nf_parse_set,
	[RULE] = nf_parse_rule,		  [ELEMENTS] = nf_parse_elements,
};

static struct nlmsghdr *message_get(enum message message, bool mutated)
{
	const struct nlmsghdr *original = (const void *)messages[message];
	static uint8_t bytes[2 * MAX_BYTES] __attribute__((aligned(8)));
	size_t size = original->nlmsg_len, header = sizeof(*original);

	memcpy(bytes, original, size);
	if (mutated && (message == CHAIN || message == BASE || message == FLOWTABLE))
		return message_copy(bytes, header + mutate_often(bytes + header, size - header));
	header += sizeof(struct nfgenmsg);
	for (size_t n = mutated ? 1 + random_below(4) : 0; n > 0; n--)
		mutate_value(bytes + header, size - header);
	return message_copy(bytes, size);
}

/* Returns whether all messages were accepted. */
static bool run_once(void)
{
	struct guard_ruleset *rules = guard_ruleset_new();
	struct nf_parser *parser = nf_parser_new(rules);
	enum message chosen = random_below(N_MESSAGES);
	bool taken = true;

	for (enum message i = 0; i < N_MESSAGES; i++) {
		struct nlmsghdr *nlh = message_get(i, i == chosen);

		if (i == ELEMENTS)
			nf_sets_choose(parser);
		taken &= parsers[i](nlh, parser) == 0;
		(void)nf_parser_concerns(nlh, parser);
		free(nlh);
	}
	query_all(rules);
	nf_parser_free(parser);
	guard_ruleset_free(rules);
	return taken;
}

int main(int argc, char **argv)
{
	build_messages();
	return fuzz_main("fuzz_nf_tables", argc, argv, run_once);
}

#endif
