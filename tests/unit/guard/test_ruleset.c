// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rulesets in use: what packets of each pair of devices meet, and the reason that is given.
 * test_ruleset_random.c has the order of rules, jumps, sets and maps.
 */
#include "../unit.h"

#include <errno.h>
#include <string.h>

#include <net/if_arp.h>

#include "../../../user/guard/ruleset_store.h"
#include "../../../user/lib/util.h"
#include "ruleset_text.h"

#define DOCKER                                    \
	"base forward accept\n"                   \
	"jump DOCKER-USER; jump DOCKER-FORWARD\n" \
	"chain DOCKER-USER; return\n"             \
	"chain DOCKER-FORWARD\n"                  \
	"oifname = docker0 ct may accept\n"       \
	"oifname = docker0 drop\n"
#define STATEFUL "base forward drop; ct may accept; iifname = lan* accept"
#define NAME_SET "base forward accept; set s 16; add s lan0; add s lan1\n"
#define BOTH_NAMES                                           \
	"base forward accept; set s 32; add s lan0 . wan0\n" \
	"iifname . oifname @s do reject"
#define NAME_AND_PORT                                       \
	"base forward accept; set s 20; add s wan0 . #22\n" \
	"iifname . port @s drop"
#define ZONES                                                           \
	"base forward accept; set zones 16\n"                           \
	"add zones lan0 : goto trusted; add zones wg0 : jump trusted\n" \
	"add zones * : goto public\n"                                   \
	"iifname vmap zones\n"                                          \
	"chain trusted; accept\n"                                       \
	"chain public; do reject"
#define LEFT_REGISTER "base forward accept; load iifname; left lan* drop"
/* The reason that packets of each ingress device meet at the forward hook; NULL: none. */
static const struct {
	const char *name, *rules, *from_lan, *from_wan, *from_tunnel;
} cases[] = {
	{ "nothing", "", NULL, NULL, NULL },
	{ "policy drop", "base forward drop", "table inet fw, chain forward: policy drop",
	  "policy drop", "policy drop" },
	{ "Docker", DOCKER, NULL, NULL, NULL },
	{ "accept before a drop",
	  "base forward accept; iifname = lan0 accept; handle 77 port = #5632 drop", NULL,
	  "table inet fw, chain forward, rule handle 77: drop", "drop" },
	{ "an acceptance ends one base chain, not those of other tables",
	  "base forward accept; accept; base forward accept; do log", ": log", ": log", ": log" },
	{ "a set's catch-all element", NAME_SET "add s *; iifname @s drop", "drop", "drop",
	  "drop" },
	{ "ports of a set", "base forward accept; set s 2; add s #22; port @s drop", "drop", "drop",
	  "drop" },
	{ "two devices in a set", BOTH_NAMES, "reject", NULL, NULL },
	{ "device and port in a set", NAME_AND_PORT, NULL, "drop", NULL },
	{ "port and device in a set",
	  "base forward accept; set s 20; add s #22 . wan0; port . iifname @s drop", NULL, "drop",
	  NULL },
	{ "device and port in a map, drop",
	  "base forward accept; set m 20; add m wan0 . #22 : drop; iifname . port vmap m", NULL,
	  "drop", NULL },
	{ "device and port in a map: a match is possible, not sure",
	  "base forward accept; set m 20; add m wan0 . #22 : accept\n"
	  "iifname . port vmap m; iifname = wan0 drop",
	  NULL, "drop", NULL },
	{ "unknown set", "base forward accept; set s 16 unknown; iifname @s drop", "drop", "drop",
	  "drop" },
	{ "a miss in a map goes on with the next rule, continue with its own",
	  "base forward accept; set m 16; add m lan0 : continue; add m wan0 : accept\n"
	  "iifname vmap m accept; drop",
	  NULL, NULL, "drop" },
	{ "a packet may lack the header, which ends the rule before the catch-all element",
	  "base forward drop; set m 2; add m * : accept; port vmap m", "policy drop", "policy drop",
	  "policy drop" },
	{ "unknown map", "base forward accept; set m 2 unknown; port vmap m", "unknown verdict map",
	  "unknown verdict map", "unknown verdict map" },
	{ "protocols",
	  "base forward accept; nfproto = #2 drop; protocol != #0xdd86 drop\n"
	  "nfproto = #10 iifname = wan0 drop",
	  NULL, "drop", NULL },
	{ "ifindex", "base forward accept; iif = #3 do mark", NULL, "mark", NULL },
	{ "type", "base forward accept; iiftype != #1 drop", NULL, NULL, "drop" },
	{ "a device without a kind ends the rule", "base forward accept; iifkind != veth drop",
	  NULL, NULL, "drop" },
	{ "order of bytes", "base forward accept; iifname > m iifname <= wan0 drop", NULL, "drop",
	  NULL },
	{ "order of bytes, the other way",
	  "base forward accept; iifname < wan0 iifname >= lan0 drop", "drop", NULL, NULL },
	{ "registers do not outlive a rule", LEFT_REGISTER, "drop", "drop", "drop" },
	{ "loop", "base forward accept; jump a; chain a; jump b; chain b; jump a", "a loop",
	  "a loop", "a loop" },
};

