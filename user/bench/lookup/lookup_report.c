// SPDX-License-Identifier: GPL-2.0-only
/*
 * What rows lookups have: each series, ratios of them, and what filling and changing took. A ratio
 * is one of each round, so that both of its sides had the same weather.
 */
#include <errno.h>
#include <string.h>

#include "../bench.h"
#include "../result.h"

struct report {
	const struct bench_lookup *lookup;
	const struct bench_series *series;
	size_t n_series;
	struct bench_result *result;
	double *values; /* room for a row's */
	int error;	/* the first */
};

static void add_row(struct report *report, const struct bench_row *row)
{
	if (!report->error && row->n)
		report->error = bench_result_add(report->result, row);
}

/* --- what rows there are -------------------------------------------------------------------- */

/* What makes a row beside changes another one than it seems. */
static const char *note_of(const struct bench_series *series)
{
	if (!series->writer_rate)
		return NULL;
	for (size_t i = 0; i < series->rounds; i++)
		if (series->rate[i] < 0.95 * series->writer_rate)
			return "fewer changes than that in some rounds: see changes/s";
	return bench_n_cpus() == 1 ? "changes and lookups by the same CPU" : NULL;
}

/* What is the same in all rows of a series. */
static struct bench_row row_of(const struct bench_series *series)
{
	return (struct bench_row){
		.bench = "lookup",
		.engine = series->side->engine->name,
		.table = series->side->table->name,
		.routes = series->side->table->n,
		.pattern = bench_pattern_names[series->side->table->pattern],
		.mode = bench_mode_names[series->mode],
		.threads = series->threads,
		.writer_rate = series->writer_rate,
		.unit = "ns",
		.values = series->ns,
		.n = series->rounds,
		.note = note_of(series),
	};
}

/* a / b, in each round. In user space the loop around a lookup costs next to nothing and runs
 * beside it, so the fair comparison of user space with the kernel is that of the whole. */
static void add_ratio(struct report *report, const struct bench_series *a,
		      const struct bench_series *b, struct bench_row row, double factor)
{
	bool gross = a->side->engine->user_space != b->side->engine->user_space;
	size_t n = 0;

	row.n = a->rounds < b->rounds ? a->rounds : b->rounds;
	for (size_t i = 0; i < row.n; i++) {
		report->values[n] =
			factor * (gross ? a->gross[i] / b->gross[i] : a->ns[i] / b->ns[i]);
		n += a->ns[i] > 0 && b->ns[i] > 0;
	}
	/* A lookup that took no longer than none at all was lost in the noise. */
	if (n < row.n)
		row.note = "without rounds in which noise was more than the lookup";
	row.n = n;
	row.values = report->values;
	row.unit = "ratio";
	add_row(report, &row);
}

static void add_engines_ratio(struct report *report, const struct bench_series *a,
			      const struct bench_series *b)
{
	struct bench_row row = row_of(a);
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", a->side->engine->name, b->side->engine->name);
	row.engine = name;
	add_ratio(report, a, b, row, 1);
}

static void add_tables_ratio(struct report *report, const struct bench_series *a,
			     const struct bench_series *b)
{
	struct bench_row row = row_of(a);
	char name[160];

	snprintf(name, sizeof(name), "%s/%s", a->side->table->name, b->side->table->name);
	row.table = name;
	add_ratio(report, a, b, row, 1);
}

/* Of the lookups that all threads make: the time of one is that of each thread. */
static void add_threads_ratio(struct report *report, const struct bench_series *many,
			      const struct bench_series *one)
{
	struct bench_row row = row_of(many);
	char name[64];

	snprintf(name, sizeof(name), "%s, %u CPUs/1", row.engine, many->threads);
	row.engine = name;
	add_ratio(report, one, many, row, many->threads);
}

