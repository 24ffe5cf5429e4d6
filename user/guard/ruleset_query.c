// SPDX-License-Identifier: GPL-2.0-only
/*
 * Abstract interpretation of rules. Each condition is true, false or maybe. Each chain is evaluated
 * once a query: its outcome does not depend on how it was reached, because registers do not outlive
 * a rule.
 */
#include "ruleset_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum goal { GOAL_PUNT, GOAL_CONNTRACK };

/* Where a packet may go next, as bits. 0: the goal was found, and the query ends. */
enum outcome {
	OUTCOME_REST = 1,	/* the operations that follow */
	OUTCOME_NEXT = 2,	/* the next rule */
	OUTCOME_END = 4,	/* the end of the chain */
	OUTCOME_ACCEPT = 8,	/* past the base chain */
	OUTCOME_WALKING = 0x80, /* the chain's evaluation is under way */
};

struct walk {
	const struct guard_ruleset *rules;
	enum goal goal;
	struct meta_values metas;
	uint8_t *chains; /* outcomes, or 0 */
	uint8_t *sets;	 /* outcomes of a lookup of an unknown key, or 0 */
	uint32_t depth, steps;
	char *reason;
	bool found;
};

/* The goal is reached in a chain. rule: NULL if no rule did it. Returns no outcome. */
static uint8_t find(struct walk *walk, uint32_t number, const struct rule *rule, const char *text)
{
	const struct chain *chain = &walk->rules->chains[number];
	const char *table = walk->rules->tables[chain->table];
	char handle[sizeof(", rule handle ") + 20] = "";

	if (rule && rule->handle)
		snprintf(handle, sizeof(handle), ", rule handle %llu",
			 (unsigned long long)rule->handle);
	if (walk->reason && !walk->found)
		snprintf(walk->reason, GUARD_REASON_LEN, "%s, chain %s%s: %s", table, chain->name,
			 handle, text);
	walk->found = true;
	return 0;
}

/* Something that punts packets: the goal, unless connection tracking is. */
static uint8_t find_punt(struct walk *walk, uint32_t chain, const struct rule *rule,
			 const char *text, uint8_t otherwise)
{
	return walk->goal == GOAL_PUNT ? find(walk, chain, rule, text) : otherwise;
}

/* False: that was one step too many. */
static bool step(struct walk *walk, uint32_t chain)
{
	if (++walk->steps > GUARD_MAX_STEPS)
		find(walk, chain, NULL, "its rules take too long to analyse");
	return !walk->found;
}

/* --- sets --- */

static enum truth matches(const struct set *set, uint32_t element, const struct registers *regs,
			  unsigned int reg)
{
	return registers_compare(regs, reg, set->key_bytes, GUARD_EQ,
				 set->keys + (size_t)element * set->key_bytes);
}

/* Nothing is known of the key, so that a lookup may match any element. */
static bool is_unknown_key(const struct set *set, const struct registers *regs, unsigned int reg)
{
	return set->inexact || !registers_any_known(regs, reg, set->key_bytes);
}

static enum truth lookup(struct walk *walk, uint32_t chain, const struct set *set,
			 const struct registers *regs, unsigned int reg)
{
	bool maybe = false;

	if (set->unknown)
		return MAYBE;
	if (is_unknown_key(set, regs, reg))
		return set->catch_all ? TRUE : set->n ? MAYBE : FALSE;
	for (uint32_t i = 0; i < set->n && step(walk, chain); i++) {
		enum truth truth = matches(set, i, regs, reg);

		if (truth == TRUE)
			return TRUE;
		maybe |= truth == MAYBE;
	}
	return set->catch_all ? TRUE : maybe ? MAYBE : FALSE;
}

static uint8_t walk_target(struct walk *walk, uint32_t chain, const struct rule *rule,
			   const struct target *target);

/* The outcome for a key that no element is sure to match. */
static uint8_t walk_catch_all(struct walk *walk, uint32_t chain, const struct rule *rule,
			      const struct set *set)
{
	return set->catch_all ? walk_target(walk, chain, rule, &set->other) : OUTCOME_NEXT;
}

