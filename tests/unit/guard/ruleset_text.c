// SPDX-License-Identifier: GPL-2.0-only
/* A text that is no ruleset ends the test program. */
#include "ruleset_text.h"

#include <net/if_arp.h>
#include <string.h>

#include "../../../user/lib/util.h"

const struct guard_iface lan = { 2, ARPHRD_ETHER, "lan0", "" };
const struct guard_iface wan = { 3, ARPHRD_ETHER, "wan0", "veth" };
const struct guard_iface tunnel = { 4, ARPHRD_NONE, "wg0", "wireguard" };

#define MAX_NAMES 128

struct names {
	const char *at[MAX_NAMES];
	uint32_t numbers[MAX_NAMES];
	unsigned int n;
};

struct text {
	struct guard_ruleset *rules;
	struct names chains, sets;
	uint32_t table, chain;
	char *save; /* of strtok_r(), within a statement */
};

struct value {
	uint8_t bytes[64];
	unsigned int n;
};

static const struct meta {
	const char *name;
	enum guard_meta meta;
	unsigned int bytes; /* in a register and in a key */
} metas[] = {
	{ "port", GUARD_META_OTHER, 2 },	{ "iif", GUARD_META_IIF, 4 },
	{ "oif", GUARD_META_OIF, 4 },		{ "iifname", GUARD_META_IIFNAME, 16 },
	{ "oifname", GUARD_META_OIFNAME, 16 },	{ "iiftype", GUARD_META_IIFTYPE, 2 },
	{ "oiftype", GUARD_META_OIFTYPE, 2 },	{ "iifkind", GUARD_META_IIFKIND, 16 },
	{ "oifkind", GUARD_META_OIFKIND, 16 },	{ "nfproto", GUARD_META_NFPROTO, 1 },
	{ "protocol", GUARD_META_PROTOCOL, 2 }, { "name", GUARD_META_OTHER, 16 },
};
static const char *const hooks[] = { "ingress", "prerouting",  "forward",
				     "output",	"postrouting", "egress" };
static const char *const compares[] = { "=", "!=", "<", "<=", ">", ">=" };
static const char *const verdicts[] = { "accept", "drop", "jump", "goto", "return", "continue" };

static char *next(struct text *text)
{
	return strtok_r(NULL, " \t", &text->save);
}

/* Which of n names it is; n: none. */
static unsigned int find(const char *const *names, unsigned int n, const char *name)
{
	unsigned int i = 0;

	while (i < n && strcmp(names[i], name))
		i++;
	return i;
}

static void refuse(const char *word)
{
	fprintf(stderr, "no ruleset: %s\n", word ? word : "");
	abort();
}

static void add_name(struct names *names, const char *name, uint32_t number)
{
	names->at[names->n] = name;
	names->numbers[names->n++] = number;
}

static uint32_t set_of(struct text *text, const char *name)
{
	unsigned int i = find(text->sets.at, text->sets.n, name);

	if (i == text->sets.n)
		refuse(name);
	return text->sets.numbers[i];
}

static uint32_t chain_of(struct text *text, const char *name)
{
	unsigned int i = find(text->chains.at, text->chains.n, name);

	if (i == text->chains.n)
		add_name(&text->chains, name, guard_add_chain(text->rules, text->table, name));
	return text->chains.numbers[i];
}

/* bytes: the length of a number. */
static void parse_value(struct text *text, char *word, unsigned int bytes, struct value *out)
{
	unsigned long number;

	*out = (struct value){ 0 };
	for (; word; word = next(text)) {
		size_t length = strlen(word);

		if (*word == '#') {
			number = strtoul(word + 1, NULL, 0);
			memcpy(out->bytes + out->n, &number, sizeof(number));
			out->n += bytes;
		} else if (word[length - 1] == '*') {
			memcpy(out->bytes + out->n, word, length - 1);
			out->n += (unsigned int)length - 1;
		} else {
			memcpy(out->bytes + out->n, word, length);
			out->n += 16;
		}
		if (!text->save || strncmp(text->save, ". ", 2))
			return;
		(void)next(text);
	}
}

static enum guard_verdict parse_verdict(struct text *text, const char *word, uint32_t *chain)
{
	unsigned int verdict = find(verdicts, ARRAY_SIZE(verdicts), word);

	*chain = 0;
	if (verdict == ARRAY_SIZE(verdicts))
		refuse(word);
	if (verdict == GUARD_JUMP || verdict == GUARD_GOTO)
		*chain = chain_of(text, next(text));
	return verdict;
}

static const struct meta *find_meta(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(metas); i++)
		if (!strcmp(metas[i].name, name))
			return &metas[i];
	return NULL;
}

