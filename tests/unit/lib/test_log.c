// SPDX-License-Identifier: GPL-2.0-only
/* The log: the form of a line, levels and rate limits. */

#include "../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../user/lib/log.h"
#include "logged.h"

static void levels(void **state)
{
	static const struct {
		enum log_level threshold;
		const char *expected;
	} cases[] = {
		{ LOG_ERROR, "prog: error: 1\n" },
		{ LOG_WARNING, "prog: error: 1\nprog: warning: 2\n" },
		{ LOG_INFO, "prog: error: 1\nprog: warning: 2\nprog: info: 3\n" },
		{ LOG_DEBUG, "prog: error: 1\nprog: warning: 2\nprog: info: 3\nprog: debug: 4\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		log_init("prog", cases[i].threshold);
		log_error("%d", 1);
		log_warning("%d", 2);
		log_info("%d", 3);
		log_debug("%d", 4);
		assert_string_equal(logged(), cases[i].expected);
	}
}

static void one_line_whatever_is_in_it(void **state)
{
	char longest[5000];
	const char *line;

	log_info("a%sb", "\n\r\033[1m\x7f");
	assert_string_equal(logged(), "prog: info: a   [1m b\n");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	log_info("%s", longest);
	line = logged();
	assert_in_range(strlen(line), 500, 1024);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	log_info("%s", "caf\xc3\xa9");
	assert_string_equal(logged(), "prog: info: caf\xc3\xa9\n");
}

static void errno_survives(void **state)
{
	errno = ENOENT;
	log_info("%m");
	assert_int_equal(errno, ENOENT);
	assert_string_equal(logged(), "prog: info: No such file or directory\n");
}

static unsigned int lines(const char *all)
{
	unsigned int n = 0;

	while ((all = strchr(all, '\n'))) {
		all++;
		n++;
	}
	return n;
}

static void storms_are_limited(void **state)
{
	struct log_ratelimit limit = { 0 };
	char expected[80];
	unsigned int burst;

	for (unsigned int i = 0; i < 1000; i++)
		log_limited(&limit, LOG_WARNING, "storm");
	burst = lines(logged());
	assert_in_range(burst, 1, 100);
	/* as if a minute had passed */
	limit.window_start_ns -= 60000000000u;
	log_limited(&limit, LOG_WARNING, "calm");
	snprintf(expected, sizeof(expected),
		 "prog: warning: calm (%u similar messages suppressed)\n", 1000 - burst);
	assert_string_equal(logged(), expected);
	log_limited(&limit, LOG_WARNING, "calm");
	assert_string_equal(logged(), "prog: warning: calm\n");
}

static void dropped_messages_count_for_no_limit(void **state)
{
	struct log_ratelimit limit = { 0 };

	for (unsigned int i = 0; i < 1000; i++)
		log_limited(&limit, LOG_DEBUG, "detail");
	log_limited(&limit, LOG_WARNING, "news");
	assert_string_equal(logged(), "prog: warning: news\n");
}

static void each_place_has_its_own_limit(void **state)
{
	for (unsigned int i = 0; i < 1000; i++)
		log_warning_limited("one place");
	(void)logged();
	log_warning_limited("another place");
	assert_string_equal(logged(), "prog: warning: another place\n");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(levels, logged_setup, logged_teardown),
		cmocka_unit_test_setup_teardown(one_line_whatever_is_in_it, logged_setup,
						logged_teardown),
		cmocka_unit_test_setup_teardown(errno_survives, logged_setup, logged_teardown),
		cmocka_unit_test_setup_teardown(storms_are_limited, logged_setup, logged_teardown),
		cmocka_unit_test_setup_teardown(dropped_messages_count_for_no_limit, logged_setup,
						logged_teardown),
		cmocka_unit_test_setup_teardown(each_place_has_its_own_limit, logged_setup,
						logged_teardown),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
