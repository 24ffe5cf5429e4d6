// SPDX-License-Identifier: GPL-2.0-only
/* Rulesets are built here. ruleset_query.c evaluates them, ruleset_devices.c tracks devices. */
#include "ruleset_store.h"

#include <errno.h>
#include <string.h>

/* Number i is one of n. Anything else is kept as an error. */
static bool is_valid(struct guard_ruleset *rules, uint32_t i, uint32_t n)
{
	if (i >= n)
		ruleset_fail(rules, -EINVAL);
	return !rules->error;
}

uint32_t guard_add_table(struct guard_ruleset *rules, const char *text)
{
	char *copy;

	if (!RULESET_RESERVE(rules, tables, 1))
		return 0;
	copy = ruleset_strdup(rules, text);
	if (!copy)
		return 0;
	rules->tables[rules->n_tables] = copy;
	return rules->n_tables++;
}

uint32_t guard_add_chain(struct guard_ruleset *rules, uint32_t table, const char *name)
{
	char *copy;

	if (!is_valid(rules, table, rules->n_tables) || !RULESET_RESERVE(rules, chains, 1))
		return 0;
	copy = ruleset_strdup(rules, name);
	if (!copy)
		return 0;
	rules->chains[rules->n_chains] =
		(struct chain){ .name = copy, .table = table, .first = NONE, .last = NONE };
	return rules->n_chains++;
}

static bool attach(struct guard_ruleset *rules, const char *device, char out[NAME_BYTES])
{
	if (strlen(device) >= NAME_BYTES) {
		ruleset_fail(rules, -EINVAL);
		return false;
	}
	memcpy(out, device, strlen(device) + 1);
	ruleset_devices_attach(rules, out);
	return true;
}

void guard_set_base(struct guard_ruleset *rules, uint32_t chain, enum guard_hook hook, bool accepts,
		    const char *device, bool nat)
{
	struct base *base;

	if (!is_valid(rules, chain, rules->n_chains) || !RULESET_RESERVE(rules, bases, 1))
		return;
	base = &rules->bases[rules->n_bases];
	*base = (struct base){ .chain = chain, .hook = hook, .accepts = accepts, .nat = nat };
	if (!device || attach(rules, device, base->device))
		rules->n_bases++;
}

void guard_add_flowtable(struct guard_ruleset *rules, uint32_t table, const char *name,
			 const char *device, bool to_xdp)
{
	struct flowtable *flowtable;

	if (!is_valid(rules, table, rules->n_tables) || !RULESET_RESERVE(rules, flowtables, 1))
		return;
	flowtable = &rules->flowtables[rules->n_flowtables];
	*flowtable = (struct flowtable){ .table = table, .to_xdp = to_xdp };
	if (!attach(rules, device, flowtable->device))
		return;
	flowtable->name = ruleset_strdup(rules, name);
	if (flowtable->name)
		rules->n_flowtables++;
}

uint32_t guard_add_set(struct guard_ruleset *rules, uint32_t key_bytes)
{
	if (key_bytes == 0 || key_bytes > GUARD_REGISTER_BYTES)
		ruleset_fail(rules, -EINVAL);
	if (!RULESET_RESERVE(rules, sets, 1))
		return 0;
	rules->sets[rules->n_sets] = (struct set){ .key_bytes = key_bytes };
	return rules->n_sets++;
}

void guard_set_unknown(struct guard_ruleset *rules, uint32_t set)
{
	if (is_valid(rules, set, rules->n_sets))
		rules->sets[set].unknown = true;
}

void guard_set_inexact(struct guard_ruleset *rules, uint32_t set)
{
	if (!is_valid(rules, set, rules->n_sets))
		return;
	if (rules->sets[set].keys)
		ruleset_fail(rules, -EINVAL);
	rules->sets[set].inexact = true;
}

static bool add_key(struct guard_ruleset *rules, struct set *set, const void *key)
{
	if (set->inexact)
		return true;
	if (!ruleset_reserve(rules, &set->keys, &set->keys_capacity, set->n, 1, set->key_bytes))
		return false;
	memcpy(set->keys + (size_t)set->n * set->key_bytes, key, set->key_bytes);
	ruleset_devices_element(rules, set, key);
	return true;
}

/* target: NULL for a set that is no map. */
static void add_element(struct guard_ruleset *rules, uint32_t number, const void *key,
			const struct target *target)
{
	struct set *set;

	if (!is_valid(rules, number, rules->n_sets))
		return;
	set = &rules->sets[number];
	if ((set->n || set->catch_all) && set->map != !!target) {
		ruleset_fail(rules, -EINVAL);
		return;
	}
	set->map = target;
	if (!key) {
		set->catch_all = true;
		set->other = target ? *target : (struct target){ 0 };
		return;
	}
	if (target && !ruleset_reserve(rules, &set->targets, &set->targets_capacity, set->n, 1,
				       sizeof(*target)))
		return;
	if (!add_key(rules, set, key))
		return;
	if (target)
		set->targets[set->n] = *target;
	set->n++;
}

void guard_add_element(struct guard_ruleset *rules, uint32_t set, const void *key)
{
	add_element(rules, set, key, NULL);
}

/* The chain exists, if the verdict has one. */
static bool is_valid_verdict(struct guard_ruleset *rules, enum guard_verdict verdict,
			     uint32_t chain)
{
	return (verdict != GUARD_JUMP && verdict != GUARD_GOTO) ||
	       is_valid(rules, chain, rules->n_chains);
}

