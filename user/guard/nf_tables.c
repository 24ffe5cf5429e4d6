// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sockets of nf_tables. All dumps of one reading are of one generation of the ruleset, or they
 * are repeated.
 */
#include "nf_tables.h"

#include <errno.h>
#include <poll.h>

#include <libnftnl/common.h>
#include <libnftnl/gen.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#define ATTEMPTS 5
#define TIMEOUT_MS 5000
#define IDLE_MS 10
#define REQUEST_BYTES 1024

const struct notifications nf_tables_notifications = {
	.protocol = NETLINK_NETFILTER,
	.groups = { NFNLGRP_NFTABLES },
	.is_change = nf_parser_concerns,
};

/* idle(): called between two datagrams, so that the caller can keep the time. */
struct reading {
	struct nl_socket *socket;
	struct nf_parser *parser;
	uint64_t deadline_ns;
	void (*idle)(void *ctx);
	void *idle_ctx;
};

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

static int read_generation(struct nl_socket *socket, uint32_t *generation)
{
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr(buffer, NFT_MSG_GETGEN, AF_UNSPEC, 0, 0);

	return nl_socket_request(socket, nlh, generation_message, generation, TIMEOUT_MS);
}

static int dump(struct reading *reading, struct nlmsghdr *nlh, nl_msg_fn fn)
{
	struct pollfd pfd = { .fd = nl_socket_fd(reading->socket), .events = POLLIN };
	int r = nl_socket_dump_start(reading->socket, nlh);

	for (r = r < 0 ? r : 1; r > 0;) {
		if (util_now_ns() > reading->deadline_ns)
			return -ETIMEDOUT;
		(void)poll(&pfd, 1, IDLE_MS);
		r = nl_socket_dump_next(reading->socket, fn, reading->parser);
		if (reading->idle)
			reading->idle(reading->idle_ctx);
	}
	return r;
}

/* One dump for each family, so that the kernel leaves out those of IPv4 and bridges. */
static int dump_families(struct reading *reading, uint16_t type, nl_msg_fn fn)
{
	static const uint8_t families[] = { NFPROTO_INET, NFPROTO_IPV6, NFPROTO_NETDEV };
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++)
		r = dump(reading, nftnl_nlmsg_build_hdr(buffer, type, families[i], 0, 0), fn);
	return r;
}

/* Dump the parts of one chain or set. If it is gone, the generation has changed. */
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

/* Into an empty ruleset. -EINTR: the generation changed. */
static int read_once(struct reading *reading, struct guard_ruleset *rules)
{
	uint32_t before = 0, after = 0;
	int r = read_generation(reading->socket, &before);

	/* This kernel has no nf_tables. */
	if (r == -EINVAL || r == -EOPNOTSUPP)
		return 0;
	if (r == 0)
		r = dump_all(reading);
	/* A ruleset with an error is a result: it punts every packet. */
	if (guard_ruleset_error(rules))
		return 0;
	if (r == 0)
		r = read_generation(reading->socket, &after);
	return r == 0 && before != after ? -EINTR : r;
}

/* A dump that did not end makes its socket useless, so that each attempt opens one. */
static int try_read(struct reading *reading, struct nf_parser **parser, struct guard_ruleset **out)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = guard_ruleset_new();
	_cleanup_(nf_parser_freep) struct nf_parser *own = rules ? nf_parser_new(rules) : NULL;
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int r = own ? nl_socket_new(NETLINK_NETFILTER, 0, &socket) : -ENOMEM;

	reading->parser = own;
	reading->socket = socket;
	if (r == 0)
		r = read_once(reading, rules);
	else if (r == -EPROTONOSUPPORT)
		r = 0; /* This kernel has no nfnetlink. */
	if (r < 0)
		return r;
	nf_parser_free(*parser);
	*parser = own;
	own = NULL;
	*out = rules;
	rules = NULL;
	return 0;
}

int nf_tables_read(void (*idle)(void *ctx), void *idle_ctx, struct nf_parser **parser,
		   struct guard_ruleset **out)
{
	struct reading reading = {
		.deadline_ns = util_now_ns() + NF_TABLES_MAX_SECONDS * UINT64_C(1000000000),
		.idle = idle,
		.idle_ctx = idle_ctx,
	};
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++)
		r = try_read(&reading, parser, out);
	return r;
}
