/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destinations of packets, by whether they have a Path MTU of their own and whether others of the
 * same route have. Knows neither the kernel nor sixlane.
 */
#ifndef BENCH_EXCEPTIONS_PEERS_H
#define BENCH_EXCEPTIONS_PEERS_H

#include "../bench.h"

/* Lists that packets are timed to, as many in each as there are exceptions. */
enum peers_list {
	PEERS_ELSEWHERE,  /* under routes that none of those with exceptions is under */
	PEERS_SAME_ROUTE, /* of each with an exception another one, which has none */
	PEERS_HIT,	  /* with exceptions */
	PEERS_N_LISTS
};
extern const char *const peers_names[PEERS_N_LISTS];

struct peers {
	union sixlane_addr *all; /* each once; those with exceptions are the first */
	size_t n, n_excepted;
	union sixlane_addr *lists[PEERS_N_LISTS]; /* the last one is that beginning of all */
};

/* 0, or -errno after having said why: -ERANGE: the routes of the table are too few or too long. */
int peers_choose(const struct bench_table *table, size_t n, size_t n_excepted, uint64_t seed,
		 struct peers *out);
void peers_free(struct peers *peers);

#endif