/* What is left of the lookups, and how many changes there were. */
static void add_writer_ratio(struct report *report, const struct bench_series *beside,
			     const struct bench_series *alone)
{
	struct bench_row row = row_of(beside);
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

/* Of its pattern. */
static bool is_first_table(const struct report *report, const struct bench_table *table)
{
	const struct bench_table *at = report->lookup->tables;

	while (at->pattern != table->pattern)
		at++;
	return at == table;
}

static void add_pair(struct report *report, const struct bench_series *a,
		     const struct bench_series *b)
{
	const struct bench_side *x = a->side, *y = b->side;
	/* That of an engine with routes of its own is the same if its place is. */
	bool same_table =
		x->table == y->table || (y->engine->ipv4 && !x->engine->ipv4 &&
					 !strcmp(strchr(y->table->name, ':') + 1, x->table->name));

	if (a->mode != b->mode || b->writer_rate || x->table->pattern != y->table->pattern)
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
	if (x->engine == y->engine && is_first_table(report, y->table))
		add_tables_ratio(report, a, b);
}

/* As the machine has it: the time until all threads had ended, over the lookups of all. */
static void add_elapsed(struct report *report, const struct bench_series *series)
{
	struct bench_row row = row_of(series);
	char mode[64];

	snprintf(mode, sizeof(mode), "%s, elapsed", row.mode);
	row.mode = mode;
	row.values = series->elapsed;
	add_row(report, &row);
}

/* What filling it took, once. */
static void add_fill(struct report *report, const struct bench_series *series)
{
	const struct bench_side *side = series->side;
	double n = (double)side->table->n;
	double insert = (double)side->insert_ns / n, bytes = (double)side->bytes / n;
	double depth = side->depth;
	struct bench_row row = row_of(series);

	row.n = 1;
	row.pattern = NULL;
	row.mode = "insert";
	row.unit = "ns/route";
	row.values = &insert;
	add_row(report, &row);
	row.mode = "memory";
	row.unit = "bytes/route";
	row.values = &bytes;
	row.note = side->engine->weighs_machine ? "growth of Slab and Percpu of the machine" : NULL;
	if (side->bytes)
		add_row(report, &row);
	row.note = NULL;
	row.mode = "depth";
	row.unit = "nodes";
	row.values = &depth;
	if (side->depth)
		add_row(report, &row);
}

/* What a change of a single route takes: all, and the 99th of a hundred. */
static void add_changes(struct report *report, const struct bench_series *series)
{
	const struct bench_side *side = series->side;
	double *ns = side->change_ns, p99;
	struct bench_row row = row_of(series);

	if (!ns)
		return;
	p99 = bench_percentile(ns, side->n_changes, 99);
	row.pattern = NULL;
	row.mode = "change";
	row.unit = "ns/change";
	row.values = ns;
	row.n = side->n_changes;
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
		struct bench_row row = row_of(&report->series[i]);

		add_row(report, &row);
		if (report->series[i].threads > 1)
			add_elapsed(report, &report->series[i]);
	}
	for (size_t i = 0; i < report->n_series; i++)
		for (size_t k = 0; k < report->n_series; k++)
			add_pair(report, &report->series[i], &report->series[k]);
	for (size_t i = 0; i < report->n_series; i++)
		/* What filling took does not hang on what is looked up. */
		if (report->series[i].side->table->pattern == BENCH_HIT &&
		    is_first_of_side(report, i)) {
			add_fill(report, &report->series[i]);
			add_changes(report, &report->series[i]);
		}
}

int bench_lookup_report(const struct bench_lookup *lookup, const struct bench_series *series,
			size_t n, struct bench_result *result)
{
	struct report report = {
		.lookup = lookup,
		.series = series,
		.n_series = n,
		.result = result,
		.values = calloc(lookup->rounds, sizeof(double)),
	};

	if (!report.values)
		return bench_fail(-ENOMEM, "bench");
	add_rows(&report);
	free(report.values);
	return report.error;
}
