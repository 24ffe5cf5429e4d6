// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates: the highest one without loss, by MLRsearch (RFC 9971) and by halving (RFC 2544, 26.1);
 * what is left of a flood; and the latency at parts of the rate without loss.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../../lib/log.h"
#include "nic.h"
#include "search.h"

/* Goals of MLRsearch as FD.io's reports have them: no loss, and half a per cent of it. */
#define PDR_LOSS 0.005
#define EXCEED 0.5
#define PHASES 3
#define LEAST_TRIALS 200 /* before it stops, and as many times those of one load: */
#define MOST_LOADS 10	 /* of a goal */
/* What generators in software send is often a few per cent less than they are told to, each time
 * another part. What is found is what was sent. */
#define UNSENT 0.05
#define SLOWEST 1000 /* of the highest rate, one part of so many is the lowest */
#define AGAIN 3	     /* a trial that sent nothing */

/* --- the search ----------------------------------------------------------------------------- */

struct look {
	struct nic_bench *bench;
	struct search *search;
	struct nic_outcome worst; /* of the trials: one that is not valid, or has a note */
};

static int try_once(struct look *look, const struct search_trial *trial)
{
	const struct nic_trial run = { .pps = trial->rate, .seconds = trial->duration };
	struct search_outcome result;
	struct nic_outcome outcome;
	int ret = nic_trial_run(look->bench, &run, &outcome);

	if (ret)
		return ret;
	if (!outcome.is_valid || (look->worst.is_valid && *outcome.note))
		look->worst = outcome;
	result = (struct search_outcome){
		.sent = outcome.sent,
		.lost = outcome.received < outcome.sent ? outcome.sent - outcome.received : 0,
		.seconds = outcome.seconds,
	};
	return search_take(look->search, &result);
}

static int try_again(struct look *look, const struct search_trial *trial)
{
	int ret = -EINVAL;

	for (int i = 0; i < AGAIN && ret == -EINVAL; i++)
		ret = try_once(look, trial);
	if (ret == -EINVAL)
		return bench_bad(ret, "%d trials at %.0f frames a second sent nothing", AGAIN,
				 trial->rate);
	return ret;
}

static void tell_progress(const struct look *look)
{
	double spent_s = search_totals(look->search).seconds;
	double left_s = search_left_s(look->search);

	if (spent_s > 0)
		nic_progress(look->bench, spent_s / (spent_s + left_s));
}

static int search(struct look *look, const struct search_options *options)
{
	struct search_trial trial;
	int ret, more = 0;

	if (options->min_rate >= options->max_rate)
		return bench_bad(
			-ERANGE,
			"%.0f frames a second are not one in a trial: a longer --trial, or "
			"a higher --rate",
			options->max_rate);
	ret = search_new(options, &look->search);
	if (ret)
		return bench_fail(ret, "search");
	look->worst.is_valid = true;
	while (!ret && (more = search_next(look->search, &trial)) > 0) {
		ret = try_again(look, &trial);
		tell_progress(look);
	}
	return ret ?: (more < 0 ? bench_fail(more, "search") : 0);
}

static const char *note_of(const struct look *look, const struct search_result *result,
			   char text[BENCH_NOTE_LEN])
{
	switch (result->end) {
	case SEARCH_GENERATOR:
		return nic_generator_limit;
	case SEARCH_MAX_HOLDS:
		return nic_limit(look->bench);
	case SEARCH_STOPPED:
		snprintf(text, BENCH_NOTE_LEN, "not found within %zu trials",
			 search_totals(look->search).trials);
		return text;
	case SEARCH_FOUND:
		if (result->unsent <= look->bench->options->width)
			return NULL;
		snprintf(text, BENCH_NOTE_LEN,
			 "the generator sent up to %.1f %% less than requested",
			 100 * result->unsent);
		return text;
	default:
		return search_end_text(result->end);
	}
}

static int add_goal(const struct look *look, size_t goal, const char *mode)
{
	struct search_result result = search_result(look->search, goal);
	char text[BENCH_NOTE_LEN];

	return nic_figure_add(look->bench, mode, "Mpps", result.lower / 1e6, &look->worst,
			      note_of(look, &result, text));
}

/* What is found is the base of measures that come later. */
static void keep_rate(const struct look *look)
{
	struct search_result result = search_result(look->search, 0);
	struct nic_bench *bench = look->bench;

	bench->has_ndr = result.end != SEARCH_STOPPED && result.end != SEARCH_NO_RATE;
	bench->ndr_pps = result.lower;
	bench->is_ndr_limited = result.end == SEARCH_GENERATOR || result.end == SEARCH_MAX_HOLDS;
}

/* What was found before an interrupt, too. */
static bool is_worth(const struct look *look, int error)
{
	return !error ||
	       (error == -EINTR && look->search && search_result(look->search, 0).lower > 0);
}

static struct search_options options_of(const struct nic_bench *bench, enum search_method method)
{
	const struct nic_options *asked = bench->options;
	/* at least a frame a trial, in binary fractions, too */
	double least = fmax(bench->most_pps / SLOWEST, (1 + 1e-9) / asked->trial_s);

	return (struct search_options){
		.method = method,
		.min_rate = least,
		.max_rate = bench->most_pps,
		.n_goals = 1,
		.goals = { { .initial_s = asked->trial_s,
			     .final_s = asked->trial_s,
			     .sum_s = asked->trial_s,
			     .width = asked->width } },
		.phases = 1,
		.tolerance = UNSENT,
		.most_trials = LEAST_TRIALS,
	};
}

