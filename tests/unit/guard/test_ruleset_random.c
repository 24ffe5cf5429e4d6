// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random rulesets against a kernel in small: it takes one packet through the rules as nf_tables
 * does, with a stack of jumps, and asks at each condition that is not known. All answers are tried,
 * one packet each. A packet is held if one of them ends in anything but acceptance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../user/lib/util.h"
#include "../unit.h"
#include "ruleset_rules.h"

#define ROUNDS 30000u
#define MAX_CHAINS 5u
#define MAX_RULES 4u
#define MAX_ELEMENTS 3u
#define MAX_CHOICES 4096u /* packets tried: rulesets of more are left out */

static const struct guard_iface *const devices[] = { &lan, &wan, &tunnel };
static const char *const names[] = { "lan0", "wan0", "wg0", "ppp0" };

enum condition_kind { IIF_IS, IIF_IS_NOT, OIF_IS, IIF_BEGINS, IN_SET, NOT_IN_SET, UNKNOWN_IS };

struct condition {
	enum condition_kind kind;
	unsigned int name;    /* which */
	unsigned int members; /* of a set: bits */
};

/* What a rule comes to, and an element of its map. */
enum end_kind { END_NONE, END_VERDICT, END_EFFECT, END_MAP, END_UNKNOWN_MAP };

struct target {
	enum guard_verdict verdict;
	unsigned int chain;
};

struct model_rule {
	unsigned int n_conditions;
	struct condition conditions[2];
	enum end_kind end;
	struct target target; /* END_VERDICT */
	unsigned int n_elements;
	struct target elements[MAX_ELEMENTS]; /* by number of name */
	bool catch_all;
	struct target other;
};

struct model_chain {
	unsigned int n_rules;
	struct model_rule rules[MAX_RULES];
};

struct model {
	unsigned int n_chains;
	struct model_chain chains[MAX_CHAINS]; /* the first is the base chain */
	bool accepts;
};

static uint64_t random_state = 1;

static unsigned int random_below(unsigned int bound)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(random_state >> 33) % bound;
}

/* Jumps lead to later chains only, as the kernel allows no circle. */
static struct target random_target(unsigned int chain, unsigned int n_chains)
{
	static const enum guard_verdict verdicts[] = { GUARD_ACCEPT,  GUARD_ACCEPT, GUARD_ACCEPT,
						       GUARD_DROP,    GUARD_JUMP,   GUARD_JUMP,
						       GUARD_JUMP,    GUARD_GOTO,   GUARD_RETURN,
						       GUARD_CONTINUE };
	struct target target = { .verdict = verdicts[random_below(ARRAY_SIZE(verdicts))] };

	if (target.verdict != GUARD_JUMP && target.verdict != GUARD_GOTO)
		return target;
	if (chain + 1 == n_chains)
		target.verdict = GUARD_RETURN;
	else
		target.chain = chain + 1 + random_below(n_chains - chain - 1);
	return target;
}

static void make_rule(struct model_rule *rule, unsigned int chain, unsigned int n_chains)
{
	static const enum end_kind ends[] = {
		END_NONE,    END_VERDICT, END_VERDICT, END_VERDICT,
		END_VERDICT, END_EFFECT,  END_MAP,     END_UNKNOWN_MAP
	};

	*rule = (struct model_rule){
		.n_conditions = random_below(3),
		.end = ends[random_below(ARRAY_SIZE(ends))],
		.target = random_target(chain, n_chains),
		.n_elements = random_below(MAX_ELEMENTS + 1),
		.catch_all = random_below(2),
		.other = random_target(chain, n_chains),
	};
	for (unsigned int i = 0; i < rule->n_conditions; i++)
		rule->conditions[i] = (struct condition){
			.kind = random_below(UNKNOWN_IS + 1),
			.name = random_below(ARRAY_SIZE(names)),
			.members = random_below(16),
		};
	for (unsigned int i = 0; i < rule->n_elements; i++)
		rule->elements[i] = random_target(chain, n_chains);
}

static void make_model(struct model *model)
{
	model->accepts = random_below(4);
	model->n_chains = 1 + random_below(MAX_CHAINS);
	for (unsigned int i = 0; i < model->n_chains; i++) {
		model->chains[i].n_rules = random_below(MAX_RULES + 1);
		for (unsigned int j = 0; j < model->chains[i].n_rules; j++)
			make_rule(&model->chains[i].rules[j], i, model->n_chains);
	}
}

