// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random rulesets against a naive model, which takes one packet through the rules as nf_tables
 * does, with a stack of jumps. A packet has an answer for each condition that is not known. All
 * answers are tried: packets are punted if any of them ends in something but acceptance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/guard/ruleset_query.h"
#include "../../../user/lib/util.h"
#include "../unit.h"
#include "ruleset_text.h"

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

/* --- the model --- */

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

static bool matches(struct packet *packet, const struct condition *condition)
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

/* GUARD_CONTINUE if the rule does nothing, GUARD_DROP also for a side effect. */
static struct target apply(struct packet *packet, const struct model_rule *rule)
{
	struct target target = { .verdict = GUARD_CONTINUE };

	for (unsigned int i = 0; i < rule->n_conditions; i++) {
		if (!matches(packet, &rule->conditions[i]))
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

/* False: a packet like this is punted. */
static bool passes(struct packet *packet)
{
	struct {
		unsigned int chain, rule;
	} stack[MAX_CHAINS];
	unsigned int depth = 0, chain = 0, i = 0;

	for (;;) {
		struct target target = { .verdict = GUARD_RETURN };

		if (i < packet->model->chains[chain].n_rules)
			target = apply(packet, &packet->model->chains[chain].rules[i++]);
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

/* 1: punted; 0: no; -1: too many packets to try. */
static int model_punts(const struct model *model, const struct guard_iface *in,
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

/* --- the same rules as text --- */

static char text[8192];

static void _printf_(1, 2) print(const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	assert_true(vsnprintf(text + used, sizeof(text) - used, format, args) <
		    (int)(sizeof(text) - used));
	va_end(args);
}

static void print_target(const struct target *target)
{
	static const char *const verdicts[] = { "accept", "drop",   "jump",
						"goto",	  "return", "continue" };

	print("%s", verdicts[target->verdict]);
	if (target->verdict == GUARD_JUMP || target->verdict == GUARD_GOTO)
		print(" chain%u", target->chain);
}

/* Sets and maps stand before the rule that looks them up. n: of the set. */
static void print_set(const struct condition *condition, unsigned int n)
{
	print("set s%u 16\n", n);
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (condition->members >> i & 1)
			print("add s%u %s\n", n, names[i]);
}

static void print_map(const struct model_rule *rule, unsigned int n)
{
	bool inexact = rule->end == END_UNKNOWN_MAP && rule->other.verdict % 2;

	print("set m%u 16%s\n", n, inexact ? " inexact" : "");
	for (unsigned int i = 0; i < rule->n_elements + rule->catch_all; i++) {
		print("add m%u %s : ", n, i < rule->n_elements ? names[i] : "*");
		print_target(i < rule->n_elements ? &rule->elements[i] : &rule->other);
		print("\n");
	}
}

static void print_condition(const struct condition *condition, unsigned int n)
{
	const char *name = names[condition->name];

	switch (condition->kind) {
	case IIF_IS:
		print(" iifname = %s", name);
		break;
	case IIF_IS_NOT:
		print(" iifname != %s", name);
		break;
	case OIF_IS:
		print(" oifname = %s", name);
		break;
	case IIF_BEGINS:
		print(" iifname = %c*", name[0]);
		break;
	case IN_SET:
	case NOT_IN_SET:
		print(" iifname %s@s%u", condition->kind == IN_SET ? "" : "!", n);
		break;
	case UNKNOWN_IS:
		print("%s", condition->members & 1 ? " port = #5632" : " may");
		break;
	}
}

static void print_rule(const struct model_rule *rule, unsigned int number)
{
	bool maps = rule->end == END_MAP || rule->end == END_UNKNOWN_MAP;

	for (unsigned int i = 0; i < rule->n_conditions; i++)
		print_set(&rule->conditions[i], 2 * number + i);
	if (maps)
		print_map(rule, number);
	print("handle %u", number + 1);
	for (unsigned int i = 0; i < rule->n_conditions; i++)
		print_condition(&rule->conditions[i], 2 * number + i);
	print(" ");
	if (maps)
		print("%s vmap m%u", rule->end == END_MAP ? "iifname" : "name", number);
	else if (rule->end == END_EFFECT)
		print("do log");
	else if (rule->end == END_VERDICT)
		print_target(&rule->target);
	print("\n");
}

static void print_model(const struct model *model)
{
	unsigned int number = 0;

	text[0] = '\0';
	print("base forward %s\n", model->accepts ? "accept" : "drop");
	for (unsigned int i = 0; i < model->n_chains; i++) {
		if (i)
			print("chain chain%u\n", i);
		for (unsigned int j = 0; j < model->chains[i].n_rules; j++)
			print_rule(&model->chains[i].rules[j], number++);
	}
}

/* --- the test --- */

struct counts {
	unsigned int punted, passed, left_out;
};

static void try_pair(const struct model *model, const struct guard_ruleset *rules,
		     const struct guard_iface *in, const struct guard_iface *out,
		     unsigned int round, struct counts *counts)
{
	int expected = model_punts(model, in, out);
	char reason[GUARD_REASON_LEN] = "";
	bool punted = guard_ruleset_holds(rules, GUARD_HOOK_FORWARD, in, out, reason);

	if (expected < 0)
		counts->left_out++;
	else if (punted != expected)
		fail_msg("round %u, %s to %s: %s\n%s", round, in->name, out->name,
			 punted ? reason : "a packet does not pass", text);
	else if (punted)
		counts->punted++;
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
		print_model(&model);
		rules = ruleset_text_new(text);
		assert_int_equal(guard_ruleset_error(rules), 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(devices); i++)
			try_pair(&model, rules, devices[i], devices[(i + 1) % ARRAY_SIZE(devices)],
				 round, &counts);
		guard_ruleset_free(rules);
	}
	/* Both answers must be frequent. */
	assert_true(counts.punted > ROUNDS / 2);
	assert_true(counts.passed > ROUNDS / 2);
	assert_true(counts.left_out < ROUNDS / 100);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_rulesets) };

	return cmocka_run_group_tests_name("random rulesets", tests, NULL, NULL);
}
