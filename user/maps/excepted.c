// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_excepted: bits for all destinations of which sl_exceptions may have an entry, by which the
 * datapath tells the many others of a marked prefix. A bit stands for several entries, so they are
 * counted: it is there before the first of them, and goes after the last. All bits are right at any
 * time, so those that the datapath looks at change by one store.
 */
#include "maps_internal.h"

#define WORD_BITS 64
#define UNCOUNTED UINT8_MAX /* its bit stays */

/* Of entries: as long as few of the bits of few are set. */
#define FEW (SIXLANE_EXCEPTED_FEW / 16)

static uint32_t bit_of(const union sixlane_addr *dst, uint32_t few)
{
	return sixlane_excepted_bit(sixlane_exception_check(dst), few);
}

static void store(const struct maps *maps, uint32_t bit, bool set)
{
	uint64_t *word = &maps->excepted[bit / WORD_BITS], mask = 1ull << bit % WORD_BITS;

	ATOMIC_STORE(word, set ? *word | mask : *word & ~mask);
}

static void count(struct maps *maps, uint32_t n)
{
	uint32_t few = n <= FEW;

	maps->n_exceptions = n;
	if (maps->meta->few_exceptions != few)
		ATOMIC_STORE(&maps->meta->few_exceptions, few);
}

void maps_except(struct maps *maps, const union sixlane_addr *dst)
{
	for (uint32_t few = 0; few < 2; few++) {
		uint32_t bit = bit_of(dst, few);

		if (maps->n_excepted[bit] < UNCOUNTED)
			maps->n_excepted[bit]++;
		store(maps, bit, true);
	}
	count(maps, maps->n_exceptions + 1);
}

void maps_unexcept(struct maps *maps, const union sixlane_addr *dst)
{
	for (uint32_t few = 0; few < 2; few++) {
		uint32_t bit = bit_of(dst, few);

		if (maps->n_excepted[bit] < UNCOUNTED && !--maps->n_excepted[bit])
			store(maps, bit, false);
	}
	count(maps, maps->n_exceptions - 1);
}

void maps_excepted_adopted(const struct maps *maps, bool all)
{
	for (uint32_t bit = 0; bit < SIXLANE_EXCEPTED_BITS; bit++) {
		if (!all)
			maps->n_excepted[bit] = UNCOUNTED;
		else if (!maps->n_excepted[bit])
			store(maps, bit, false);
	}
}
