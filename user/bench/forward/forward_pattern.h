/* SPDX-License-Identifier: GPL-2.0-only */
/* Which destinations packets have: at random, by Zipf's law, all the same, or under no route. */
#ifndef BENCH_FORWARD_PATTERN_H
#define BENCH_FORWARD_PATTERN_H

#include "../bench.h"

enum forward_pattern_kind {
	FORWARD_RANDOM, /* any address under any route */
	FORWARD_ZIPF,	/* the k-th route, in an order of its own, 1 / k^s as often as the first */
	FORWARD_FLOW,	/* one address, and one source port */
	FORWARD_MISS,	/* under no route, but near one */
};

struct forward_pattern {
	enum forward_pattern_kind kind;
	double s; /* of Zipf's law */
};

/* "random", "zipf", "zipf:1.1", "flow" or "miss". 0, or -EINVAL. */
int forward_pattern_parse(const char *word, struct forward_pattern *out);
/* "zipf" is "zipf:1". */
bool forward_pattern_is(const struct forward_pattern *a, const struct forward_pattern *b);
/* As rows have it: "zipf 1.1". */
void forward_pattern_name(const struct forward_pattern *pattern, char *name, size_t size);

/*
 * n of them; the same seed gives the same. 0, or -errno after having said why: -ERANGE: hardly
 * anything misses the routes.
 */
int forward_pattern_draw(const struct forward_pattern *pattern, const struct bench_table *table,
			 uint64_t seed, size_t n, union sixlane_addr *out);

#endif
