// SPDX-License-Identifier: GPL-2.0-only
/* Rows of results: what stands in them, and how they look in JSON and CSV. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/bench/bench.h"
#include "../../../user/bench/result_plot.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

static const struct bench_row simple = {
	.bench = "lookup", .engine = "trie", .unit = "ns", .n = 1, .values = (const double[]){ 1 }
};

static struct bench_result *new_result(void)
{
	static const struct cmd_options cmd;
	struct bench_result_options options = {
		.name = "test", .command = "sixlane bench \"test\"", .seed = 7, .cmd = &cmd
	};
	struct bench_result *result;

	assert_int_equal(bench_result_new(&options, &result), 0);
	result->machine.is_emulated = false;
	return result;
}

static struct bench_summary summary_of(const double *values, size_t n)
{
	struct bench_summary summary = { 0 };
	double copy[16];

	memcpy(copy, values, n * sizeof(*values));
	bench_summarize(copy, n, &summary);
	return summary;
}

#define SUMMARY(...) \
	summary_of((const double[]){ __VA_ARGS__ }, ARRAY_SIZE(((const double[]){ __VA_ARGS__ })))
#define assert_near(a, b) assert_float_equal(a, b, 1e-9)

/* Each has its turn in each round, and is first and last as often. */
static void test_turns(void **state)
{
	static const size_t wanted[] = { 0, 1, 2, 2, 1, 0, 0, 1, 2 };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(bench_turn(i / 3, 3, i % 3), wanted[i]);
	assert_int_equal(bench_turn(1, 1, 0), 0);
}

/* Of twelve the highest and the lowest do not count: ten are left, 2 to 11. */
static void test_kubecek(void **state)
{
	struct bench_summary summary = SUMMARY(12, 2, 1000, 3, 4, 5, -50, 6, 7, 8, 9, 10);

	assert_near(summary.low, -50);
	assert_near(summary.high, 1000);
	assert_near(summary.median, 6.5);
	assert_near(summary.mean, 6.6);
	/* 4.6 3.6 2.6 1.6 0.6 0.4 1.4 2.4 3.4 5.4 */
	assert_near(summary.deviation, 2.6);
}

static void test_few_values(void **state)
{
	struct bench_summary one = SUMMARY(5), two = SUMMARY(5, 9), three = SUMMARY(9, 5, 6);

	assert_near(one.median, 5);
	assert_near(one.mean, 5);
	assert_near(one.deviation, 0);
	assert_near(two.median, 7);
	assert_near(two.mean, 7);
	assert_near(two.deviation, 2);
	assert_near(three.median, 6);
	assert_near(three.mean, 6);
	assert_near(three.deviation, 0);
}

static void test_percentile(void **state)
{
	double values[101];

	for (size_t i = 0; i < 101; i++)
		values[i] = (double)((i * 37) % 101);
	assert_near(bench_percentile(values, 101, 99), 99);
	assert_near(bench_percentile(values, 101, 50), 50);
	assert_near(bench_percentile(values, 1, 99), 0);
}

static const char *note_of(const struct bench_result *result, const char *unit, double low,
			   double high, const char *note, char *buf)
{
	struct bench_summary summary = { .row = { .unit = unit, .note = note, .n = 3 },
					 .low = low,
					 .high = high };

	return bench_result_note(result, &summary, buf, BENCH_NOTE_LEN);
}

static void test_notes(void **state)
{
	const struct bench_summary few = { .row = { .unit = "ratio", .n = 2 },
					   .low = 2,
					   .high = 2 };
	struct bench_result *result = new_result();
	char buf[BENCH_NOTE_LEN];

	assert_string_equal(note_of(result, "ratio", 0.5, 0.99, NULL, buf), "");
	assert_string_equal(note_of(result, "ratio", 1.01, 2, NULL, buf), "");
	assert_string_equal(note_of(result, "ns", 0.5, 2, NULL, buf), "");
	assert_non_null(strstr(note_of(result, "ratio", 0.9, 1.1, NULL, buf), "no difference"));
	assert_non_null(
		strstr(bench_result_note(result, &few, buf, sizeof(buf)), "too few rounds"));
	result->machine.is_emulated = true;
	assert_string_equal(note_of(result, "ns", 1, 2, NULL, buf), "emulated: functional only");
	assert_string_equal(note_of(result, "ns", 1, 2, "x", buf), "emulated: functional only; x");
	bench_result_free(result);
}

