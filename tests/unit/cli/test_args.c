// SPDX-License-Identifier: GPL-2.0-only
/* Words of the command line: abbreviated commands, options in any place, numbers and tables. */
#include "../unit.h"

#include <string.h>

#include "../../../user/cli/args.h"

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
	/* an exact name, although others begin with it */
	assert_int_equal(args_match(inner, ARRAY_SIZE(inner), "stat", found), 1);
	assert_ptr_equal(found[0], &stat);
}

struct parsed {
	struct cmd_options options;
	bool help, version;
};

/* Splits a line at its spaces, parses the options and checks the words that are left. */
static struct parsed parse(const char *line, const char *left)
{
	char copy[128], rest[128] = "", *argv[16], *save = NULL;
	struct parsed parsed = { 0 };
	int argc = 0;

	strcpy(copy, line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argc = args_parse_options(argc, argv, &parsed.options, &parsed.help, &parsed.version);
	for (int i = 0; i < argc; i++) {
		strcat(rest, i ? " " : "");
		strcat(rest, argv[i]);
	}
	assert_string_equal(rest, left);
	return parsed;
}

static void options_stand_anywhere(void **state)
{
	assert_true(parse("-j status", "status").options.json);
	assert_true(parse("status -j", "status").options.json);
	assert_true(parse("lookup -json ::1", "lookup ::1").options.json);
	assert_true(parse("--json status", "status").options.json);
	assert_true(parse("-s stats", "stats").options.statistics);
	assert_true(parse("-stats stats", "stats").options.statistics);
	assert_true(parse("-statistics stats", "stats").options.statistics);
	assert_true(parse("-p -j status", "status").options.pretty);
	assert_true(parse("lookup -h", "lookup").help);
	assert_true(parse("-V", "").version);
	assert_false(parse("status", "status").options.json);
}

static void other_words_are_left(void **state)
{
	struct parsed parsed;

	parsed = parse("stats -w 1 -n 2", "stats -w 1 -n 2");
	assert_false(parsed.options.json || parsed.options.statistics || parsed.options.pretty);
	parse("lookup -", "lookup -");
	parse("-x status", "-x status");
	parse("-jx status", "-jx status");
	parse("-v", "-v");
	/* after "--" nothing is an option */
	parsed = parse("attach -- -j", "attach -j");
	assert_false(parsed.options.json);
	parse("attach -- --", "attach --");
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
