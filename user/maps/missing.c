// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_missing: bits of the destinations that the kernel may have an exception of and sl_exceptions
 * lacks. Nobody remembers which they are, and so nobody can take a single one away: when all that
 * the kernel has was told anew, those go that were not lacking again.
 */
#include <string.h>

#include "maps_internal.h"

#define WORD_BITS 64

static bool is_set(const struct maps *maps, uint32_t bit)
{
	return ATOMIC_LOAD(&maps->missing[bit / WORD_BITS]) >> bit % WORD_BITS & 1;
}

static unsigned int set(const struct maps *maps, uint32_t bit, bool untold)
{
	const uint64_t mask = 1ull << bit % WORD_BITS;
	const uint32_t at = bit / WORD_BITS;
	unsigned int news = 0;

	news |= maps->missing[at] & mask ? 0 : FIB_MISSING_NOW;
	news |= maps->missing_anew[at] & mask ? 0 : FIB_MISSING_ANEW;
	maps->missing_anew[at] |= mask;
	if (untold) {
		news |= (maps->missing_untold[0][at] | maps->missing_untold[1][at]) & mask
				? 0
				: FIB_MISSING_UNTOLD;
		maps->missing_untold[1][at] |= mask;
	}
	ATOMIC_STORE(&maps->missing[at], maps->missing[at] | mask);
	return news;
}

static bool is_missing(const struct maps *maps, const union sixlane_addr *dst)
{
	const uint32_t check = sixlane_missing_check(dst);

	return is_set(maps, sixlane_missing_bit(check, 0)) &&
	       is_set(maps, sixlane_missing_bit(check, 1));
}

bool maps_exception_may_be_missing(const struct maps *maps, const union sixlane_addr *dst,
				   uint32_t route)
{
	return route & SIXLANE_ROUTE_EXCEPTIONS_MISSING && is_missing(maps, dst);
}

bool maps_write_missing_has(void *ctx, const union sixlane_addr *dst)
{
	return is_missing(ctx, dst);
}

unsigned int maps_write_missing(void *ctx, const union sixlane_addr *dst, bool untold)
{
	const uint32_t check = sixlane_missing_check(dst);
	unsigned int news = set(ctx, sixlane_missing_bit(check, 0), untold);

	return news | set(ctx, sixlane_missing_bit(check, 1), untold);
}

bool maps_write_missing_adopt(void *ctx)
{
	const struct maps *maps = ctx;
	uint64_t any = 0;

	for (size_t word = 0; word < SIXLANE_MISSING_WORDS; word++) {
		maps->missing_untold[1][word] |= maps->missing[word];
		any |= maps->missing[word];
	}
	return any;
}

void maps_write_missing_begin(void *ctx, bool turn)
{
	struct maps *maps = ctx;
	uint64_t *old = maps->missing_untold[0];

	if (turn) {
		memset(old, 0, SIXLANE_MISSING_WORDS * sizeof(*old));
		maps->missing_untold[0] = maps->missing_untold[1];
		maps->missing_untold[1] = old;
	}
	for (size_t word = 0; word < SIXLANE_MISSING_WORDS; word++)
		maps->missing_anew[word] =
			maps->missing_untold[0][word] | maps->missing_untold[1][word];
}

void maps_write_missing_end(void *ctx)
{
	struct maps *maps = ctx;

	for (size_t word = 0; word < SIXLANE_MISSING_WORDS; word++)
		if (maps->missing[word] != maps->missing_anew[word])
			ATOMIC_STORE(&maps->missing[word], maps->missing_anew[word]);
}
