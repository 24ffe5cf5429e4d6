/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of what forwarding took. */
#ifndef BENCH_FORWARD_REPORT_H
#define BENCH_FORWARD_REPORT_H

#include "forward.h"

enum forward_figure { FORWARD_NS, FORWARD_MPPS, FORWARD_P50, FORWARD_P99, FORWARD_N_FIGURES };

/* What is measured again in each round. */
struct forward_series {
	const struct forward_engine *engine;
	const struct forward_pattern *pattern;
	struct forward_source *source;
	const union sixlane_addr *addresses;
	double *values;	     /* rounds of each figure */
	size_t n, n_stamped; /* that were measured */
};

static inline double *forward_series_at(const struct forward_series *series,
					const struct forward *forward, enum forward_figure figure)
{
	return series->values + figure * (size_t)forward->rounds;
}

/* Rows, also of series of which some rounds are missing. 0 or -errno, which was said. */
int forward_report(const struct forward *forward, const struct bench_table *table,
		   const struct forward_series *series, size_t n, struct bench_result *result);

#endif
