// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rulesets: building them. What they mean is ruleset_walk.c's business, which devices they name
 * that of ruleset_names.c.
 *
 * After an error nothing is added any more: the set holds everything back anyway.
 */
#include "ruleset_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16u

struct guard_ruleset *guard_ruleset_new(void)
{
	return calloc(1, sizeof(struct guard_ruleset));
}

void guard_ruleset_free(struct guard_ruleset *rules)
{
	if (!rules)
		return;
	for (uint32_t i = 0; i < rules->n_tables; i++)
		free(rules->tables[i]);
	for (uint32_t i = 0; i < rules->n_chains; i++)
		free(rules->chains[i].name);
	for (uint32_t i = 0; i < rules->n_flowtables; i++)
		free(rules->flowtables[i].name);
	for (uint32_t i = 0; i < rules->n_sets; i++) {
		free(rules->sets[i].keys);
		free(rules->sets[i].targets);
	}
	ruleset_names_free(rules);
	free(rules->tables);
	free(rules->chains);
	free(rules->bases);
	free(rules->flowtables);
	free(rules->sets);
	free(rules->rules);
	free(rules->code);
	free(rules);
}

void guard_ruleset_freep(struct guard_ruleset **rules)
{
	guard_ruleset_free(*rules);
}

int guard_ruleset_error(const struct guard_ruleset *rules)
{
	return rules->error;
}

void ruleset_fail(struct guard_ruleset *rules, int error)
{
	if (!rules->error)
		rules->error = error;
}

bool ruleset_spend(struct guard_ruleset *rules, size_t bytes)
{
	if (!rules->error && bytes > GUARD_MAX_BYTES - rules->bytes)
		ruleset_fail(rules, -E2BIG);
	if (rules->error)
		return false;
	rules->bytes += bytes;
	return true;
}

/* Room for more items behind n. False, with the error kept, if there is none. */
static bool reserve(struct guard_ruleset *rules, void *array, uint32_t *room, size_t n, size_t more,
		    size_t item_bytes)
{
	void *old, *grown;
	size_t wanted = *room ? *room : FIRST_ROOM;

	if (rules->error)
		return false;
	while (wanted < n + more)
		wanted *= 2;
	if (wanted == *room)
		return true;
	if (!ruleset_spend(rules, (wanted - *room) * item_bytes))
		return false;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, wanted * item_bytes);
	if (!grown) {
		ruleset_fail(rules, -ENOMEM);
		return false;
	}
	memcpy(array, &grown, sizeof(grown));
	*room = (uint32_t)wanted;
	return true;
}

static char *copy_text(struct guard_ruleset *rules, const char *text)
{
	char *copy;

	if (!ruleset_spend(rules, strlen(text) + 1))
		return NULL;
	copy = strdup(text);
	if (!copy)
		ruleset_fail(rules, -ENOMEM);
	return copy;
}

/* Whether number i is one of n; kept as an error if not. */
static bool is_one_of(struct guard_ruleset *rules, uint32_t i, uint32_t n)
{
	if (i >= n)
		ruleset_fail(rules, -EINVAL);
	return !rules->error;
}

uint32_t guard_add_table(struct guard_ruleset *rules, const char *words)
{
	char *copy;

	if (!reserve(rules, &rules->tables, &rules->tables_room, rules->n_tables, 1,
		     sizeof(*rules->tables)))
		return 0;
	copy = copy_text(rules, words);
	if (!copy)
		return 0;
	rules->tables[rules->n_tables] = copy;
	return rules->n_tables++;
}

uint32_t guard_add_chain(struct guard_ruleset *rules, uint32_t table, const char *name)
{
	char *copy;

	if (!is_one_of(rules, table, rules->n_tables) ||
	    !reserve(rules, &rules->chains, &rules->chains_room, rules->n_chains, 1,
		     sizeof(*rules->chains)))
		return 0;
	copy = copy_text(rules, name);
	if (!copy)
		return 0;
	rules->chains[rules->n_chains] =
		(struct chain){ .name = copy, .table = table, .first = NONE, .last = NONE };
	return rules->n_chains++;
}

/* The name of a device that something hangs at. False, with the error kept: it is too long. */
static bool keep_device(struct guard_ruleset *rules, const char *device, char out[NAME_BYTES])
{
	if (strlen(device) >= NAME_BYTES) {
		ruleset_fail(rules, -EINVAL);
		return false;
	}
	memcpy(out, device, strlen(device) + 1);
	ruleset_names_device(rules, out);
	return true;
}

void guard_set_base(struct guard_ruleset *rules, uint32_t chain, enum guard_hook hook, bool accepts,
		    const char *device, bool nat)
{
	struct base *base;

	if (!is_one_of(rules, chain, rules->n_chains) ||
	    !reserve(rules, &rules->bases, &rules->bases_room, rules->n_bases, 1,
		     sizeof(*rules->bases)))
		return;
	base = &rules->bases[rules->n_bases];
	*base = (struct base){ .chain = chain, .hook = hook, .accepts = accepts, .nat = nat };
	if (!device || keep_device(rules, device, base->device))
		rules->n_bases++;
}

