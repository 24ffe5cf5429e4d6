/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of nf_tables into a ruleset. Pure.
 *
 * They come in the order of their dependence: tables, chains and flowtables, sets, rules, elements.
 * Each function is an nl_msg_fn whose context is the parser, and returns 0, -EBADMSG, -ENOMEM,
 * -EINTR for an object of something that was not told of (the ruleset has changed meanwhile), or
 * the ruleset's error, after which nothing that follows matters. Families but ip6, inet and netdev
 * are left out.
 */
#ifndef GUARD_NF_TABLES_PARSE_H
#define GUARD_NF_TABLES_PARSE_H

#include <libmnl/libmnl.h>

#include "ruleset.h"

struct nf_parser;

/* The ruleset stays the caller's, and is not touched after the last message. NULL: no memory. */
struct nf_parser *nf_parser_new(struct guard_ruleset *rules);
void nf_parser_free(struct nf_parser *parser);
void nf_parser_freep(struct nf_parser **parser);

int nf_parse_table(const struct nlmsghdr *nlh, void *parser);
int nf_parse_chain(const struct nlmsghdr *nlh, void *parser);
int nf_parse_flowtable(const struct nlmsghdr *nlh, void *parser);
int nf_parse_set(const struct nlmsghdr *nlh, void *parser);
int nf_parse_rule(const struct nlmsghdr *nlh, void *parser);
int nf_parse_elements(const struct nlmsghdr *nlh, void *parser);

/* Which chain or set to ask for; the texts are the parser's. */
struct nf_name {
	uint8_t family;
	const char *table, *name;
};

/* 0, or a negative number to end with. */
typedef int (*nf_name_fn)(void *ctx, const struct nf_name *name);

/* After the chains: fn for each, to read its rules. */
int nf_parser_chains(const struct nf_parser *parser, nf_name_fn fn, void *ctx);

/*
 * After the rules: fn for each set whose elements are wanted, since a rule looks up what is known,
 * or since they hold verdicts. All other sets, and those beyond NF_MAX_SETS, become unknown here.
 */
#define NF_MAX_SETS 16384u
int nf_parser_sets(struct nf_parser *parser, nf_name_fn fn, void *ctx);

/* Whether a notification may change what was parsed. */
bool nf_parser_concerns(const struct nf_parser *parser, const struct nlmsghdr *nlh);

#endif
