/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the trials at one load say of it, as RFC 9971 has it (appendices "Load Classification Code"
 * and "Conditional Throughput Code"). Knows no other load.
 */
#ifndef USER_BENCH_SEARCH_LOAD_H
#define USER_BENCH_SEARCH_LOAD_H

#include "search.h"

struct search_measured {
	double duration, loss_ratio;
};

/* All trials at a rate, by loss. */
struct search_load {
	double rate;
	struct search_measured *trials;
	size_t n;
	unsigned int n_short; /* sent less than asked; not among the trials */
	double least_sent;    /* of what was asked for, by that trial which sent least; at most 1 */
};

enum search_class { SEARCH_UNDECIDED, SEARCH_LOWER, SEARCH_UPPER };

/* 0 or -ENOMEM. */
int search_load_add(struct search_load *load, double duration, double loss_ratio);
enum search_class search_load_class(const struct search_load *load, const struct search_goal *goal);
/* Of a load with at least one trial. */
double search_load_throughput(const struct search_load *load, const struct search_goal *goal);

#endif
