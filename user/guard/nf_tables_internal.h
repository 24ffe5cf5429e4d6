/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parsers of nf_tables share: nf_tables_{parse,set,rule}.c.
 */
#ifndef GUARD_NF_TABLES_INTERNAL_H
#define GUARD_NF_TABLES_INTERNAL_H

#include "nf_tables_parse.h"

enum nf_kind { NF_TABLE, NF_CHAIN, NF_SET };

/* A name of an object, and what is to be known of it. */
struct nf_object {
	uint8_t kind, family;
	const char *table, *name; /* of a table: name is "" */
	uint32_t number;	  /* the ruleset's */
	uint32_t flags;		  /* NFT_TABLE_F_* or NFT_SET_* */
	/* Of sets: */
	uint32_t key_bytes;
	bool verdicts; /* a verdict map */
	bool counters; /* a map of counters */
	bool stateful; /* a lookup leaves a trace in the element that it finds */
	bool wanted;   /* its elements are, and changes of them */
};

/* In the order in which they came. */
struct nf_objects {
	struct nf_object **at;
	size_t n, room;
};

struct nf_parser {
	struct guard_ruleset *rules;
	void *names; /* of all objects: a tree of struct nf_object by tsearch() */
	struct nf_objects chains, sets;
};

/* NULL: not told of. */
struct nf_object *nf_find(const struct nf_parser *parser, enum nf_kind kind, uint8_t family,
			  const char *table, const char *name);

/* Add a new object. 0, -ENOMEM, or -EINTR: there is one of that name. */
int nf_add(struct nf_parser *parser, enum nf_kind kind, uint8_t family, const char *table,
	   const char *name, struct nf_object **out);

/* False: none of the families that IPv6 packets meet, or a message that is too short. */
bool nf_family(const struct nlmsghdr *nlh, uint8_t *family);

/* A verdict of the kernel's but NFT_BREAK. False: its chain was not told of. */
bool nf_verdict(const struct nf_parser *parser, uint8_t family, const char *table, uint32_t code,
		const char *chain_name, enum guard_verdict *verdict, uint32_t *chain);

#endif