static void assert_reason(const char *name, const struct guard_ruleset *rules,
			  const struct guard_iface *in, const char *expected)
{
	char reason[GUARD_REASON_LEN] = "";
	bool punted = guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, in, in == &lan ? &wan : &lan,
					  reason);

	if (punted != !!expected || (punted && !strstr(reason, expected)))
		fail_msg("%s: from %s expected '%s', not '%s'", name, in->name,
			 expected ? expected : "", reason);
	assert_int_equal(punted, reason[0] != '\0');
	/* What punts packets of one device may punt those of an unknown one. */
	if (punted)
		assert_true(guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, NULL, NULL, NULL));
}

static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
			ruleset_text_new(cases[i].rules);

		assert_int_equal(guard_ruleset_error(rules), 0);
		assert_reason(cases[i].name, rules, &lan, cases[i].from_lan);
		assert_reason(cases[i].name, rules, &wan, cases[i].from_wan);
		assert_reason(cases[i].name, rules, &tunnel, cases[i].from_tunnel);
		assert_false(guard_ruleset_punts(rules, GUARD_HOOK_POSTROUTING, &lan, &wan, NULL));
	}
}

#define PUNTED(hook, in, out, text)                                           \
	({                                                                    \
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules_ = \
			ruleset_text_new(text);                               \
		guard_ruleset_punts(rules_, hook, in, out, NULL);             \
	})

/* After routing iiftype is the type of the egress device; before Linux 5.16 it was not. */
static void test_iiftype(void **state)
{
	static const struct {
		enum guard_hook hook;
		const char *name;
		const struct guard_iface *in, *out;
		bool none, ether;
	} rows[] = {
		{ GUARD_HOOK_FORWARD, "forward", &tunnel, &lan, true, false },
		{ GUARD_HOOK_POSTROUTING, "postrouting", &tunnel, &lan, true, true },
		{ GUARD_HOOK_POSTROUTING, "postrouting", &wan, &lan, false, true },
		{ GUARD_HOOK_EGRESS, "egress", NULL, &lan, false, true },
	};
	char text[100];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), "base %s accept; iiftype = #%d drop", rows[i].name,
			 ARPHRD_NONE);
		assert_int_equal(PUNTED(rows[i].hook, rows[i].in, rows[i].out, text), rows[i].none);
		snprintf(text, sizeof(text), "base %s accept; iiftype = #%d drop", rows[i].name,
			 ARPHRD_ETHER);
		assert_int_equal(PUNTED(rows[i].hook, rows[i].in, rows[i].out, text),
				 rows[i].ether);
	}
}