/* Behind what says that the figure shows nothing; and no word of it is half. */
static void test_long_notes(void **state)
{
	static const char first[] = "emulated: functional only; "
				    "the spread holds 1: no difference is shown; "
				    "too few rounds to show a difference; 'ethtool";
	static const char word[] = "'ethtool -G eth0 rx 4096'; ";
	struct bench_summary few = { .row = { .unit = "ratio", .n = 2 }, .low = 0.9, .high = 1.1 };
	char buf[BENCH_NOTE_LEN], note[2 * BENCH_NOTE_LEN] = "", *end;
	struct bench_result *result = new_result();

	for (size_t used = 0; used + sizeof(word) < sizeof(note); used += strlen(word))
		strcpy(note + used, word);
	few.row.note = note;
	result->machine.is_emulated = true;
	bench_result_note(result, &few, buf, sizeof(buf));
	assert_int_equal(strncmp(buf, first, strlen(first)), 0);
	end = buf + strlen(buf) - strlen(" …");
	assert_string_equal(end, " …");
	assert_in_range(end - buf, sizeof(buf) - 40, sizeof(buf));
	*end = '\0';
	assert_non_null(strchr("G0x;'", end[-1]));
	bench_result_free(result);
}

static void test_notes_that_just_fit(void **state)
{
	char buf[16] = "";

	bench_note_add(buf, sizeof(buf), NULL);
	bench_note_add(buf, sizeof(buf), "");
	assert_string_equal(buf, "");
	bench_note_add(buf, sizeof(buf), "eight no");
	bench_note_add(buf, sizeof(buf), "five5");
	assert_string_equal(buf, "eight no; five5");
	bench_note_add(buf, sizeof(buf), "x");
	assert_string_equal(buf, "eight no; …");
	strcpy(buf, "eight no");
	bench_note_add(buf, sizeof(buf), "a six6");
	assert_string_equal(buf, "eight no; a …");
	*buf = '\0';
	bench_note_add(buf, sizeof(buf), "ofasinglewordthatislong");
	assert_string_equal(buf, " …");
}

/* Its strings and values may go once a row was added. */
static void test_rows_are_copied(void **state)
{
	struct bench_result *result = new_result();
	char engine[] = "trie", unit[] = "ns";
	double values[] = { 3, 1, 2 };
	struct bench_row row = { .engine = engine, .unit = unit, .values = values, .n = 3 };
	json_t *rows;

	for (int i = 0; i < 200; i++)
		assert_int_equal(bench_result_add(result, &row), 0);
	assert_near(values[0], 3);
	memset(engine, 'x', 4);
	memset(values, 0, sizeof(values));
	rows = bench_result_to_json(result);
	assert_int_equal(json_array_size(rows), 200);
	for (size_t i = 0; i < 200; i++) {
		json_t *object = json_array_get(rows, i);

		assert_string_equal(json_string_value(json_object_get(object, "engine")), "trie");
		assert_near(json_real_value(json_object_get(object, "median")), 2);
		assert_int_equal(json_integer_value(json_object_get(object, "seed")), 7);
		assert_true(json_is_null(json_object_get(object, "table")));
	}
	json_decref(rows);
	bench_result_free(result);
}

/* A ratio of nothing. */
static void test_no_number(void **state)
{
	struct bench_result *result = new_result();
	struct bench_row row = simple;
	json_t *rows;

	row.values = (const double[]){ 1.0 / 0.0 };
	assert_int_equal(bench_result_add(result, &row), 0);
	rows = bench_result_to_json(result);
	assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "median")));
	json_decref(rows);
	bench_result_free(result);
}

/* 130 frames a second are a rate in Mpps, too. */
static void test_small_numbers(void **state)
{
	struct bench_result *result = new_result();
	struct bench_row row = simple;
	const json_t *object;
	json_t *rows;

	row.values = (const double[]){ 0.000130123456 };
	row.n = 1;
	assert_int_equal(bench_result_add(result, &row), 0);
	rows = bench_result_to_json(result);
	object = json_array_get(rows, 0);
	assert_true(fabs(json_real_value(json_object_get(object, "median")) - 0.000130123) < 1e-12);
	json_decref(rows);
	bench_result_free(result);
}

