// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sockets of nf_tables. All dumps of one reading are of one generation of the ruleset, or they
 * are repeated.
 */
#include "nf_tables.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <libnftnl/common.h>
#include <libnftnl/gen.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../netlink/socket.h"
#include "nf_tables_parse.h"
#include "nf_tables_rule.h"
#include "nf_tables_set.h"

#define ATTEMPTS 5
#define TIMEOUT_MS 5000
#define IDLE_MS 10
#define REQUEST_BYTES 1024

struct nf_tables {
	struct nl_socket *notifications; /* NULL: this kernel has no such protocol */
	struct nl_socket *requests;	 /* NULL: to be opened */
	struct nf_parser *parser;	 /* of the last reading; NULL: none yet */
	bool changed;
	void (*idle)(void *ctx);
	void *idle_ctx;
};

static int open_sockets(struct nf_tables *tables, size_t rcvbuf_bytes)
{
	int r = nl_socket_new(NETLINK_NETFILTER, rcvbuf_bytes, &tables->notifications);

	if (r == -EPROTONOSUPPORT)
		return 0;
	return r < 0 ? r : nl_socket_join(tables->notifications, NFNLGRP_NFTABLES);
}

int nf_tables_new(size_t rcvbuf_bytes, struct nf_tables **out)
{
	struct nf_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	r = open_sockets(tables, rcvbuf_bytes);
	if (r < 0) {
		nf_tables_free(tables);
		return r;
	}
	*out = tables;
	return 0;
}

void nf_tables_free(struct nf_tables *tables)
{
	if (!tables)
		return;
	nl_socket_free(tables->requests);
	nl_socket_free(tables->notifications);
	nf_parser_free(tables->parser);
	free(tables);
}

int nf_tables_fd(const struct nf_tables *tables)
{
	return tables->notifications ? nl_socket_fd(tables->notifications) : -1;
}

void nf_tables_set_idle(struct nf_tables *tables, void (*idle)(void *ctx), void *ctx)
{
	tables->idle = idle;
	tables->idle_ctx = ctx;
}

/* --- notifications --- */

static int follow_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct nf_tables *tables = ctx;

	if (!tables->changed)
		tables->changed = !tables->parser || nf_parser_concerns(tables->parser, nlh);
	return 0;
}

bool nf_tables_read_events(struct nf_tables *tables)
{
	int r;

	if (!tables->notifications)
		return false;
	tables->changed = false;
	do
		r = nl_socket_read(tables->notifications, follow_message, tables);
	while (r == NL_SOCKET_READ_MAX);
	return r < 0 || tables->changed;
}

/* --- reading --- */

static int generation_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct nftnl_gen *gen = nftnl_gen_alloc();
	uint32_t *generation = ctx;
	int r = -EBADMSG;

	if (!gen)
		return -ENOMEM;
	if (nftnl_gen_nlmsg_parse(nlh, gen) >= 0 && nftnl_gen_is_set(gen, NFTNL_GEN_ID)) {
		*generation = nftnl_gen_get_u32(gen, NFTNL_GEN_ID);
		r = 0;
	}
	nftnl_gen_free(gen);
	return r;
}

static int read_generation(struct nf_tables *tables, uint32_t *generation)
{
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_GETGEN, AF_UNSPEC, 0, 0);

	return nl_socket_request(tables->requests, nlh, generation_message, generation, TIMEOUT_MS);
}

struct reading {
	struct nf_tables *tables;
	struct nf_parser *parser;
	uint64_t deadline_ns;
};

/* Between two datagrams idle() is called. */
static int dump_pieces(struct reading *reading, nl_msg_fn fn)
{
	struct nf_tables *tables = reading->tables;
	struct pollfd pfd = { .fd = nl_socket_fd(tables->requests), .events = POLLIN };
	int r;

	do {
		if (util_now_ns() > reading->deadline_ns)
			return -ETIMEDOUT;
		(void)poll(&pfd, 1, IDLE_MS);
		r = nl_socket_dump_next(tables->requests, fn, reading->parser);
		if (tables->idle)
			tables->idle(tables->idle_ctx);
	} while (r > 0);
	return r;
}

static int dump(struct reading *reading, struct nlmsghdr *nlh, nl_msg_fn fn)
{
	int r = nl_socket_dump_start(reading->tables->requests, nlh);

	return r < 0 ? r : dump_pieces(reading, fn);
}

/* One dump a family: the kernel then omits those of IPv4 and bridges. */
static int dump_families(struct reading *reading, uint16_t type, nl_msg_fn fn)
{
	static const uint8_t families[] = { NFPROTO_INET, NFPROTO_IPV6, NFPROTO_NETDEV };
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++)
		r = dump(reading, nftnl_nlmsg_build_hdr(buffer, type, families[i], 0, 0), fn);
	return r;
}

