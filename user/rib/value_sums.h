/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether all of several values are equal, when values come and go in any order and are not stored.
 * n values are equal exactly if n times the sum of their squares is the square of their sum.
 */
#ifndef RIB_VALUE_SUMS_H
#define RIB_VALUE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#define VALUE_SUMS_LIMIT (1ull << 40) /* of a value; there may be fewer than 2^24 of them */

__extension__ typedef unsigned __int128 value_sums_wide;

/* Zeroed: no values. */
struct value_sums {
	uint64_t n, sum;
	value_sums_wide squares;
};

/* by: 1 adds, -1 removes. */
static inline void value_sums_add(struct value_sums *sums, const struct value_sums *more, int by)
{
	sums->n += (uint64_t)by * more->n;
	sums->sum += (uint64_t)by * more->sum;
	sums->squares += (value_sums_wide)by * more->squares;
}

static inline struct value_sums value_sums_of(uint64_t value)
{
	return (struct value_sums){ 1, value, (value_sums_wide)value * value };
}

/* True also if there are none. */
static inline bool value_sums_equal(const struct value_sums *sums)
{
	return sums->n * sums->squares == (value_sums_wide)sums->sum * sums->sum;
}

/* The value that all are equal to, once; or, if they differ, two that no other set has. */
static inline struct value_sums value_sums_digest(const struct value_sums *sums)
{
	struct value_sums two = value_sums_of(VALUE_SUMS_LIMIT);

	if (!sums->n)
		return *sums;
	if (value_sums_equal(sums))
		return value_sums_of(sums->sum / sums->n);
	two.n = 2;
	return two;
}

#endif
