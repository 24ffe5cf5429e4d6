// SPDX-License-Identifier: GPL-2.0-only
/*
 * Converts tables, chains, flowtables and sets, and classifies notifications. Elements are added
 * only to sets that nf_sets_choose() has found to matter.
 *
 * Chains and flowtables are parsed without libnftnl, which refuses a prefix of device names
 * ("eth*", Linux 6.16).
 */
#include "nf_tables_parse.h"

#include <arpa/inet.h>

#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>

#include "../netlink/parse_attr.h"

/* Newer than Debian 12's headers: NFTA_DEVICE_PREFIX. */
#define DEVICE_NAME 1
#define DEVICE_PREFIX 2

/* --- tables and chains --- */

static int add_table(struct nf_parser *parser, uint8_t family, const struct nftnl_table *table)
{
	const char *name = nftnl_table_get_str(table, NFTNL_TABLE_NAME);
	char text[NFT_TABLE_MAXNAMELEN + sizeof("table netdev ")];
	struct nf_object *object;
	int r;

	if (!name)
		return -EBADMSG;
	r = nf_add(parser, NF_TABLE, family, name, "", &object);
	if (r < 0)
		return r;
	object->flags = nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS);
	snprintf(text, sizeof(text), "table %s %s", nf_family_name(family), name);
	object->number = guard_add_table(parser->rules, text);
	return guard_ruleset_error(parser->rules);
}

int nf_parse_table(const struct nlmsghdr *nlh, void *ctx)
{
	struct nftnl_table *table;
	uint8_t family;
	int r = -EBADMSG;

	if (!nf_family(nlh, &family))
		return 0;
	table = nftnl_table_alloc();
	if (!table)
		return -ENOMEM;
	if (nftnl_table_nlmsg_parse(nlh, table) >= 0)
		r = add_table(ctx, family, table);
	nftnl_table_free(table);
	return r;
}

static const struct attr_spec chain_specs[NFTA_CHAIN_MAX + 1] = {
	[NFTA_CHAIN_TABLE] = ATTR_STRING(NFT_TABLE_MAXNAMELEN),
	[NFTA_CHAIN_NAME] = ATTR_STRING(NFT_CHAIN_MAXNAMELEN),
	[NFTA_CHAIN_HOOK] = ATTR_NEST,
	[NFTA_CHAIN_POLICY] = ATTR_U32,
	[NFTA_CHAIN_TYPE] = ATTR_STRING(32),
};

static const struct attr_spec hook_specs[NFTA_HOOK_MAX + 1] = {
	[NFTA_HOOK_HOOKNUM] = ATTR_U32,
	[NFTA_HOOK_DEV] = ATTR_ANY,
	[NFTA_HOOK_DEVS] = ATTR_NEST,
};

/* False: a hook that forwarded packets do not meet. */
static bool hook_of(uint8_t family, uint32_t number, enum guard_hook *hook)
{
	static const enum guard_hook hooks[] = {
		[NF_INET_PRE_ROUTING] = GUARD_HOOK_PREROUTING,
		[NF_INET_FORWARD] = GUARD_HOOK_FORWARD,
		[NF_INET_LOCAL_OUT] = GUARD_HOOK_OUTPUT,
		[NF_INET_POST_ROUTING] = GUARD_HOOK_POSTROUTING,
		[NF_INET_INGRESS] = GUARD_HOOK_INGRESS,
	};

	if (family == NFPROTO_NETDEV) {
		*hook = number == NF_NETDEV_INGRESS ? GUARD_HOOK_INGRESS : GUARD_HOOK_EGRESS;
		return true;
	}
	if (number >= ARRAY_SIZE(hooks) || number == NF_INET_LOCAL_IN)
		return false;
	*hook = hooks[number];
	return true;
}

/* What is attached to devices: a base chain, or a flowtable. */
struct attachment {
	struct guard_ruleset *rules;
	uint32_t number;       /* of the chain, or of the flowtable's table */
	const char *flowtable; /* NULL: a base chain */
	enum guard_hook hook;
	bool accepts, nat, to_xdp;
};

