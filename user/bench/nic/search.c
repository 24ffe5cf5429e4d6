// SPDX-License-Identifier: GPL-2.0-only
/*
 * See search.h: options, outcomes and results. search_load.c says what one load is, search_pick.c
 * which one is next.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search_state.h"

/* --- options -------------------------------------------------------------------------------- */

static bool is_ratio(double value)
{
	return value >= 0 && value < 1;
}

static bool is_goal(const struct search_goal *goal)
{
	return is_ratio(goal->loss_ratio) && is_ratio(goal->exceed_ratio) && goal->initial_s > 0 &&
	       goal->final_s >= goal->initial_s && goal->sum_s >= goal->final_s &&
	       isfinite(goal->sum_s) && goal->width >= 1e-6 && goal->width <= 0.5;
}

static bool are_sound(const struct search_options *options)
{
	if (!(options->min_rate > 0) || !(options->max_rate > options->min_rate) ||
	    !isfinite(options->max_rate))
		return false;
	if (!(options->tolerance >= 1e-4) || !(options->tolerance <= 0.5) || !options->most_trials)
		return false;
	if (!options->phases || options->phases > SEARCH_MOST_PHASES)
		return false;
	if (!options->n_goals || options->n_goals > SEARCH_MOST_GOALS)
		return false;
	for (size_t i = 0; i < options->n_goals; i++)
		/* at least one frame a trial, or there is no ratio */
		if (!is_goal(&options->goals[i]) ||
		    options->goals[i].initial_s * options->min_rate < 1)
			return false;
	return options->method == SEARCH_MLR ||
	       (options->n_goals == 1 && options->phases == 1 &&
		options->goals[0].loss_ratio <= 0 && options->goals[0].exceed_ratio <= 0 &&
		options->goals[0].sum_s <= options->goals[0].final_s);
}

int search_new(const struct search_options *options, struct search **out)
{
	struct search *search;

	if (!are_sound(options))
		return -EINVAL;
	search = calloc(1, sizeof(*search));
	if (!search)
		return -ENOMEM;
	search->options = *options;
	search->max_rate = options->max_rate;
	*out = search;
	return 0;
}

void search_free(struct search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->n; i++)
		free(search->loads[i].trials);
	free(search->loads);
	free(search);
}

/* --- trials --------------------------------------------------------------------------------- */

int search_next(struct search *search, struct search_trial *out)
{
	if (!search->asked) {
		if (search->no_rate || search->totals.trials >= search->options.most_trials)
			return 0;
		if (!search_pick(search, &search->trial))
			return 0;
		search->asked = true;
	}
	*out = search->trial;
	return 1;
}

/* NULL: no memory. */
static struct search_load *load_at(struct search *search, double rate)
{
	struct search_load *loads;
	size_t at = 0;

	while (at < search->n && search->loads[at].rate < rate)
		at++;
	if (at < search->n && search->loads[at].rate <= rate)
		return &search->loads[at];
	loads = reallocarray(search->loads, search->n + 1, sizeof(*loads));
	if (!loads)
		return NULL;
	search->loads = loads;
	memmove(&loads[at + 1], &loads[at], (search->n - at) * sizeof(*loads));
	loads[at] = (struct search_load){ .rate = rate, .least_sent = 1 };
	search->n++;
	return &loads[at];
}

static void count(struct search *search, const struct search_outcome *outcome)
{
	search->totals.trials++;
	search->totals.seconds += outcome->seconds;
	search->asked = false;
}

static int take_at(struct search *search, double rate, const struct search_outcome *outcome)
{
	struct search_load *load = load_at(search, rate);
	double loss_ratio = (double)outcome->lost / (double)outcome->sent;
	/* the next frame may have been due an instant later */
	double sent = (double)(outcome->sent + 1) / (outcome->seconds * rate);

	if (!load || search_load_add(load, search->trial.duration, loss_ratio))
		return -ENOMEM;
	load->least_sent = fmin(load->least_sent, sent);
	load->n_short = 0;
	count(search, outcome);
	return 0;
}

