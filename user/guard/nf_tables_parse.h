/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of nf_tables, the ruleset that is built from them, and its tables, chains and sets by
 * name. Pure.
 */
#ifndef GUARD_NF_TABLES_PARSE_H
#define GUARD_NF_TABLES_PARSE_H

#include <libmnl/libmnl.h>

#include "ruleset.h"

enum nf_kind { NF_TABLE, NF_CHAIN, NF_SET };

struct nf_object {
	struct nf_object *next;
	uint8_t kind, family;
	const char *table, *name; /* of a table: name is "" */
	uint32_t number;	  /* in the ruleset */
	uint32_t flags;		  /* NFT_TABLE_F_* or NFT_SET_* */
	/* For sets only: */
	uint32_t key_bytes;
	bool verdicts; /* a verdict map */
	bool counters; /* a map of counters */
	bool stateful; /* a lookup changes the element that it finds */
	bool needed;   /* its elements are to be read, and their changes matter */
};

/* Objects in the order in which their messages came. */
struct nf_list {
	struct nf_object *first, *last;
};

struct nf_parser {
	struct guard_ruleset *rules;
	void *names; /* of all objects: a tree of struct nf_object by tsearch() */
	struct nf_list chains, sets;
};

/* rules stays the caller's; parsers no longer use it after the last message. NULL: no memory. */
struct nf_parser *nf_parser_new(struct guard_ruleset *rules);
void nf_parser_free(struct nf_parser *parser);
void nf_parser_freep(struct nf_parser **parser);

struct nf_object *nf_find(const struct nf_parser *parser, enum nf_kind kind, uint8_t family,
			  const char *table, const char *name);
/* 0, -ENOMEM, or -EINTR: the name exists. */
int nf_add(struct nf_parser *parser, enum nf_kind kind, uint8_t family, const char *table,
	   const char *name, struct nf_object **out);

/* "ip6", "inet", "netdev"; NULL for any other. */
const char *nf_family_name(uint8_t family);
/* False: a family that is ignored, or a message that is too short. */
bool nf_family(const struct nlmsghdr *nlh, uint8_t *family);

/* Converts any verdict of the kernel but NFT_BREAK. False: its chain is unknown. */
bool nf_verdict(const struct nf_parser *parser, uint8_t family, const char *table, uint32_t code,
		const char *chain_name, enum guard_verdict *verdict, uint32_t *chain);

/*
 * Messages come in the order of dependence: tables, chains and flowtables, sets, rules, elements.
 * Each function is an nl_msg_fn whose context is the parser. It returns 0, -EBADMSG, -ENOMEM, the
 * ruleset's error, or -EINTR for an object that was not announced before: the ruleset has changed
 * meanwhile. Families but ip6, inet and netdev are ignored.
 */
int nf_parse_table(const struct nlmsghdr *nlh, void *parser);
int nf_parse_chain(const struct nlmsghdr *nlh, void *parser);
int nf_parse_flowtable(const struct nlmsghdr *nlh, void *parser);
int nf_parse_set(const struct nlmsghdr *nlh, void *parser);
int nf_parse_rule(const struct nlmsghdr *nlh, void *parser);
int nf_parse_elements(const struct nlmsghdr *nlh, void *parser);

/*
 * To be called between the rules and the elements. needed is set for each set in which a rule looks
 * up something known, or that holds verdicts. All others become unknown, and those after
 * NF_MAX_SETS.
 */
#define NF_MAX_SETS 16384u
void nf_sets_choose(struct nf_parser *parser);

/* Whether a notification may change what the parser, which may be NULL, has parsed. */
bool nf_parser_concerns(const struct nlmsghdr *nlh, const void *parser);

#endif