static void attach(const struct attachment *a, const char *device)
{
	if (a->flowtable)
		guard_add_flowtable(a->rules, a->number, a->flowtable, device, a->to_xdp);
	else
		guard_set_base(a->rules, a->number, a->hook, a->accepts, device, a->nat);
}

/* A name without its NUL is a prefix (Linux 6.16). */
static int attach_device(const struct attachment *a, const struct nlattr *attr, bool prefix)
{
	size_t size = mnl_attr_get_payload_len(attr);
	size_t length = strnlen(mnl_attr_get_payload(attr), size);
	char name[IFNAMSIZ + 1];

	prefix |= length == size;
	if (length + prefix >= IFNAMSIZ)
		return -EBADMSG;
	snprintf(name, sizeof(name), "%.*s%s", (int)length,
		 (const char *)mnl_attr_get_payload(attr), prefix ? "*" : "");
	attach(a, name);
	return 0;
}

static int attach_devices(const struct attachment *a, const struct nlattr *nest)
{
	const struct nlattr *attr;
	int r = 0;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) != DEVICE_NAME &&
		    mnl_attr_get_type(attr) != DEVICE_PREFIX)
			return -EBADMSG;
		r = attach_device(a, attr, mnl_attr_get_type(attr) == DEVICE_PREFIX);
		if (r < 0)
			break;
	}
	return r;
}

static int add_base(struct nf_parser *parser, const struct nf_object *chain,
		    const struct nlattr *const chain_at[])
{
	const struct nlattr *at[NFTA_HOOK_MAX + 1];
	const struct nlattr *type = chain_at[NFTA_CHAIN_TYPE];
	struct attachment base = {
		.rules = parser->rules,
		.number = chain->number,
		.accepts = ntohl(attr_u32(chain_at[NFTA_CHAIN_POLICY], 0)) == NF_ACCEPT,
		.nat = type && !strcmp(mnl_attr_get_str(type), "nat"),
	};

	if (attr_walk_nest(chain_at[NFTA_CHAIN_HOOK], hook_specs, ARRAY_SIZE(at), at) < 0 ||
	    !at[NFTA_HOOK_HOOKNUM])
		return -EBADMSG;
	if (!hook_of(chain->family, ntohl(attr_u32(at[NFTA_HOOK_HOOKNUM], 0)), &base.hook))
		return 0;
	if (base.hook != GUARD_HOOK_INGRESS && base.hook != GUARD_HOOK_EGRESS)
		attach(&base, NULL);
	else if (at[NFTA_HOOK_DEVS])
		return attach_devices(&base, at[NFTA_HOOK_DEVS]);
	else if (at[NFTA_HOOK_DEV])
		return attach_device(&base, at[NFTA_HOOK_DEV], false);
	return 0; /* a chain without devices is attached nowhere */
}

int nf_parse_chain(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nlattr *at[NFTA_CHAIN_MAX + 1];
	struct nf_object *table, *chain;
	struct nf_parser *parser = ctx;
	uint8_t family;
	int r;

	if (!nf_family(nlh, &family))
		return 0;
	if (attr_walk_message(nlh, sizeof(struct nfgenmsg), chain_specs, ARRAY_SIZE(at), at, NULL) <
		    0 ||
	    !at[NFTA_CHAIN_TABLE] || !at[NFTA_CHAIN_NAME])
		return -EBADMSG;
	table = nf_find(parser, NF_TABLE, family, mnl_attr_get_str(at[NFTA_CHAIN_TABLE]), "");
	if (!table)
		return -EINTR;
	r = nf_add(parser, NF_CHAIN, family, table->table, mnl_attr_get_str(at[NFTA_CHAIN_NAME]),
		   &chain);
	if (r < 0)
		return r;
	chain->number = guard_add_chain(parser->rules, table->number, chain->name);
	/* The chains of a dormant table are not registered. */
	if (at[NFTA_CHAIN_HOOK] && !(table->flags & NFT_TABLE_F_DORMANT))
		r = add_base(parser, chain, at);
	return r < 0 ? r : guard_ruleset_error(parser->rules);
}

