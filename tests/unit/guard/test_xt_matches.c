// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/guard/xt_matches.h"
#include "../../../user/util.h"
#include "../unit.h"

struct row {
	enum xt_class (*class_of)(const char *name, const char **words);
	const char *name;
	enum xt_class want;
	const char *words;
};

static const struct row rows[] = {
	{ xt_match_class, "mark", XT_PURE, "mark" },
	{ xt_match_class, "comment", XT_ALWAYS, "comment" },
	{ xt_match_class, "tcp", XT_STATEFUL, "match tcp, which drops packets cut short" },
	{ xt_match_class, "conntrack", XT_CONNTRACK, "conntrack" },
	{ xt_match_class, "state", XT_CONNTRACK, "state" },
	{ xt_match_class, "limit", XT_STATEFUL, "limit" },
	{ xt_match_class, "bpf", XT_STATEFUL, "bpf" },
	{ xt_match_class, "connlimit", XT_CONNTRACK_STATEFUL, "connlimit" },
	{ xt_match_class, "tc", XT_STATEFUL, NULL },
	{ xt_match_class, "", XT_STATEFUL, NULL },
	{ xt_target_class, "LOG", XT_STATEFUL, "LOG" },
	{ xt_target_class, "MASQUERADE", XT_CONNTRACK_STATEFUL, "MASQUERADE" },
	{ xt_target_class, "tcp", XT_STATEFUL, NULL },
	{ xt_target_class, "", XT_STATEFUL, NULL },
};

static void classes_and_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *words = "";

		assert_int_equal(rows[i].class_of(rows[i].name, &words), rows[i].want);
		if (rows[i].words)
			assert_string_equal(words, rows[i].words);
		else
			assert_null(words);
		assert_int_equal(rows[i].class_of(rows[i].name, NULL), rows[i].want);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_and_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