/* Less was sent than the trial is about. Once may be bad luck. */
static int take_short(struct search *search, double sent_rate, const struct search_outcome *outcome)
{
	struct search_load *load = load_at(search, search->trial.rate);

	if (!load)
		return -ENOMEM;
	if (load->n_short) {
		if (sent_rate < search->options.min_rate)
			search->no_rate = true;
		else if (take_at(search, sent_rate, outcome))
			return -ENOMEM;
		search->max_rate = sent_rate;
		search->totals.most_sent = sent_rate;
	} else {
		load->n_short++;
	}
	search->totals.short_sent++;
	if (search->asked)
		count(search, outcome);
	return 0;
}

int search_take(struct search *search, const struct search_outcome *outcome)
{
	double least = 1 - search->options.tolerance, sent_rate;

	if (!search->asked || !outcome->sent || outcome->lost > outcome->sent ||
	    !(outcome->seconds >= search->trial.duration * least) || !isfinite(outcome->seconds))
		return -EINVAL;
	sent_rate = (double)outcome->sent / outcome->seconds;
	/* Half a frame of what is asked for may be unsendable. */
	if (sent_rate < search->trial.rate * least - 1 / outcome->seconds)
		return take_short(search, sent_rate, outcome);
	return take_at(search, search->trial.rate, outcome);
}

/* --- results -------------------------------------------------------------------------------- */

static enum search_end end_of(const struct search *search, const struct search_bounds *bounds,
			      const struct search_goal *goal)
{
	if (search->no_rate)
		return SEARCH_NO_RATE;
	if (search_is_close(bounds, goal))
		return SEARCH_FOUND;
	if (!search_is_done(search, bounds, goal))
		return SEARCH_STOPPED;
	if (!bounds->lower)
		return SEARCH_MIN_FAILS;
	return search->totals.most_sent > 0 ? SEARCH_GENERATOR : SEARCH_MAX_HOLDS;
}

struct search_result search_result(const struct search *search, size_t goal)
{
	const struct search_goal *asked = &search->options.goals[goal];
	struct search_bounds bounds = search_bounds_of(search, asked);
	struct search_result result = {
		.end = end_of(search, &bounds, asked),
		.upper = bounds.upper ? bounds.upper->rate : 0,
	};

	if (!bounds.lower)
		return result;
	result.lower = bounds.lower->rate * bounds.lower->least_sent;
	result.throughput = search_load_throughput(bounds.lower, asked) * bounds.lower->least_sent;
	result.unsent = 1 - bounds.lower->least_sent;
	return result;
}

struct search_totals search_totals(const struct search *search)
{
	return search->totals;
}

/* Trials that halve what is between the bounds until they are close. */
static double halvings(const struct search *search, const struct search_bounds *bounds,
		       const struct search_goal *goal)
{
	double low = bounds->lower ? bounds->lower->rate : search->options.min_rate;
	double high = bounds->upper ? bounds->upper->rate : search->max_rate;
	double wide = log(high / low) / -log(1 - goal->width);

	return (wide > 1 ? ceil(log2(wide)) : 0) + !bounds->lower + !bounds->upper;
}

double search_left_s(const struct search *search)
{
	double left = 0;

	if (search->no_rate || search->totals.trials >= search->options.most_trials)
		return 0;
	for (size_t n = 0; n < search->options.n_goals; n++)
		for (unsigned int phase = 0; phase < search->options.phases; phase++) {
			struct search_goal goal = search_phase_goal(search, n, phase);
			struct search_bounds bounds = search_bounds_of(search, &goal);
			double trials = halvings(search, &bounds, &goal);

			/* both bounds of the phase before, and one in between */
			if (!search_is_done(search, &bounds, &goal))
				left += goal.sum_s * (phase ? fmin(trials, 3) : trials);
		}
	return left;
}

const char *search_end_text(enum search_end end)
{
	static const char *const texts[] = {
		[SEARCH_FOUND] = "found",
		[SEARCH_MIN_FAILS] = "frames are lost even at the lowest rate that is tried",
		[SEARCH_MAX_HOLDS] = "the highest rate that is tried is forwarded",
		[SEARCH_GENERATOR] = "all that the generator sends is forwarded: it is the limit",
		[SEARCH_NO_RATE] = "the generator does not even send the lowest rate that is tried",
		[SEARCH_STOPPED] = "stopped before all trials were run",
	};

	return texts[end];
}