/* --- flowtables --- */

static const struct attr_spec flowtable_specs[NFTA_FLOWTABLE_MAX + 1] = {
	[NFTA_FLOWTABLE_TABLE] = ATTR_STRING(NFT_TABLE_MAXNAMELEN),
	[NFTA_FLOWTABLE_NAME] = ATTR_STRING(NFT_NAME_MAXLEN),
	[NFTA_FLOWTABLE_HOOK] = ATTR_NEST,
	[NFTA_FLOWTABLE_FLAGS] = ATTR_U32,
};

static const struct attr_spec flowtable_hook_specs[NFTA_FLOWTABLE_HOOK_MAX + 1] = {
	[NFTA_FLOWTABLE_HOOK_DEVS] = ATTR_NEST,
};

/*
 * With any flag the kernel does more than to forward (it counts), or hardware forwards. A dormant
 * table's flowtables work, too.
 */
int nf_parse_flowtable(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nlattr *at[NFTA_FLOWTABLE_MAX + 1], *hook_at[NFTA_FLOWTABLE_HOOK_MAX + 1];
	struct nf_parser *parser = ctx;
	const struct nf_object *table;
	struct attachment flowtable;
	uint8_t family;
	int r = 0;

	if (!nf_family(nlh, &family))
		return 0;
	if (attr_walk_message(nlh, sizeof(struct nfgenmsg), flowtable_specs, ARRAY_SIZE(at), at,
			      NULL) < 0 ||
	    !at[NFTA_FLOWTABLE_TABLE] || !at[NFTA_FLOWTABLE_NAME] || !at[NFTA_FLOWTABLE_HOOK] ||
	    attr_walk_nest(at[NFTA_FLOWTABLE_HOOK], flowtable_hook_specs, ARRAY_SIZE(hook_at),
			   hook_at) < 0)
		return -EBADMSG;
	table = nf_find(parser, NF_TABLE, family, mnl_attr_get_str(at[NFTA_FLOWTABLE_TABLE]), "");
	if (!table)
		return -EINTR;
	flowtable = (struct attachment){
		.rules = parser->rules,
		.number = table->number,
		.flowtable = mnl_attr_get_str(at[NFTA_FLOWTABLE_NAME]),
		.to_xdp = !attr_u32(at[NFTA_FLOWTABLE_FLAGS], 0),
	};
	if (hook_at[NFTA_FLOWTABLE_HOOK_DEVS])
		r = attach_devices(&flowtable, hook_at[NFTA_FLOWTABLE_HOOK_DEVS]);
	return r < 0 ? r : guard_ruleset_error(parser->rules);
}

/* --- sets --- */

static int is_harmless(struct nftnl_expr *expr, void *ctx)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_NAME);

	(void)ctx;
	return strcmp(name, "counter") && strcmp(name, "last") ? -1 : 0;
}

static int add_set(struct nf_parser *parser, uint8_t family, struct nftnl_set *set)
{
	const char *table = nftnl_set_get_str(set, NFTNL_SET_TABLE);
	const char *name = nftnl_set_get_str(set, NFTNL_SET_NAME);
	struct nf_object *object;
	int r;

	if (!table || !name)
		return -EBADMSG;
	r = nf_add(parser, NF_SET, family, table, name, &object);
	if (r < 0)
		return r;
	object->flags = nftnl_set_get_u32(set, NFTNL_SET_FLAGS);
	object->key_bytes = nftnl_set_get_u32(set, NFTNL_SET_KEY_LEN);
	object->verdicts = object->flags & NFT_SET_MAP &&
			   nftnl_set_get_u32(set, NFTNL_SET_DATA_TYPE) == NFT_DATA_VERDICT;
	object->counters = object->flags & NFT_SET_OBJECT &&
			   nftnl_set_get_u32(set, NFTNL_SET_OBJ_TYPE) == NFT_OBJECT_COUNTER;
	/* Rules that add elements may give them any expression. */
	object->stateful =
		object->flags & NFT_SET_EVAL || nftnl_set_expr_foreach(set, is_harmless, NULL) < 0;
	object->number = guard_add_set(parser->rules, object->key_bytes);
	return guard_ruleset_error(parser->rules);
}