/* Where a hook has no device, its name is empty, and to ask for its kind ends the rule. */
static void test_devices_of_hooks(void **state)
{
	static const struct {
		const char *name;
		bool has_in, has_out;
	} rows[GUARD_N_HOOKS] = {
		[GUARD_HOOK_INGRESS] = { "ingress", true, false },
		[GUARD_HOOK_PREROUTING] = { "prerouting", true, false },
		[GUARD_HOOK_FORWARD] = { "forward", true, true },
		[GUARD_HOOK_OUTPUT] = { "output", false, true },
		[GUARD_HOOK_POSTROUTING] = { "postrouting", true, true },
		[GUARD_HOOK_EGRESS] = { "egress", false, true },
	};
	static const struct {
		const char *condition;
		bool of_in, inverted;
	} conditions[] = {
		{ "iifname = lan0", true, false },   { "iifname != lan0", true, true },
		{ "oifname = wan*", false, false },  { "oifkind = veth", false, false },
		{ "oifkind != bond", false, false },
	};
	char text[100];

	for (enum guard_hook hook = 0; hook < GUARD_N_HOOKS; hook++) {
		for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
			bool has = conditions[i].of_in ? rows[hook].has_in : rows[hook].has_out;

			snprintf(text, sizeof(text), "base %s accept; %s drop", rows[hook].name,
				 conditions[i].condition);
			assert_int_equal(PUNTED(hook, &lan, &wan, text),
					 has != conditions[i].inverted);
		}
	}
}

static void test_chains_at_devices(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
		ruleset_text_new("base ingress drop at lan0; base egress drop at wg*");
	char reason[GUARD_REASON_LEN];

	assert_true(guard_ruleset_punts(rules, GUARD_HOOK_INGRESS, &lan, NULL, reason));
	assert_string_equal(reason, "table inet fw, chain ingress: policy drop");
	assert_false(guard_ruleset_punts(rules, GUARD_HOOK_INGRESS, &wan, NULL, NULL));
	assert_true(guard_ruleset_punts(rules, GUARD_HOOK_EGRESS, NULL, &tunnel, NULL));
	assert_false(guard_ruleset_punts(rules, GUARD_HOOK_EGRESS, NULL, &lan, NULL));
	assert_true(guard_ruleset_matches_device(rules, &lan));
	assert_true(guard_ruleset_matches_device(rules, &tunnel));
	assert_false(guard_ruleset_matches_device(rules, &wan));
}

static void test_conntrack(void **state)
{
	static const struct {
		const char *rules, *reason; /* NULL: no forwarded packet is tracked by a rule */
	} rows[] = {
		{ DOCKER, "chain DOCKER-FORWARD, rule" },
		/* A side effect may end the rule, and does not hide what follows. */
		{ "base forward accept; do limit accept; ct", "connection tracking" },
		{ "base forward accept; do log ct", "connection tracking" },
		{ "base forward accept; nfproto = #2 ct", NULL },
		{ "base forward accept; drop; ct", NULL },
		{ "base output accept nat; ct", NULL },
	};
	char reason[GUARD_REASON_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
			ruleset_text_new(rows[i].rules);

		assert_int_equal(guard_ruleset_tracks(rules, reason), rows[i].reason != NULL);
		if (rows[i].reason)
			assert_non_null(strstr(reason, rows[i].reason));
		assert_true(guard_ruleset_needs_conntrack(rules));
	}
}

static void test_nat(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
		ruleset_text_new("base forward accept; base output accept nat");
	char reason[GUARD_REASON_LEN];

	assert_false(guard_ruleset_nat(rules, GUARD_HOOK_FORWARD, NULL));
	assert_true(guard_ruleset_nat(rules, GUARD_HOOK_OUTPUT, reason));
	assert_string_equal(reason, "table inet fw, chain output: type nat");
}