void guard_add_flowtable(struct guard_ruleset *rules, uint32_t table, const char *name,
			 const char *device, bool to_xdp)
{
	struct flowtable *flowtable;
	char *copy;

	if (!is_one_of(rules, table, rules->n_tables) ||
	    !reserve(rules, &rules->flowtables, &rules->flowtables_room, rules->n_flowtables, 1,
		     sizeof(*rules->flowtables)))
		return;
	flowtable = &rules->flowtables[rules->n_flowtables];
	*flowtable = (struct flowtable){ .table = table, .to_xdp = to_xdp };
	if (!keep_device(rules, device, flowtable->device))
		return;
	copy = copy_text(rules, name);
	if (!copy)
		return;
	flowtable->name = copy;
	rules->n_flowtables++;
}

uint32_t guard_add_set(struct guard_ruleset *rules, uint32_t key_bytes)
{
	if (key_bytes == 0 || key_bytes > GUARD_REGISTER_BYTES)
		ruleset_fail(rules, -EINVAL);
	if (!reserve(rules, &rules->sets, &rules->sets_room, rules->n_sets, 1,
		     sizeof(*rules->sets)))
		return 0;
	rules->sets[rules->n_sets] = (struct set){ .key_bytes = key_bytes };
	return rules->n_sets++;
}

void guard_set_unknown(struct guard_ruleset *rules, uint32_t set)
{
	if (is_one_of(rules, set, rules->n_sets))
		rules->sets[set].unknown = true;
}

void guard_set_inexact(struct guard_ruleset *rules, uint32_t set)
{
	if (!is_one_of(rules, set, rules->n_sets))
		return;
	if (rules->sets[set].keys)
		ruleset_fail(rules, -EINVAL);
	rules->sets[set].inexact = true;
}

static bool keep_key(struct guard_ruleset *rules, struct set *set, const void *key)
{
	if (set->inexact)
		return true;
	if (!reserve(rules, &set->keys, &set->keys_room, set->n, 1, set->key_bytes))
		return false;
	memcpy(set->keys + (size_t)set->n * set->key_bytes, key, set->key_bytes);
	ruleset_names_element(rules, set, key);
	return true;
}

/* target: NULL of a set that is no map. */
static void add_element(struct guard_ruleset *rules, uint32_t number, const void *key,
			const struct target *target)
{
	struct set *set;

	if (!is_one_of(rules, number, rules->n_sets))
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
	if (target &&
	    !reserve(rules, &set->targets, &set->targets_room, set->n, 1, sizeof(*target)))
		return;
	if (!keep_key(rules, set, key))
		return;
	if (target)
		set->targets[set->n] = *target;
	set->n++;
}

void guard_add_element(struct guard_ruleset *rules, uint32_t set, const void *key)
{
	add_element(rules, set, key, NULL);
}

/* The chain of a verdict, if it has one. */
static bool fits_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain)
{
	return (verdict != GUARD_JUMP && verdict != GUARD_GOTO) ||
	       is_one_of(rules, chain, rules->n_chains);
}

void guard_add_verdict_element(struct guard_ruleset *rules, uint32_t set, const void *key,
			       enum guard_verdict verdict, uint32_t chain)
{
	const struct target target = { .chain = chain, .verdict = verdict };

	if (fits_verdict(rules, verdict, chain))
		add_element(rules, set, key, &target);
}

void guard_add_rule(struct guard_ruleset *rules, uint32_t chain, uint64_t handle)
{
	struct chain *at;

	if (!is_one_of(rules, chain, rules->n_chains))
		return;
	if (rules->n_rules == GUARD_MAX_RULES)
		ruleset_fail(rules, -E2BIG);
	if (!reserve(rules, &rules->rules, &rules->rules_room, rules->n_rules, 1,
		     sizeof(*rules->rules)))
		return;
	at = &rules->chains[chain];
	rules->rules[rules->n_rules] =
		(struct rule){ .handle = handle, .code = rules->n_code, .next = NONE };
	if (at->last == NONE)
		at->first = rules->n_rules;
	else
		rules->rules[at->last].next = rules->n_rules;
	at->last = rules->n_rules++;
	ruleset_names_rule(rules);
}

/* Add the bytes of an operation, of which the caller fills in what follows the first. NULL: no. */
static uint8_t *add_op(struct guard_ruleset *rules, enum op op, size_t operand_bytes)
{
	uint8_t *at;

	if (!rules->n_rules)
		ruleset_fail(rules, -EINVAL);
	if (!reserve(rules, &rules->code, &rules->code_room, rules->n_code, 1 + operand_bytes, 1))
		return NULL;
	at = rules->code + rules->n_code;
	rules->n_code += 1 + (uint32_t)operand_bytes;
	*at = op;
	return at + 1;
}

