// SPDX-License-Identifier: GPL-2.0-only
/*
 * nf_tables over netlink: dumps that belong together, and notifications. What messages mean is
 * nf_tables_parse.c's business.
 *
 * The dumps of one reading are of one generation of the ruleset, or they are done again.
 */
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libnftnl/common.h>
#include <libnftnl/gen.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "../netlink/socket.h"
#include "nf_tables_parse.h"

/* What is read under continuous changes ends with -EINTR after so many attempts. */
#define ATTEMPTS 5
#define TIMEOUT_MS 5000
#define REQUEST_BYTES 1024

struct nf_tables {
	struct nl_socket *requests, *notifications; /* NULL: this kernel has no such protocol */
	struct nf_parser *parser;		    /* of what was read last; NULL: nothing yet */
	bool changed;
};

static int open_sockets(struct nf_tables *tables, size_t rcvbuf_bytes)
{
	int r = nl_socket_new(NETLINK_NETFILTER, 0, &tables->requests);

	if (r == -EPROTONOSUPPORT)
		return 0;
	if (r < 0)
		return r;
	r = nl_socket_new(NETLINK_NETFILTER, rcvbuf_bytes, &tables->notifications);
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

/* --- notifications --- */

static int follow_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct nf_tables *tables = ctx;

	/* Before the first reading all may matter. */
	if (!tables->changed)
		tables->changed = !tables->parser || nf_parser_concerns(tables->parser, nlh);
	return 0;
}

bool nf_tables_follow(struct nf_tables *tables)
{
	int r;

	if (!tables->notifications)
		return false;
	tables->changed = false;
	do
		r = nl_socket_read(tables->notifications, follow_message, tables);
	while (r == NL_SOCKET_READ_MAX);
	/* Whatever was lost may have mattered. */
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

/* A dump for each family: the kernel then leaves out those of IPv4 and bridges. */
static int dump(struct nf_tables *tables, uint16_t type, nl_msg_fn fn, struct nf_parser *parser)
{
	static const uint8_t families[] = { NFPROTO_INET, NFPROTO_IPV6, NFPROTO_NETDEV };
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++) {
		nlh = nftnl_nlmsg_build_hdr(buffer, type, families[i], 0, 0);
		r = nl_socket_dump(tables->requests, nlh, fn, parser, NULL, NULL, TIMEOUT_MS, NULL);
	}
	return r;
}

struct reading {
	struct nf_tables *tables;
	struct nf_parser *parser;
};

static int dump_elements(void *ctx, const struct nf_set_name *name)
{
	char buffer[REQUEST_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *nlh =
		nftnl_nlmsg_build_hdr(buffer, NFT_MSG_GETSETELEM, name->family, 0, 0);
	struct nftnl_set *set = nftnl_set_alloc();
	struct reading *reading = ctx;
	int r;

	if (!set)
		return -ENOMEM;
	r = nftnl_set_set_str(set, NFTNL_SET_TABLE, name->table);
	r |= nftnl_set_set_str(set, NFTNL_SET_NAME, name->name);
	if (r < 0) {
		nftnl_set_free(set);
		return -ENOMEM;
	}
	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	nftnl_set_free(set);
	r = nl_socket_dump(reading->tables->requests, nlh, nf_parse_elements, reading->parser, NULL,
			   NULL, TIMEOUT_MS, NULL);
	return r == -ENOENT ? -EINTR : r;
}

static int dump_all(struct nf_tables *tables, struct nf_parser *parser)
{
	struct reading reading = { .tables = tables, .parser = parser };
	int r;

	r = dump(tables, NFT_MSG_GETTABLE, nf_parse_table, parser);
	if (r == 0)
		r = dump(tables, NFT_MSG_GETCHAIN, nf_parse_chain, parser);
	if (r == 0)
		r = dump(tables, NFT_MSG_GETSET, nf_parse_set, parser);
	if (r == 0)
		r = dump(tables, NFT_MSG_GETRULE, nf_parse_rule, parser);
	return r < 0 ? r : nf_parser_sets(parser, dump_elements, &reading);
}

/* Into an empty ruleset. -EINTR: it has changed meanwhile. */
static int read_once(struct nf_tables *tables, struct guard_ruleset *rules)
{
	_cleanup_(nf_parser_freep) struct nf_parser *parser = nf_parser_new(rules);
	uint32_t before = 0, after = 0;
	int r;

	if (!parser)
		return -ENOMEM;
	r = read_generation(tables, &before);
	/* nfnetlink knows no nf_tables. */
	if (r == -EINVAL || r == -EOPNOTSUPP)
		return 0;
	if (r == 0)
		r = dump_all(tables, parser);
	/* A ruleset that could not be built says so itself, and holds everything back. */
	if (r < 0 && !guard_ruleset_error(rules))
		return r;
	r = read_generation(tables, &after);
	if (r < 0)
		return r;
	if (before != after)
		return -EINTR;
	nf_parser_free(tables->parser);
	tables->parser = parser;
	parser = NULL;
	return 0;
}

int nf_tables_read(struct nf_tables *tables, struct guard_ruleset **out)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = NULL;
	int r = -EINTR;

	for (int i = 0; i < ATTEMPTS && r == -EINTR; i++) {
		guard_ruleset_free(rules);
		rules = guard_ruleset_new();
		if (!rules)
			return -ENOMEM;
		r = tables->requests ? read_once(tables, rules) : 0;
	}
	if (r < 0)
		return r;
	*out = rules;
	rules = NULL;
	return 0;
}
