/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A search as it stands: what was measured, and which load is next (search_pick.c). For search*.c
 * alone; search.h is for all others.
 */
#ifndef USER_BENCH_SEARCH_STATE_H
#define USER_BENCH_SEARCH_STATE_H

#include <stdbool.h>

#include "search_load.h"

#define SEARCH_MOST_PHASES 8

struct search {
	struct search_options options;
	double max_rate; /* the option's, or less once the generator did not send it */
	bool no_rate;	 /* the generator does not send the least of them */
	bool asked;	 /* trial waits for its outcome */
	struct search_trial trial;
	struct search_goal goal;   /* of the phase that the trial is for */
	struct search_load *loads; /* by rate */
	size_t n;
	/* How far, as a logarithm, the next load is from a bound that is to be left. */
	double steps[SEARCH_MOST_GOALS][SEARCH_MOST_PHASES];
	struct search_totals totals;
};

/* The relevant ones; NULL: there is none. */
struct search_bounds {
	const struct search_load *lower, *upper;
};

struct search_bounds search_bounds_of(const struct search *search, const struct search_goal *goal);
/* What a phase asks for: the goal, or one that is wider and takes short trials. */
struct search_goal search_phase_goal(const struct search *search, size_t goal, unsigned int phase);
bool search_is_close(const struct search_bounds *bounds, const struct search_goal *goal);
/* No trial would say more. */
bool search_is_done(const struct search *search, const struct search_bounds *bounds,
		    const struct search_goal *goal);

/* The next trial, and search->goal; false: none. */
bool search_pick(struct search *search, struct search_trial *out);

#endif
