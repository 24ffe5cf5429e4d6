// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables, chains and flowtables of nf_tables into a ruleset, and what notifications mean for it.
 * What hangs at devices is read without libnftnl, which refuses a prefix ("eth*", Linux 6.16).
 */
#include "nf_tables_parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "../netlink/parse_attr.h"
#include "nf_tables_internal.h"

/* Newer than Debian 12's headers: NFTA_DEVICE_PREFIX. */
#define DEVICE_NAME 1
#define DEVICE_PREFIX 2

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
	free(parser->chains.at);
	free(parser->sets.at);
	free(parser);
}

void nf_parser_freep(struct nf_parser **parser)
{
	nf_parser_free(*parser);
}

/* --- names --- */

static int object_compare(const void *a, const void *b)
{
	const struct nf_object *one = a, *two = b;
	int order;

	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->family != two->family)
		return one->family < two->family ? -1 : 1;
	order = strcmp(one->name, two->name);
	return order ? order : strcmp(one->table, two->table);
}

struct nf_object *nf_find(const struct nf_parser *parser, enum nf_kind kind, uint8_t family,
			  const char *table, const char *name)
{
	const struct nf_object wanted = {
		.kind = kind, .family = family, .table = table, .name = name
	};
	void *const *at = tfind(&wanted, &parser->names, object_compare);

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

static bool reserve(struct nf_objects *objects)
{
	size_t room = objects->room ? 2 * objects->room : 16;
	struct nf_object **grown;

	if (objects->n < objects->room)
		return true;
	grown = realloc(objects->at, room * sizeof(struct nf_object *));
	if (!grown)
		return false;
	objects->at = grown;
	objects->room = room;
	return true;
}

int nf_add(struct nf_parser *parser, enum nf_kind kind, uint8_t family, const char *table,
	   const char *name, struct nf_object **out)
{
	struct nf_objects *list = kind == NF_CHAIN ? &parser->chains : &parser->sets;
	struct nf_object *object, **at;

	if (nf_find(parser, kind, family, table, name))
		return -EINTR;
	if (kind != NF_TABLE && !reserve(list))
		return -ENOMEM;
	object = new_object(kind, family, table, name);
	if (!object)
		return -ENOMEM;
	at = tsearch(object, &parser->names, object_compare);
	if (!at) {
		free(object);
		return -ENOMEM;
	}
	if (kind != NF_TABLE)
		list->at[list->n++] = object;
	*out = object;
	return 0;
}

int nf_parser_chains(const struct nf_parser *parser, nf_name_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0; i < parser->chains.n && r == 0; i++) {
		const struct nf_object *chain = parser->chains.at[i];
		const struct nf_name name = { .family = chain->family,
					      .table = chain->table,
					      .name = chain->name };

		r = fn(ctx, &name);
	}
	return r;
}

static const char *family_name(uint8_t family)
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

	if (!header || !family_name(header->nfgen_family))
		return false;
	*family = header->nfgen_family;
	return true;
}

/* --- tables and chains --- */

static int add_table(struct nf_parser *parser, uint8_t family, const struct nftnl_table *table)
{
	const char *name = nftnl_table_get_str(table, NFTNL_TABLE_NAME);
	char words[NFT_TABLE_MAXNAMELEN + sizeof("table netdev ")];
	struct nf_object *object;
	int r;

	if (!name)
		return -EBADMSG;
	r = nf_add(parser, NF_TABLE, family, name, "", &object);
	if (r < 0)
		return r;
	object->flags = nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS);
	snprintf(words, sizeof(words), "table %s %s", family_name(family), name);
	object->number = guard_add_table(parser->rules, words);
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

typedef void (*device_fn)(const void *ctx, const char *device);

struct base {
	struct guard_ruleset *rules;
	uint32_t chain;
	enum guard_hook hook;
	bool accepts, nat;
};

static void set_base(const void *ctx, const char *device)
{
	const struct base *base = ctx;

	guard_set_base(base->rules, base->chain, base->hook, base->accepts, device, base->nat);
}

/* fn for the name of a device. It may lack its NUL (Linux 6.16: then it is a prefix). */
static int name_device(const struct nlattr *attr, bool prefix, device_fn fn, const void *ctx)
{
	size_t size = mnl_attr_get_payload_len(attr);
	size_t length = strnlen(mnl_attr_get_payload(attr), size);
	char name[IFNAMSIZ + 1];

	prefix |= length == size;
	if (length + prefix >= IFNAMSIZ)
		return -EBADMSG;
	snprintf(name, sizeof(name), "%.*s%s", (int)length,
		 (const char *)mnl_attr_get_payload(attr), prefix ? "*" : "");
	fn(ctx, name);
	return 0;
}

