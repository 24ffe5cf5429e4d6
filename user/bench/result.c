// SPDX-License-Identifier: GPL-2.0-only
/* Rows are collected and summarized; their forms are in result_out.c and result_plot.c. */
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "../cli/print.h"
#include "bench.h"

/* --- what a row says ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_summarize(double *values, size_t n, struct bench_summary *out)
{
	size_t first = n > 2, end = n > 2 ? n - 1 : n;
	double sum = 0, off = 0;

	qsort(values, n, sizeof(*values), by_value);
	out->median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	out->low = values[0];
	out->high = values[n - 1];
	for (size_t i = first; i < end; i++)
		sum += values[i];
	out->mean = sum / (double)(end - first);
	for (size_t i = first; i < end; i++)
		off += fabs(values[i] - out->mean);
	out->deviation = off / (double)(end - first);
}

double bench_percentile(double *values, size_t n, unsigned int percent)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) * percent / 100];
}

static bool is_ratio(const struct bench_summary *row)
{
	return !strcmp(row->row.unit, "ratio");
}

/* Two sides of which now the one and now the other was the faster. */
static bool shows_no_difference(const struct bench_summary *row)
{
	return is_ratio(row) && row->low <= 1 && row->high >= 1;
}

/* The end of what did not fit goes, from the last word on. */
static void cut_note(char *buf, size_t size)
{
	static const char cut[] = " …";
	size_t at = size - sizeof(cut);

	while (at && buf[at] != ' ')
		at--;
	memcpy(buf + at, cut, sizeof(cut));
}

void bench_note_add(char *buf, size_t size, const char *note)
{
	size_t used = strlen(buf);

	if (!note || !*note)
		return;
	if (snprintf(buf + used, size - used, "%s%s", used ? "; " : "", note) >= (int)(size - used))
		cut_note(buf, size);
}

const char *bench_result_note(const struct bench_result *result, const struct bench_summary *row,
			      char *buf, size_t size)
{
	const char *const parts[] = {
		result->machine.is_emulated ? BENCH_EMULATED : NULL,
		shows_no_difference(row) ? "the spread holds 1: no difference is shown" : NULL,
		is_ratio(row) && row->row.n < 3 ? "too few rounds to show a difference" : NULL,
		row->row.note, /* the last, as it may be cut */
	};

	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		bench_note_add(buf, size, parts[i]);
	return buf;
}

/* --- collecting ----------------------------------------------------------------------------- */

/* Each directory of the path that is missing. */
static int make_directories(const char *path)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	for (char *at = part + 1;; at++) {
		char kept = *at;

		if (kept && kept != '/')
			continue;
		*at = '\0';
		if (mkdir(part, 0777) && errno != EEXIST)
			return -errno;
		*at = kept;
		if (!kept)
			return 0;
	}
}

/* Not after hours of measuring. */
static int check_output(const char *path)
{
	int ret = make_directories(path);
	struct stat what;

	if (!stat(path, &what) && !S_ISDIR(what.st_mode))
		return bench_bad(-ENOTDIR,
				 "%s is a file: --output names a folder, and makes it if need be",
				 path);
	if (!ret && access(path, W_OK | X_OK))
		ret = -errno;
	return ret ? bench_fail(ret, "%s: no files can be written there", path)
		   : bench_plot_check();
}

int bench_result_new(const struct bench_result_options *options, struct bench_result **out)
{
	struct bench_result *result;
	int ret = options->output ? check_output(options->output) : 0;

	if (ret)
		return ret;
	result = calloc(1, sizeof(*result));
	if (!result)
		return bench_fail(-ENOMEM, "results");
	result->options = *options;
	bench_machine_read(&result->machine);
	*out = result;
	return 0;
}

static const char **strings_of(struct bench_row *row, size_t i)
{
	const char **const all[] = { &row->bench, &row->engine, &row->table,  &row->pattern,
				     &row->mode,  &row->unit,	&row->driver, &row->note };

	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

static void free_strings(struct bench_row *row)
{
	const char **string;

	for (size_t i = 0; (string = strings_of(row, i)); i++)
		free((char *)*string);
}

/* In place of the caller's. */
static int copy_strings(struct bench_row *row)
{
	const char **string;
	bool failed = false;

	for (size_t i = 0; (string = strings_of(row, i)); i++)
		if (*string) {
			*string = strdup(*string);
			failed |= !*string;
		}
	if (failed)
		free_strings(row);
	return failed ? -ENOMEM : 0;
}

static int make_room(struct bench_result *result)
{
	size_t room = result->room ? 2 * result->room : 64;
	struct bench_summary *rows;

	if (result->n < result->room)
		return 0;
	rows = reallocarray(result->rows, room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	result->rows = rows;
	result->room = room;
	return 0;
}

int bench_result_add(struct bench_result *result, const struct bench_row *row)
{
	_cleanup_free_ double *values = reallocarray(NULL, row->n, sizeof(*values));
	struct bench_summary summary = { .row = *row };

	if (!values || make_room(result) || copy_strings(&summary.row))
		return bench_fail(-ENOMEM, "results");
	memcpy(values, row->values, row->n * sizeof(*values));
	bench_summarize(values, row->n, &summary);
	summary.row.values = NULL;
	result->rows[result->n++] = summary;
	return 0;
}

/* --- the end -------------------------------------------------------------------------------- */

static int write_json(const struct bench_result *result, const char *path)
{
	json_t *rows = bench_result_to_json(result);
	int ret = rows ? 0 : -ENOMEM;

	errno = 0;
	if (!ret && json_dump_file(rows, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)))
		ret = errno ? -errno : -EIO;
	json_decref(rows);
	return ret ? bench_fail(ret, "%s", path) : 0;
}

static int write_files(const struct bench_result *result)
{
	const struct bench_result_options *options = &result->options;
	char base[PATH_MAX - 8], path[PATH_MAX];
	int ret;

	if (snprintf(base, sizeof(base), "%s/%s", options->output, options->name) >=
	    (int)sizeof(base))
		return bench_fail(-ENAMETOOLONG, "%s", options->output);
	snprintf(path, sizeof(path), "%s.json", base);
	ret = write_json(result, path);
	snprintf(path, sizeof(path), "%s.csv", base);
	return ret ?: bench_result_to_csv(result, path) ?: bench_result_to_plots(result, base);
}

static int print_rows(const struct bench_result *result)
{
	struct print_list list = { .options = result->options.cmd };
	json_t *rows, *row;
	size_t i;

	if (result->options.is_silent)
		return 0;
	if (!result->options.cmd->json)
		return bench_result_to_screen(result);
	rows = bench_result_to_json(result);
	if (!rows)
		return bench_fail(-ENOMEM, "results");
	json_array_foreach(rows, i, row)
	{
		print_list_add(&list, json_incref(row));
	}
	json_decref(rows);
	return print_list_end(&list) ? -EIO : 0;
}

void bench_result_free(struct bench_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; i < result->n; i++)
		free_strings(&result->rows[i].row);
	free(result->rows);
	free(result);
}

int bench_result_end(struct bench_result *result)
{
	int ret = print_rows(result), written = 0;

	if (result->options.output && result->n)
		written = write_files(result);
	bench_result_free(result);
	return ret ?: written;
}
