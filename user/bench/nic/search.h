/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search for the highest rate that a device forwards: which trial to run next, and what those
 * that were run say. Two methods: halving, for the throughput of RFC 2544 (section 26.1), and
 * MLRsearch (RFC 9971), with goals that tolerate loss, trials that lose, and short trials before
 * long ones.
 *
 * Pure: no clock, no I/O; it draws no random numbers, so the same trials give the same search.
 * Rates are frames per second of what one number scales (a port, or all of them: the caller says).
 */
#ifndef USER_BENCH_SEARCH_H
#define USER_BENCH_SEARCH_H

#include <stddef.h>
#include <stdint.h>

enum search_method {
	SEARCH_BINARY, /* one goal without loss; its trials are final_s long */
	SEARCH_MLR,
};

/* The attributes of RFC 9971, section "Goal Terms"; ratios are from 0 to 1. */
struct search_goal {
	double loss_ratio;   /* of a trial: more of it is high loss */
	double exceed_ratio; /* of the time of a load's trials that may have high loss */
	double initial_s;    /* the first trials are so long */
	double final_s;	     /* at least so long are those that a lower bound rests on */
	double sum_s;	     /* trials of final_s at one load, until they sum up to this */
	double width;	     /* (upper - lower) / upper of the bounds that are close enough */
};

#define SEARCH_MOST_GOALS 4

struct search_options {
	enum search_method method;
	double min_rate, max_rate;		     /* no trial is beyond them */
	struct search_goal goals[SEARCH_MOST_GOALS]; /* that with the least loss first */
	size_t n_goals;
	unsigned int phases; /* from initial_s to final_s, each of half the width; at least 1 */
	double tolerance;    /* how much less than asked, as a ratio, a trial may send: see below */
	unsigned int most_trials; /* then it stops */
};

struct search_trial {
	double rate;	 /* frames a second */
	double duration; /* seconds */
};

/* What a trial was: so many frames went out within so many seconds. */
struct search_outcome {
	uint64_t sent, lost;
	double seconds;
};

enum search_end {
	SEARCH_FOUND,	  /* both bounds, as close as the goal wants them */
	SEARCH_MIN_FAILS, /* even at the minimum: the upper bound, and no lower one */
	SEARCH_MAX_HOLDS, /* at the maximum, too: no upper bound; the line is the limit */
	SEARCH_GENERATOR, /* the same at the most that the generator sends: it is the limit */
	SEARCH_NO_RATE,	  /* the generator does not even send at the minimum */
	SEARCH_STOPPED,	  /* not all trials were run */
};

struct search_result {
	enum search_end end;
	/* Relevant bounds, 0: there is none. That which all trials at the lower bound have really
	 * sent, which is a little less than was asked for where the generator is not exact. */
	double lower, upper;
	double throughput; /* conditional throughput at the lower bound; 0: none */
	double unsent;	   /* of what was asked for at the lower bound; a ratio */
};

struct search_totals {
	size_t trials;
	double seconds;	   /* of traffic */
	size_t short_sent; /* trials that sent less than asked, beyond the tolerance */
	double most_sent;  /* the rate that the generator is known not to pass; 0: not met */
};

struct search;

/* -EINVAL: options that make no sense, -ENOMEM. */
int search_new(const struct search_options *options, struct search **out);
void search_free(struct search *search);

/* 1 and the trial to run; 0: no more is needed; -ENOMEM. The same until search_take(). */
int search_next(struct search *search, struct search_trial *out);

/*
 * What came out of the trial that search_next() gave. One that sent too little is asked for once
 * more; if that sends too little again, it counts for the rate that it had, and no trial asks for
 * more than that from then on. Within the tolerance it counts for what was asked, and makes a
 * lower bound that rests on it lower. One that sent more counts for what was asked, too.
 * -EINVAL: no trial, or one that cannot be (nothing sent, not for as long as asked, more lost than
 * sent); it may be taken again. -ENOMEM.
 */
int search_take(struct search *search, const struct search_outcome *outcome);

/* What is known of a goal, at any time. */
struct search_result search_result(const struct search *search, size_t goal);
struct search_totals search_totals(const struct search *search);
/* The seconds of traffic that are left if nothing surprising happens. */
double search_left_s(const struct search *search);
const char *search_end_text(enum search_end end);

#endif
