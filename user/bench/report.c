// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows: medians, the lowest and the highest of all rounds. A ratio is one of each round, so that
 * both of its sides had the same weather.
 */
#include <errno.h>
#include <string.h>

#include "../print.h"
#include "bench.h"

struct report {
	const struct bench_lookup *lookup;
	const struct bench_series *series;
	size_t n_series;
	struct print_list list;
	bool json;
	double *values; /* room for a row's */
};

struct row {
	const char *engine, *table, *mode, *unit;
	size_t routes;
	unsigned int threads;
	uint32_t writer_rate;
	const double *values;
	size_t n;
};

/* --- one row -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double round_to(double value, double steps)
{
	return (double)(long long)(value * steps + (value < 0 ? -0.5 : 0.5)) / steps;
}

static void to_json(struct report *report, const struct row *row, double median, double low,
		    double high)
{
	json_t *object = json_object();

	print_set(object, "bench", print_string("lookup"));
	print_set(object, "engine", print_string(row->engine));
	print_set(object, "table", print_string(row->table));
	print_set(object, "routes", json_integer((json_int_t)row->routes));
	print_set(object, "mode", print_string(row->mode));
	print_set(object, "threads", json_integer(row->threads));
	print_set(object, "writer_rate", json_integer(row->writer_rate));
	print_set(object, "unit", print_string(row->unit));
	print_set(object, "median", json_real(round_to(median, 1e4)));
	print_set(object, "low", json_real(round_to(low, 1e4)));
	print_set(object, "high", json_real(round_to(high, 1e4)));
	print_set(object, "rounds", json_integer((json_int_t)row->n));
	print_set(object, "seed", json_integer((json_int_t)report->lookup->seed));
	print_set(object, "command", print_string(report->lookup->command));
	print_list_add(&report->list, object);
}

#define HEAD "%-24s %-16s %9s  %-12s %7s %9s %10s %10s %10s  %s\n"
#define LINE "%-24s %-16s %9zu  %-12s %7u %9u %10.2f %10.2f %10.2f  %s\n"

static void add_row(struct report *report, const struct row *row)
{
	double median, low, high;

	memmove(report->values, row->values, row->n * sizeof(double));
	qsort(report->values, row->n, sizeof(double), by_value);
	median = (report->values[(row->n - 1) / 2] + report->values[row->n / 2]) / 2;
	low = report->values[0];
	high = report->values[row->n - 1];
	if (report->json)
		to_json(report, row, median, low, high);
	else
		printf(LINE, row->engine, row->table, row->routes, row->mode, row->threads,
		       row->writer_rate, median, low, high, row->unit);
}

/* --- what rows there are -------------------------------------------------------------------- */

/* What is the same in all rows of a series. */
static struct row row_of(const struct report *report, const struct bench_series *series)
{
	return (struct row){
		.engine = series->side->engine->name,
		.table = series->side->table->name,
		.routes = series->side->table->n,
		.mode = bench_mode_names[series->mode],
		.threads = series->threads,
		.writer_rate = series->writer_rate,
		.unit = "ns",
		.values = series->ns,
		.n = report->lookup->rounds,
	};
}

/* a / b, in each round. In user space the loop around a lookup costs next to nothing and runs
 * beside it, so the fair comparison of user space with the kernel is that of the whole. */
static void add_ratio(struct report *report, const struct bench_series *a,
		      const struct bench_series *b, struct row row, double factor)
{
	bool gross = a->side->engine->user_space != b->side->engine->user_space;

	for (size_t i = 0; i < row.n; i++)
		report->values[i] =
			factor * (gross ? a->gross[i] / b->gross[i] : a->ns[i] / b->ns[i]);
	row.values = report->values;
	row.unit = "ratio";
	add_row(report, &row);
}

static void add_engines_ratio(struct report *report, const struct bench_series *a,
			      const struct bench_series *b)
{
	struct row row = row_of(report, a);
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", a->side->engine->name, b->side->engine->name);
	row.engine = name;
	add_ratio(report, a, b, row, 1);
}

static void add_tables_ratio(struct report *report, const struct bench_series *a,
			     const struct bench_series *b)
{
	struct row row = row_of(report, a);
	char name[160];

	snprintf(name, sizeof(name), "%s/%s", a->side->table->name, b->side->table->name);
	row.table = name;
	add_ratio(report, a, b, row, 1);
}

