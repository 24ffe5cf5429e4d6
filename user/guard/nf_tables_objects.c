// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser and its objects. Objects are found by name in a tree. Each is one allocation, with its
 * two names at the end.
 */
#include "nf_tables_parse.h"

#include <search.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../netlink/parse_attr.h"

struct nf_parser *nf_parser_new(struct guard_ruleset *rules)
{
	struct nf_parser *parser = calloc(1, sizeof(*parser));

	if (parser)
		parser->rules = rules;
	return parser;
}

void nf_parser_free(struct nf_parser *parser)
{
	if (!parser)
		return;
	tdestroy(parser->names, free);
	free(parser);
}

void nf_parser_freep(struct nf_parser **parser)
{
	nf_parser_free(*parser);
}

static int object_compare(const void *a, const void *b)
{
	const struct nf_object *one = a, *two = b;
	int order = one->kind - two->kind;

	if (!order)
		order = one->family - two->family;
	if (!order)
		order = strcmp(one->name, two->name);
	return order ? order : strcmp(one->table, two->table);
}

struct nf_object *nf_find(const struct nf_parser *parser, enum nf_kind kind, uint8_t family,
			  const char *table, const char *name)
{
	const struct nf_object key = {
		.kind = kind, .family = family, .table = table, .name = name
	};
	void *const *at = tfind(&key, &parser->names, object_compare);

	return at ? *at : NULL;
}

static struct nf_object *new_object(enum nf_kind kind, uint8_t family, const char *table,
				    const char *name)
{
	size_t table_bytes = strlen(table) + 1, name_bytes = strlen(name) + 1;
	struct nf_object *object = calloc(1, sizeof(*object) + table_bytes + name_bytes);
	char *text;

	if (!object)
		return NULL;
	text = (char *)(object + 1);
	memcpy(text, table, table_bytes);
	memcpy(text + table_bytes, name, name_bytes);
	object->kind = kind;
	object->family = family;
	object->table = text;
	object->name = text + table_bytes;
	return object;
}

static void append(struct nf_list *list, struct nf_object *object)
{
	if (list->last)
		list->last->next = object;
	else
		list->first = object;
	list->last = object;
}

int nf_add(struct nf_parser *parser, enum nf_kind kind, uint8_t family, const char *table,
	   const char *name, struct nf_object **out)
{
	struct nf_object *object;

	if (nf_find(parser, kind, family, table, name))
		return -EINTR;
	object = new_object(kind, family, table, name);
	if (!object)
		return -ENOMEM;
	if (!tsearch(object, &parser->names, object_compare)) {
		free(object);
		return -ENOMEM;
	}
	if (kind != NF_TABLE)
		append(kind == NF_CHAIN ? &parser->chains : &parser->sets, object);
	*out = object;
	return 0;
}

const char *nf_family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_NETDEV:
		return "netdev";
	}
	return NULL;
}

bool nf_family(const struct nlmsghdr *nlh, uint8_t *family)
{
	const struct nfgenmsg *header = attr_header(nlh, sizeof(*header));

	if (!header || !nf_family_name(header->nfgen_family))
		return false;
	*family = header->nfgen_family;
	return true;
}

bool nf_verdict(const struct nf_parser *parser, uint8_t family, const char *table, uint32_t code,
		const char *chain_name, enum guard_verdict *verdict, uint32_t *chain)
{
	const struct nf_object *target;

	switch ((int32_t)code) {
	case NFT_CONTINUE:
		*verdict = GUARD_CONTINUE;
		return true;
	case NFT_RETURN:
		*verdict = GUARD_RETURN;
		return true;
	case NF_ACCEPT:
		*verdict = GUARD_ACCEPT;
		return true;
	case NFT_JUMP:
	case NFT_GOTO:
		target = chain_name ? nf_find(parser, NF_CHAIN, family, table, chain_name) : NULL;
		if (!target)
			return false;
		*verdict = (int32_t)code == NFT_JUMP ? GUARD_JUMP : GUARD_GOTO;
		*chain = target->number;
		return true;
	}
	*verdict = GUARD_DROP; /* or NF_QUEUE */
	return true;
}