void guard_add_verdict_element(struct guard_ruleset *rules, uint32_t set, const void *key,
			       enum guard_verdict verdict, uint32_t chain)
{
	const struct target target = { .chain = chain, .verdict = verdict };

	if (is_valid_verdict(rules, verdict, chain))
		add_element(rules, set, key, &target);
}

void guard_add_rule(struct guard_ruleset *rules, uint32_t chain, uint64_t handle)
{
	struct chain *at;

	if (!is_valid(rules, chain, rules->n_chains))
		return;
	if (rules->n_rules == GUARD_MAX_RULES)
		ruleset_fail(rules, -E2BIG);
	if (!RULESET_RESERVE(rules, rules, 1))
		return;
	at = &rules->chains[chain];
	rules->rules[rules->n_rules] =
		(struct rule){ .handle = handle, .code = rules->n_code, .next = NONE };
	if (at->last == NONE)
		at->first = rules->n_rules;
	else
		rules->rules[at->last].next = rules->n_rules;
	at->last = rules->n_rules++;
	ruleset_devices_rule(rules);
}

/* --- operations ---------------------------------------------------------------------- */

/* Returns where the operands go, or NULL. */
static uint8_t *add_op(struct guard_ruleset *rules, enum op op, size_t operand_bytes)
{
	uint8_t *at;

	if (!rules->n_rules)
		ruleset_fail(rules, -EINVAL);
	if (!RULESET_RESERVE(rules, code, 1 + operand_bytes))
		return NULL;
	at = rules->code + rules->n_code;
	rules->n_code += 1 + (uint32_t)operand_bytes;
	*at = op;
	return at + 1;
}

/* An operation on registers, whose first operands are reg and second. Returns where more go. */
static uint8_t *add_register_op(struct guard_ruleset *rules, enum op op, unsigned int reg,
				unsigned int bytes, unsigned int second, size_t more)
{
	uint8_t *at;

	if (reg > GUARD_REGISTER_BYTES || bytes > GUARD_REGISTER_BYTES - reg)
		ruleset_fail(rules, -EINVAL);
	at = rules->error ? NULL : add_op(rules, op, 2 + more);
	if (!at)
		return NULL;
	at[0] = (uint8_t)reg;
	at[1] = (uint8_t)second;
	return at + 2;
}

void guard_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		enum guard_meta meta)
{
	uint8_t *at;

	if (meta != GUARD_META_OTHER)
		bytes = ruleset_meta_bytes(meta);
	at = add_register_op(rules, OP_LOAD, reg, bytes, bytes, 1);
	if (!at)
		return;
	at[0] = meta;
	ruleset_devices_load(rules, reg, bytes, meta);
}

void guard_store(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		 const void *value)
{
	uint8_t *at = add_register_op(rules, OP_STORE, reg, bytes, bytes, bytes);

	if (!at)
		return;
	memcpy(at, value, bytes);
	ruleset_devices_load(rules, reg, bytes, GUARD_META_OTHER);
}

void guard_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		   enum guard_compare how, const void *value)
{
	uint8_t *at = add_register_op(rules, OP_COMPARE, reg, bytes, bytes, 1 + bytes);

	if (!at)
		return;
	at[0] = how;
	memcpy(at + 1, value, bytes);
	ruleset_devices_compare(rules, reg, bytes, how, value);
}

void guard_may_match(struct guard_ruleset *rules)
{
	(void)add_op(rules, OP_MAY_MATCH, 0);
}

static void add_lookup(struct guard_ruleset *rules, enum op op, uint32_t set, unsigned int reg,
		       bool inverted)
{
	uint8_t *at;

	if (!is_valid(rules, set, rules->n_sets))
		return;
	at = add_register_op(rules, op, reg, rules->sets[set].key_bytes, inverted, sizeof(set));
	if (!at)
		return;
	memcpy(at, &set, sizeof(set));
	ruleset_devices_lookup(rules, &rules->sets[set], reg);
}

void guard_lookup(struct guard_ruleset *rules, uint32_t set, unsigned int reg, bool inverted)
{
	add_lookup(rules, OP_LOOKUP, set, reg, inverted);
}

void guard_lookup_verdict(struct guard_ruleset *rules, uint32_t set, unsigned int reg)
{
	add_lookup(rules, OP_LOOKUP_VERDICT, set, reg, false);
}

void guard_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain)
{
	uint8_t *at;

	if (!is_valid_verdict(rules, verdict, chain))
		return;
	at = add_op(rules, OP_VERDICT, 1 + sizeof(chain));
	if (!at)
		return;
	at[0] = verdict;
	memcpy(at + 1, &chain, sizeof(chain));
}

void guard_effect(struct guard_ruleset *rules, const char *text)
{
	size_t length = strnlen(text, UINT8_MAX);
	uint8_t *at = add_op(rules, OP_EFFECT, 1 + length);

	if (!at)
		return;
	at[0] = (uint8_t)length;
	memcpy(at + 1, text, length);
}

void guard_add_conntrack(struct guard_ruleset *rules)
{
	rules->conntrack = true;
	(void)add_op(rules, OP_CONNTRACK, 0);
}

bool guard_set_matters(const struct guard_ruleset *rules, uint32_t set)
{
	return set < rules->n_sets && rules->sets[set].matters;
}
