// SPDX-License-Identifier: GPL-2.0-only
/*
 * Converts rules. One table lists the expressions of nf_tables. An expression that it lacks is
 * taken for a side effect.
 */
#include "nf_tables_parse.h"

#include <arpa/inet.h>
#include <endian.h>

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../netlink/parse_attr.h"

/* The most that an expression writes to registers; "payload" has a length of its own. */
#define LOAD_BYTES 16u

struct conversion {
	struct nf_parser *parser;
	struct guard_ruleset *rules;
	uint8_t family;
	const char *table;
	int error;
};

static void fail(struct conversion *c, int error)
{
	if (!c->error)
		c->error = error;
}

/* 0 if it is missing: libnftnl would dereference NULL. */
static uint32_t expr_u32(const struct nftnl_expr *expr, uint16_t attr)
{
	return nftnl_expr_is_set(expr, attr) ? nftnl_expr_get_u32(expr, attr) : 0;
}

/* The offset of the kernel's register; nft_parse_register(). */
static unsigned int register_offset(struct conversion *c, uint32_t reg)
{
	if (reg >= NFT_REG_1 && reg <= NFT_REG_4)
		return (reg - NFT_REG_1) * NFT_REG_SIZE;
	if (reg >= NFT_REG32_00 && reg <= NFT_REG32_15)
		return (reg - NFT_REG32_00) * NFT_REG32_SIZE;
	fail(c, -EBADMSG);
	return 0;
}

static unsigned int register_of(struct conversion *c, struct nftnl_expr *expr, uint16_t attr)
{
	return register_offset(c, expr_u32(expr, attr));
}

static void load_other(struct conversion *c, unsigned int reg, unsigned int bytes)
{
	if (bytes > GUARD_REGISTER_BYTES - reg)
		bytes = GUARD_REGISTER_BYTES - reg;
	guard_load(c->rules, reg, bytes, GUARD_META_OTHER);
}

/* GUARD_META_OTHER for keys that are not listed. */
static enum guard_meta meta_of(const struct conversion *c, uint32_t key)
{
	static const enum guard_meta metas[] = {
		[NFT_META_IIF] = GUARD_META_IIF,	 [NFT_META_OIF] = GUARD_META_OIF,
		[NFT_META_IIFNAME] = GUARD_META_IIFNAME, [NFT_META_OIFNAME] = GUARD_META_OIFNAME,
		[NFT_META_IIFTYPE] = GUARD_META_IIFTYPE, [NFT_META_OIFTYPE] = GUARD_META_OIFTYPE,
		[NFT_META_IIFKIND] = GUARD_META_IIFKIND, [NFT_META_OIFKIND] = GUARD_META_OIFKIND,
		[NFT_META_NFPROTO] = GUARD_META_NFPROTO, [NFT_META_PROTOCOL] = GUARD_META_PROTOCOL,
	};

	/* At a netdev hook it is NFPROTO_NETDEV. */
	if (key >= ARRAY_SIZE(metas) || (key == NFT_META_NFPROTO && c->family == NFPROTO_NETDEV))
		return GUARD_META_OTHER;
	return metas[key];
}

static const char *meta_text(uint32_t key)
{
	static const char *const texts[] = {
		[NFT_META_MARK] = "meta mark set",
		[NFT_META_PRIORITY] = "meta priority set",
		[NFT_META_NFTRACE] = "meta nftrace set",
		[NFT_META_PKTTYPE] = "meta pkttype set",
	};

	return key < ARRAY_SIZE(texts) && texts[key] ? texts[key] : "meta set";
}

static void convert_meta(struct conversion *c, struct nftnl_expr *expr)
{
	uint32_t key = expr_u32(expr, NFTNL_EXPR_META_KEY);
	enum guard_meta meta = meta_of(c, key);
	unsigned int reg;

	if (!nftnl_expr_is_set(expr, NFTNL_EXPR_META_DREG)) {
		guard_effect(c->rules, meta_text(key));
		return;
	}
	reg = register_of(c, expr, NFTNL_EXPR_META_DREG);
	if (meta == GUARD_META_OTHER)
		load_other(c, reg, LOAD_BYTES);
	else
		guard_load(c->rules, reg, 0, meta);
}

static void convert_payload(struct conversion *c, struct nftnl_expr *expr)
{
	if (nftnl_expr_is_set(expr, NFTNL_EXPR_PAYLOAD_DREG))
		load_other(c, register_of(c, expr, NFTNL_EXPR_PAYLOAD_DREG),
			   expr_u32(expr, NFTNL_EXPR_PAYLOAD_LEN));
	else
		guard_effect(c->rules, "payload set");
}