/* Of one chain or set. If it is gone, the generation has changed. */
static int dump_of(struct reading *reading, const struct nf_object *object, uint16_t type,
		   uint16_t table_attr, uint16_t name_attr, nl_msg_fn fn)
{
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr(buffer, type, object->family, 0, 0);
	int r;

	mnl_attr_put_strz(nlh, table_attr, object->table);
	mnl_attr_put_strz(nlh, name_attr, object->name);
	r = dump(reading, nlh, fn);
	return r == -ENOENT ? -EINTR : r;
}

/*
 * One dump a chain: the kernel begins each datagram of a dump at its first rule, so that one dump
 * of all rules would take time by their square.
 */
static int dump_rules(struct reading *reading)
{
	const struct nf_object *chain = reading->parser->chains.first;
	int r = 0;

	for (; chain && r == 0; chain = chain->next)
		r = dump_of(reading, chain, NFT_MSG_GETRULE, NFTA_RULE_TABLE, NFTA_RULE_CHAIN,
			    nf_parse_rule);
	return r;
}

static int dump_elements(struct reading *reading)
{
	const struct nf_object *set = reading->parser->sets.first;
	int r = 0;

	nf_sets_choose(reading->parser);
	for (; set && r == 0; set = set->next)
		if (set->needed)
			r = dump_of(reading, set, NFT_MSG_GETSETELEM, NFTA_SET_ELEM_LIST_TABLE,
				    NFTA_SET_ELEM_LIST_SET, nf_parse_elements);
	return r;
}

static int dump_all(struct reading *reading)
{
	int r;

	r = dump_families(reading, NFT_MSG_GETTABLE, nf_parse_table);
	if (r == 0)
		r = dump_families(reading, NFT_MSG_GETCHAIN, nf_parse_chain);
	if (r == 0)
		r = dump_families(reading, NFT_MSG_GETFLOWTABLE, nf_parse_flowtable);
	if (r == 0)
		r = dump_families(reading, NFT_MSG_GETSET, nf_parse_set);
	if (r == 0)
		r = dump_rules(reading);
	return r < 0 ? r : dump_elements(reading);
}

static int replace_parser(struct nf_tables *tables, struct nf_parser **parser)
{
	nf_parser_free(tables->parser);
	tables->parser = *parser;
	*parser = NULL;
	return 0;
}

/* Into an empty ruleset. -EINTR: the generation changed. */
static int read_once(struct nf_tables *tables, struct guard_ruleset *rules, uint64_t deadline_ns)
{
	_cleanup_(nf_parser_freep) struct nf_parser *parser = nf_parser_new(rules);
	struct reading reading = { .tables = tables, .parser = parser, .deadline_ns = deadline_ns };
	uint32_t before = 0, after = 0;
	int r;

	if (!parser)
		return -ENOMEM;
	r = read_generation(tables, &before);
	/* This kernel has no nf_tables. */
	if (r == -EINVAL || r == -EOPNOTSUPP)
		return 0;
	if (r == 0)
		r = dump_all(&reading);
	/* A ruleset with an error is a result: it punts every packet. */
	if (guard_ruleset_error(rules))
		return replace_parser(tables, &parser);
	if (r == 0)
		r = read_generation(tables, &after);
	if (r < 0)
		return r;
	if (before != after)
		return -EINTR;
	return replace_parser(tables, &parser);
}

/* A dump that did not end makes its socket useless, so that the next reading opens a new one. */
static int read_anew(struct nf_tables *tables, struct guard_ruleset *rules, uint64_t deadline_ns)
{
	int r;

	if (!tables->notifications)
		return 0;
	if (!tables->requests) {
		r = nl_socket_new(NETLINK_NETFILTER, 0, &tables->requests);
		if (r < 0)
			return r;
	}
	r = read_once(tables, rules, deadline_ns);
	if (r < 0 || guard_ruleset_error(rules)) {
		nl_socket_free(tables->requests);
		tables->requests = NULL;
	}
	return r;
}

int nf_tables_read(struct nf_tables *tables, struct guard_ruleset **out)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = NULL;
	uint64_t deadline_ns = util_now_ns() + NF_TABLES_MAX_SECONDS * UINT64_C(1000000000);
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++) {
		guard_ruleset_free(rules);
		rules = guard_ruleset_new();
		if (!rules)
			return -ENOMEM;
		r = read_anew(tables, rules, deadline_ns);
	}
	if (r < 0)
		return r;
	*out = rules;
	rules = NULL;
	return 0;
}
