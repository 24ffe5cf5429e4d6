/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a ruleset is stored, its memory, which devices it tells from others, and the registers of a
 * query. Private to ruleset*.c and their tests.
 *
 * The operations of all rules are one array of bytes, so that 100,000 rules take megabytes. An
 * operation is a byte of enum op, then its operands without padding.
 */
#ifndef GUARD_RULESET_STORE_H
#define GUARD_RULESET_STORE_H

#include "ruleset.h"

#define NONE UINT32_MAX
#define NAME_BYTES 16u /* IFNAMSIZ */
#define WORD_BYTES 4u
#define N_WORDS (GUARD_REGISTER_BYTES / WORD_BYTES)
#define N_METAS (GUARD_META_PROTOCOL + 1)

enum op {
	OP_LOAD,    /* reg, bytes, meta */
	OP_STORE,   /* reg, bytes, value of so many bytes */
	OP_COMPARE, /* reg, bytes, how, value */
	OP_MAY_MATCH,
	OP_LOOKUP,	   /* reg, inverted, u32 set */
	OP_LOOKUP_VERDICT, /* reg, 0, u32 set */
	OP_VERDICT,	   /* verdict, u32 chain */
	OP_EFFECT,	   /* length, text */
	OP_CONNTRACK,
};

struct rule {
	uint64_t handle;
	uint32_t code; /* its first operation; it ends where the next added rule begins */
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
	char device[NAME_BYTES]; /* "": any; a final '*' makes it a prefix */
};

struct flowtable {
	char *name;
	uint32_t table;
	bool to_xdp;
	char device[NAME_BYTES]; /* as in struct base */
};

/* The verdict of a map's element. */
struct target {
	uint32_t chain;
	uint8_t verdict;
};

struct set {
	uint32_t key_bytes;
	bool unknown, inexact, matters;
	bool map; /* its elements are verdicts */
	bool catch_all;
	struct target other;	/* the verdict of the catch-all element */
	uint8_t metas[N_WORDS]; /* enum guard_meta that lookups had loaded, by word of the key */
	uint32_t n, keys_capacity, targets_capacity; /* without the catch-all element */
	uint8_t *keys;				     /* NULL if inexact */
	struct target *targets;			     /* NULL if no map */
};

/* The contents of one register word of the rule being built. */
struct origin {
	uint8_t meta; /* enum guard_meta */
	uint8_t word; /* which four bytes of it */
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
	uint32_t tables_capacity, chains_capacity, bases_capacity, flowtables_capacity,
		sets_capacity, rules_capacity, code_capacity;
	struct origin origins[N_WORDS];
	void *names;	  /* a tsearch() tree, see ruleset_devices.c */
	bool names_all;	  /* a rule matches names in a way that the tree cannot hold */
	bool names_kinds; /* a rule matches a device's kind */
	bool conntrack;	  /* a rule needs connection tracking */
};

/* Keep an error, unless there is one already. */
void ruleset_fail(struct guard_ruleset *rules, int error);
/* Account for more memory. False, with the error kept, if it is too much. */
bool ruleset_account(struct guard_ruleset *rules, size_t bytes);
/* A copy of text, or NULL with the error kept. */
char *ruleset_strdup(struct guard_ruleset *rules, const char *text);
/* Room for more items behind n in *array. False, with the error kept, if there is none. */
bool ruleset_reserve(struct guard_ruleset *rules, void *array, uint32_t *capacity, size_t n,
		     size_t more, size_t item_bytes);
#define RULESET_RESERVE(rules, array, more)                                                     \
	ruleset_reserve(rules, &(rules)->array, &(rules)->array##_capacity, (rules)->n_##array, \
			more, sizeof(*(rules)->array))

/*
 * --- ruleset_devices.c: while a rule is built, the meta key in each register word is tracked;
 * values that such a word is compared with are stored once. ---
 */

/* Bytes of a meta key with its padding; 0 for GUARD_META_OTHER. */
unsigned int ruleset_meta_bytes(enum guard_meta meta);

/* A new rule begins: registers hold nothing known. */
void ruleset_devices_rule(struct guard_ruleset *rules);
void ruleset_devices_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			  enum guard_meta meta);
void ruleset_devices_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const void *value);
void ruleset_devices_lookup(struct guard_ruleset *rules, struct set *set, unsigned int reg);
void ruleset_devices_element(struct guard_ruleset *rules, const struct set *set,
			     const uint8_t *key);
/* A chain or flowtable is attached to a device: IFNAMSIZ bytes, padded with zeros. */
void ruleset_devices_attach(struct guard_ruleset *rules, const char *device);

/*
 * --- ruleset_registers.c: the 64 bytes of nf_tables' registers, of which some are known, and the
 * meta keys that the devices of a query decide. ---
 */

enum truth { FALSE, TRUE, MAYBE };

/* BREAKS: to load the value ends the rule. */
struct meta_value {
	enum { UNKNOWN, KNOWN, BREAKS } state;
	uint8_t bytes[NAME_BYTES];
};

struct meta_values {
	struct meta_value at[N_METAS];
};

struct registers {
	uint8_t bytes[GUARD_REGISTER_BYTES];
	uint64_t known; /* a bit for each byte */
};

/*
 * The values at a hook, as nft_meta_get_eval() has them. *values must be zero. in, out: NULL if
 * they are not known.
 */
void meta_values_init(struct meta_values *values, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out);
/* Whether the rule goes on: it ends if the packet lacks the value (a header, a kind). */
enum truth registers_load(struct registers *regs, unsigned int reg, unsigned int bytes,
			  const struct meta_value *value);
void registers_write(struct registers *regs, unsigned int reg, unsigned int bytes,
		     const uint8_t *value);
/* Whether any of these bytes is known. */
bool registers_any_known(const struct registers *regs, unsigned int reg, unsigned int bytes);
enum truth registers_compare(const struct registers *regs, unsigned int reg, unsigned int bytes,
			     enum guard_compare how, const uint8_t *value);

#endif