static void convert_cmp(struct conversion *c, struct nftnl_expr *expr)
{
	static const enum guard_compare compares[] = {
		[NFT_CMP_EQ] = GUARD_EQ,  [NFT_CMP_NEQ] = GUARD_NE, [NFT_CMP_LT] = GUARD_LT,
		[NFT_CMP_LTE] = GUARD_LE, [NFT_CMP_GT] = GUARD_GT,  [NFT_CMP_GTE] = GUARD_GE,
	};
	unsigned int reg = register_of(c, expr, NFTNL_EXPR_CMP_SREG);
	uint32_t op = expr_u32(expr, NFTNL_EXPR_CMP_OP);
	uint32_t bytes = 0;
	const void *value = nftnl_expr_get(expr, NFTNL_EXPR_CMP_DATA, &bytes);

	if (value && op < ARRAY_SIZE(compares))
		guard_compare(c->rules, reg, bytes, compares[op], value);
	else
		guard_may_match(c->rules);
}

static void convert_range(struct conversion *c, struct nftnl_expr *expr)
{
	unsigned int reg = register_of(c, expr, NFTNL_EXPR_RANGE_SREG);
	uint32_t from_bytes = 0, to_bytes = 0;
	const void *from = nftnl_expr_get(expr, NFTNL_EXPR_RANGE_FROM_DATA, &from_bytes);
	const void *to = nftnl_expr_get(expr, NFTNL_EXPR_RANGE_TO_DATA, &to_bytes);

	if (!from || !to || expr_u32(expr, NFTNL_EXPR_RANGE_OP) != NFT_RANGE_EQ) {
		guard_may_match(c->rules);
		return;
	}
	guard_compare(c->rules, reg, from_bytes, GUARD_GE, from);
	guard_compare(c->rules, reg, to_bytes, GUARD_LE, to);
}

static void convert_lookup(struct conversion *c, struct nftnl_expr *expr)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_LOOKUP_SET);
	const struct nf_object *set =
		name ? nf_find(c->parser, NF_SET, c->family, c->table, name) : NULL;
	bool maps = nftnl_expr_is_set(expr, NFTNL_EXPR_LOOKUP_DREG);
	uint32_t flags = expr_u32(expr, NFTNL_EXPR_LOOKUP_FLAGS);
	unsigned int reg = register_of(c, expr, NFTNL_EXPR_LOOKUP_SREG);

	if (!set) {
		fail(c, name ? -EINTR : -EBADMSG);
		return;
	}
	if (set->stateful)
		guard_effect(c->rules, "a set with state");
	if (maps && expr_u32(expr, NFTNL_EXPR_LOOKUP_DREG) == NFT_REG_VERDICT) {
		guard_lookup_verdict(c->rules, set->number, reg);
		return;
	}
	if (flags & ~(uint32_t)NFT_LOOKUP_F_INV)
		guard_may_match(c->rules);
	else
		guard_lookup(c->rules, set->number, reg, flags & NFT_LOOKUP_F_INV);
	if (maps)
		load_other(c, register_of(c, expr, NFTNL_EXPR_LOOKUP_DREG), GUARD_REGISTER_BYTES);
}

static void convert_verdict(struct conversion *c, struct nftnl_expr *expr)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_IMM_CHAIN);
	uint32_t code = expr_u32(expr, NFTNL_EXPR_IMM_VERDICT), chain = 0;
	enum guard_verdict verdict;

	if ((int32_t)code == NFT_BREAK) {
		guard_may_match(c->rules);
		return;
	}
	if (!nf_verdict(c->parser, c->family, c->table, code, name, &verdict, &chain))
		fail(c, -EINTR);
	else
		guard_verdict(c->rules, verdict, chain);
}

static void convert_immediate(struct conversion *c, struct nftnl_expr *expr)
{
	uint32_t bytes = 0;
	const void *value;

	if (nftnl_expr_is_set(expr, NFTNL_EXPR_IMM_VERDICT)) {
		convert_verdict(c, expr);
		return;
	}
	value = nftnl_expr_get(expr, NFTNL_EXPR_IMM_DATA, &bytes);
	if (value)
		guard_store(c->rules, register_of(c, expr, NFTNL_EXPR_IMM_DREG), bytes, value);
	else
		fail(c, -EBADMSG);
}

static void convert_ct(struct conversion *c, struct nftnl_expr *expr)
{
	guard_add_conntrack(c->rules);
	if (nftnl_expr_is_set(expr, NFTNL_EXPR_CT_DREG))
		load_other(c, register_of(c, expr, NFTNL_EXPR_CT_DREG), LOAD_BYTES);
	else
		guard_effect(c->rules, "ct set");
}

/* "inc" counts packets: each changes the number of the next one. */
static void convert_numgen(struct conversion *c, struct nftnl_expr *expr)
{
	if (expr_u32(expr, NFTNL_EXPR_NG_TYPE) != NFT_NG_RANDOM)
		guard_effect(c->rules, "numgen inc");
	load_other(c, register_of(c, expr, NFTNL_EXPR_NG_DREG), LOAD_BYTES);
}

