// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measurement of forwarding: for each table a router, and one more for frames that do not fit
 * into a page; all engines in turn in each round, every second round the other way round.
 */
#include <errno.h>
#include <string.h>

#include "../../lib/log.h"
#include "../progress.h"
#include "forward.h"
#include "forward_report.h"

/* Of the packets of a run, one in so many with the time of sending: percentiles need no more. */
#define STAMPED_PART 4u

struct bench {
	const struct forward *forward;
	struct bench_result *result;
	struct bench_progress progress;
};

/* All with one router. */
struct group {
	struct bench *bench;
	struct forward_router router;
	struct forward_source *sources;
	union sixlane_addr **lists; /* destinations; of each pattern and number of threads one */
	struct forward_series *series;
	size_t n_sources, n_lists, n_series;
};

/* --- what is measured ----------------------------------------------------------------------- */

static bool is_large(uint32_t size)
{
	return size > FORWARD_SIZE_LIVE;
}

static size_t n_sizes(const struct forward *forward, bool large)
{
	size_t n = 0;

	for (size_t i = 0; i < forward->n_sizes; i++)
		n += is_large(forward->sizes[i]) == large;
	return n;
}

static bool can_measure(const struct forward_engine *engine, const struct forward_pattern *pattern)
{
	if (engine->rules == FORWARD_FLOWTABLE)
		return pattern->kind == FORWARD_FLOW;
	return engine->looks_up || pattern->kind != FORWARD_MISS;
}

/* Of one router. */
static size_t count_series(const struct forward *forward, bool large)
{
	size_t n = 0;

	for (size_t e = 0; e < forward->n_engines; e++)
		for (size_t p = 0; p < forward->n_patterns; p++)
			n += can_measure(forward->engines[e], &forward->patterns[p]);
	return n * n_sizes(forward, large) * forward->n_threads;
}

/* --- series --------------------------------------------------------------------------------- */

static int add_series(struct group *group, const struct forward_engine *engine, size_t source,
		      size_t list, const struct forward_pattern *pattern)
{
	size_t rounds = group->bench->forward->rounds;
	struct forward_series *series = &group->series[group->n_series];

	if (engine->needs_load && !group->router.has_load) {
		log_warning("%s is left out with table %s: the compiled FIB has more bytes than "
			    "it can load from",
			    engine->name, group->router.table->name);
		return 0;
	}
	if (engine->rules && group->router.large) {
		log_warning("%s is left out with frames of more than %u bytes: sixlaned does not "
			    "follow rules there",
			    engine->name, FORWARD_SIZE_LIVE);
		return 0;
	}
	if (engine->rules == FORWARD_FLOWTABLE &&
	    group->sources[source].size < FORWARD_SIZE_NO_STAMP) {
		log_warning("%s is left out with frames of %u bytes, which are too small for UDP",
			    engine->name, group->sources[source].size);
		return 0;
	}
	*series = (struct forward_series){ .engine = engine,
					   .pattern = pattern,
					   .source = &group->sources[source],
					   .addresses = group->lists[list],
					   .values = calloc(FORWARD_N_FIGURES * rounds,
							    sizeof(double)) };
	if (!series->values)
		return bench_fail(-ENOMEM, "bench");
	group->n_series++;
	return 0;
}

/* Those that are compared are next to each other. */
static int make_series(struct group *group)
{
	const struct forward *forward = group->bench->forward;
	int ret = 0;

	for (size_t s = 0; s < group->n_sources; s++)
		for (size_t p = 0; p < forward->n_patterns; p++)
			for (size_t e = 0; e < forward->n_engines && !ret; e++) {
				size_t list = p * forward->n_threads + s % forward->n_threads;

				if (can_measure(forward->engines[e], &forward->patterns[p]))
					ret = add_series(group, forward->engines[e], s, list,
							 &forward->patterns[p]);
			}
	return ret;
}

static int make_lists(struct group *group)
{
	const struct forward *forward = group->bench->forward;

	for (size_t i = 0; i < forward->n_patterns * forward->n_threads; i++) {
		union sixlane_addr *list = forward_draw(
			&forward->patterns[i / forward->n_threads], group->router.table,
			forward->threads[i % forward->n_threads], forward->seed);

		if (!list)
			return -EINVAL;
		group->lists[group->n_lists++] = list;
	}
	return 0;
}

static int make_sources(struct group *group)
{
	const struct forward *forward = group->bench->forward;
	int ret = 0;

	for (size_t i = 0; i < forward->n_sizes * forward->n_threads && !ret; i++) {
		uint32_t size = forward->sizes[i / forward->n_threads];

		if (is_large(size) != group->router.large)
			continue;
		ret = forward_source_open(&group->router, size,
					  forward->threads[i % forward->n_threads],
					  &group->sources[group->n_sources]);
		group->n_sources += !ret;
	}
	return ret;
}

