// SPDX-License-Identifier: GPL-2.0-only
/*
 * See search_load.h.
 */
#include "search_load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	double full_low, full_high, short_low, short_high;
};

static struct sums sums_of(const struct search_load *load, const struct search_goal *goal)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < load->n; i++) {
		const struct search_measured *trial = &load->trials[i];
		bool high = trial->loss_ratio > goal->loss_ratio;

		if (trial->duration >= goal->final_s)
			*(high ? &sums.full_high : &sums.full_low) += trial->duration;
		else
			*(high ? &sums.short_high : &sums.short_low) += trial->duration;
	}
	return sums;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

int search_load_add(struct search_load *load, double duration, double loss_ratio)
{
	struct search_measured *trials = reallocarray(load->trials, load->n + 1, sizeof(*trials));
	size_t at = load->n;

	if (!trials)
		return -ENOMEM;
	load->trials = trials;
	while (at && trials[at - 1].loss_ratio > loss_ratio)
		at--;
	memmove(&trials[at + 1], &trials[at], (load->n - at) * sizeof(*trials));
	trials[at] = (struct search_measured){ duration, loss_ratio };
	load->n++;
	return 0;
}

enum search_class search_load_class(const struct search_load *load, const struct search_goal *goal)
{
	struct sums sums = sums_of(load, goal);
	/* Short trials with little loss make up for some with much, but prove nothing. */
	double excess =
		sums.short_high - sums.short_low * goal->exceed_ratio / (1 - goal->exceed_ratio);
	double high = sums.full_high + larger(excess, 0);
	double whole = larger(sums.full_low + high, goal->sum_s);
	/* Sums that are equal on paper may differ in the last bits. */
	double may_exceed = whole * goal->exceed_ratio + whole * 1e-9;

	if (high > may_exceed)
		return SEARCH_UPPER;
	return whole - sums.full_low <= may_exceed ? SEARCH_LOWER : SEARCH_UNDECIDED;
}

double search_load_throughput(const struct search_load *load, const struct search_goal *goal)
{
	struct sums sums = sums_of(load, goal);
	double whole = larger(sums.full_low + sums.full_high, goal->sum_s);
	double left = whole * (1 - goal->exceed_ratio), loss_ratio = 1;

	for (size_t i = 0; i < load->n && left > whole * 1e-9; i++) {
		if (load->trials[i].duration < goal->final_s)
			continue;
		loss_ratio = load->trials[i].loss_ratio;
		left -= load->trials[i].duration;
	}
	/* Not enough trials: those that are missing count as lost. */
	if (left > whole * 1e-9)
		loss_ratio = 1;
	return load->rate * (1 - loss_ratio);
}