static uint8_t walk_any_element(struct walk *walk, uint32_t chain, const struct rule *rule,
				uint32_t number)
{
	const struct set *set = &walk->rules->sets[number];
	uint8_t outcome = walk->sets[number];

	if (outcome)
		return outcome;
	outcome = walk_catch_all(walk, chain, rule, set);
	for (uint32_t i = 0; i < set->n && step(walk, chain); i++)
		outcome |= walk_target(walk, chain, rule, &set->targets[i]);
	walk->sets[number] = outcome;
	return outcome;
}

static uint8_t lookup_verdict(struct walk *walk, uint32_t chain, const struct rule *rule,
			      uint32_t number, const struct registers *regs, unsigned int reg)
{
	const struct set *set = &walk->rules->sets[number];
	uint8_t outcome = 0;

	if (set->unknown || ((set->n || set->catch_all) && !set->map))
		return find_punt(walk, chain, rule, "an unknown verdict map",
				 OUTCOME_NEXT | OUTCOME_END | OUTCOME_ACCEPT | OUTCOME_REST);
	if (is_unknown_key(set, regs, reg))
		return walk_any_element(walk, chain, rule, number);
	for (uint32_t i = 0; i < set->n && step(walk, chain); i++) {
		enum truth truth = matches(set, i, regs, reg);

		if (truth == TRUE)
			return walk_target(walk, chain, rule, &set->targets[i]);
		if (truth == MAYBE)
			outcome |= walk_target(walk, chain, rule, &set->targets[i]);
	}
	return outcome | walk_catch_all(walk, chain, rule, set);
}

/* --- rules and chains --- */

static uint8_t walk_chain(struct walk *walk, uint32_t number);

static uint8_t walk_jump(struct walk *walk, uint32_t target, uint8_t at_end)
{
	uint8_t outcome = walk_chain(walk, target);

	return (outcome & OUTCOME_ACCEPT) | (outcome & OUTCOME_END ? at_end : 0);
}

static uint8_t walk_target(struct walk *walk, uint32_t chain, const struct rule *rule,
			   const struct target *target)
{
	switch (target->verdict) {
	case GUARD_ACCEPT:
		return OUTCOME_ACCEPT;
	case GUARD_DROP:
		return find_punt(walk, chain, rule, "drop", OUTCOME_ACCEPT);
	case GUARD_JUMP:
		return walk_jump(walk, target->chain, OUTCOME_NEXT);
	case GUARD_GOTO:
		return walk_jump(walk, target->chain, OUTCOME_END);
	case GUARD_RETURN:
		return OUTCOME_END;
	case GUARD_CONTINUE:
		break;
	}
	return OUTCOME_REST;
}

static uint32_t operand_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint8_t outcome_of(enum truth truth)
{
	if (truth == MAYBE)
		return OUTCOME_REST | OUTCOME_NEXT;
	return truth == TRUE ? OUTCOME_REST : OUTCOME_NEXT;
}

static enum truth invert(enum truth truth, bool inverted)
{
	return truth == MAYBE || !inverted ? truth : truth == TRUE ? FALSE : TRUE;
}

static uint8_t walk_effect(struct walk *walk, uint32_t chain, const struct rule *rule,
			   const uint8_t *at)
{
	char text[UINT8_MAX + 1];

	memcpy(text, at + 1, at[0]);
	text[at[0]] = '\0';
	/* It may end the rule (limit) or not (log). */
	return find_punt(walk, chain, rule, text, OUTCOME_REST | OUTCOME_NEXT);
}

/* Evaluates the operation at *at, and moves *at to the next one. */
static uint8_t walk_op(struct walk *walk, uint32_t chain, const struct rule *rule,
		       struct registers *regs, const uint8_t **at)
{
	const uint8_t *operands = *at + 1;
	const struct set *sets = walk->rules->sets;
	struct target target;