static void test_names(void **state)
{
	static const struct guard_iface other = { 9, ARPHRD_LOOPBACK, "other", "" };
	static const struct {
		const char *name, *rules;
		bool lan, wan, tunnel, other;
	} rows[] = {
		{ "no name", "base forward drop", false, false, false, false },
		{ "one that is not here", DOCKER, false, false, false, false },
		{ "a prefix", STATEFUL, true, false, false, false },
		{ "a set", NAME_SET "iifname @s drop", true, false, false, false },
		{ "elements that come later",
		  "base forward accept; set s 16; oifname @s drop; add s wan0", false, true, false,
		  false },
		{ "a concatenation", BOTH_NAMES, true, true, false, false },
		{ "half a key", NAME_AND_PORT, false, true, false, false },
		{ "a map", ZONES, true, false, true, false },
		{ "an ifindex", "base forward accept; iif = #3 drop", false, true, false, false },
		{ "a type", "base forward accept; iiftype = #1 drop", true, true, false, false },
		{ "a kind", "base forward accept; iifkind != ppp drop", false, true, true, false },
		{ "an order", "base forward accept; iifname > m drop", true, true, true, true },
		{ "two attributes by one set",
		  "base forward accept; set s 4; add s #3; iif @s drop; iiftype @s drop", true,
		  true, true, true },
		{ "a register of another rule", LEFT_REGISTER, false, false, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
			ruleset_text_new(rows[i].rules);

		if (guard_ruleset_matches_device(rules, &lan) != rows[i].lan ||
		    guard_ruleset_matches_device(rules, &wan) != rows[i].wan ||
		    guard_ruleset_matches_device(rules, &tunnel) != rows[i].tunnel ||
		    guard_ruleset_matches_device(rules, &other) != rows[i].other)
			fail_msg("%s", rows[i].name);
	}
}

/* A lookup or comparison of a name's middle, or a load between words: all devices may differ. */
static void test_parts_of_names(void **state)
{
	for (int i = 0; i < 3; i++) {
		_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
			ruleset_text_new("base forward accept; set s 4; may");

		guard_load(rules, i == 2 ? 2 : 0, 0, GUARD_META_IIFNAME);
		assert_int_equal(guard_ruleset_matches_device(rules, &wan), i == 2);
		if (i == 0)
			guard_lookup(rules, 0, 4, false);
		if (i == 1)
			guard_compare(rules, 4, 4, GUARD_EQ, "wan0");
		assert_true(guard_ruleset_matches_device(rules, &wan));
	}
}

/* Each of n chains jumps to the next one, so many times. */
static struct guard_ruleset *chains_new(unsigned int n, unsigned int jumps)
{
	struct guard_ruleset *rules = ruleset_text_new("base forward accept");
	uint32_t chain = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint32_t next = guard_add_chain(rules, 0, "next");

		for (unsigned int j = 0; j < jumps; j++) {
			guard_add_rule(rules, chain, 1);
			guard_may_match(rules);
			guard_verdict(rules, GUARD_JUMP, next);
		}
		chain = next;
	}
	return rules;
}

/* 2^100 paths, 200 rules. */
static void test_paths_are_not_counted(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = chains_new(100, 2);
	uint32_t steps;

	assert_false(ruleset_query_steps(rules, GUARD_HOOK_FORWARD, &lan, &wan, &steps));
	assert_in_range(steps, 200, 1000);
}

static void test_depth(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules = chains_new(100000, 1);
	char reason[GUARD_REASON_LEN];

	assert_true(guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason));
	assert_non_null(strstr(reason, "nested too deeply"));
}

/* 100,000 rules of an ordinary kind: few bytes each, and few steps each. */
static void test_many_rules(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
		ruleset_text_new("base forward accept");
	char name[16];
	uint32_t steps;

	for (unsigned int i = 0; i < 100000; i++) {
		memset(name, 0, sizeof(name));
		snprintf(name, sizeof(name), "ppp%u", i % 1000);
		guard_add_rule(rules, 0, 1);
		guard_load(rules, 16, 16, GUARD_META_IIFNAME);
		guard_compare(rules, 16, 16, GUARD_EQ, name);
		guard_load(rules, 0, 2, GUARD_META_OTHER);
		guard_compare(rules, 0, 2, GUARD_EQ, "80");
		guard_verdict(rules, GUARD_DROP, 0);
	}
	assert_int_equal(guard_ruleset_error(rules), 0);
	assert_false(ruleset_query_steps(rules, GUARD_HOOK_FORWARD, &lan, &wan, &steps));
	assert_in_range(steps, 300000, 400000);
	assert_in_range(rules->bytes, 100000 * 40, 100000 * 120);
}

