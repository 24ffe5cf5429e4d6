// SPDX-License-Identifier: GPL-2.0-only
/* What a rule with one x_tables extension does. */
#include "../unit.h"

#include <string.h>

#include "../../../user/lib/util.h"
#include "ruleset_text.h"

static const struct {
	const char *name;
	const char *effect; /* NULL: none */
	bool target, conntrack, always;
} rows[] = {
	{ .name = "mark" },
	{ .name = "comment", .always = true },
	{ .name = "tcp", .effect = "match tcp, which drops truncated packets" },
	{ .name = "conntrack", .conntrack = true },
	{ .name = "state", .conntrack = true },
	{ .name = "limit", .effect = "match limit" },
	{ .name = "bpf", .effect = "match bpf" },
	{ .name = "connlimit", .effect = "match connlimit", .conntrack = true },
	{ .name = "tc", .effect = "match tc, unknown to sixlane" },
	{ .name = "", .effect = "match , unknown to sixlane" },
	{ .name = "LOG", .effect = "target LOG", .target = true },
	{ .name = "MASQUERADE", .effect = "target MASQUERADE", .target = true, .conntrack = true },
	{ .name = "tcp", .effect = "target tcp, unknown to sixlane", .target = true },
	{ .name = "", .effect = "target , unknown to sixlane", .target = true },
};

/* A rule that accepts in a chain that drops, with the extension as its only condition. */
static void check(size_t i, bool with_effect)
{
	_cleanup_(guard_ruleset_freep) struct guard_ruleset *rules =
		ruleset_text_new("base forward drop");
	const char *effect = with_effect || rows[i].target ? rows[i].effect : NULL;
	const char *expected = effect ? effect : rows[i].always ? "" : "policy drop";
	char reason[GUARD_REASON_LEN] = "";

	guard_add_rule(rules, 0, 1);
	if (rows[i].target)
		xt_add_target(rules, rows[i].name);
	else
		xt_add_match(rules, rows[i].name, with_effect);
	guard_verdict(rules, GUARD_ACCEPT, 0);
	assert_int_equal(guard_ruleset_needs_conntrack(rules), rows[i].conntrack);
	assert_int_equal(guard_ruleset_punts(rules, GUARD_HOOK_FORWARD, &lan, &wan, reason),
			 expected[0] != '\0');
	assert_true(strlen(reason) >= strlen(expected));
	assert_string_equal(reason + strlen(reason) - strlen(expected), expected);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check(i, true);
		check(i, false);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
