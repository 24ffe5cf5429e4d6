// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CLI's words: abbreviated commands, and options wherever they stand. The module under test
 * is included, since the CLI's own files are in no library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../unit.h"

#include "../../../../user/cli/args.c"

static const struct cmd attach = { .name = "attach" }, detach = { .name = "detach" },
			stats = { .name = "stats" }, status = { .name = "status" },
			stat = { .name = "stat" };

static void commands_are_abbreviated(void **state)
{
	const struct cmd *const cmds[] = { &attach, &detach, &stats, &status };
	const struct cmd *const inner[] = { &stats, &stat, &status };
	static const struct {
		const char *word;
		size_t n;
		const struct cmd *first;
	} rows[] = {
		{ "attach", 1, &attach }, { "a", 1, &attach },	 { "det", 1, &detach },
		{ "stats", 1, &stats },	  { "stat", 2, &stats }, { "s", 2, &stats },
		{ "statu", 1, &status },  { "", 0, NULL },	 { "attachx", 0, NULL },
		{ "ttach", 0, NULL },	  { "A", 0, NULL },
	};
	const struct cmd *found[ARRAY_SIZE(cmds)];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(args_match(cmds, ARRAY_SIZE(cmds), rows[i].word, found),
				 rows[i].n);
		if (rows[i].n)
			assert_ptr_equal(found[0], rows[i].first);
	}
	/* A name that is spelt out is meant, although others begin with it. */
	assert_int_equal(args_match(inner, ARRAY_SIZE(inner), "stat", found), 1);
	assert_ptr_equal(found[0], &stat);
}

struct taken {
	struct cmd_options options;
	bool help, version;
};

/* Split a line at its spaces, take the options and check what is left of it. */
static struct taken take(const char *line, const char *left)
{
	char copy[128], rest[128] = "", *argv[16], *save = NULL;
	struct taken taken = { 0 };
	int argc = 0;

	strcpy(copy, line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argc = args_parse_options(argc, argv, &taken.options, &taken.help, &taken.version);
	for (int i = 0; i < argc; i++) {
		strcat(rest, i ? " " : "");
		strcat(rest, argv[i]);
	}
	assert_string_equal(rest, left);
	return taken;
}

static void options_stand_anywhere(void **state)
{
	assert_true(take("-j status", "status").options.json);
	assert_true(take("status -j", "status").options.json);
	assert_true(take("lookup -json ::1", "lookup ::1").options.json);
	assert_true(take("--json status", "status").options.json);
	assert_true(take("-s stats", "stats").options.statistics);
	assert_true(take("-stats stats", "stats").options.statistics);
	assert_true(take("-statistics stats", "stats").options.statistics);
	assert_true(take("-p -j status", "status").options.pretty);
	assert_true(take("lookup -h", "lookup").help);
	assert_true(take("-V", "").version);
	assert_false(take("status", "status").options.json);
}

static void other_words_are_left(void **state)
{
	struct taken taken;

	taken = take("stats -w 1 -n 2", "stats -w 1 -n 2");
	assert_false(taken.options.json || taken.options.statistics || taken.options.pretty);
	take("lookup -", "lookup -");
	take("-x status", "-x status");
	take("-jx status", "-jx status");
	take("-v", "-v");
	/* Behind "--" nothing is an option. */
	taken = take("attach -- -j", "attach -j");
	assert_false(taken.options.json);
	take("attach -- --", "attach --");
}

static void numbers_are_whole(void **state)
{
	uint32_t number = 7;

	assert_true(args_parse_number("0", 0, &number) && number == 0);
	assert_true(args_parse_number("4294967295", UINT32_MAX, &number) && number == UINT32_MAX);
	assert_false(args_parse_number("4294967296", UINT32_MAX, &number));
	assert_false(args_parse_number("99999999999999999999", UINT32_MAX, &number));
	assert_false(args_parse_number("129", 128, &number));
	assert_false(args_parse_number("", 128, &number));
	assert_false(args_parse_number(" 1", 128, &number));
	assert_false(args_parse_number("-1", 128, &number));
	assert_false(args_parse_number("1x", 128, &number));
}

static void tables_have_names(void **state)
{
	uint32_t table = 0;

	assert_true(args_parse_table("main", &table) && table == 254);
	assert_true(args_parse_table("local", &table) && table == 255);
	assert_true(args_parse_table("default", &table) && table == 253);
	assert_true(args_parse_table("4294900000", &table) && table == 4294900000u);
	assert_false(args_parse_table("0", &table));
	assert_false(args_parse_table("mai", &table));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_abbreviated),
		cmocka_unit_test(options_stand_anywhere),
		cmocka_unit_test(other_words_are_left),
		cmocka_unit_test(numbers_are_whole),
		cmocka_unit_test(tables_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
