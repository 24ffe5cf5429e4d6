// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of what forwarding took. A ratio is one of each round, so that both of its sides had the
 * same weather; it is that of the rates: more than 1 means that the first one is faster.
 */
#include <errno.h>
#include <string.h>

#include "forward_report.h"

/* Of an engine's time; from here on the harness is what is measured, mostly. */
#define MOSTLY 0.5

struct report {
	const struct forward *forward;
	const struct bench_table *table;
	const struct forward_series *series;
	size_t n;
	struct bench_result *result;
};

struct row {
	struct bench_row row;
	char pattern[32], engine[64], note[BENCH_NOTE_LEN];
};

/* What is the same in all rows of a series. */
static void begin_row(const struct report *report, const struct forward_series *series,
		      struct row *row)
{
	forward_pattern_name(series->pattern, row->pattern, sizeof(row->pattern));
	row->row = (struct bench_row){
		.bench = "forward",
		.engine = series->engine->name,
		.table = report->table->name,
		.pattern = row->pattern,
		.routes = report->table->n,
		.threads = series->source->threads,
		.frame_bytes = series->source->size,
	};
	if (series->source->sockets)
		row->row.note = "sent by packet sockets";
}

static bool are_compared(const struct forward_series *a, const struct forward_series *b)
{
	return a->source == b->source && a->pattern == b->pattern && a != b;
}

static bool is_engine(const struct forward_series *series, const char *name)
{
	return !strcmp(series->engine->name, name);
}

static double mean_ns(const struct report *report, const struct forward_series *series)
{
	const double *ns = forward_series_at(series, report->forward, FORWARD_NS);
	double sum = 0;

	for (size_t i = 0; i < series->n; i++)
		sum += ns[i];
	return sum / (double)series->n;
}

/* How much of what an engine takes is the harness; 0: not known. */
static double floor_share(const struct report *report, const struct forward_series *series)
{
	for (size_t i = 0; i < report->n; i++) {
		const struct forward_series *floor = &report->series[i];
		double share;

		if (!is_engine(floor, "floor") || !are_compared(series, floor) || !floor->n)
			continue;
		share = mean_ns(report, floor) / mean_ns(report, series);
		return share < 1 ? share : 1;
	}
	return 0;
}

/* If it is most of it; whose: "of compiled ", where the row is of several. */
static void note_floor(struct row *row, double share, const char *whose)
{
	if (share < MOSTLY)
		return;
	snprintf(row->note, sizeof(row->note), "%s%s%.0f %% %sis generator, veth and sink",
		 row->row.note ?: "", row->row.note ? "; " : "", 100 * share, whose);
	row->row.note = row->note;
}

/* What both sides have in common draws their ratio to 1. That to the floor says it itself. */
static void note_ratio(const struct report *report, const struct forward_series *ours,
		       const struct forward_series *other, struct row *row)
{
	double share = floor_share(report, ours), others = floor_share(report, other);
	char whose[64];

	if (is_engine(other, "floor"))
		return;
	snprintf(whose, sizeof(whose), "of %s ", (share < others ? other : ours)->engine->name);
	note_floor(row, share < others ? others : share, whose);
}

static int add_figure(const struct report *report, const struct forward_series *series,
		      enum forward_figure figure, const char *mode, const char *unit)
{
	bool is_cost = figure == FORWARD_NS || figure == FORWARD_MPPS;
	struct row row;

	begin_row(report, series, &row);
	row.row.mode = mode;
	row.row.unit = unit;
	row.row.values = forward_series_at(series, report->forward, figure);
	row.row.n = is_cost ? series->n : series->n_stamped;
	if (is_cost && row.row.n)
		note_floor(&row, floor_share(report, series), "");
	return row.row.n ? bench_result_add(report->result, &row.row) : 0;
}

/* values: room for those of all rounds. */
static int add_ratio(const struct report *report, const struct forward_series *ours,
		     const struct forward_series *other, double *values)
{
	const double *a = forward_series_at(ours, report->forward, FORWARD_MPPS);
	const double *b = forward_series_at(other, report->forward, FORWARD_MPPS);
	size_t n = ours->n < other->n ? ours->n : other->n;
	struct row row;

	for (size_t i = 0; i < n; i++)
		values[i] = a[i] / b[i];
	begin_row(report, ours, &row);
	snprintf(row.engine, sizeof(row.engine), "%s/%s", ours->engine->name, other->engine->name);
	row.row.engine = row.engine;
	row.row.unit = "ratio";
	row.row.values = values;
	row.row.n = n;
	if (n)
		note_ratio(report, ours, other, &row);
	return n ? bench_result_add(report->result, &row.row) : 0;
}

/* The compiled FIB beside all others; and what a load costs beside the floor. */
static int add_ratios(const struct report *report, const struct forward_series *ours,
		      double *values)
{
	bool all = is_engine(ours, "compiled");
	int ret = 0;

	for (size_t i = 0; i < report->n && !ret; i++) {
		const struct forward_series *other = &report->series[i];

		if (are_compared(ours, other) &&
		    (all || (ours->engine->needs_load && is_engine(other, "floor"))))
			ret = add_ratio(report, ours, other, values);
	}
	return ret;
}

int forward_report(const struct forward *forward, const struct bench_table *table,
		   const struct forward_series *series, size_t n, struct bench_result *result)
{
	const struct report report = { forward, table, series, n, result };
	double *values = calloc(forward->rounds, sizeof(*values));
	int ret = values ? 0 : bench_fail(-ENOMEM, "bench");

	for (size_t i = 0; i < n && !ret; i++)
		ret = add_figure(&report, &series[i], FORWARD_NS, NULL, "ns");
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_figure(&report, &series[i], FORWARD_MPPS, NULL, "Mpps");
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_figure(&report, &series[i], FORWARD_P50, "p50", "ns")
			      ?: add_figure(&report, &series[i], FORWARD_P99, "p99", "ns");
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_ratios(&report, &series[i], values);
	free(values);
	return ret;
}