static bool fits_registers(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes)
{
	if (reg > GUARD_REGISTER_BYTES || bytes > GUARD_REGISTER_BYTES - reg)
		ruleset_fail(rules, -EINVAL);
	return !rules->error;
}

unsigned int ruleset_fact_bytes(enum guard_fact fact)
{
	switch (fact) {
	case GUARD_FACT_OTHER:
		break;
	case GUARD_FACT_IIFNAME:
	case GUARD_FACT_OIFNAME:
	case GUARD_FACT_IIFKIND:
	case GUARD_FACT_OIFKIND:
		return NAME_BYTES;
	case GUARD_FACT_IIF:
	case GUARD_FACT_OIF:
	case GUARD_FACT_IIFTYPE:
	case GUARD_FACT_OIFTYPE:
	case GUARD_FACT_NFPROTO:
	case GUARD_FACT_PROTOCOL:
		return WORD_BYTES;
	}
	return 0;
}

void guard_load(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		enum guard_fact fact)
{
	uint8_t *at;

	if (fact != GUARD_FACT_OTHER)
		bytes = ruleset_fact_bytes(fact);
	if (!fits_registers(rules, reg, bytes))
		return;
	at = add_op(rules, OP_LOAD, 3);
	if (!at)
		return;
	at[0] = (uint8_t)reg;
	at[1] = (uint8_t)bytes;
	at[2] = fact;
	ruleset_names_load(rules, reg, bytes, fact);
}

void guard_store(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		 const void *value)
{
	uint8_t *at;

	if (!fits_registers(rules, reg, bytes))
		return;
	at = add_op(rules, OP_STORE, 2 + bytes);
	if (!at)
		return;
	at[0] = (uint8_t)reg;
	at[1] = (uint8_t)bytes;
	memcpy(at + 2, value, bytes);
	ruleset_names_load(rules, reg, bytes, GUARD_FACT_OTHER);
}

void guard_compare(struct guard_ruleset *rules, unsigned int reg, unsigned int bytes,
		   enum guard_compare how, const void *value)
{
	uint8_t *at;

	if (!fits_registers(rules, reg, bytes))
		return;
	at = add_op(rules, OP_COMPARE, 3 + bytes);
	if (!at)
		return;
	at[0] = (uint8_t)reg;
	at[1] = (uint8_t)bytes;
	at[2] = how;
	memcpy(at + 3, value, bytes);
	ruleset_names_compare(rules, reg, bytes, how, value);
}

void guard_may_match(struct guard_ruleset *rules)
{
	(void)add_op(rules, OP_MAY_MATCH, 0);
}

static bool fits_set(struct guard_ruleset *rules, uint32_t set, unsigned int reg)
{
	return is_one_of(rules, set, rules->n_sets) &&
	       fits_registers(rules, reg, rules->sets[set].key_bytes);
}

void guard_lookup(struct guard_ruleset *rules, uint32_t set, unsigned int reg, bool inverted)
{
	uint8_t *at;

	if (!fits_set(rules, set, reg))
		return;
	at = add_op(rules, OP_LOOKUP, 2 + sizeof(set));
	if (!at)
		return;
	at[0] = (uint8_t)reg;
	at[1] = inverted;
	memcpy(at + 2, &set, sizeof(set));
	ruleset_names_lookup(rules, &rules->sets[set], reg);
}

void guard_lookup_verdict(struct guard_ruleset *rules, uint32_t set, unsigned int reg)
{
	uint8_t *at;

	if (!fits_set(rules, set, reg))
		return;
	at = add_op(rules, OP_LOOKUP_VERDICT, 1 + sizeof(set));
	if (!at)
		return;
	at[0] = (uint8_t)reg;
	memcpy(at + 1, &set, sizeof(set));
	ruleset_names_lookup(rules, &rules->sets[set], reg);
}

void guard_verdict(struct guard_ruleset *rules, enum guard_verdict verdict, uint32_t chain)
{
	uint8_t *at;

	if (!fits_verdict(rules, verdict, chain))
		return;
	at = add_op(rules, OP_VERDICT, 1 + sizeof(chain));
	if (!at)
		return;
	at[0] = verdict;
	memcpy(at + 1, &chain, sizeof(chain));
}

void guard_effect(struct guard_ruleset *rules, const char *words)
{
	size_t length = strnlen(words, UINT8_MAX);
	uint8_t *at = add_op(rules, OP_EFFECT, 1 + length);

	if (!at)
		return;
	at[0] = (uint8_t)length;
	memcpy(at + 1, words, length);
}

bool guard_set_matters(const struct guard_ruleset *rules, uint32_t set)
{
	return set < rules->n_sets && rules->sets[set].matters;
}

void guard_asks_conntrack(struct guard_ruleset *rules)
{
	rules->asks_conntrack = true;
	(void)add_op(rules, OP_CONNTRACK, 0);
}

bool guard_ruleset_asks_conntrack(const struct guard_ruleset *rules)
{
	return rules->asks_conntrack;
}