/* Parses a message by libnftnl, and calls add with the set. */
static int parse_set(const struct nlmsghdr *nlh, void *ctx,
		     int (*parse)(const struct nlmsghdr *nlh, struct nftnl_set *set),
		     int (*add)(struct nf_parser *parser, uint8_t family, struct nftnl_set *set))
{
	struct nftnl_set *set;
	uint8_t family;
	int r = -EBADMSG;

	if (!nf_family(nlh, &family))
		return 0;
	set = nftnl_set_alloc();
	if (!set)
		return -ENOMEM;
	if (parse(nlh, set) >= 0)
		r = add(ctx, family, set);
	nftnl_set_free(set);
	return r;
}

int nf_parse_set(const struct nlmsghdr *nlh, void *ctx)
{
	return parse_set(nlh, ctx, nftnl_set_nlmsg_parse, add_set);
}

/*
 * Elements with a lifetime, or that rules add, come and go without a notification. Keys of
 * intervals are not compared, so that only verdicts are of use.
 */
static bool is_needed(const struct nf_parser *parser, const struct nf_object *set)
{
	if (set->flags & (NFT_SET_TIMEOUT | NFT_SET_EVAL))
		return false;
	if (set->verdicts)
		return true;
	return !(set->flags & NFT_SET_INTERVAL) && guard_set_matters(parser->rules, set->number);
}

void nf_sets_choose(struct nf_parser *parser)
{
	size_t n = 0;

	for (struct nf_object *set = parser->sets.first; set; set = set->next) {
		set->needed = n < NF_MAX_SETS && is_needed(parser, set);
		n += set->needed;
		if (!set->needed)
			guard_set_unknown(parser->rules, set->number);
		else if (set->flags & NFT_SET_INTERVAL)
			guard_set_inexact(parser->rules, set->number);
	}
}

struct elements {
	struct nf_parser *parser;
	const struct nf_object *set;
	int error;
};

/* 0 if it is missing: libnftnl would dereference NULL. */
static uint32_t elem_u32(struct nftnl_set_elem *elem, uint16_t attr)
{
	return nftnl_set_elem_is_set(elem, attr) ? nftnl_set_elem_get_u32(elem, attr) : 0;
}

/* *key: NULL for the catch-all element. False: a key of a wrong size. */
static bool key_of(const struct elements *elements, struct nftnl_set_elem *elem, uint32_t flags,
		   const void **key)
{
	uint32_t bytes = 0;

	*key = NULL;
	if (flags & NFT_SET_ELEM_CATCHALL)
		return true;
	*key = nftnl_set_elem_get(elem, NFTNL_SET_ELEM_KEY, &bytes);
	return *key && bytes == elements->set->key_bytes;
}

static void add_verdict(struct elements *elements, struct nftnl_set_elem *elem, const void *key)
{
	const struct nf_object *set = elements->set;
	struct guard_ruleset *rules = elements->parser->rules;
	uint32_t code = elem_u32(elem, NFTNL_SET_ELEM_VERDICT), chain = 0;
	enum guard_verdict verdict;

	/* nft has no "break", and rulesets have none. */
	if (!nftnl_set_elem_is_set(elem, NFTNL_SET_ELEM_VERDICT))
		elements->error = -EBADMSG;
	else if ((int32_t)code == NFT_BREAK)
		guard_set_unknown(rules, set->number);
	else if (!nf_verdict(elements->parser, set->family, set->table, code,
			     nftnl_set_elem_get_str(elem, NFTNL_SET_ELEM_CHAIN), &verdict, &chain))
		elements->error = -EINTR;
	else
		guard_add_verdict_element(rules, set->number, key, verdict, chain);
}