static void convert_objref(struct conversion *c, struct nftnl_expr *expr)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_OBJREF_SET_NAME);
	const struct nf_object *set;

	if (name) {
		set = nf_find(c->parser, NF_SET, c->family, c->table, name);
		if (!set)
			fail(c, -EINTR);
		else if (!set->counters)
			guard_effect(c->rules, "a map of stateful objects");
		guard_may_match(c->rules);
	} else if (expr_u32(expr, NFTNL_EXPR_OBJREF_IMM_TYPE) != NFT_OBJECT_COUNTER) {
		guard_effect(c->rules, "a stateful object");
	}
}

static void effect_of(struct conversion *c, const char *what, const char *name, const char *tail)
{
	char text[GUARD_REASON_LEN];

	snprintf(text, sizeof(text), "%s %s%s", what, name, tail);
	guard_effect(c->rules, text);
}

/* Attributes of targets have the numbers of those of matches. */
_Static_assert((int)NFTNL_EXPR_MT_NAME == (int)NFTNL_EXPR_TG_NAME, "one function for both");

static void convert_extension(struct conversion *c, struct nftnl_expr *expr)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_MT_NAME);

	if (!name)
		fail(c, -EBADMSG);
	else if (!strcmp(nftnl_expr_get_str(expr, NFTNL_EXPR_NAME), "target"))
		xt_add_target(c->rules, name);
	else
		xt_add_match(c->rules, name, true);
}

static void convert_inner(struct conversion *c, struct nftnl_expr *expr)
{
	(void)expr;
	load_other(c, 0, GUARD_REGISTER_BYTES);
}

static const struct expression {
	const char *name;
	void (*convert)(struct conversion *c, struct nftnl_expr *expr);
	const char *effect; /* without convert: its side effect … */
	uint16_t dreg;	    /* … unless it has this attribute, and writes to a register */
	bool conntrack;	    /* needs connection tracking */
} expressions[] = {
	{ .name = "meta", .convert = convert_meta },
	{ .name = "cmp", .convert = convert_cmp },
	{ .name = "payload", .convert = convert_payload },
	{ .name = "counter" },
	{ .name = "immediate", .convert = convert_immediate },
	{ .name = "lookup", .convert = convert_lookup },
	{ .name = "ct", .convert = convert_ct },
	{ .name = "bitwise", .dreg = NFTNL_EXPR_BITWISE_DREG },
	{ .name = "match", .convert = convert_extension },
	{ .name = "target", .convert = convert_extension },
	{ .name = "range", .convert = convert_range },
	{ .name = "byteorder", .dreg = NFTNL_EXPR_BYTEORDER_DREG },
	{ .name = "last" },
	{ .name = "exthdr", .dreg = NFTNL_EXPR_EXTHDR_DREG, .effect = "exthdr set" },
	{ .name = "fib", .dreg = NFTNL_EXPR_FIB_DREG },
	{ .name = "hash", .dreg = NFTNL_EXPR_HASH_DREG },
	{ .name = "inner", .convert = convert_inner },
	{ .name = "numgen", .convert = convert_numgen },
	{ .name = "objref", .convert = convert_objref },
	{ .name = "osf", .dreg = NFTNL_EXPR_OSF_DREG },
	{ .name = "rt", .dreg = NFTNL_EXPR_RT_DREG },
	{ .name = "socket", .dreg = NFTNL_EXPR_SOCKET_DREG },
	{ .name = "tunnel", .dreg = NFTNL_EXPR_TUNNEL_DREG },
	{ .name = "xfrm", .dreg = NFTNL_EXPR_XFRM_DREG },
	{ .name = "connlimit", .effect = "ct count", .conntrack = true },
	{ .name = "dup", .effect = "dup" },
	{ .name = "dynset", .effect = "set update" },
	{ .name = "flow_offload", .effect = "flow offload", .conntrack = true },
	{ .name = "fwd", .effect = "fwd" },
	{ .name = "limit", .effect = "limit" },
	{ .name = "log", .effect = "log" },
	{ .name = "masq", .effect = "masquerade", .conntrack = true },
	{ .name = "nat", .effect = "nat", .conntrack = true },
	{ .name = "notrack", .effect = "notrack" },
	{ .name = "queue", .effect = "queue" },
	{ .name = "quota", .effect = "quota" },
	{ .name = "redir", .effect = "redirect", .conntrack = true },
	{ .name = "reject", .effect = "reject" },
	{ .name = "synproxy", .effect = "synproxy", .conntrack = true },
	{ .name = "tproxy", .effect = "tproxy", .conntrack = true }, /* defragments */
};

