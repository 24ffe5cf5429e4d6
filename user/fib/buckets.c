// SPDX-License-Identifier: GPL-2.0-only
/* The allocator of buckets.h: first fit over a bitmap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buckets.h"

#define BITS 64u
#define WORDS (SIXLANE_MAX_NH_BUCKETS / BITS)

_Static_assert(SIXLANE_MAX_NH_BUCKETS % BITS == 0, "the bitmap has no partial word");

int fib_buckets_init(struct fib_buckets *buckets, uint32_t limit)
{
	buckets->limit = limit;
	buckets->busy = calloc(WORDS, sizeof(*buckets->busy));
	buckets->waiting = calloc(WORDS, sizeof(*buckets->waiting));
	buckets->written = calloc(SIXLANE_MAX_NH_BUCKETS, sizeof(*buckets->written));
	return buckets->busy && buckets->waiting && buckets->written ? 0 : -ENOMEM;
}

void fib_buckets_free(struct fib_buckets *buckets)
{
	free(buckets->busy);
	free(buckets->waiting);
	free(buckets->written);
}

static bool test_bit(const uint64_t *words, uint32_t i)
{
	return words[i / BITS] >> i % BITS & 1;
}

static void set_bits(uint64_t *words, uint32_t first, uint32_t n, bool value)
{
	for (uint32_t i = first; i < first + n; i++) {
		if (value)
			words[i / BITS] |= 1ull << i % BITS;
		else
			words[i / BITS] &= ~(1ull << i % BITS);
	}
}

/* The first of n buckets in a row that are not busy; limit: there is none. */
static uint32_t find_room(struct fib_buckets *buckets, uint32_t n)
{
	uint32_t run = 0;

	while (buckets->lowest < buckets->limit && test_bit(buckets->busy, buckets->lowest))
		buckets->lowest++;
	for (uint32_t i = buckets->lowest; i < buckets->limit;) {
		if (i % BITS == 0 && buckets->busy[i / BITS] == UINT64_MAX) {
			run = 0;
			i += BITS;
			continue;
		}
		run = test_bit(buckets->busy, i++) ? 0 : run + 1;
		if (run == n)
			return i - n;
	}
	return buckets->limit;
}

bool fib_buckets_take(struct fib_buckets *buckets, uint32_t n, uint32_t *first)
{
	*first = find_room(buckets, n);
	if (*first == buckets->limit)
		return false;
	set_bits(buckets->busy, *first, n, true);
	buckets->n_taken += n;
	return true;
}

void fib_buckets_give(struct fib_buckets *buckets, uint32_t first, uint32_t n)
{
	set_bits(buckets->waiting, first, n, true);
	buckets->n_taken -= n;
	buckets->n_waiting += n;
}

void fib_buckets_give_unused(struct fib_buckets *buckets, uint32_t first, uint32_t n)
{
	set_bits(buckets->busy, first, n, false);
	buckets->n_taken -= n;
	if (first < buckets->lowest)
		buckets->lowest = first;
}

void fib_buckets_release(struct fib_buckets *buckets)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		buckets->busy[i] &= ~buckets->waiting[i];
		buckets->waiting[i] = 0;
	}
	buckets->n_waiting = 0;
	buckets->lowest = 0;
}

void fib_buckets_adopt_all(struct fib_buckets *buckets)
{
	memset(buckets->busy, 0xff, WORDS * sizeof(*buckets->busy));
	memset(buckets->waiting, 0xff, WORDS * sizeof(*buckets->waiting));
	buckets->n_waiting = SIXLANE_MAX_NH_BUCKETS;
}

bool fib_buckets_adopt(struct fib_buckets *buckets, uint32_t first, uint32_t n,
		       const union sixlane_nh_bucket *contents)
{
	if (!contents || !n || first >= SIXLANE_MAX_NH_BUCKETS ||
	    n > SIXLANE_MAX_NH_BUCKETS - first)
		return false;
	for (uint32_t i = first; i < first + n; i++) {
		if (!test_bit(buckets->waiting, i))
			return false;
	}
	for (uint32_t i = first; i < first + n; i++)
		buckets->written[i] = contents[i];
	set_bits(buckets->waiting, first, n, false);
	buckets->n_taken += n;
	buckets->n_waiting -= n;
	return true;
}
