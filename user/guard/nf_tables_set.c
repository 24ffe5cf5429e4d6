// SPDX-License-Identifier: GPL-2.0-only
/* Converts sets. Elements are added only to sets that nf_sets_choose() has found to matter. */
#include "nf_tables_parse.h"

#include <errno.h>
#include <stdio.h>

#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>
#include <stdlib.h>
#include <string.h>

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
