// SPDX-License-Identifier: GPL-2.0-only
/* Classes and texts of x_tables extensions. */
#include "../unit.h"

#include <string.h>

#include "../../../user/guard/xt_matches.h"
#include "../../../user/lib/util.h"

struct row {
	enum xt_class (*class_of)(const char *name, char *text);
	const char *name;
	enum xt_class expected;
	const char *text;
};

static const struct row rows[] = {
	{ xt_match_class, "mark", XT_PURE, "match mark" },
	{ xt_match_class, "comment", XT_ALWAYS, "match comment" },
	{ xt_match_class, "tcp", XT_STATEFUL, "match tcp, which drops truncated packets" },
	{ xt_match_class, "conntrack", XT_CONNTRACK, "match conntrack" },
	{ xt_match_class, "state", XT_CONNTRACK, "match state" },
	{ xt_match_class, "limit", XT_STATEFUL, "match limit" },
	{ xt_match_class, "bpf", XT_STATEFUL, "match bpf" },
	{ xt_match_class, "connlimit", XT_CONNTRACK_STATEFUL, "match connlimit" },
	{ xt_match_class, "tc", XT_STATEFUL, "match tc, unknown to sixlane" },
	{ xt_match_class, "", XT_STATEFUL, "match , unknown to sixlane" },
	{ xt_target_class, "LOG", XT_STATEFUL, "target LOG" },
	{ xt_target_class, "MASQUERADE", XT_CONNTRACK_STATEFUL, "target MASQUERADE" },
	{ xt_target_class, "tcp", XT_STATEFUL, "target tcp, unknown to sixlane" },
	{ xt_target_class, "", XT_STATEFUL, "target , unknown to sixlane" },
};

static void classes_and_texts(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[XT_TEXT_LEN];

		assert_int_equal(rows[i].class_of(rows[i].name, text), rows[i].expected);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(rows[i].class_of(rows[i].name, NULL), rows[i].expected);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_and_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