/* Of the lookups that all threads make: the time of one is that of each thread. */
static void add_threads_ratio(struct report *report, const struct bench_series *many,
			      const struct bench_series *one)
{
	struct row row = row_of(report, many);
	char name[64];

	snprintf(name, sizeof(name), "%s, %u CPUs/1", row.engine, many->threads);
	row.engine = name;
	add_ratio(report, one, many, row, many->threads);
}

/* What is left of the lookups, and how many changes there were. */
static void add_writer_ratio(struct report *report, const struct bench_series *beside,
			     const struct bench_series *alone)
{
	struct row row = row_of(report, beside);
	char name[64];

	snprintf(name, sizeof(name), "%s, beside %u/s", row.engine, beside->writer_rate);
	row.engine = name;
	add_ratio(report, alone, beside, row, 1);
	row.engine = beside->side->engine->name;
	row.mode = "changes";
	row.unit = "changes/s";
	row.values = beside->rate;
	add_row(report, &row);
}

static void add_pair(struct report *report, const struct bench_series *a,
		     const struct bench_series *b)
{
	const struct bench_side *x = a->side, *y = b->side;
	/* That of an engine with routes of its own is the same if its place is. */
	bool same_table = x->table == y->table ||
			  (y->engine->ipv4 && !x->engine->ipv4 && x->table->n == y->table->n);

	if (a->mode != b->mode || b->writer_rate)
		return;
	if (x == y && a->writer_rate && b->threads == 1)
		add_writer_ratio(report, a, b);
	if (a->writer_rate)
		return;
	if (x == y && a->threads > 1 && b->threads == 1)
		add_threads_ratio(report, a, b);
	if (a->threads > 1 || b->threads > 1 || x == y)
		return;
	if (x->engine->ours && same_table && (!y->engine->ours || x->engine > y->engine))
		add_engines_ratio(report, a, b);
	if (x->engine == y->engine && y->table == &report->lookup->tables[0])
		add_tables_ratio(report, a, b);
}

/* What filling it took, once. */
static void add_fill(struct report *report, const struct bench_series *series)
{
	const struct bench_side *side = series->side;
	double n = (double)side->table->n;
	double insert = (double)side->insert_ns / n, bytes = (double)side->bytes / n;
	struct row row = row_of(report, series);

	row.n = 1;
	row.mode = "insert";
	row.unit = "ns/route";
	row.values = &insert;
	add_row(report, &row);
	if (!side->bytes)
		return;
	row.mode = "memory";
	row.unit = "bytes/route";
	row.values = &bytes;
	add_row(report, &row);
}

/* What a change of a single route takes: all, and the 99th of a hundred. */
static void add_changes(struct report *report, const struct bench_series *series)
{
	double *ns = series->side->change_ns, p99;
	struct row row = row_of(report, series);

	if (!ns)
		return;
	qsort(ns, BENCH_CHANGES, sizeof(*ns), by_value);
	p99 = ns[BENCH_CHANGES / 100 * 99];
	row.mode = "change";
	row.unit = "ns/change";
	row.values = ns;
	row.n = BENCH_CHANGES;
	add_row(report, &row);
	row.mode = "change-p99";
	row.values = &p99;
	row.n = 1;
	add_row(report, &row);
}

static bool is_first_of_side(const struct report *report, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (report->series[k].side == report->series[i].side)
			return false;
	return true;
}

static void add_rows(struct report *report)
{
	for (size_t i = 0; i < report->n_series; i++) {
		struct row row = row_of(report, &report->series[i]);

		add_row(report, &row);
	}
	for (size_t i = 0; i < report->n_series; i++)
		for (size_t k = 0; k < report->n_series; k++)
			add_pair(report, &report->series[i], &report->series[k]);
	for (size_t i = 0; i < report->n_series; i++)
		if (is_first_of_side(report, i)) {
			add_fill(report, &report->series[i]);
			add_changes(report, &report->series[i]);
		}
}

int bench_report(const struct bench_lookup *lookup, const struct cmd_options *options,
		 const struct bench_series *series, size_t n)
{
	struct report report = {
		.lookup = lookup,
		.series = series,
		.n_series = n,
		.list = { .options = options },
		.json = options->json,
		.values = calloc(lookup->rounds + BENCH_CHANGES, sizeof(double)),
	};

	if (!report.values)
		return bench_fail(-ENOMEM, "bench");
	if (!report.json)
		printf(HEAD, "engine", "table", "routes", "mode", "threads", "changes/s", "median",
		       "lowest", "highest", "unit");
	add_rows(&report);
	free(report.values);
	return (report.json ? print_list_end(&report.list) : print_flush()) ? -EIO : 0;
}
