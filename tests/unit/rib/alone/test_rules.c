// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: what a list becomes, which ports must walk it, and whether local may be laid over main. In
 * the table lists are written much as `ip -6 rule` takes them, one rule after the other. rules.c is
 * built into this test with allocations that fail on request.
 *
 * Devices: p1 (ifindex 1), p2 (2), and v (3), a VRF. "gone" is none of them.
 */
#include "../rib_unit.h"
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "../../../../user/rib/radix.h"

#include "../failing_alloc.h"

#include "../../../../user/rib/rules.c"

#define VRF 3u
#define VRF_TABLE 300u

static void add_link(struct links *links, uint32_t ifindex, const char *name, const char *kind,
		     uint32_t table)
{
	struct link link = { .ifindex = ifindex, .vrf_table = table };
	bool changed;

	strcpy(link.name, name);
	strcpy(link.kind, kind);
	assert_int_equal(links_set(links, &link, &changed), 0);
}

static struct links make_links(uint32_t vrf_table)
{
	struct links links = { 0 };

	add_link(&links, 1, "p1", "", 0);
	add_link(&links, 2, "p2", "", 0);
	add_link(&links, VRF, "v", "vrf", vrf_table);
	return links;
}

/* --- lists as text -------------------------------------------------------------------------- */

#define FIELD(name) offsetof(struct rule, name), sizeof(((struct rule *)0)->name)
#define NOTHING 0, 0

/* A word sets a constant, after another value if it has a value. */
static const struct {
	const char *word;
	size_t value_at, value_size; /* NOTHING: the word has no value */
	size_t at, size;
	uint32_t constant;
} words[] = {
	{ "not", NOTHING, FIELD(invert), true },
	{ "never", NOTHING, FIELD(never), true },
	{ "unknown", NOTHING, FIELD(unknown), true },
	{ "nop", NOTHING, FIELD(action), FR_ACT_NOP },
	{ "unreachable", NOTHING, FIELD(action), FR_ACT_UNREACHABLE },
	{ "prohibit", NOTHING, FIELD(action), FR_ACT_PROHIBIT },
	{ "blackhole", NOTHING, FIELD(action), FR_ACT_BLACKHOLE },
	{ "strange", NOTHING, FIELD(action), FR_ACT_RES3 },
	{ "l3mdev", NOTHING, FIELD(l3mdev), true },
	{ "attr", FIELD(unknown_attr), FIELD(unknown), true },
	{ "lookup", FIELD(table), FIELD(action), FR_ACT_TO_TBL },
	{ "goto", FIELD(target), FIELD(action), FR_ACT_GOTO },
	{ "suppress", FIELD(suppress_len), NOTHING, 0 },
	{ "tos", FIELD(tclass), FIELD(tclass_mask), 0xfc },
	{ "proto", FIELD(ip_proto), FIELD(has_ip_proto), true },
};

static void read_range(const char *text, struct port_range *range, bool *has)
{
	unsigned int low, high;

	assert_int_equal(sscanf(text, "%u-%u", &low, &high), 2);
	*range = (struct port_range){ (uint16_t)low, (uint16_t)high };
	*has = true;
}

static void read_text(const char *word, const char *value, struct rule *rule)
{
	assert_non_null(value);
	if (!strcmp(word, "from"))
		assert_int_equal(prefix_parse(value, &rule->src), 0);
	else if (!strcmp(word, "to"))
		assert_int_equal(prefix_parse(value, &rule->dst), 0);
	else if (!strcmp(word, "iif"))
		strcpy(rule->iif, value);
	else if (!strcmp(word, "sport"))
		read_range(value, &rule->sport, &rule->has_sport);
	else if (!strcmp(word, "dport"))
		read_range(value, &rule->dport, &rule->has_dport);
	else
		fail_msg("what is '%s'?", word);
}

static void read_word(const char *word, char **left, struct rule *rule)
{
	unsigned long value;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		if (words[i].value_size) {
			value = strtoul(strtok_r(NULL, " ", left), NULL, 0);
			memcpy((char *)rule + words[i].value_at, &value, words[i].value_size);
		}
		memcpy((char *)rule + words[i].at, &words[i].constant, words[i].size);
		return;
	}
	read_text(word, strtok_r(NULL, " ", left), rule);
}

