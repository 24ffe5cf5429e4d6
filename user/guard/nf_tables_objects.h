/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables, chains and sets of nf_tables by name, and the ruleset that is built from their messages.
 * Pure.
 *
 * Messages come in the order of dependence: tables, chains and flowtables, sets, rules, elements.
 * Each parser function is an nl_msg_fn whose context is the parser. It returns 0, -EBADMSG,
 * -ENOMEM, the ruleset's error, or -EINTR for an object that was not announced before: the ruleset
 * has changed meanwhile. Families but ip6, inet and netdev are ignored.
 */
#ifndef GUARD_NF_TABLES_OBJECTS_H
#define GUARD_NF_TABLES_OBJECTS_H

#include <libmnl/libmnl.h>

#include "ruleset.h"

enum nf_kind { NF_TABLE, NF_CHAIN, NF_SET };

struct nf_object {
	struct nf_object *next;
	uint8_t kind, family;
	const char *table, *name; /* of a table: name is "" */
	uint32_t number;	  /* in the ruleset */
	uint32_t flags;		  /* NFT_TABLE_F_* or NFT_SET_* */
	/* Of sets: */
	uint32_t key_bytes;
	bool verdicts; /* a verdict map */
	bool counters; /* a map of counters */
	bool stateful; /* a lookup changes the element that it finds */
	bool needed;   /* its elements are to be read, and their changes matter */
};

/* In order of arrival. */
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

#endif
