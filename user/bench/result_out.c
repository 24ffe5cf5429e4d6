// SPDX-License-Identifier: GPL-2.0-only
/* Rows as JSON, and from that as CSV and as a table on the screen. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../cli/print.h"
#include "bench.h"
#include "result.h"

/* --- JSON ----------------------------------------------------------------------------------- */

/* To 4 digits behind the point, or 6 significant ones if those are more. */
static json_t *rounded(double value)
{
	double scale = 1e4;

	if (!isfinite(value) || fabs(value) > 1e14)
		return json_null();
	while (fabs(value) * scale < 1e5 && scale < 1e12)
		scale *= 10;
	return json_real(round(value * scale) / scale);
}

static void set_count(json_t *object, const char *key, uint64_t count)
{
	print_set(object, key, json_integer((json_int_t)count));
}

static void set_where(json_t *object, const struct bench_result *result)
{
	const struct bench_machine *machine = &result->machine;

	set_count(object, "seed", result->options.seed);
	print_set(object, "machine", print_string(machine->machine));
	print_set(object, "kernel", print_string(machine->kernel));
	print_set(object, "cpu", print_string(machine->cpu));
	set_count(object, "cpus", machine->cpus);
	print_set(object, "mitigations", print_string(machine->mitigations));
	print_set(object, "emulated", json_boolean(machine->is_emulated));
	print_set(object, "command", print_string(result->options.command));
}

static json_t *to_object(const struct bench_result *result, const struct bench_summary *summary)
{
	const struct bench_row *row = &summary->row;
	char note[BENCH_NOTE_LEN];
	json_t *object = json_object();

	print_set(object, "bench", print_string(row->bench));
	print_set(object, "engine", print_string(row->engine));
	print_set(object, "table", print_string(row->table));
	set_count(object, "routes", row->routes);
	print_set(object, "pattern", print_string(row->pattern));
	print_set(object, "mode", print_string(row->mode));
	set_count(object, "threads", row->threads);
	set_count(object, "writer_rate", row->writer_rate);
	set_count(object, "frame_bytes", row->frame_bytes);
	print_set(object, "driver", print_string(row->driver));
	set_count(object, "queues", row->queues);
	print_set(object, "unit", print_string(row->unit));
	print_set(object, "median", rounded(summary->median));
	print_set(object, "low", rounded(summary->low));
	print_set(object, "high", rounded(summary->high));
	print_set(object, "mean", rounded(summary->mean));
	print_set(object, "deviation", rounded(summary->deviation));
	set_count(object, "rounds", row->n);
	print_set(object, "note",
		  print_string(bench_result_note(result, summary, note, sizeof(note))));
	set_where(object, result);
	return object;
}

json_t *bench_result_to_json(const struct bench_result *result)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < result->n && rows; i++)
		print_append(rows, to_object(result, &result->rows[i]));
	if (json_array_size(rows) == result->n)
		return rows;
	json_decref(rows);
	return NULL;
}

/* --- CSV ------------------------------------------------------------------------------------ */

/* RFC 4180: quoted, with quotes doubled. */
static void put_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void put_value(FILE *file, const json_t *value)
{
	if (json_is_string(value))
		put_string(file, json_string_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", file);
	else if (json_is_integer(value))
		fprintf(file, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(file, "%.9g", json_real_value(value));
}

static void put_row(FILE *file, json_t *row, bool names)
{
	const char *key, *separator = "";
	json_t *value;

	json_object_foreach(row, key, value)
	{
		fputs(separator, file);
		separator = ",";
		if (names)
			fputs(key, file);
		else
			put_value(file, value);
	}
	fputs("\r\n", file);
}

int bench_result_to_csv(const struct bench_result *result, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");
	json_t *rows = bench_result_to_json(result), *row;
	size_t i;

	if (!file || !rows) {
		json_decref(rows);
		return bench_fail(file ? -ENOMEM : -errno, "%s", path);
	}
	put_row(file, json_array_get(rows, 0), true);
	json_array_foreach(rows, i, row)
	{
		put_row(file, row, false);
	}
	json_decref(rows);
	return fflush(file) || ferror(file) ? bench_fail(-errno, "%s", path) : 0;
}

/* --- the screen ----------------------------------------------------------------------------- */

/* What of a row is shown, if any row has it. What is the same for all stands above them. */
static const struct column {
	const char *key, *title;
	bool is_number;
	json_int_t silent; /* a number that need not be said */
} columns[] = {
	{ "engine", "engine", false, 0 },
	{ "table", "table", false, 0 },
	{ "routes", "routes", true, 0 },
	{ "pattern", "pattern", false, 0 },
	{ "mode", "mode", false, 0 },
	{ "threads", "threads", true, 1 },
	{ "writer_rate", "changes/s", true, 0 },
	{ "frame_bytes", "frame", true, 0 },
	{ "driver", "driver", false, 0 },
	{ "queues", "queues", true, 0 },
	{ "median", "median", true, 0 },
	{ "low", "lowest", true, 0 },
	{ "high", "highest", true, 0 },
	{ "mean", "mean", true, 0 },
	{ "deviation", "+-", true, 0 },
	{ "unit", "unit", false, 0 },
	{ "note", "note", false, 0 },
};

/* Behind the point: what is measured is not known better. */
static int digits_of(double value)
{
	double least = 0.1;
	int digits = 3;

	if (fabs(value) >= 10)
		return fabs(value) < 1000 ? 1 : 0;
	for (; fabs(value) > 0 && fabs(value) < least && digits < 6; least /= 10)
		digits++;
	return digits;
}

static const char *to_text(const json_t *value, char buf[64])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_real(value))
		snprintf(buf, 64, "%.*f", digits_of(json_real_value(value)),
			 json_real_value(value));
	else if (json_is_integer(value))
		snprintf(buf, 64, "%lld", (long long)json_integer_value(value));
	else
		*buf = '\0';
	return buf;
}

/* 0: no row has anything to say there. */
static int width_of(const json_t *rows, const struct column *column)
{
	size_t width = strlen(column->title), i;
	bool is_shown = false;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		const json_t *value = json_object_get(row, column->key);
		char buf[64];
		const char *text = to_text(value, buf);

		is_shown |= json_is_integer(value) ? json_integer_value(value) > column->silent
						   : *text != '\0';
		width = strlen(text) > width ? strlen(text) : width;
	}
	return is_shown ? (int)width : 0;
}

static void print_where(const struct bench_result *result)
{
	char machine[BENCH_MACHINE_LEN];

	bench_machine_text(&result->machine, machine, sizeof(machine));
	printf("%s; seed %llu\n", machine, (unsigned long long)result->options.seed);
	printf("%s\n\n", result->options.command);
}

static void print_line(json_t *row, const int *widths)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		const struct column *column = &columns[c];
		char buf[64];

		if (!widths[c])
			continue;
		printf("%*s  ", column->is_number ? widths[c] : -widths[c],
		       row ? to_text(json_object_get(row, column->key), buf) : column->title);
	}
	putchar('\n');
}

int bench_result_to_screen(const struct bench_result *result)
{
	json_t *rows = bench_result_to_json(result), *row;
	int widths[ARRAY_SIZE(columns)];
	size_t i;

	if (!rows)
		return bench_fail(-ENOMEM, "results");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		widths[c] = width_of(rows, &columns[c]);
	print_where(result);
	print_line(NULL, widths);
	json_array_foreach(rows, i, row)
	{
		print_line(row, widths);
	}
	json_decref(rows);
	return print_flush() ? -EIO : 0;
}