	switch (**at) {
	case OP_LOAD:
		*at = operands + 3;
		return outcome_of(registers_load(regs, operands[0], operands[1],
						 &walk->metas.at[operands[2]]));
	case OP_STORE:
		*at = operands + 2 + operands[1];
		registers_write(regs, operands[0], operands[1], operands + 2);
		return OUTCOME_REST;
	case OP_COMPARE:
		*at = operands + 3 + operands[1];
		return outcome_of(registers_compare(regs, operands[0], operands[1], operands[2],
						    operands + 3));
	case OP_MAY_MATCH:
		*at = operands;
		return outcome_of(MAYBE);
	case OP_LOOKUP:
		*at = operands + 2 + sizeof(uint32_t);
		return outcome_of(invert(
			lookup(walk, chain, &sets[operand_u32(operands + 2)], regs, operands[0]),
			operands[1]));
	case OP_LOOKUP_VERDICT:
		*at = operands + 2 + sizeof(uint32_t);
		return lookup_verdict(walk, chain, rule, operand_u32(operands + 2), regs,
				      operands[0]);
	case OP_VERDICT:
		*at = operands + 1 + sizeof(uint32_t);
		target = (struct target){ .verdict = operands[0],
					  .chain = operand_u32(operands + 1) };
		return walk_target(walk, chain, rule, &target);
	case OP_EFFECT:
		*at = operands + 1 + operands[0];
		return walk_effect(walk, chain, rule, operands);
	default: /* OP_CONNTRACK */
		*at = operands;
		if (walk->goal == GOAL_CONNTRACK)
			return find(walk, chain, rule, "connection tracking");
		return OUTCOME_REST;
	}
}

static uint8_t walk_rule(struct walk *walk, uint32_t chain, uint32_t number)
{
	const struct guard_ruleset *rules = walk->rules;
	const struct rule *rule = &rules->rules[number];
	uint32_t end = number + 1 < rules->n_rules ? rule[1].code : rules->n_code;
	const uint8_t *at = rules->code + rule->code;
	struct registers regs = { .known = 0 };
	uint8_t outcome = OUTCOME_REST;

	while (outcome & OUTCOME_REST && at < rules->code + end) {
		if (!step(walk, chain))
			return 0;
		outcome &= (uint8_t)~OUTCOME_REST;
		outcome |= walk_op(walk, chain, rule, &regs, &at);
		if (walk->found)
			return 0;
	}
	if (outcome & OUTCOME_REST)
		outcome |= OUTCOME_NEXT;
	return outcome & (uint8_t)~OUTCOME_REST;
}

static uint8_t walk_rules(struct walk *walk, uint32_t number)
{
	const struct guard_ruleset *rules = walk->rules;
	uint8_t outcome = OUTCOME_NEXT;

	for (uint32_t i = rules->chains[number].first; i != NONE; i = rules->rules[i].next) {
		if (!(outcome & OUTCOME_NEXT))
			return outcome;
		if (!step(walk, number))
			return 0;
		outcome &= (uint8_t)~OUTCOME_NEXT;
		outcome |= walk_rule(walk, number, i);
		if (walk->found)
			return 0;
	}
	if (outcome & OUTCOME_NEXT)
		outcome |= OUTCOME_END;
	return outcome & (uint8_t)~OUTCOME_NEXT;
}

static uint8_t walk_chain(struct walk *walk, uint32_t number)
{
	uint8_t outcome = walk->chains[number];

	if (outcome == OUTCOME_WALKING)
		return find(walk, number, NULL, "a loop of jumps");
	if (outcome)
		return outcome;
	if (walk->depth == GUARD_MAX_DEPTH)
		return find(walk, number, NULL, "jumps nested too deeply");
	walk->chains[number] = OUTCOME_WALKING;
	walk->depth++;
	outcome = walk_rules(walk, number);
	walk->depth--;
	walk->chains[number] = outcome;
	return outcome;
}

/* --- queries --- */

/* device: "" or as of guard_set_base(). iface: NULL for any. */
static bool is_attached(const char device[NAME_BYTES], const struct guard_iface *iface)
{
	size_t length = strlen(device);

	if (!length || !iface)
		return true;
	if (device[length - 1] == '*')
		return !strncmp(device, iface->name, length - 1);
	return !strcmp(device, iface->name);
}

