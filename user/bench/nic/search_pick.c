// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which load is next. A goal is approached in phases, each with the classes of RFC 9971 but with
 * its own length of trials and half the width of the one before; all but the last one believe a
 * single trial. A phase begins with what the one before has found. The lower of two loads comes
 * first: a bound below makes those above worthless.
 *
 * It ends: a load is measured for a phase only while it is undecided there, which its trials end,
 * and new loads keep a distance from all others between the bounds (settle).
 */
#include <float.h>
#include <math.h>

#include "search_state.h"

/* As a logarithm, and a bit less, so that two loads that far apart are close for certain. */
static double log_width(const struct search_goal *goal)
{
	return -log(1 - goal->width) * (1 - 1e-6);
}

struct search_bounds search_bounds_of(const struct search *search, const struct search_goal *goal)
{
	struct search_bounds bounds = { NULL, NULL };

	for (size_t i = 0; i < search->n && !bounds.upper; i++) {
		enum search_class class = search_load_class(&search->loads[i], goal);

		if (class == SEARCH_UPPER)
			bounds.upper = &search->loads[i];
		else if (class == SEARCH_LOWER)
			bounds.lower = &search->loads[i];
	}
	return bounds;
}

struct search_goal search_phase_goal(const struct search *search, size_t goal, unsigned int phase)
{
	struct search_goal out = search->options.goals[goal];
	unsigned int last = search->options.phases - 1;

	if (phase == last)
		return out;
	out.final_s = out.initial_s * pow(out.final_s / out.initial_s, (double)phase / last);
	out.sum_s = out.final_s;
	out.width = 1 - pow(1 - out.width, (double)(1u << (last - phase)));
	return out;
}

bool search_is_close(const struct search_bounds *bounds, const struct search_goal *goal)
{
	return bounds->lower && bounds->upper &&
	       bounds->upper->rate - bounds->lower->rate <= goal->width * bounds->upper->rate;
}

bool search_is_done(const struct search *search, const struct search_bounds *bounds,
		    const struct search_goal *goal)
{
	if (bounds->upper && bounds->upper->rate <= search->options.min_rate)
		return true;
	if (bounds->lower && bounds->lower->rate >= search->max_rate)
		return true;
	return search_is_close(bounds, goal);
}

/* --- rates ---------------------------------------------------------------------------------- */

/* An open interval of rates. */
struct gap {
	double low, high;
};

static struct gap gap_of(const struct search_bounds *bounds)
{
	return (struct gap){
		.low = bounds->lower ? bounds->lower->rate : 0,
		.high = bounds->upper ? bounds->upper->rate : DBL_MAX,
	};
}

static bool is_within(const struct search *search, const struct gap *gap, double rate)
{
	return rate > gap->low && rate < gap->high && rate <= search->max_rate;
}

/* What has been measured nearby, or the rate itself. */
static double settle(const struct search *search, const struct gap *gap,
		     const struct search_goal *goal, double rate)
{
	double least = log_width(goal) / 4, found = rate;

	for (size_t i = 0; i < search->n; i++) {
		double away = fabs(log(search->loads[i].rate / rate));

		if (away <= least && is_within(search, gap, search->loads[i].rate)) {
			least = away;
			found = search->loads[i].rate;
		}
	}
	return found;
}

/*
 * What came through at a load that is too high is a good guess, and the first one does not count as
 * a step. Later steps double, as guesses alone may come near a device that always loses a little
 * only slowly.
 */
static double guess_below(const struct search_load *upper, double *step, double width)
{
	double forwarded = upper->rate * (1 - upper->trials[upper->n / 2].loss_ratio);
	double rate;

	if (*step <= 0) {
		*step = width;
		if (forwarded < upper->rate * exp(-width))
			return forwarded;
	}
	rate = fmin(forwarded, upper->rate * exp(-*step));
	*step *= 2;
	return rate;
}

static double guess_above(const struct search_bounds *bounds, double *step, double width)
{
	double rate;

	*step = fmax(*step, width);
	rate = bounds->lower->rate * exp(*step);
	*step *= 2;
	if (bounds->upper)
		rate = fmin(rate, sqrt(bounds->lower->rate * bounds->upper->rate));
	return rate;
}

static double guess_mlr(struct search *search, size_t n, unsigned int phase,
			const struct search_goal *goal, const struct search_bounds *bounds)
{
	struct gap gap = gap_of(bounds);
	double *step = &search->steps[n][phase];

	if (phase) {
		struct search_goal before = search_phase_goal(search, n, phase - 1);
		struct search_bounds known = search_bounds_of(search, &before);

		if (known.lower && is_within(search, &gap, known.lower->rate))
			return known.lower->rate;
		if (known.upper && is_within(search, &gap, known.upper->rate))
			return known.upper->rate;
	}
	if (bounds->lower)
		return guess_above(bounds, step, log_width(goal));
	if (bounds->upper)
		return guess_below(bounds->upper, step, log_width(goal));
	return search->max_rate;
}

static double guess_binary(const struct search *search, const struct search_bounds *bounds)
{
	if (!bounds->upper)
		return search->max_rate;
	if (!bounds->lower)
		return search->options.min_rate;
	return (bounds->lower->rate + bounds->upper->rate) / 2;
}

/* --- the next trial ------------------------------------------------------------------------- */

/* What was begun and is not decided is gone on with, unless it has become irrelevant. */
static bool is_begun(const struct search *search)
{
	struct search_bounds bounds;
	struct gap gap;

	if (search->trial.rate <= 0)
		return false;
	for (size_t i = 0; i < search->n; i++)
		if (search->loads[i].rate == search->trial.rate &&
		    search_load_class(&search->loads[i], &search->goal) != SEARCH_UNDECIDED)
			return false;
	bounds = search_bounds_of(search, &search->goal);
	gap = gap_of(&bounds);
	return !search_is_done(search, &bounds, &search->goal) &&
	       is_within(search, &gap, search->trial.rate);
}

static bool pick_for(struct search *search, size_t n, unsigned int phase, struct search_trial *out)
{
	struct search_goal goal = search_phase_goal(search, n, phase);
	struct search_bounds bounds = search_bounds_of(search, &goal);
	struct gap gap = gap_of(&bounds);
	double rate;

	if (search_is_done(search, &bounds, &goal))
		return false;
	rate = search->options.method == SEARCH_BINARY
		       ? guess_binary(search, &bounds)
		       : guess_mlr(search, n, phase, &goal, &bounds);
	rate = fmin(fmax(rate, search->options.min_rate), search->max_rate);
	out->rate = settle(search, &gap, &goal, rate);
	out->duration = goal.final_s;
	search->goal = goal;
	return true;
}

bool search_pick(struct search *search, struct search_trial *out)
{
	if (is_begun(search)) {
		*out = search->trial;
		return true;
	}
	for (unsigned int phase = 0; phase < search->options.phases; phase++)
		for (size_t n = 0; n < search->options.n_goals; n++)
			if (pick_for(search, n, phase, out))
				return true;
	return false;
}
