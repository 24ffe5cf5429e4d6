// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random rulesets against a naive model, which takes one packet through the rules as nf_tables
 * does, with a stack of jumps. A packet has an answer for each condition that is not known. All
 * answers are tried: packets are punted if any of them ends in something but acceptance.
 */
#include "../unit.h"

#include <string.h>

#include "../../../user/lib/util.h"
#include "ruleset_text.h"

#define ROUNDS 30000u
#define MAX_CHAINS 5u
#define MAX_RULES 4u
#define MAX_ELEMENTS 3u
#define MAX_ANSWERS 4096u /* packets tried; rulesets that need more are left out */

static const struct guard_iface *const devices[] = { &lan, &wan, &tunnel };
static const char *const names[] = { "lan0", "wan0", "wg0", "ppp0" };

struct condition {
	bool unknown;
	bool egress;	      /* the device that is looked at */
	bool inverted;	      /* that it is none of these */
	unsigned int members; /* a bit for each of names */
	bool set;	      /* the text needs a set of them, of this rule's number */
	char text[32];
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
	struct target target;		      /* END_VERDICT; the catch-all element of a map */
	struct target elements[MAX_ELEMENTS]; /* by number of name */
	unsigned int n_elements;
	bool catch_all;
};

struct model {
	bool accepts;
	unsigned int n_chains, n_rules[MAX_CHAINS];
	struct model_rule rules[MAX_CHAINS][MAX_RULES]; /* the first are of the base chain */
};

/* --- rules --------------------------------------------------------------------------- */

static unsigned int random_below(unsigned int bound)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % bound;
}

/* Jumps lead to later chains only: nf_tables refuses loops. */
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

static struct condition random_condition(unsigned int number)
{
	unsigned int name = random_below(ARRAY_SIZE(names)), kind = random_below(7);
	struct condition c = { .members = 1u << name };

	if (kind < 3) {
		c.inverted = kind == 1;
		c.egress = kind == 2;
		snprintf(c.text, sizeof(c.text), " %s %s %s", c.egress ? "oifname" : "iifname",
			 c.inverted ? "!=" : "=", names[name]);
	} else if (kind == 3) {
		for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
			c.members |= (names[i][0] == names[name][0]) << i;
		snprintf(c.text, sizeof(c.text), " iifname = %c*", names[name][0]);
	} else if (kind < 6) {
		c.set = true;
		c.inverted = kind == 5;
		c.members = random_below(1u << ARRAY_SIZE(names));
		snprintf(c.text, sizeof(c.text), " iifname %s@s%u", c.inverted ? "!" : "", number);
	} else {
		c.unknown = true;
		snprintf(c.text, sizeof(c.text), "%s", name & 1 ? " port = #5632" : " may");
	}
	return c;
}

static void make_model(struct model *model)
{
	static const enum end_kind ends[] = {
		END_NONE,    END_VERDICT, END_VERDICT, END_VERDICT,
		END_VERDICT, END_EFFECT,  END_MAP,     END_UNKNOWN_MAP
	};

	*model = (struct model){ .accepts = random_below(4),
				 .n_chains = 1 + random_below(MAX_CHAINS) };
	for (unsigned int i = 0; i < model->n_chains; i++) {
		model->n_rules[i] = random_below(MAX_RULES + 1);
		for (unsigned int j = 0; j < model->n_rules[i]; j++) {
			struct model_rule *rule = &model->rules[i][j];

			rule->n_conditions = random_below(3);
			for (unsigned int k = 0; k < rule->n_conditions; k++)
				rule->conditions[k] = random_condition(2 * (i * MAX_RULES + j) + k);
			rule->end = ends[random_below(ARRAY_SIZE(ends))];
			rule->target = random_target(i, model->n_chains);
			rule->n_elements = random_below(MAX_ELEMENTS + 1);
			for (unsigned int k = 0; k < rule->n_elements; k++)
				rule->elements[k] = random_target(i, model->n_chains);
			rule->catch_all = random_below(2);
		}
	}
}

/* --- the model ----------------------------------------------------------------------- */

struct packet {
	const struct model *model;
	const struct guard_iface *in, *out;
	uint32_t answers; /* a bit each */
	unsigned int n_asked;
};

static unsigned int ask(struct packet *packet, unsigned int n)
{
	unsigned int bits = n > 2 ? 2 : 1;
	unsigned int answer = packet->answers >> packet->n_asked & ((1u << bits) - 1);

	packet->n_asked += bits;
	return answer % n;
}

static bool matches(struct packet *packet, const struct condition *condition)
{
	const char *name = condition->egress ? packet->out->name : packet->in->name;

	if (condition->unknown)
		return ask(packet, 2);
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (condition->members >> i & 1 && !strcmp(names[i], name))
			return !condition->inverted;
	return condition->inverted;
}

