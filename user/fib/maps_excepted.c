// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_excepted: a bit for all destinations of which sl_exceptions may have an entry, by which the
 * datapath tells the many others of a marked prefix. A bit stands for several entries, so they are
 * counted: it is there before the first of them, and goes after the last.
 */
#include "maps_internal.h"

#define WORD_BITS 64
#define UNCOUNTED UINT8_MAX /* its bit stays */

static uint32_t bit_of(const struct sixlane_exception_key *key)
{
	return sixlane_excepted_bit(sixlane_exception_check(key));
}

static void store(const struct maps *maps, uint32_t bit, bool set)
{
	uint64_t *word = &maps->excepted[bit / WORD_BITS], mask = 1ull << bit % WORD_BITS;

	ATOMIC_STORE(word, set ? *word | mask : *word & ~mask);
}

void maps_except(const struct maps *maps, const struct sixlane_exception_key *key)
{
	uint32_t bit = bit_of(key);

	if (maps->n_excepted[bit] < UNCOUNTED)
		maps->n_excepted[bit]++;
	store(maps, bit, true);
}

void maps_unexcept(const struct maps *maps, const struct sixlane_exception_key *key)
{
	uint32_t bit = bit_of(key);

	if (maps->n_excepted[bit] < UNCOUNTED && !--maps->n_excepted[bit])
		store(maps, bit, false);
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