static int name_devices(const struct nlattr *nest, device_fn fn, const void *ctx)
{
	const struct nlattr *attr;
	int r = 0;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) != DEVICE_NAME &&
		    mnl_attr_get_type(attr) != DEVICE_PREFIX)
			return -EBADMSG;
		r = name_device(attr, mnl_attr_get_type(attr) == DEVICE_PREFIX, fn, ctx);
		if (r < 0)
			break;
	}
	return r;
}

/* A chain without devices hangs nowhere. */
static int add_devices(const struct base *base, const struct nlattr *const at[])
{
	if (at[NFTA_HOOK_DEVS])
		return name_devices(at[NFTA_HOOK_DEVS], set_base, base);
	return at[NFTA_HOOK_DEV] ? name_device(at[NFTA_HOOK_DEV], false, set_base, base) : 0;
}

static int add_base(struct nf_parser *parser, const struct nf_object *chain,
		    const struct nlattr *const chain_at[])
{
	const struct nlattr *at[NFTA_HOOK_MAX + 1];
	const struct nlattr *type = chain_at[NFTA_CHAIN_TYPE];
	struct base base = {
		.rules = parser->rules,
		.chain = chain->number,
		.accepts = ntohl(attr_u32(chain_at[NFTA_CHAIN_POLICY], 0)) == NF_ACCEPT,
		.nat = type && !strcmp(mnl_attr_get_str(type), "nat"),
	};

	if (attr_walk_nest(chain_at[NFTA_CHAIN_HOOK], hook_specs, ARRAY_SIZE(at), at) < 0 ||
	    !at[NFTA_HOOK_HOOKNUM])
		return -EBADMSG;
	if (!hook_of(chain->family, ntohl(attr_u32(at[NFTA_HOOK_HOOKNUM], 0)), &base.hook))
		return 0;
	if (base.hook == GUARD_HOOK_INGRESS || base.hook == GUARD_HOOK_EGRESS)
		return add_devices(&base, at);
	set_base(&base, NULL);
	return 0;
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
	/* A dormant table's chains hang nowhere. */
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

struct flowtable {
	struct guard_ruleset *rules;
	uint32_t table;
	const char *name;
	bool to_xdp;
};

static void add_flowtable(const void *ctx, const char *device)
{
	const struct flowtable *flowtable = ctx;

	guard_add_flowtable(flowtable->rules, flowtable->table, flowtable->name, device,
			    flowtable->to_xdp);
}

/*
 * With any flag the kernel does more for a packet than to forward it (it counts), or may not have
 * it (hardware forwards). Also of a dormant table.
 */
int nf_parse_flowtable(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nlattr *at[NFTA_FLOWTABLE_MAX + 1], *hook_at[NFTA_FLOWTABLE_HOOK_MAX + 1];
	struct nf_parser *parser = ctx;
	const struct nf_object *table;
	struct flowtable flowtable;
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
	flowtable = (struct flowtable){
		.rules = parser->rules,
		.table = table->number,
		.name = mnl_attr_get_str(at[NFTA_FLOWTABLE_NAME]),
		.to_xdp = !attr_u32(at[NFTA_FLOWTABLE_FLAGS], 0),
	};
	if (hook_at[NFTA_FLOWTABLE_HOOK_DEVS])
		r = name_devices(hook_at[NFTA_FLOWTABLE_HOOK_DEVS], add_flowtable, &flowtable);
	return r < 0 ? r : guard_ruleset_error(parser->rules);
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

/* --- notifications --- */

static const struct attr_spec list_specs[NFTA_SET_ELEM_LIST_MAX + 1] = {
	[NFTA_SET_ELEM_LIST_TABLE] = ATTR_STRING(NFT_TABLE_MAXNAMELEN),
	[NFTA_SET_ELEM_LIST_SET] = ATTR_STRING(NFT_SET_MAXNAMELEN),
};

/* Of a set that is not known, the rule that looks it up is to come. */
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
	return set && set->wanted;
}

bool nf_parser_concerns(const struct nf_parser *parser, const struct nlmsghdr *nlh)
{
	uint8_t family;

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
