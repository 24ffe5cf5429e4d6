// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_punted and sl_fresh, two Bloom filters of destinations. The kernel forwards packets to them,
 * except to those of sl_punted alone that have an entry in sl_exceptions. Only the daemon writes
 * sl_punted. sl_fresh has two halves: the program adds to one, and the daemon clears the other.
 */
#include <string.h>

#include "access.h"

#define WORD_BITS 64

/*
 * Values of the byte of SIXLANE_META_CHECK_PUNTED, with either of which packets check. The program
 * stores CHECK after it has counted an entry of sl_fresh. So a daemon that still finds its own
 * CLEARING has seen all that was counted.
 */
#define CHECK 1u
#define CLEARING 3u

/* --- sl_punted -------------------------------------------------------------------------------- */

void maps_punted_add(uint64_t *filter, const union sixlane_addr *dst)
{
	const uint64_t sum = sixlane_exception_sum(dst);

	for (uint32_t i = 0; i < SIXLANE_PUNTED_NUMBERS; i++) {
		const uint32_t bit = sixlane_punted_bit(sum, i);
		uint64_t *word = &filter[bit / WORD_BITS];

		ATOMIC_STORE(word, *word | 1ull << bit % WORD_BITS);
	}
}

bool maps_punted_has(const uint64_t *filter, const union sixlane_addr *dst)
{
	const uint64_t sum = sixlane_exception_sum(dst);
	bool all = true;

	for (uint32_t i = 0; i < SIXLANE_PUNTED_NUMBERS; i++) {
		const uint32_t bit = sixlane_punted_bit(sum, i);

		all &= ATOMIC_LOAD(&filter[bit / WORD_BITS]) >> bit % WORD_BITS & 1;
	}
	return all;
}

void maps_punted_set(const struct maps *maps, const uint64_t *filter)
{
	for (size_t word = 0; word < SIXLANE_PUNTED_WORDS; word++)
		if (maps->punted[word] != filter[word])
			ATOMIC_STORE(&maps->punted[word], filter[word]);
}

/* --- sl_fresh --------------------------------------------------------------------------------- */

bool maps_fresh_has(const struct maps *maps, const union sixlane_addr *dst)
{
	const uint64_t sum = sixlane_exception_sum(dst);
	const uint8_t *bytes = (const uint8_t *)maps->fresh;
	bool in[SIXLANE_FRESH_HALVES] = { true, true };

	for (uint32_t i = 0; i < SIXLANE_FRESH_NUMBERS; i++)
		for (uint32_t half = 0; half < SIXLANE_FRESH_HALVES; half++)
			in[half] &= ATOMIC_LOAD(&bytes[sixlane_fresh_byte(sum, i) + half]);
	return in[0] || in[1];
}

uint32_t maps_fresh_count(const struct maps *maps, uint32_t half)
{
	const uint32_t *counts = (const uint32_t *)&maps->fresh[SIXLANE_FRESH_COUNTS];

	return __atomic_load_n(&counts[half], __ATOMIC_SEQ_CST);
}

bool maps_fresh_any(const struct maps *maps)
{
	return maps_fresh_count(maps, 0) || maps_fresh_count(maps, 1);
}

/* Byte by byte: those of the other half are the program's. */
void maps_fresh_clear(const struct maps *maps, uint32_t half)
{
	uint8_t *bytes = (uint8_t *)maps->fresh;

	for (size_t byte = half; byte < SIXLANE_FRESH_BYTES; byte += SIXLANE_FRESH_HALVES)
		if (ATOMIC_LOAD(&bytes[byte]))
			ATOMIC_STORE(&bytes[byte], 0);
	ATOMIC_STORE((uint32_t *)&maps->fresh[SIXLANE_FRESH_COUNTS] + half, 0);
}

int maps_fresh_switch(struct maps *maps)
{
	ATOMIC_STORE(&maps->meta->fresh, maps->meta->fresh ^ 1);
	return maps_write_grace(maps);
}

bool maps_checks_punted(const struct maps *maps)
{
	return ATOMIC_LOAD(&maps->meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE]);
}

void maps_check_punted(const struct maps *maps)
{
	__atomic_store_n(&maps->meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE], CHECK,
			 __ATOMIC_SEQ_CST);
}

void maps_uncheck_punted(const struct maps *maps)
{
	uint8_t *byte = &maps->meta->flag_bytes[SIXLANE_META_CHECK_PUNTED_BYTE];
	uint8_t was = CLEARING;

	__atomic_store_n(byte, was, __ATOMIC_SEQ_CST);
	if (!LOADS_IN_ORDER && !maps_fresh_any(maps) && maps_write_grace(NULL))
		return;
	if (!maps_fresh_any(maps))
		__atomic_compare_exchange_n(byte, &was, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
}

void maps_set_flags(const struct maps *maps, uint32_t flags)
{
	const uint32_t kept = 0xffu << 8 * SIXLANE_META_CHECK_PUNTED_BYTE;
	uint32_t was = ATOMIC_LOAD(&maps->meta->flags);

	/* The program may set the byte of SIXLANE_META_CHECK_PUNTED at any time. */
	while (!__atomic_compare_exchange_n(&maps->meta->flags, &was,
					    (was & kept) | (flags & ~kept), false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
}