/* A term that begins with a meta key: loads it, and whatever is concatenated. */
static void add_condition(struct text *text, const struct meta *meta)
{
	struct guard_ruleset *rules = text->rules;
	unsigned int reg = 0;
	struct value value;
	char *word;

	for (;;) {
		guard_load(rules, reg, meta->bytes, meta->meta);
		reg += (meta->bytes + 3) / 4 * 4;
		word = next(text);
		if (strcmp(word, "."))
			break;
		meta = find_meta(next(text));
	}
	if (!strcmp(word, "vmap")) {
		guard_lookup_verdict(rules, set_of(text, next(text)), 0);
	} else if (*word == '@') {
		guard_lookup(rules, set_of(text, word + 1), 0, false);
	} else if (!strncmp(word, "!@", 2)) {
		guard_lookup(rules, set_of(text, word + 2), 0, true);
	} else {
		unsigned int how = find(compares, ARRAY_SIZE(compares), word);

		parse_value(text, next(text), meta->bytes, &value);
		guard_compare(rules, 0, value.n, how, value.bytes);
	}
}

static void add_term(struct text *text, char *word)
{
	const struct meta *meta = find_meta(word);
	struct value value;
	uint32_t chain;

	if (meta) {
		add_condition(text, meta);
	} else if (!strcmp(word, "load")) {
		meta = find_meta(next(text));
		guard_load(text->rules, 0, meta->bytes, meta->meta);
	} else if (!strcmp(word, "left")) {
		parse_value(text, next(text), 4, &value);
		guard_compare(text->rules, 0, value.n, GUARD_EQ, value.bytes);
	} else if (!strcmp(word, "may")) {
		guard_may_match(text->rules);
	} else if (!strcmp(word, "ct")) {
		guard_add_conntrack(text->rules);
	} else if (!strcmp(word, "do")) {
		guard_effect(text->rules, next(text));
	} else {
		enum guard_verdict verdict = parse_verdict(text, word, &chain);

		guard_verdict(text->rules, verdict, chain);
	}
}

static void add_base(struct text *text)
{
	const char *name = next(text), *policy = next(text), *device = NULL, *word;
	bool nat = false;

	text->table = guard_add_table(text->rules, "table inet fw");
	text->chain = guard_add_chain(text->rules, text->table, name);
	while ((word = next(text))) {
		if (!strcmp(word, "nat"))
			nat = true;
		else
			device = next(text);
	}
	guard_set_base(text->rules, text->chain, find(hooks, ARRAY_SIZE(hooks), name),
		       !strcmp(policy, "accept"), device, nat);
}

static void add_set(struct text *text)
{
	const char *name = next(text), *word;
	uint32_t set = guard_add_set(text->rules, (uint32_t)atoi(next(text)));

	add_name(&text->sets, name, set);
	while ((word = next(text))) {
		if (!strcmp(word, "unknown"))
			guard_set_unknown(text->rules, set);
		else
			guard_set_inexact(text->rules, set);
	}
}

static void add_element(struct text *text)
{
	uint32_t set = set_of(text, next(text)), chain;
	char *word = next(text);
	struct value value;
	const void *key = strcmp(word, "*") ? value.bytes : NULL;
	enum guard_verdict verdict;

	if (key)
		parse_value(text, word, 4, &value);
	if (!next(text)) {
		guard_add_element(text->rules, set, key);
		return;
	}
	verdict = parse_verdict(text, next(text), &chain);
	guard_add_verdict_element(text->rules, set, key, verdict, chain);
}

static void add_flowtable(struct text *text)
{
	const char *device = next(text);

	guard_add_flowtable(text->rules, guard_add_table(text->rules, "table inet fw"), "f", device,
			    !next(text));
}

static void add_rule(struct text *text, char *word)
{
	uint64_t handle = 1;

	if (!strcmp(word, "handle")) {
		handle = strtoul(next(text), NULL, 10);
		word = next(text);
	}
	guard_add_rule(text->rules, text->chain, handle);
	for (; word; word = next(text))
		add_term(text, word);
}

static void add_statement(struct text *text, char *statement)
{
	char *word = strtok_r(statement, " \t", &text->save);

	if (!word)
		return;
	if (!strcmp(word, "base"))
		add_base(text);
	else if (!strcmp(word, "chain"))
		text->chain = chain_of(text, next(text));
	else if (!strcmp(word, "set"))
		add_set(text);
	else if (!strcmp(word, "add"))
		add_element(text);
	else if (!strcmp(word, "flowtable"))
		add_flowtable(text);
	else
		add_rule(text, word);
}

void ruleset_text_add(struct guard_ruleset *rules, const char *string)
{
	_cleanup_free_ char *copy = strdup(string);
	struct text text = { .rules = rules };
	char *save, *statement = strtok_r(copy, ";\n", &save);

	for (; statement; statement = strtok_r(NULL, ";\n", &save))
		add_statement(&text, statement);
}

struct guard_ruleset *ruleset_text_new(const char *text)
{
	struct guard_ruleset *rules = guard_ruleset_new();

	if (!rules)
		abort();
	ruleset_text_add(rules, text);
	return rules;
}
