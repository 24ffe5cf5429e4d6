// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of what exceptions take: entries, nanoseconds a packet, and what the same packets took more
 * with the exceptions than without them, in each round.
 */
#include <errno.h>

#include "exceptions.h"

static const char *const stages[EXCEPTIONS_N_STAGES] = { "before", "traffic", "learned",
							 "forgotten" };
static const char *const states[EXCEPTIONS_N_STATES] = { "none", "learned" };

struct report {
	const struct exceptions_options *options;
	const struct bench_table *table;
	const struct exceptions_found *found;
	struct bench_result *result;
};

static int add_row(const struct report *report, struct bench_row row)
{
	row.bench = "exceptions";
	row.table = report->table->name;
	row.routes = report->table->n;
	return row.n ? bench_result_add(report->result, &row) : 0;
}

/* --- entries -------------------------------------------------------------------------------- */

static int add_count(const struct report *report, enum exceptions_stage stage, const char *engine,
		     const char *what, uint64_t entries)
{
	const double value = (double)entries;
	char note[BENCH_NOTE_LEN];

	snprintf(note, sizeof(note), "%u destinations, %u with another Path MTU",
		 report->options->destinations, report->options->exceptions);
	return add_row(report, (struct bench_row){ .engine = engine,
						   .pattern = stages[stage],
						   .mode = what,
						   .unit = "entries",
						   .note = note,
						   .values = &value,
						   .n = 1 });
}

static int add_counts(const struct report *report, enum exceptions_stage stage)
{
	const struct exceptions_counts *counts = &report->found->counts[stage];

	return add_count(report, stage, "kernel", "routes", counts->kernel_routes)
		       ?: add_count(report, stage, "sixlane", "routes", counts->routes)
		       ?: add_count(report, stage, "kernel", "exceptions",
				    counts->kernel_exceptions)
		       ?: add_count(report, stage, "sixlane", "exceptions", counts->exceptions);
}

/* --- times ---------------------------------------------------------------------------------- */

static int add_learning(const struct report *report, const char *what,
			const struct exceptions_series *series)
{
	return add_row(report, (struct bench_row){ .engine = "sixlane",
						   .pattern = what,
						   .mode = "learning",
						   .unit = "ms",
						   .values = series->ns,
						   .n = series->n });
}

/* Of what was sometimes more and sometimes less, or was not measured often. */
static const char *note_spread(const double *more, size_t n)
{
	bool any_less = false, any_more = false;

	for (size_t i = 0; i < n; i++) {
		any_less |= more[i] <= 0;
		any_more |= more[i] >= 0;
	}
	if (any_less && any_more)
		return "the spread holds 0: no difference is shown";
	return n < 3 ? "too few rounds to show a difference" : NULL;
}

static int add_ns(const struct report *report, size_t engine, enum peers_list list,
		  const char *mode, const char *note, const double *ns, size_t n)
{
	return add_row(report, (struct bench_row){ .engine = exceptions_engines[engine],
						   .pattern = peers_names[list],
						   .mode = mode,
						   .unit = "ns",
						   .note = note,
						   .threads = 1,
						   .frame_bytes = EXCEPTIONS_FRAME_BYTES,
						   .values = ns,
						   .n = n });
}

/* more: room for one of each round. */
static int add_cost(const struct report *report, size_t engine, enum peers_list list, double *more)
{
	const struct exceptions_series *series = report->found->cost[engine][list];
	const struct exceptions_series *none = &series[EXCEPTIONS_NONE];
	const struct exceptions_series *all = &series[EXCEPTIONS_ALL];
	int ret = 0;

	for (enum exceptions_state state = 0; state < EXCEPTIONS_N_STATES && !ret; state++)
		ret = add_ns(report, engine, list, states[state], NULL, series[state].ns,
			     series[state].n);
	/* those without come first in a round */
	for (size_t i = 0; i < all->n; i++)
		more[i] = all->ns[i] - none->ns[i];
	return ret
		       ?: add_ns(report, engine, list, "added", note_spread(more, all->n), more,
				 all->n);
}

int exceptions_report(const struct exceptions_options *options, const struct bench_table *table,
		      const struct exceptions_found *found, struct bench_result *result)
{
	const struct report report = { options, table, found, result };
	double *more = calloc(options->rounds, sizeof(*more));
	int ret = 0;

	if (!more)
		return bench_fail(-ENOMEM, "bench");
	for (size_t stage = 0; stage < found->n_counts && !ret; stage++)
		ret = add_counts(&report, (enum exceptions_stage)stage);
	ret = ret ?: add_learning(&report, "one", &found->one_ms);
	if (options->exceptions > 1)
		ret = ret ?: add_learning(&report, "rest", &found->rest_ms);
	for (enum peers_list list = 0; list < PEERS_N_LISTS; list++)
		for (size_t engine = 0; engine < EXCEPTIONS_N_ENGINES && !ret; engine++)
			ret = add_cost(&report, engine, list, more);
	free(more);
	return ret;
}