static void read_rule(char *text, struct rule *rule)
{
	char *save, *word = strtok_r(text, " ", &save);

	*rule = (struct rule){ .suppress_len = -1, .action = FR_ACT_TO_TBL };
	rule->priority = (uint32_t)atoi(word);
	while ((word = strtok_r(NULL, " ", &save)))
		read_word(word, &save, rule);
}

static struct rules read_rules(const char *text)
{
	char *copy = strdup(text), *save, *part;
	struct rules rules = { 0 };
	struct rule rule;

	for (part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		read_rule(part, &rule);
		assert_int_equal(rules_add(&rules, &rule), 0);
	}
	free(copy);
	return rules;
}

static void write_prefix(FILE *out, const char *word, const union sixlane_addr *addr,
			 const union sixlane_addr *mask)
{
	struct prefix prefix = { .addr = *addr };
	char buf[PREFIX_STRLEN];

	for (size_t i = 0; i < 16; i++)
		prefix.len += (uint8_t)__builtin_popcount(mask->bytes[i]);
	fprintf(out, "%s %s ", word, prefix_format(&prefix, buf));
}

static void write_compiled(FILE *out, const struct sixlane_rule *rule)
{
	uint32_t flags = rule->flags;

	if (flags & SIXLANE_RULE_INVERT)
		fputs("not ", out);
	if (flags & SIXLANE_RULE_IIF)
		fprintf(out, "iif %u ", rule->iif);
	if (flags & SIXLANE_RULE_SOURCE)
		write_prefix(out, "from", &rule->src, &rule->src_mask);
	if (flags & SIXLANE_RULE_DESTINATION)
		write_prefix(out, "to", &rule->dst, &rule->dst_mask);
	if (flags & SIXLANE_RULE_TCLASS)
		fprintf(out, "tos %x/%x ", rule->tclass, rule->tclass_mask);
	if (flags & SIXLANE_RULE_PROTO)
		fprintf(out, "proto %u ", rule->proto);
	if (flags & SIXLANE_RULE_SPORT)
		fprintf(out, "sport %u-%u ", rule->sport_low, rule->sport_high);
	if (flags & SIXLANE_RULE_DPORT)
		fprintf(out, "dport %u-%u ", rule->dport_low, rule->dport_high);
	if (flags & SIXLANE_RULE_UNKNOWN)
		fputs("unknown ", out);
	if (flags & SIXLANE_RULE_L3MDEV)
		fputs("l3mdev ", out);
	if (rule->action == SIXLANE_RULE_GOTO)
		fprintf(out, "goto #%u", rule->target);
	else if (rule->action == SIXLANE_RULE_VERDICT)
		fprintf(out, "%s",
			rule->verdict == SIXLANE_PASS_UNREACHABLE ? "unreachable"
			: rule->verdict == SIXLANE_PASS_PROHIBIT  ? "prohibit"
			: rule->verdict == SIXLANE_DROP_BLACKHOLE ? "blackhole"
			: rule->verdict == SIXLANE_PUNT_RULE	  ? "punt"
								  : "?");
	else
		fprintf(out, "lookup %u", rule->table);
	if (flags & SIXLANE_RULE_SUPPRESS)
		fprintf(out, " suppress %u", rule->suppress_len);
}

static void write_program(const struct rules_program *program, char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");

	for (uint32_t i = 0; i < program->n; i++) {
		fputs(i ? "; " : "", out);
		write_compiled(out, &program->rules[i]);
	}
	fputc('\0', out);
	fclose(out);
}

/* --- what a list becomes ------------------------------------------------------------------ */

#define WALK 1u	       /* p1 walks the rules … */
#define WALK_2 2u      /* … p2 does … */
#define LOCAL_FIRST 4u /* local is laid over main */
#define ALL_WALK (WALK | WALK_2)