/* --- the kernel in small --- */

struct packet {
	const struct model *model;
	const struct guard_iface *in, *out;
	uint32_t answers; /* to come, a bit each */
	unsigned int n_asked;
};

static unsigned int ask(struct packet *packet, unsigned int n)
{
	unsigned int bits = n > 2 ? 2 : 1;
	unsigned int answer = packet->answers >> packet->n_asked & ((1u << bits) - 1);

	packet->n_asked += bits;
	return answer % n;
}

static bool is_member(const struct condition *condition, const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (condition->members >> i & 1 && !strcmp(names[i], name))
			return true;
	}
	return false;
}

static bool holds(struct packet *packet, const struct condition *condition)
{
	const char *name = names[condition->name];

	switch (condition->kind) {
	case IIF_IS:
		return !strcmp(packet->in->name, name);
	case IIF_IS_NOT:
		return strcmp(packet->in->name, name);
	case OIF_IS:
		return !strcmp(packet->out->name, name);
	case IIF_BEGINS:
		return packet->in->name[0] == name[0];
	case IN_SET:
		return is_member(condition, packet->in->name);
	case NOT_IN_SET:
		return !is_member(condition, packet->in->name);
	case UNKNOWN_IS:
		return ask(packet, 2);
	}
	return false;
}

/* The element that the rule's map has for the packet. False: none. */
static bool map_element(struct packet *packet, const struct model_rule *rule, struct target *target)
{
	unsigned int i = 0;

	if (rule->end == END_MAP) {
		while (i < rule->n_elements && strcmp(names[i], packet->in->name))
			i++;
	} else {
		/* A packet may lack what is looked up. */
		if (ask(packet, 2))
			return false;
		i = ask(packet, rule->n_elements + 1);
	}
	if (i == rule->n_elements && !rule->catch_all)
		return false;
	*target = i == rule->n_elements ? rule->other : rule->elements[i];
	return true;
}

/* What the rule says of the packet: GUARD_CONTINUE for nothing, GUARD_DROP also for an effect. */
static struct target say(struct packet *packet, const struct model_rule *rule)
{
	struct target target = { .verdict = GUARD_CONTINUE };

	for (unsigned int i = 0; i < rule->n_conditions; i++) {
		if (!holds(packet, &rule->conditions[i]))
			return target;
	}
	switch (rule->end) {
	case END_NONE:
		break;
	case END_VERDICT:
		return rule->target;
	case END_EFFECT:
		target.verdict = GUARD_DROP;
		break;
	case END_MAP:
	case END_UNKNOWN_MAP:
		(void)map_element(packet, rule, &target);
		break;
	}
	return target;
}

/* False: held. */
static bool passes(struct packet *packet)
{
	struct {
		unsigned int chain, rule;
	} stack[MAX_CHAINS];
	unsigned int depth = 0, chain = 0, i = 0;

	for (;;) {
		struct target target = { .verdict = GUARD_RETURN };

		if (i < packet->model->chains[chain].n_rules)
			target = say(packet, &packet->model->chains[chain].rules[i++]);
		switch (target.verdict) {
		case GUARD_ACCEPT:
			return true;
		case GUARD_DROP:
			return false;
		case GUARD_CONTINUE:
			continue;
		case GUARD_RETURN:
			if (!depth)
				return packet->model->accepts;
			chain = stack[--depth].chain;
			i = stack[depth].rule;
			continue;
		case GUARD_JUMP:
			stack[depth].chain = chain;
			stack[depth++].rule = i;
			break;
		case GUARD_GOTO:
			break;
		}
		chain = target.chain;
		i = 0;
	}
}

/* 1: held; 0: no; -1: too many packets to try. */
static int model_holds(const struct model *model, const struct guard_iface *in,
		       const struct guard_iface *out)
{
	unsigned int most = 0;

	for (uint32_t answers = 0; answers >> most == 0 && answers < MAX_CHOICES; answers++) {
		struct packet packet = { .model = model, .in = in, .out = out, .answers = answers };

		if (!passes(&packet))
			return 1;
		if (packet.n_asked > most)
			most = packet.n_asked;
	}
	return most < 12 ? 0 : -1;
}

/* --- the same rules, built --- */