static void walk_hook(struct walk *walk, enum guard_hook hook, const struct guard_iface *in,
		      const struct guard_iface *out)
{
	const struct guard_iface *at = hook == GUARD_HOOK_EGRESS ? out : in;

	for (uint32_t i = 0; i < walk->rules->n_bases && !walk->found; i++) {
		const struct base *base = &walk->rules->bases[i];

		if (base->hook == hook && is_attached(base->device, at) &&
		    walk_chain(walk, base->chain) & OUTCOME_END && !base->accepts)
			find_punt(walk, base->chain, NULL, "policy drop", 0);
	}
}

static bool report_error(char *reason, int error)
{
	const char *text = error == -ENOMEM  ? "out of memory for the rules"
			   : error == -E2BIG ? "more rules than sixlane analyses"
					     : "rules that sixlane cannot read";

	if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s", text);
	return true;
}

static bool query(const struct guard_ruleset *rules, enum goal goal, enum guard_hook hook,
		  const struct guard_iface *in, const struct guard_iface *out, char *reason,
		  uint32_t *steps)
{
	struct walk walk = { .rules = rules, .goal = goal, .reason = reason };

	if (rules->error)
		return report_error(reason, rules->error);
	walk.chains = calloc((size_t)rules->n_chains + rules->n_sets + 1, 1);
	if (!walk.chains)
		return report_error(reason, -ENOMEM);
	walk.sets = walk.chains + rules->n_chains;
	meta_values_init(&walk.metas, hook, in, out);
	walk_hook(&walk, hook, in, out);
	free(walk.chains);
	*steps = walk.steps;
	return walk.found;
}

bool guard_ruleset_punts(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out, char *reason)
{
	uint32_t steps;

	return query(rules, GOAL_PUNT, hook, in, out, reason, &steps);
}

bool ruleset_query_steps(const struct guard_ruleset *rules, enum guard_hook hook,
			 const struct guard_iface *in, const struct guard_iface *out,
			 uint32_t *steps)
{
	return query(rules, GOAL_PUNT, hook, in, out, NULL, steps);
}

bool guard_ruleset_is_empty(const struct guard_ruleset *rules)
{
	return !rules->error && !rules->n_bases && !rules->n_flowtables;
}

bool guard_ruleset_tracks(const struct guard_ruleset *rules, char *reason)
{
	static const enum guard_hook hooks[] = { GUARD_HOOK_PREROUTING, GUARD_HOOK_FORWARD,
						 GUARD_HOOK_POSTROUTING };
	uint32_t steps;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (query(rules, GOAL_CONNTRACK, hooks[i], NULL, NULL, reason, &steps))
			return true;
	return false;
}

bool guard_ruleset_needs_conntrack(const struct guard_ruleset *rules)
{
	return rules->conntrack;
}

bool guard_ruleset_nat(const struct guard_ruleset *rules, enum guard_hook hook, char *reason)
{
	if (rules->error)
		return report_error(reason, rules->error);
	for (uint32_t i = 0; i < rules->n_bases; i++) {
		const struct base *base = &rules->bases[i];
		const struct chain *chain = &rules->chains[base->chain];

		if (base->hook != hook || !base->nat)
			continue;
		if (reason)
			snprintf(reason, GUARD_REASON_LEN, "%s, chain %s: type nat",
				 rules->tables[chain->table], chain->name);
		return true;
	}
	return false;
}

enum guard_flows guard_ruleset_flows(const struct guard_ruleset *rules,
				     const struct guard_iface *in, char *reason)
{
	enum guard_flows flows = GUARD_FLOWS_NONE;

	for (uint32_t i = 0; i < rules->n_flowtables; i++) {
		const struct flowtable *flowtable = &rules->flowtables[i];

		if (!is_attached(flowtable->device, in))
			continue;
		if (reason)
			snprintf(reason, GUARD_REASON_LEN, "%s, flowtable %s: forwards its flows",
				 rules->tables[flowtable->table], flowtable->name);
		if (!flowtable->to_xdp)
			return GUARD_FLOWS_KERNEL;
		flows = GUARD_FLOWS_XDP;
	}
	return flows;
}