static const struct expression *find_expression(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++)
		if (!strcmp(expressions[i].name, name))
			return &expressions[i];
	return NULL;
}

static void convert_by_table(struct conversion *c, const struct expression *expression,
			     struct nftnl_expr *expr)
{
	bool loads = expression->dreg && nftnl_expr_is_set(expr, expression->dreg);

	if (expression->conntrack)
		guard_add_conntrack(c->rules);
	if (loads)
		load_other(c, register_of(c, expr, expression->dreg), GUARD_REGISTER_BYTES);
	else if (expression->effect)
		guard_effect(c->rules, expression->effect);
	else if (expression->dreg)
		fail(c, -EBADMSG);
}

static int convert_expression(struct nftnl_expr *expr, void *ctx)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_NAME);
	const struct expression *expression = find_expression(name);
	struct conversion *c = ctx;

	if (!expression)
		effect_of(c, "expression", name, ", unknown to sixlane");
	else if (expression->convert)
		expression->convert(c, expr);
	else
		convert_by_table(c, expression, expr);
	return c->error;
}

static const struct attr_spec rule_specs[NFTA_RULE_MAX + 1] = {
	[NFTA_RULE_TABLE] = ATTR_STRING(NFT_TABLE_MAXNAMELEN),
	[NFTA_RULE_CHAIN] = ATTR_STRING(NFT_CHAIN_MAXNAMELEN),
	[NFTA_RULE_HANDLE] = ATTR_U64,
	[NFTA_RULE_EXPRESSIONS] = ATTR_NEST,
};

static const struct attr_spec expression_specs[NFTA_EXPR_MAX + 1] = {
	[NFTA_EXPR_NAME] = ATTR_STRING(128),
	[NFTA_EXPR_DATA] = ATTR_NEST,
};

/*
 * Every expression must have a name: libnftnl does not check that. *missing (may be NULL): the
 * first name that libnftnl does not know.
 */
static int check_names(const struct nlattr *list, const char **missing)
{
	const struct nlattr *at[NFTA_EXPR_MAX + 1], *attr;
	struct nftnl_expr *expr;

	if (!list)
		return 0;
	mnl_attr_for_each_nested(attr, list)
	{
		if (attr_walk_nest(attr, expression_specs, ARRAY_SIZE(at), at) < 0 ||
		    !at[NFTA_EXPR_NAME])
			return -EBADMSG;
		if (!missing || *missing)
			continue;
		expr = nftnl_expr_alloc(mnl_attr_get_str(at[NFTA_EXPR_NAME]));
		if (!expr)
			*missing = mnl_attr_get_str(at[NFTA_EXPR_NAME]);
		else
			nftnl_expr_free(expr);
	}
	return 0;
}

/* libnftnl refuses the whole rule for one expression that it does not know. */
static int convert_refused(struct conversion *c, const struct nlattr *list)
{
	const char *missing = NULL;
	int r = check_names(list, &missing);

	if (r < 0 || !missing)
		return -EBADMSG;
	effect_of(c, "expression", missing, ", unknown to libnftnl");
	return 0;
}

static int convert(struct conversion *c, const struct nlmsghdr *nlh, const struct nlattr *list)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();
	int r;

	if (!rule)
		return -ENOMEM;
	if (nftnl_rule_nlmsg_parse(nlh, rule) < 0) {
		r = convert_refused(c, list);
	} else {
		(void)nftnl_expr_foreach(rule, convert_expression, c);
		r = c->error;
	}
	nftnl_rule_free(rule);
	return r;
}

int nf_parse_rule(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nlattr *at[NFTA_RULE_MAX + 1];
	struct nf_parser *parser = ctx;
	struct conversion c = { .parser = parser, .rules = parser->rules };
	const struct nf_object *chain;
	int r;

	if (!nf_family(nlh, &c.family))
		return 0;
	if (attr_walk_message(nlh, sizeof(struct nfgenmsg), rule_specs, ARRAY_SIZE(at), at, NULL) <
		    0 ||
	    !at[NFTA_RULE_TABLE] || !at[NFTA_RULE_CHAIN])
		return -EBADMSG;
	if (check_names(at[NFTA_RULE_EXPRESSIONS], NULL) < 0)
		return -EBADMSG;
	c.table = mnl_attr_get_str(at[NFTA_RULE_TABLE]);
	chain = nf_find(parser, NF_CHAIN, c.family, c.table, mnl_attr_get_str(at[NFTA_RULE_CHAIN]));
	if (!chain)
		return -EINTR;
	guard_add_rule(parser->rules, chain->number, be64toh(attr_u64(at[NFTA_RULE_HANDLE], 0)));
	r = convert(&c, nlh, at[NFTA_RULE_EXPRESSIONS]);
	return r < 0 ? r : guard_ruleset_error(parser->rules);
}
