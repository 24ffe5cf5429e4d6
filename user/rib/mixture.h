/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of which only matters whether they are all the same. They come and go in any order, and
 * nobody remembers which there are.
 */
#ifndef RIB_MIXTURE_H
#define RIB_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 mixture_wide;

/* Zeroed: of no values. Those are at most MIXTURE_LIMIT, and fewer than 2^24. */
struct mixture {
	uint64_t n, sum;
	mixture_wide squares;
};

#define MIXTURE_LIMIT (1ull << 40)

static inline struct mixture mixture_of(uint64_t value)
{
	return (struct mixture){ 1, value, (mixture_wide)value * value };
}

/* by: 1, or -1 for what goes. */
static inline void mixture_add(struct mixture *to, const struct mixture *more, int by)
{
	to->n += (uint64_t)by * more->n;
	to->sum += (uint64_t)by * more->sum;
	to->squares += (mixture_wide)by * more->squares;
}

/* n numbers are all the same if n times the sum of their squares is the square of their sum. */
static inline bool mixture_is_uniform(const struct mixture *mixture)
{
	return mixture->n * mixture->squares == (mixture_wide)mixture->sum * mixture->sum;
}

/* Each value once; in place of several that differ, two that do from all others. */
static inline struct mixture mixture_digest(const struct mixture *mixture)
{
	if (!mixture->n)
		return (struct mixture){ 0 };
	if (mixture_is_uniform(mixture))
		return mixture_of(mixture->sum / mixture->n);
	return (struct mixture){ 2, MIXTURE_LIMIT, (mixture_wide)MIXTURE_LIMIT * MIXTURE_LIMIT };
}

#endif