/* An element with a limit or a quota of its own is found or not (nft_set_elem_update_expr()). */
static int add_element(struct nftnl_set_elem *elem, void *ctx)
{
	struct elements *elements = ctx;
	uint32_t flags = elem_u32(elem, NFTNL_SET_ELEM_FLAGS);
	const void *key;

	if (flags & NFT_SET_ELEM_INTERVAL_END)
		return 0;
	if (nftnl_set_elem_expr_foreach(elem, is_harmless, NULL) < 0)
		guard_set_unknown(elements->parser->rules, elements->set->number);
	if (!key_of(elements, elem, flags, &key))
		elements->error = -EBADMSG;
	else if (elements->set->verdicts)
		add_verdict(elements, elem, key);
	else
		guard_add_element(elements->parser->rules, elements->set->number, key);
	return elements->error;
}

static int add_elements(struct nf_parser *parser, uint8_t family, struct nftnl_set *set)
{
	const char *table = nftnl_set_get_str(set, NFTNL_SET_TABLE);
	const char *name = nftnl_set_get_str(set, NFTNL_SET_NAME);
	struct elements elements = { .parser = parser };

	if (!table || !name)
		return -EBADMSG;
	elements.set = nf_find(parser, NF_SET, family, table, name);
	if (!elements.set)
		return -EINTR;
	if (elements.set->needed)
		(void)nftnl_set_elem_foreach(set, add_element, &elements);
	return elements.error ? elements.error : guard_ruleset_error(parser->rules);
}

int nf_parse_elements(const struct nlmsghdr *nlh, void *ctx)
{
	return parse_set(nlh, ctx, nftnl_set_elems_nlmsg_parse, add_elements);
}

/* --- notifications --- */

static const struct attr_spec list_specs[NFTA_SET_ELEM_LIST_MAX + 1] = {
	[NFTA_SET_ELEM_LIST_TABLE] = ATTR_STRING(NFT_TABLE_MAXNAMELEN),
	[NFTA_SET_ELEM_LIST_SET] = ATTR_STRING(NFT_SET_MAXNAMELEN),
};

/* For an unknown set, the notification of the rule that looks it up is yet to come. */
static bool concerns_elements(const struct nf_parser *parser, const struct nlmsghdr *nlh,
			      uint8_t family)
{
	const struct nlattr *at[NFTA_SET_ELEM_LIST_MAX + 1];
	const struct nf_object *set;

	if (attr_walk_message(nlh, sizeof(struct nfgenmsg), list_specs, ARRAY_SIZE(at), at, NULL) <
		    0 ||
	    !at[NFTA_SET_ELEM_LIST_TABLE] || !at[NFTA_SET_ELEM_LIST_SET])
		return true;
	set = nf_find(parser, NF_SET, family, mnl_attr_get_str(at[NFTA_SET_ELEM_LIST_TABLE]),
		      mnl_attr_get_str(at[NFTA_SET_ELEM_LIST_SET]));
	return set && set->needed;
}

bool nf_parser_concerns(const struct nlmsghdr *nlh, const void *parser)
{
	uint8_t family;

	if (!parser)
		return true;
	if (NFNL_SUBSYS_ID(nlh->nlmsg_type) != NFNL_SUBSYS_NFTABLES || !nf_family(nlh, &family))
		return false;
	switch (NFNL_MSG_TYPE(nlh->nlmsg_type)) {
	case NFT_MSG_NEWTABLE:
	case NFT_MSG_DELTABLE:
	case NFT_MSG_NEWCHAIN:
	case NFT_MSG_DELCHAIN:
	case NFT_MSG_NEWRULE:
	case NFT_MSG_DELRULE:
	case NFT_MSG_NEWFLOWTABLE:
	case NFT_MSG_DELFLOWTABLE:
		return true;
	case NFT_MSG_NEWSETELEM:
	case NFT_MSG_DELSETELEM:
		return concerns_elements(parser, nlh, family);
	}
	return false;
}