static struct target map_lookup(struct packet *packet, const struct model_rule *rule)
{
	static const struct target none = { .verdict = GUARD_CONTINUE };
	unsigned int i = 0;

	if (rule->end == END_MAP) {
		while (i < rule->n_elements && strcmp(names[i], packet->in->name))
			i++;
	} else {
		/* A packet may lack what is looked up. */
		if (ask(packet, 2))
			return none;
		i = ask(packet, rule->n_elements + 1);
	}
	if (i < rule->n_elements)
		return rule->elements[i];
	return rule->catch_all ? rule->target : none;
}

/* GUARD_CONTINUE if the rule does nothing, GUARD_DROP also for a side effect. */
static struct target apply(struct packet *packet, const struct model_rule *rule)
{
	struct target target = { .verdict = GUARD_CONTINUE };

	for (unsigned int i = 0; i < rule->n_conditions; i++)
		if (!matches(packet, &rule->conditions[i]))
			return target;
	if (rule->end == END_VERDICT)
		return rule->target;
	if (rule->end == END_EFFECT)
		target.verdict = GUARD_DROP;
	return rule->end >= END_MAP ? map_lookup(packet, rule) : target;
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

		if (i < packet->model->n_rules[chain])
			target = apply(packet, &packet->model->rules[chain][i++]);
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

	for (uint32_t answers = 0; answers >> most == 0 && answers < MAX_ANSWERS; answers++) {
		struct packet packet = { .model = model, .in = in, .out = out, .answers = answers };

		if (!passes(&packet))
			return 1;
		if (packet.n_asked > most)
			most = packet.n_asked;
	}
	return most < 12 ? 0 : -1;
}

/* --- the same rules as text ---------------------------------------------------------- */

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

	print(" %s", verdicts[target->verdict]);
	if (target->verdict == GUARD_JUMP || target->verdict == GUARD_GOTO)
		print(" chain%u", target->chain);
}

/* Sets and maps stand before the rule that looks them up. */
static void print_sets(const struct model_rule *rule, unsigned int number)
{
	for (unsigned int i = 0; i < rule->n_conditions; i++) {
		if (!rule->conditions[i].set)
			continue;
		print("set s%u 16\n", 2 * number + i);
		for (unsigned int j = 0; j < ARRAY_SIZE(names); j++)
			if (rule->conditions[i].members >> j & 1)
				print("add s%u %s\n", 2 * number + i, names[j]);
	}
	if (rule->end < END_MAP)
		return;
	print("set m%u 16%s\n", number,
	      rule->end == END_UNKNOWN_MAP && rule->target.verdict % 2 ? " inexact" : "");
	for (unsigned int i = 0; i < rule->n_elements + rule->catch_all; i++) {
		print("add m%u %s :", number, i < rule->n_elements ? names[i] : "*");
		print_target(i < rule->n_elements ? &rule->elements[i] : &rule->target);
		print("\n");
	}
}

static void print_rule(const struct model_rule *rule, unsigned int number)
{
	print_sets(rule, number);
	print("handle %u", number + 1);
	for (unsigned int i = 0; i < rule->n_conditions; i++)
		print("%s", rule->conditions[i].text);
	if (rule->end >= END_MAP)
		print(" %s vmap m%u", rule->end == END_MAP ? "iifname" : "name", number);
	else if (rule->end == END_EFFECT)
		print(" do log");
	else if (rule->end == END_VERDICT)
		print_target(&rule->target);
	print("\n");
}

static void print_model(const struct model *model)
{
	text[0] = '\0';
	print("base forward %s\n", model->accepts ? "accept" : "drop");
	for (unsigned int i = 0; i < model->n_chains; i++) {
		if (i)
			print("chain chain%u\n", i);
		for (unsigned int j = 0; j < model->n_rules[i]; j++)
			print_rule(&model->rules[i][j], i * MAX_RULES + j);
	}
}

static void test_random_rulesets(void **state)
{
	unsigned int counts[3] = { 0 }; /* left out, passed, punted */
	char reason[GUARD_REASON_LEN];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = NULL;
		struct model model;

		make_model(&model);
		print_model(&model);
		rules = ruleset_text_new(text);
		assert_int_equal(guard_ruleset_error(rules), 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(devices); i++) {
			const struct guard_iface *in = devices[i], *out = devices[(i + 1) % 3];
			int expected = model_punts(&model, in, out);

			strcpy(reason, "a packet does not pass");
			if (guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, in, out, reason) !=
				    expected &&
			    expected >= 0)
				fail_msg("%s to %s: %s\n%s", in->name, out->name, reason, text);
			counts[expected + 1]++;
		}
	}
	/* Both answers must be frequent. */
	assert_true(counts[2] > ROUNDS / 2);
	assert_true(counts[1] > ROUNDS / 2);
	assert_true(counts[0] < ROUNDS / 100);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_rulesets) };

	return cmocka_run_group_tests_name("random rulesets", tests, NULL, NULL);
}
