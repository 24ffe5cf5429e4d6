/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a ruleset is stored. Private to ruleset*.c and their tests.
 *
 * Operations of all rules are one array of bytes, so that 100,000 rules take megabytes: a byte of
 * enum op, then its operands without padding.
 */
#ifndef GUARD_RULESET_INTERNAL_H
#define GUARD_RULESET_INTERNAL_H

#include "ruleset.h"

#define NONE UINT32_MAX
#define NAME_BYTES 16u /* IFNAMSIZ */
#define WORD_BYTES 4u
#define N_WORDS (GUARD_REGISTER_BYTES / WORD_BYTES)
#define N_FACTS (GUARD_FACT_PROTOCOL + 1)

enum op {
	OP_LOAD,    /* reg, bytes, fact */
	OP_STORE,   /* reg, bytes, value of so many bytes */
	OP_COMPARE, /* reg, bytes, how, value */
	OP_MAY_MATCH,
	OP_LOOKUP,	   /* reg, inverted, u32 set */
	OP_LOOKUP_VERDICT, /* reg, u32 set */
	OP_VERDICT,	   /* verdict, u32 chain */
	OP_EFFECT,	   /* length, words */
	OP_CONNTRACK,
};

struct rule {
	uint64_t handle;
	uint32_t code; /* its first operation; the last is before that of the rule added next */
	uint32_t next; /* of the same chain, or NONE */
};

struct chain {
	char *name;
	uint32_t table;
	uint32_t first, last; /* rules, or NONE */
};

struct base {
	uint32_t chain;
	uint8_t hook;
	bool accepts, nat;
	char device[NAME_BYTES]; /* "": any; with '*' at its end a prefix */
};

struct flowtable {
	char *name;
	uint32_t table;
	bool to_xdp;
	char device[NAME_BYTES]; /* as in struct base */
};

/* What an element of a verdict map leads to. */
struct target {
	uint32_t chain;
	uint8_t verdict;
};

struct set {
	uint32_t key_bytes;
	bool unknown, inexact;
	bool matters;		/* guard_set_matters() */
	bool map;		/* its elements lead to verdicts */
	bool catch_all;		/* has an element for what no other one has */
	struct target other;	/* of that one */
	uint8_t facts[N_WORDS]; /* what lookups had loaded for each word of a key (enum guard_fact)
				 */
	uint32_t n, keys_room, targets_room; /* elements; without the one for all others */
	uint8_t *keys;			     /* NULL: inexact */
	struct target *targets;		     /* NULL: no map */
};

/* What each word of the registers has, of the rule that is being built. */
struct origin {
	uint8_t fact, word; /* enum guard_fact; which four bytes of it */
};

struct guard_ruleset {
	int error;
	size_t bytes;
	char **tables;
	struct chain *chains;
	struct base *bases;
	struct flowtable *flowtables;
	struct set *sets;
	struct rule *rules;
	uint8_t *code;
	uint32_t n_tables, n_chains, n_bases, n_flowtables, n_sets, n_rules, n_code;
	uint32_t tables_room, chains_room, bases_room, flowtables_room, sets_room, rules_room,
		code_room;
	struct origin origins[N_WORDS];
	/* Devices that rules name: a tree of struct named by tsearch(). */
	void *names;
	bool names_all;	  /* by an order, or by a part of a name */
	bool names_kinds; /* whether a device has a kind makes a difference */
	bool asks_conntrack;
};

/* Account for more memory. False, with the error kept, if it is too much. */
bool ruleset_spend(struct guard_ruleset *rules, size_t bytes);
void ruleset_fail(struct guard_ruleset *rules, int error);

/* How many bytes a fact has, with its padding; 0: GUARD_FACT_OTHER. */
unsigned int ruleset_fact_bytes(enum guard_fact fact);

/* --- ruleset_names.c: what the rule that is being built names --- */

void ruleset_names_rule(struct guard_ruleset *rules);
void ruleset_names_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			enum guard_fact fact);
void ruleset_names_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			   enum guard_compare how, const void *value);
void ruleset_names_lookup(struct guard_ruleset *rules, struct set *set, unsigned int reg);
void ruleset_names_element(struct guard_ruleset *rules, const struct set *set, const uint8_t *key);
/* Padded with zeros. */
void ruleset_names_device(struct guard_ruleset *rules, const char device[NAME_BYTES]);
void ruleset_names_free(struct guard_ruleset *rules);

/* --- ruleset_registers.c: conditions of which not everything is known --- */

enum truth { FALSE, TRUE, MAYBE };

/* What a fact is for the devices of a query. */
struct fact_value {
	enum { UNKNOWN, KNOWN, BREAKS } state; /* _BREAKS: to load it ends the rule */
	uint8_t bytes[NAME_BYTES];
};

struct facts {
	struct fact_value at[N_FACTS];
};

struct registers {
	uint8_t bytes[GUARD_REGISTER_BYTES];
	uint64_t known; /* a bit a byte */
};

/* What facts are at a hook; those that differ by packet are unknown. */
void ruleset_facts(struct facts *facts, enum guard_hook hook, const struct guard_iface *in,
		   const struct guard_iface *out);
/* Whether the rule goes on: what a packet does not have (a header, a kind) ends it. */
enum truth registers_load(struct registers *regs, unsigned int reg, unsigned int bytes,
			  const struct fact_value *value);
void registers_write(struct registers *regs, unsigned int reg, unsigned int bytes,
		     const uint8_t *value);
/* Whether anything is known of so many bytes. */
bool registers_know(const struct registers *regs, unsigned int reg, unsigned int bytes);
enum truth registers_compare(const struct registers *regs, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const uint8_t *value);

/* --- ruleset_walk.c --- */

/* What a walk looks for. */
enum goal { GOAL_HELD, GOAL_TRACKED };

/* Returns whether it was found; *steps (may be NULL): how much was looked at. */
bool ruleset_walk(const struct guard_ruleset *rules, enum goal goal, enum guard_hook hook,
		  const struct guard_iface *in, const struct guard_iface *out, char *reason,
		  uint32_t *steps);

#endif
