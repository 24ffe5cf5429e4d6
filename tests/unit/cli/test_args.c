// SPDX-License-Identifier: GPL-2.0-only
/* Words of the command line: abbreviated commands, options in any place, numbers and tables. */
#include "../unit.h"

#include <string.h>

#include "../../../user/cli/cmd.h"

static void commands_are_abbreviated(void **state)
{
	static const char *const cmds[] = { "attach", "detach", "stats", "status" };
	static const char *const inner[] = { "stats", "stat", "status" };
	static const struct {
		const char *word;
		size_t n, first;
	} rows[] = {
		{ "attach", 1, 0 },  { "a", 1, 0 },	{ "det", 1, 1 },   { "stats", 1, 2 },
		{ "stat", 2, 2 },    { "s", 2, 2 },	{ "statu", 1, 3 }, { "", 0, 0 },
		{ "attachx", 0, 0 }, { "ttach", 0, 0 }, { "A", 0, 0 },
	};
	size_t found[ARRAY_SIZE(cmds)];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(args_match(cmds, ARRAY_SIZE(cmds), rows[i].word, found),
				 rows[i].n);
		if (rows[i].n)
			assert_int_equal(found[0], rows[i].first);
	}
	/* an exact name, although others begin with it */
	assert_int_equal(args_match(inner, ARRAY_SIZE(inner), "stat", found), 1);
	assert_int_equal(found[0], 1);
}

/* Common options are taken out wherever they stand; the other words keep their order. */
static const struct {
	const char *line, *left;
	struct cmd_options options;
	bool help, version;
} lines[] = {
	{ "-j status", "status", .options.json = true },
	{ "status -j", "status", .options.json = true },
	{ "lookup -json ::1", "lookup ::1", .options.json = true },
	{ "--json status", "status", .options.json = true },
	{ "-s stats", "stats", .options.statistics = true },
	{ "-stats stats", "stats", .options.statistics = true },
	{ "-statistics stats", "stats", .options.statistics = true },
	{ "-p -j status", "status", .options = { .json = true, .pretty = true } },
	{ "lookup -h", "lookup", .help = true },
	{ "-V", "", .version = true },
	{ .line = "status", .left = "status" },
	{ .line = "stats -w 1 -n 2", .left = "stats -w 1 -n 2" },
	{ .line = "lookup -", .left = "lookup -" },
	{ .line = "-x status", .left = "-x status" },
	{ .line = "-jx status", .left = "-jx status" },
	{ .line = "-v", .left = "-v" },
	/* after "--" nothing is an option */
	{ .line = "attach -- -j", .left = "attach -j" },
	{ .line = "attach -- --", .left = "attach --" },
};

static void options_stand_anywhere(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char copy[128], left[128] = "", *argv[16], *save = NULL;
		bool help = false, version = false;
		struct cmd_options options = { 0 };
		int argc = 0;

		strcpy(copy, lines[i].line);
		for (char *word = strtok_r(copy, " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			argv[argc++] = word;
		argc = args_parse_options(argc, argv, &options, &help, &version);
		for (int k = 0; k < argc; k++)
			snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s%s",
				 k ? " " : "", argv[k]);
		assert_string_equal(left, lines[i].left);
		assert_memory_equal(&options, &lines[i].options, sizeof(options));
		assert_int_equal(help, lines[i].help);
		assert_int_equal(version, lines[i].version);
	}
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
		cmocka_unit_test(numbers_are_whole),
		cmocka_unit_test(tables_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