int nic_measure_ndr(struct nic_bench *bench)
{
	struct search_options options = options_of(bench, SEARCH_MLR);
	struct look look = { .bench = bench };
	double of_a_load = ceil(bench->options->sum_s / bench->options->trial_s);
	int ret, second = 0;

	options.phases = PHASES;
	options.most_trials += (unsigned int)(MOST_LOADS * 2 * of_a_load);
	options.n_goals = 2;
	options.goals[0].exceed_ratio = EXCEED;
	options.goals[0].sum_s = bench->options->sum_s;
	options.goals[1] = options.goals[0];
	options.goals[1].loss_ratio = PDR_LOSS;
	ret = search(&look, &options);
	if (is_worth(&look, ret)) {
		keep_rate(&look);
		second = add_goal(&look, 0, "ndr") ?: add_goal(&look, 1, "pdr");
	}
	search_free(look.search);
	return ret ?: second;
}

int nic_measure_throughput(struct nic_bench *bench)
{
	const struct search_options options = options_of(bench, SEARCH_BINARY);
	struct look look = { .bench = bench };
	int ret = search(&look, &options), second = 0;

	if (is_worth(&look, ret)) {
		if (!bench->has_ndr)
			keep_rate(&look);
		second = add_goal(&look, 0, "throughput");
	}
	search_free(look.search);
	return ret ?: second;
}

/* --- the flood ------------------------------------------------------------------------------ */

/* RFC 2544, 26.3, of the highest rate alone. */
int nic_measure_flood(struct nic_bench *bench)
{
	const struct nic_trial trial = { .pps = bench->options->most_pps,
					 .seconds = bench->options->trial_s };
	struct nic_outcome outcome;
	double forwarded, lost;
	int ret = nic_trial_run(bench, &trial, &outcome);

	if (ret || !outcome.sent)
		return ret ?: bench_bad(-ENODATA, "flood: the generator has sent nothing");
	forwarded = (double)outcome.received / outcome.seconds;
	lost = 1 - (double)outcome.received / (double)outcome.sent;
	return nic_figure_add(bench, "flood", "Mpps", forwarded / 1e6, &outcome,
			      lost > PDR_LOSS ? NULL : nic_limit(bench))
		       ?: nic_figure_add(bench, "flood-offered", "Mpps sent", outcome.pps / 1e6,
					 &outcome, NULL)
		       ?: nic_figure_add(bench, "flood-lost", "%", 100 * lost, &outcome, NULL);
}

/* --- latency -------------------------------------------------------------------------------- */

static const struct {
	double part;
	const char *p50, *p99, *max;
} loads[] = {
	{ .1, "p50@10%", "p99@10%", "max@10%" },
	{ .5, "p50@50%", "p99@50%", "max@50%" },
	{ .9, "p50@90%", "p99@90%", "max@90%" },
};

static void add_text(char text[BENCH_NOTE_LEN], const char *fmt, ...) _printf_(2, 3);
static void add_text(char text[BENCH_NOTE_LEN], const char *fmt, ...)
{
	char part[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	bench_note_add(text, BENCH_NOTE_LEN, part);
}

static int measure_latency(struct nic_bench *bench, size_t load, double base_pps, const char *note)
{
	const struct nic_trial trial = { .pps = loads[load].part * base_pps,
					 .seconds = bench->options->trial_s,
					 .latency = true };
	struct nic_outcome outcome;
	char text[BENCH_NOTE_LEN] = "";
	int ret = nic_trial_run(bench, &trial, &outcome);

	if (ret)
		return ret;
	if (!outcome.probes) {
		log_warning("%s: no frame with a timestamp has returned at %.0f a second",
			    bench->engine->name, trial.pps);
		return 0;
	}
	bench_note_add(text, sizeof(text), note);
	if (outcome.received < outcome.sent)
		add_text(text, "%llu of %llu frames were lost",
			 (unsigned long long)(outcome.sent - outcome.received),
			 (unsigned long long)outcome.sent);
	if (outcome.probes < outcome.probes_sent)
		add_text(text, "%llu of the %llu frames with a timestamp were lost",
			 (unsigned long long)(outcome.probes_sent - outcome.probes),
			 (unsigned long long)outcome.probes_sent);
	if (nic_trial_is_slow(&trial, &outcome))
		add_text(text, "sent at %.0f instead of %.0f frames a second", outcome.pps,
			 trial.pps);
	note = *text ? text : NULL;
	return nic_figure_add(bench, loads[load].p50, "us", outcome.p50_ns / 1e3, &outcome, note)
		       ?: nic_figure_add(bench, loads[load].p99, "us", outcome.p99_ns / 1e3,
					 &outcome, note)
		       ?: nic_figure_add(bench, loads[load].max, "us", outcome.max_ns / 1e3,
					 &outcome, note);
}

int nic_measure_latency(struct nic_bench *bench)
{
	const char *note;
	double base_pps = nic_base_pps(bench, &note);
	int ret = 0;

	if (base_pps <= 0)
		return nic_skip(bench, "latency");
	for (size_t i = 0; i < ARRAY_SIZE(loads) && !ret; i++)
		ret = measure_latency(bench, i, base_pps, note);
	return ret;
}