/* A rule that a query looks at a million times has too many steps. */
static void test_too_many_steps(void **state)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
		ruleset_text_new("base forward accept; set s 16");
	uint32_t steps;

	for (unsigned int i = 0; i < 5000; i++)
		guard_add_element(rules, 0, "0123456789abcdef");
	for (unsigned int i = 0; i < 5000; i++) {
		guard_add_rule(rules, 0, 1);
		guard_load(rules, 0, 0, GUARD_META_IIFNAME);
		guard_lookup(rules, 0, 0, false);
	}
	assert_true(ruleset_query_steps(rules, GUARD_HOOK_FORWARD, &lan, &wan, &steps));
	assert_int_equal(steps, GUARD_MAX_STEPS + 1);
}

/* With an error, any query answers yes. */
static void assert_error(struct guard_ruleset *rules, int error, const char *expected)
{
	char reason[GUARD_REASON_LEN];

	assert_int_equal(guard_ruleset_error(rules), error);
	assert_true(guard_ruleset_punts(rules, GUARD_HOOK_PREROUTING, &lan, &wan, reason));
	assert_string_equal(reason, expected);
	assert_true(guard_ruleset_tracks(rules, NULL));
	assert_true(guard_ruleset_nat(rules, GUARD_HOOK_OUTPUT, NULL));
	assert_false(guard_ruleset_is_empty(rules));
	assert_true(rules->bytes <= GUARD_MAX_BYTES);
	guard_ruleset_free(rules);
}

static void test_too_many(void **state)
{
	struct guard_ruleset *rules = ruleset_text_new("base forward accept");
	uint8_t key[64] = { 0 };

	for (unsigned int i = 0; i < GUARD_MAX_RULES; i++)
		guard_add_rule(rules, 0, 1);
	assert_int_equal(guard_ruleset_error(rules), 0);
	guard_add_rule(rules, 0, 1);
	assert_error(rules, -E2BIG, "more rules than sixlane analyses");
	rules = ruleset_text_new("set s 64");
	for (unsigned int i = 0; i <= GUARD_MAX_BYTES / sizeof(key); i++)
		guard_add_element(rules, 0, key);
	assert_error(rules, -E2BIG, "more rules than sixlane analyses");
}

static void test_invalid(void **state)
{
	static const char key[16] = "lan0";

#define INVALID(...)                                                                         \
	do {                                                                                 \
		struct guard_ruleset *rules =                                                \
			ruleset_text_new("base forward accept; accept; set s 16; set m 16; " \
					 "add m lan0 : accept");                             \
		__VA_ARGS__;                                                                 \
		assert_error(rules, -EINVAL, "rules that sixlane cannot read");              \
	} while (0)
	INVALID(guard_add_chain(rules, 1, "c"));
	INVALID(guard_set_base(rules, 1, GUARD_HOOK_FORWARD, true, NULL, false));
	INVALID(guard_set_base(rules, 0, GUARD_HOOK_INGRESS, true, "0123456789abcdef", false));
	INVALID(guard_add_flowtable(rules, 1, "f", "lan0", true));
	INVALID(guard_add_flowtable(rules, 0, "f", "0123456789abcdef", true));
	INVALID(guard_add_set(rules, 0));
	INVALID(guard_add_set(rules, 65));
	INVALID(guard_set_unknown(rules, 2));
	INVALID(guard_set_inexact(rules, 2));
	INVALID(guard_set_inexact(rules, 1));
	INVALID(guard_add_element(rules, 2, key));
	INVALID(guard_add_element(rules, 1, key));
	INVALID(guard_add_verdict_element(rules, 0, key, GUARD_JUMP, 1));
	INVALID(guard_add_rule(rules, 1, 1));
	INVALID(guard_load(rules, 52, 0, GUARD_META_IIFNAME));
	INVALID(guard_store(rules, 61, 4, key));
	INVALID(guard_compare(rules, 65, 0, GUARD_EQ, key));
	INVALID(guard_lookup(rules, 2, 0, false));
	INVALID(guard_lookup_verdict(rules, 1, 52));
	INVALID(guard_verdict(rules, GUARD_GOTO, 1));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_devices_of_hooks),
		cmocka_unit_test(test_iiftype),
		cmocka_unit_test(test_chains_at_devices),
		cmocka_unit_test(test_conntrack),
		cmocka_unit_test(test_nat),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parts_of_names),
		cmocka_unit_test(test_paths_are_not_counted),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_too_many_steps),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests_name("ruleset", tests, NULL, NULL);
}