static const struct {
	const char *rules, *program; /* NULL: the same, but for the priorities */
	unsigned int flags;
} lists[] = {
	{ "0 lookup 255;32766 lookup 254", "lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 lookup 255", "lookup 255", LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 254", "lookup 254", ALL_WALK },
	{ "", "", LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 254;1 lookup 255", "lookup 254; lookup 255", ALL_WALK },
	{ "0 lookup 255;1 lookup 254;2 lookup 253", "lookup 255; lookup 254; lookup 253",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255;1 lookup 254;2 unreachable", "lookup 255; lookup 254; unreachable",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255;1 lookup 100;2 lookup 254", "lookup 255; lookup 100; lookup 254",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255;1 lookup 254;2 lookup 254", "lookup 255; lookup 254; lookup 254",
	  LOCAL_FIRST | ALL_WALK },
	/* each selector */
	{ "0 lookup 255;1 iif p1 lookup 100;2 lookup 254",
	  "lookup 255; iif 1 lookup 100; lookup 254", LOCAL_FIRST | WALK },
	{ "0 lookup 255;1 not iif p1 lookup 100;2 lookup 254",
	  "lookup 255; not iif 1 lookup 100; lookup 254", LOCAL_FIRST | WALK_2 },
	{ "0 lookup 255;1 iif v lookup 100;2 lookup 254",
	  "lookup 255; iif 3 lookup 100; lookup 254", LOCAL_FIRST },
	{ "0 lookup 255;1 iif gone lookup 100;2 lookup 254", "lookup 255; lookup 254",
	  LOCAL_FIRST },
	{ "0 lookup 255;1 not iif gone from 2001:db8::/32 lookup 100;2 lookup 254",
	  "lookup 255; lookup 100; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255;1 from 2001:db8::/35 lookup 100;2 lookup 254",
	  "lookup 255; from 2001:db8::/35 lookup 100; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 to ff00::/128 lookup 100", "to ff00::/128 lookup 100", LOCAL_FIRST | ALL_WALK },
	{ "0 not to 8000::/1 from ::1 blackhole", "not from ::1/128 to 8000::/1 blackhole",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 tos 0x13 proto 6 sport 0-9 dport 80-81 prohibit",
	  "tos 10/fc proto 6 sport 0-9 dport 80-81 prohibit", LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255;1 l3mdev;2 lookup 254", "lookup 255; l3mdev lookup 0; lookup 254",
	  LOCAL_FIRST },
	{ "0 l3mdev;1 lookup 255;2 lookup 254", "l3mdev lookup 0; lookup 255; lookup 254",
	  LOCAL_FIRST },
	{ "0 lookup 255;1 unknown lookup 100;2 lookup 254",
	  "lookup 255; unknown lookup 100; lookup 254", LOCAL_FIRST | ALL_WALK },
	/* never, and turned round */
	{ "0 lookup 255;1 never lookup 100;2 lookup 254", "lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 never unknown lookup 100", "", LOCAL_FIRST | ALL_WALK },
	{ "0 unknown nop", "", LOCAL_FIRST | ALL_WALK },
	{ "0 attr 41 nop", "unknown punt", LOCAL_FIRST | ALL_WALK },
	{ "0 not never from 2001:db8::/32 tos 0x10 lookup 255;2 lookup 254",
	  "lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 not lookup 100;1 lookup 255;2 lookup 254", "lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 not iif gone lookup 255;1 not never lookup 254", "lookup 255; lookup 254",
	  LOCAL_FIRST },
	/* what cannot be distinguished */
	{ "0 not unknown from 2001:db8::/32 lookup 100", "punt", LOCAL_FIRST | ALL_WALK },
	{ "0 not never unknown lookup 100", "punt", LOCAL_FIRST | ALL_WALK },
	{ "0 not l3mdev", "punt", LOCAL_FIRST | ALL_WALK },
	{ "0 not l3mdev goto 1;1 lookup 255", "not l3mdev goto #1; lookup 255",
	  LOCAL_FIRST | ALL_WALK },
	/* actions */
	{ "0 lookup 255;1 nop;2 from ::1 nop;3 lookup 254", "lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 strange;1 iif p1 unreachable;2 iif p2 blackhole;3 prohibit",
	  "punt; iif 1 unreachable; iif 2 blackhole; prohibit", LOCAL_FIRST | ALL_WALK },
	{ "0 lookup 255 suppress 3;1 lookup 100 suppress 0;2 lookup 101 suppress 200",
	  "lookup 255 suppress 3; lookup 100 suppress 0; lookup 101 suppress 128",
	  LOCAL_FIRST | ALL_WALK },
	/* gotos: to the first of a priority, also to one that does nothing, or to none */
	{ "0 goto 5;1 lookup 100;5 lookup 255;5 lookup 254",
	  "goto #2; lookup 100; lookup 255; lookup 254", LOCAL_FIRST },
	{ "0 iif p1 goto 5;1 lookup 100;5 nop;6 lookup 255;7 lookup 254",
	  "iif 1 goto #2; lookup 100; lookup 255; lookup 254", LOCAL_FIRST | WALK_2 },
	{ "0 goto 5;1 lookup 100;5 never lookup 255", "goto #2; lookup 100",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 goto 5;1 lookup 255;4 lookup 254;6 lookup 100",
	  "goto #1; lookup 255; lookup 254; lookup 100", LOCAL_FIRST | ALL_WALK },
	{ "0 goto 5;1 lookup 255;4 lookup 254", "goto #1; lookup 255; lookup 254", LOCAL_FIRST },
	{ "5 goto 5;6 lookup 255;7 lookup 254", "goto #1; lookup 255; lookup 254", LOCAL_FIRST },
	{ "5 from ::1 goto 4;6 lookup 255;7 lookup 254",
	  "from ::1/128 goto #1; lookup 255; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 iif p2 never goto 5;1 lookup 255;5 lookup 254", "lookup 255; lookup 254",
	  LOCAL_FIRST },
	/* local before every main */
	{ "0 lookup 255 suppress 64;1 lookup 254", "lookup 255 suppress 64; lookup 254", ALL_WALK },
	{ "0 lookup 255;1 lookup 254 suppress 0;2 lookup 254",
	  "lookup 255; lookup 254 suppress 0; lookup 254", ALL_WALK },
	{ "0 from ::1 lookup 255;1 lookup 254", "from ::1/128 lookup 255; lookup 254", ALL_WALK },
	{ "0 from ::1 lookup 255;1 lookup 255;2 lookup 254",
	  "from ::1/128 lookup 255; lookup 255; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 from ::1 lookup 254;1 lookup 255;2 lookup 254",
	  "from ::1/128 lookup 254; lookup 255; lookup 254", ALL_WALK },
	{ "0 from ::1 goto 2;1 lookup 255;2 lookup 254",
	  "from ::1/128 goto #2; lookup 255; lookup 254", ALL_WALK },
	{ "0 from ::1 goto 2;1 lookup 255;2 lookup 255;3 lookup 254",
	  "from ::1/128 goto #2; lookup 255; lookup 255; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 from ::1 goto 3;1 lookup 255;2 lookup 254;3 lookup 255;4 lookup 254",
	  "from ::1/128 goto #3; lookup 255; lookup 254; lookup 255; lookup 254", ALL_WALK },
	{ "0 lookup 255;1 from ::1 goto 3;2 lookup 254;3 lookup 100;4 lookup 254",
	  "lookup 255; from ::1/128 goto #3; lookup 254; lookup 100; lookup 254",
	  LOCAL_FIRST | ALL_WALK },
	{ "0 from ::1 goto 1;1 lookup 255;2 lookup 254",
	  "from ::1/128 goto #1; lookup 255; lookup 254", LOCAL_FIRST | ALL_WALK },
	{ "0 from ::1 goto 9;1 from ::2 goto 2;2 lookup 255;3 lookup 254;9 lookup 254",
	  "from ::1/128 goto #4; from ::2/128 goto #2; lookup 255; lookup 254; lookup 254",
	  ALL_WALK },
	{ "0 iif p1 lookup 255;1 lookup 254", "iif 1 lookup 255; lookup 254", ALL_WALK },
	{ "0 unknown lookup 255;1 lookup 254", "unknown lookup 255; lookup 254", ALL_WALK },
};

static void test_lists(void **state)
{
	struct links links = make_links(VRF_TABLE);

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct rules rules = read_rules(lists[i].rules);
		struct rules_program program;
		unsigned int flags = 0;
		char text[1024];

		memset(&program, 0xa5, sizeof(program));
		rules_compile(&rules, &links, &program);
		assert_true(program.expressible);
		write_program(&program, text, sizeof(text));
		flags |= rules_program_walk(&program, 1, false) ? WALK : 0;
		flags |= rules_program_walk(&program, 2, false) ? WALK_2 : 0;
		flags |= program.local_first ? LOCAL_FIRST : 0;
		if (strcmp(text, lists[i].program) != 0 || flags != lists[i].flags)
			fail_msg("%s\n is \"%s\" %u\nnot \"%s\" %u", lists[i].rules, text, flags,
				 lists[i].program, lists[i].flags);
		assert_true(rules_program_walk(&program, VRF, true));
		assert_int_equal(program.local_within, !strcmp(text, "lookup 255; lookup 254"));
		rules_clear(&rules);
	}
	links_clear(&links);
}

/* Programs are compared as bytes: nothing of what was in *out may be left. */
static void test_bytes(void **state)
{
	struct rules rules = read_rules("0 lookup 255;5 from ::1 lookup 9;6 lookup 254");
	struct links links = make_links(VRF_TABLE);
	struct rules_program a, b;

	memset(&a, 0xff, sizeof(a));
	memset(&b, 0, sizeof(b));
	rules_compile(&rules, &links, &a);
	rules_compile(&rules, &links, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.rules[1].priority, 5);
	rules_clear(&rules);
	links_clear(&links);
}

static void test_too_many(void **state)
{
	struct links links = make_links(VRF_TABLE);
	struct rules_program program;
	struct rules rules = { 0 };
	struct rule rule = { .action = FR_ACT_TO_TBL, .table = 255, .suppress_len = -1 };
	struct rule nothing = { .action = FR_ACT_NOP };

	/* After the first one port 1 looks for its next rule until the end of the list. */
	for (uint32_t i = 0; i < SIXLANE_MAX_RULES; i++) {
		strcpy(rule.iif, i ? "p2" : "");
		assert_int_equal(rules_add(&rules, &rule), 0);
		assert_int_equal(rules_add(&rules, &nothing), 0);
	}
	rules_compile(&rules, &links, &program);
	assert_true(program.expressible);
	assert_int_equal(program.n, SIXLANE_MAX_RULES);
	assert_true(rules_program_walk(&program, 1, false));
	assert_int_equal(rules_add(&rules, &rule), 0);
	rules_compile(&rules, &links, &program);
	assert_false(program.expressible);
	assert_int_equal(program.n, 0);
	assert_int_equal(program.rules[3].table, 0);
	assert_true(rules_program_walk(&program, 1, false));
	allocations_left = 0;
	for (size_t n = rules.n; rules.n < rules.capacity; n++)
		assert_int_equal(rules_add(&rules, &rule), 0);
	assert_int_equal(rules_add(&rules, &rule), -ENOMEM);
	assert_int_equal(rules.n, rules.capacity);
	allocations_left = -1;
	rules_clear(&rules);
	rules_clear(&rules);
	links_clear(&links);
}

/* A VRF with the table main asks main before local. */
static void test_vrf_of_main(void **state)
{
	static const struct {
		uint32_t table;
		const char *rules;
		bool local_first;
	} cases[] = {
		{ VRF_TABLE, "0 l3mdev;1 lookup 255;2 lookup 254", true },
		{ RT_TABLE_MAIN, "0 l3mdev;1 lookup 255;2 lookup 254", false },
		{ 0, "0 l3mdev;1 lookup 255;2 lookup 254", false }, /* not known */
		{ RT_TABLE_MAIN, "0 lookup 255;1 l3mdev;2 lookup 254", true },
		{ RT_TABLE_MAIN, "0 lookup 255;1 l3mdev suppress 0;2 lookup 254", false },
		{ RT_TABLE_MAIN, "0 l3mdev goto 1;1 lookup 255;2 lookup 254", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct links links = make_links(cases[i].table);
		struct rules rules = read_rules(cases[i].rules);
		struct rules_program program;

		rules_compile(&rules, &links, &program);
		assert_int_equal(program.local_first, cases[i].local_first);
		rules_clear(&rules);
		links_clear(&links);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_vrf_of_main),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
