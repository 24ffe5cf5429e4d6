/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of lookup_walk.h for engines whose lookup is a function of user space. It is timed by
 * the thread's CPU time, where the kernel times its test runs by the clock.
 */
#ifndef BENCH_USER_WALK_H
#define BENCH_USER_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lookup.h"

/* The answer, from what the engine looks it up in. */
typedef uint32_t (*bench_user_find_fn)(const void *ctx, const union sixlane_addr *addr);

struct bench_user_walk {
	const union sixlane_addr *list; /* BENCH_ADDRESSES of them */
	uint32_t cursor;		/* of the first one */
	bool dependent;
	uint64_t lookups;
};

static inline uint32_t bench_user_find_nothing(const void *ctx, const union sixlane_addr *addr)
{
	(void)ctx;
	return (uint32_t)(addr->halves[0] ^ addr->halves[1]);
}

/* ns a lookup, after one of each address. */
static inline __attribute__((always_inline)) double
bench_user_walk(const struct bench_user_walk *walk, bench_user_find_fn find, const void *ctx)
{
	static volatile uint32_t zero, sink;
	const union sixlane_addr *list = walk->list;
	uint32_t cursor = walk->cursor, sum = 0, none = zero;
	struct timespec start, end;

	for (uint32_t i = 0; i < BENCH_ADDRESSES; i++)
		sum += find(ctx, &list[i]);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	if (walk->dependent) {
		for (uint64_t i = 0; i < walk->lookups; i++) {
			uint32_t answer = find(ctx, &list[cursor % BENCH_ADDRESSES]);

			sum += answer;
			/* neither unrolled nor made a vector of, as in the kernel */
			asm volatile("" : "+r"(sum));
			cursor += 1 + (answer & none);
		}
	} else {
		for (uint64_t i = 0; i < walk->lookups; i++) {
			sum += find(ctx, &list[cursor++ % BENCH_ADDRESSES]);
			asm volatile("" : "+r"(sum));
		}
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	sink = sum;
	(void)sink;
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)walk->lookups;
}

#endif