static void test_csv(void **state)
{
	struct bench_result *result = new_result();
	char path[] = "/tmp/sixlane-test-XXXXXX", text[4096] = "";
	struct bench_row row = simple;
	FILE *file;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	row.engine = "a \"b\", c";
	assert_int_equal(bench_result_add(result, &row), 0);
	assert_int_equal(bench_result_to_csv(result, path), 0);
	file = fdopen(fd, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	unlink(path);
	assert_int_equal(strncmp(text, "bench,engine,table,", 19), 0);
	assert_non_null(strstr(text, "\r\n\"lookup\",\"a \"\"b\"\", c\",,0,,"));
	assert_non_null(strstr(text, ",\"sixlane bench \"\"test\"\"\"\r\n"));
	bench_result_free(result);
}

/* The SVG, as much of it as there is room for. Nothing stays of the files. */
static void draw(const struct bench_result *result, char *svg, size_t size)
{
	char directory[] = "/tmp/sixlane-plots-XXXXXX", base[64], path[72];
	FILE *file;

	assert_non_null(mkdtemp(directory));
	snprintf(base, sizeof(base), "%s/plot", directory);
	assert_int_equal(bench_result_to_plots(result, base), 0);
	snprintf(path, sizeof(path), "%s.svg", base);
	file = fopen(path, "re");
	assert_non_null(file);
	svg[fread(svg, 1, size - 1, file)] = '\0';
	fclose(file);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s.png", base);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* Differences may all be less than 0, and counts all 0: neither is an empty picture. */
static void test_plots_below_0(void **state)
{
	static const double less[] = { -9, -2 }, none[] = { 0 };
	struct bench_result *result = new_result();
	struct bench_row row = simple;
	char svg[64];

	if (bench_plot_check())
		skip();
	row.values = less;
	row.n = 2;
	assert_int_equal(bench_result_add(result, &row), 0);
	row.unit = "entries";
	row.values = none;
	row.n = 1;
	assert_int_equal(bench_result_add(result, &row), 0);
	draw(result, svg, sizeof(svg));
	bench_result_free(result);
}

/* --- what stands under pictures ------------------------------------------------------------- */

static void test_foot(void **state)
{
	struct bench_result *result = new_result();
	struct bench_row row = simple;
	static char svg[1 << 16];

	if (bench_plot_check())
		skip();
	result->machine =
		(struct bench_machine){ .machine = "m", .kernel = "6.1", .cpu = "c", .cpus = 4 };
	assert_int_equal(bench_result_add(result, &row), 0);
	draw(result, svg, sizeof(svg));
	assert_non_null(strstr(svg, ">m; Linux 6.1; c, 4 CPUs; seed 7<"));
	row.driver = "ice";
	row.queues = 8;
	assert_int_equal(bench_result_add(result, &row), 0);
	draw(result, svg, sizeof(svg));
	assert_non_null(strstr(svg, ">m; Linux 6.1; c, 4 CPUs; driver ice, 8 queues; seed 7<"));
	result->rows[1].row.queues = 0;
	result->options.seed = 0;
	draw(result, svg, sizeof(svg));
	assert_non_null(strstr(svg, ">m; Linux 6.1; c, 4 CPUs; driver ice<"));
	bench_result_free(result);
}

static void test_foot_lines(void **state)
{
	static const struct {
		const char *text, *line, *rest;
	} rows[] = {
		{ "eight by", "eight by", NULL },
		{ "eight by eight", "eight by", "eight" },
		{ "a b eight", "a b", "eight" },
		{ "a b  two", "a b  two", NULL },
		{ "a bcde  two", "a bcde ", "two" },
		{ "ofoneword a", "ofonewor", "d a" },
		{ "no ofoneword", "no", "ofoneword" },
		{ "ofonew\u20ac a", "ofonew", "\u20ac a" },
		{ "", "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *rest;
		size_t len = bench_foot_line(rows[i].text, 8, &rest);

		assert_int_equal(len, strlen(rows[i].line));
		assert_int_equal(strncmp(rows[i].text, rows[i].line, len), 0);
		assert_string_equal(rest ? rest : "end", rows[i].rest ? rows[i].rest : "end");
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_kubecek),
		cmocka_unit_test(test_few_values),
		cmocka_unit_test(test_percentile),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_long_notes),
		cmocka_unit_test(test_notes_that_just_fit),
		cmocka_unit_test(test_rows_are_copied),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_small_numbers),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_plots_below_0),
		cmocka_unit_test(test_foot),
		cmocka_unit_test(test_foot_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