static int open_group(struct group *group, const struct bench_table *table, bool large,
		      size_t most_series)
{
	const struct forward *forward = group->bench->forward;
	int ret = forward_router_open(table, large, !large && forward_has_flows(forward),
				      &group->router);

	if (ret)
		return ret;
	group->sources = calloc(forward->n_sizes * forward->n_threads, sizeof(*group->sources));
	group->lists = calloc(forward->n_patterns * forward->n_threads, sizeof(*group->lists));
	group->series = calloc(most_series, sizeof(*group->series));
	if (!group->sources || !group->lists || !group->series)
		return bench_fail(-ENOMEM, "bench");
	return make_lists(group) ?: make_sources(group) ?: make_series(group);
}

static void close_group(struct group *group)
{
	for (size_t i = 0; i < group->n_series; i++)
		free(group->series[i].values);
	for (size_t i = 0; i < group->n_lists; i++)
		free(group->lists[i]);
	for (size_t i = 0; i < group->n_sources; i++)
		forward_source_close(&group->sources[i]);
	free(group->series);
	free(group->lists);
	free(group->sources);
	if (group->router.table)
		forward_router_close(&group->router);
}

/* --- rounds --------------------------------------------------------------------------------- */

static bool has_stamps(const struct forward_series *series)
{
	return series->source->size < FORWARD_SIZE_NO_STAMP ||
	       series->source->size >= FORWARD_SIZE_UDP;
}

static uint32_t stamped_count(const struct forward *forward)
{
	uint32_t count = forward->count / STAMPED_PART;

	return count < FORWARD_COUNT_MIN ? FORWARD_COUNT_MIN : count;
}

static int measure(struct group *group, struct forward_series *series, bool stamped)
{
	const struct forward *forward = group->bench->forward;
	struct forward_figures figures = { 0 };
	struct forward_run run = {
		.engine = series->engine,
		.pattern = series->pattern,
		.addresses = series->addresses,
		.count = stamped ? stamped_count(forward) : forward->count,
		.stamped = stamped,
	};
	int ret = forward_run(&group->router, series->source, &run, &figures);

	if (ret)
		return ret;
	if (stamped) {
		forward_series_at(series, forward, FORWARD_P50)[series->n_stamped] = figures.p50;
		forward_series_at(series, forward, FORWARD_P99)[series->n_stamped++] = figures.p99;
	} else {
		forward_series_at(series, forward, FORWARD_NS)[series->n] = figures.ns;
		forward_series_at(series, forward, FORWARD_MPPS)[series->n++] = figures.mpps;
	}
	return 0;
}

/* What misses arrives nowhere, and cannot be timed. */
static int measure_round(struct group *group, size_t round, bool stamped)
{
	for (size_t i = 0; i < group->n_series; i++) {
		struct forward_series *series =
			&group->series[bench_turn(round, group->n_series, i)];
		int ret;

		if (stamped && (series->pattern->kind == FORWARD_MISS || !has_stamps(series)))
			continue;
		ret = bench_interrupted() ? -EINTR : measure(group, series, stamped);
		if (ret)
			return ret;
		bench_progress_step(&group->bench->progress, 1);
	}
	return 0;
}

static int measure_rounds(void *ctx)
{
	struct group *group = ctx;
	int ret = 0;

	/* The first round warms up what a series' own first run does not. */
	for (size_t round = 0; round < group->bench->forward->rounds && !ret; round++)
		ret = measure_round(group, round, false) ?: measure_round(group, round, true);
	return ret;
}

static int measure_group(struct bench *bench, const struct bench_table *table, bool large)
{
	size_t most_series = count_series(bench->forward, large);
	struct group group = { .bench = bench };
	int ret, reported;

	if (!most_series)
		return 0;
	ret = open_group(&group, table, large, most_series)
		      ?: forward_on_one_cpu(measure_rounds, &group);
	bench_progress_end(&bench->progress);
	reported =
		forward_report(bench->forward, table, group.series, group.n_series, bench->result);
	close_group(&group);
	return ret ?: reported;
}

bool forward_has_flows(const struct forward *forward)
{
	for (size_t i = 0; i < forward->n_engines; i++)
		if (forward->engines[i]->rules == FORWARD_FLOWTABLE)
			return true;
	return false;
}

int forward_measure(const struct forward *forward, struct bench_result *result)
{
	struct bench bench = { .forward = forward, .result = result };
	size_t steps = count_series(forward, false) + count_series(forward, true);
	int ret = 0;

	if (!steps)
		return bench_bad(-EINVAL, "nothing to measure: floor, load and least look nothing "
					  "up, and so miss nothing; flowtable is for "
					  "--pattern flow");
	bench_interrupt_catch();
	bench_progress_begin(&bench.progress, "bench forward",
			     2 * steps * forward->rounds * forward->n_tables);
	for (size_t i = 0; i < forward->n_tables && !ret; i++)
		ret = measure_group(&bench, &forward->tables[i], false)
			      ?: measure_group(&bench, &forward->tables[i], true);
	bench_progress_end(&bench.progress);
	return ret;
}
