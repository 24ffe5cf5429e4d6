// SPDX-License-Identifier: GPL-2.0-only
/* The allocator of ids.h: first fit over a bitmap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "desired.h"

#define BITS 64u

int fib_ids_init(struct fib_ids *ids, uint32_t first, uint32_t limit)
{
	ids->limit = limit;
	ids->n_words = (limit + BITS - 1) / BITS;
	ids->busy = calloc(ids->n_words, sizeof(*ids->busy));
	ids->waiting = calloc(ids->n_words, sizeof(*ids->waiting));
	if (!ids->busy || !ids->waiting)
		return -ENOMEM;
	ids->busy[0] = (1ull << first) - 1;
	return 0;
}

void fib_ids_free(struct fib_ids *ids)
{
	free(ids->busy);
	free(ids->waiting);
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

/* The first of n numbers in a row that are not busy; limit: there is none. */
static uint32_t find_room(struct fib_ids *ids, uint32_t n)
{
	uint32_t run = 0;

	if (ids->refused && n >= ids->refused)
		return ids->limit;
	while (ids->lowest < ids->limit && test_bit(ids->busy, ids->lowest))
		ids->lowest++;
	for (uint32_t i = ids->lowest; i < ids->limit;) {
		if (i % BITS == 0 && ids->busy[i / BITS] == UINT64_MAX) {
			run = 0;
			i += BITS;
			continue;
		}
		run = test_bit(ids->busy, i++) ? 0 : run + 1;
		if (run == n)
			return i - n;
	}
	ids->refused = n;
	return ids->limit;
}

static bool take(struct fib_ids *ids, uint32_t n, uint32_t *first)
{
	*first = find_room(ids, n);
	if (*first == ids->limit)
		return false;
	set_bits(ids->busy, *first, n, true);
	ids->n_taken += n;
	return true;
}

static void release(struct fib_ids *ids)
{
	for (uint32_t i = 0; i < ids->n_words; i++) {
		ids->busy[i] &= ~ids->waiting[i];
		ids->waiting[i] = 0;
	}
	ids->n_waiting = ids->lowest = ids->refused = 0;
}

/* Wait until all that was given back may be taken again. False: it may not. */
static bool wait_grace(struct fib *fib)
{
	/* In fib_retry() many may lack the same: one grace period is enough for all. */
	if (fib->retrying && fib->graced)
		return false;
	fib->graced = true;
	if (fib->writer.grace(fib->writer.ctx))
		return false;
	release(&fib->port_ids);
	release(&fib->neigh_ids);
	release(&fib->next_hop_ids);
	release(&fib->source_ids);
	release(&fib->buckets);
	return true;
}

bool fib_ids_take(struct fib *fib, struct fib_ids *ids, uint32_t n, uint32_t *first)
{
	return take(ids, n, first) || (ids->n_waiting && wait_grace(fib) && take(ids, n, first));
}

uint32_t fib_ids_take_one(struct fib *fib, struct fib_ids *ids)
{
	uint32_t id;

	return fib_ids_take(fib, ids, 1, &id) ? id : 0;
}

bool fib_ids_take_this(struct fib *fib, struct fib_ids *ids, uint32_t id)
{
	if (!id || id >= ids->limit || (test_bit(ids->waiting, id) && !wait_grace(fib)) ||
	    test_bit(ids->busy, id))
		return false;
	set_bits(ids->busy, id, 1, true);
	ids->n_taken++;
	return true;
}

void fib_ids_give(struct fib_ids *ids, uint32_t first, uint32_t n)
{
	set_bits(ids->waiting, first, n, true);
	ids->n_taken -= n;
	ids->n_waiting += n;
}

void fib_ids_give_unused(struct fib_ids *ids, uint32_t first, uint32_t n)
{
	set_bits(ids->busy, first, n, false);
	ids->n_taken -= n;
	ids->refused = 0;
	if (first < ids->lowest)
		ids->lowest = first;
}

void fib_ids_adopt_all(struct fib_ids *ids)
{
	ids->n_waiting = ids->limit;
	for (uint32_t i = 0; i < ids->n_words; i++) {
		ids->n_waiting -= (uint32_t)__builtin_popcountll(ids->busy[i]);
		ids->waiting[i] = ~ids->busy[i];
	}
	memset(ids->busy, 0xff, ids->n_words * sizeof(*ids->busy));
}

bool fib_ids_adopt(struct fib_ids *ids, uint32_t first, uint32_t n)
{
	if (!n || first >= ids->limit || n > ids->limit - first)
		return false;
	for (uint32_t i = first; i < first + n; i++) {
		if (!test_bit(ids->waiting, i))
			return false;
	}
	set_bits(ids->waiting, first, n, false);
	ids->n_taken += n;
	ids->n_waiting -= n;
	return true;
}