static void build_condition(struct guard_ruleset *rules, const struct condition *condition)
{
	const char prefix[] = { names[condition->name][0], '*', '\0' };
	uint32_t set;

	switch (condition->kind) {
	case IIF_IS:
		iifname(rules, names[condition->name]);
		break;
	case IIF_IS_NOT:
		compare_name(rules, GUARD_META_IIFNAME, GUARD_NE, names[condition->name]);
		break;
	case OIF_IS:
		oifname(rules, names[condition->name]);
		break;
	case IIF_BEGINS:
		iifname(rules, prefix);
		break;
	case IN_SET:
	case NOT_IN_SET:
		set = guard_add_set(rules, 16);
		for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
			if (condition->members >> i & 1)
				set_name(rules, set, names[i]);
		}
		guard_load(rules, 0, 16, GUARD_META_IIFNAME);
		guard_lookup(rules, set, 0, condition->kind == NOT_IN_SET);
		break;
	case UNKNOWN_IS:
		if (condition->members & 1)
			tcp_dport(rules);
		else
			guard_may_match(rules);
		break;
	}
}

static void build_map(struct guard_ruleset *rules, const struct model_rule *rule)
{
	uint32_t set = guard_add_set(rules, 16);

	if (rule->end == END_UNKNOWN_MAP && rule->other.verdict % 2)
		guard_set_inexact(rules, set);
	for (unsigned int i = 0; i < rule->n_elements; i++)
		map_name(rules, set, names[i], rule->elements[i].verdict, rule->elements[i].chain);
	if (rule->catch_all)
		guard_add_verdict_element(rules, set, NULL, rule->other.verdict, rule->other.chain);
	guard_load(rules, 0, 16, rule->end == END_MAP ? GUARD_META_IIFNAME : GUARD_META_OTHER);
	guard_lookup_verdict(rules, set, 0);
}

static void build_rule(struct guard_ruleset *rules, const struct model_rule *rule)
{
	for (unsigned int i = 0; i < rule->n_conditions; i++)
		build_condition(rules, &rule->conditions[i]);
	switch (rule->end) {
	case END_NONE:
		break;
	case END_VERDICT:
		guard_verdict(rules, rule->target.verdict, rule->target.chain);
		break;
	case END_EFFECT:
		guard_effect(rules, "log");
		break;
	case END_MAP:
	case END_UNKNOWN_MAP:
		build_map(rules, rule);
		break;
	}
}

static struct guard_ruleset *build(const struct model *model)
{
	struct guard_ruleset *rules = guard_ruleset_new();
	char name[16];

	assert_non_null(rules);
	add_forward(rules, model->accepts);
	for (unsigned int i = 1; i < model->n_chains; i++) {
		snprintf(name, sizeof(name), "chain%u", i);
		assert_int_equal(guard_add_chain(rules, 0, name), i);
	}
	for (unsigned int i = 0; i < model->n_chains; i++) {
		for (unsigned int j = 0; j < model->chains[i].n_rules; j++) {
			guard_add_rule(rules, i, j + 1);
			build_rule(rules, &model->chains[i].rules[j]);
		}
	}
	assert_int_equal(guard_ruleset_error(rules), 0);
	return rules;
}

/* --- the test --- */

struct counts {
	unsigned int held, passed, left_out;
};

static void try_pair(const struct model *model, const struct guard_ruleset *rules,
		     const struct guard_iface *in, const struct guard_iface *out,
		     unsigned int round, struct counts *counts)
{
	int expected = model_holds(model, in, out);
	char reason[GUARD_REASON_LEN] = "";
	bool held = guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, in, out, reason);

	if (expected < 0)
		counts->left_out++;
	else if (held != expected)
		fail_msg("round %u, %s to %s: %s", round, in->name, out->name,
			 held ? reason : "a packet does not pass");
	else if (held)
		counts->held++;
	else
		counts->passed++;
}

static void test_random_rulesets(void **state)
{
	struct counts counts = { 0 };

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct guard_ruleset *rules;
		struct model model;

		make_model(&model);
		rules = build(&model);
		for (unsigned int i = 0; i < ARRAY_SIZE(devices); i++)
			try_pair(&model, rules, devices[i], devices[(i + 1) % ARRAY_SIZE(devices)],
				 round, &counts);
		guard_ruleset_free(rules);
	}
	/* The test is of something only if both answers are given often. */
	assert_true(counts.held > ROUNDS / 2);
	assert_true(counts.passed > ROUNDS / 2);
	assert_true(counts.left_out < ROUNDS / 100);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_rulesets) };

	return cmocka_run_group_tests_name("random rulesets", tests, NULL, NULL);
}
