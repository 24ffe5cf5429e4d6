// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets which cells: ranges that stand side by side, from the lowest place where they fit. As
 * with ids, what is given back waits until a grace period has passed (pool.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib_internal.h"

#define BITS 64u
#define WORDS (SIXLANE_MAX_CELLS / BITS)

_Static_assert(SIXLANE_MAX_CELLS % BITS == 0, "no words are cut");

int fib_cells_init(struct fib_cells *cells, uint32_t limit)
{
	cells->limit = limit;
	cells->busy = calloc(WORDS, sizeof(*cells->busy));
	cells->waiting = calloc(WORDS, sizeof(*cells->waiting));
	/* What was written: untouched pages are free. */
	cells->written = calloc(SIXLANE_MAX_CELLS, sizeof(*cells->written));
	return cells->busy && cells->waiting && cells->written ? 0 : -ENOMEM;
}

void fib_cells_free(struct fib_cells *cells)
{
	free(cells->busy);
	free(cells->waiting);
	free(cells->written);
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

/* The first of n cells in a row that are not busy; limit: there is none. */
static uint32_t find_room(struct fib_cells *cells, uint32_t n)
{
	uint32_t run = 0;

	while (cells->lowest < cells->limit && test_bit(cells->busy, cells->lowest))
		cells->lowest++;
	for (uint32_t i = cells->lowest; i < cells->limit;) {
		if (i % BITS == 0 && cells->busy[i / BITS] == UINT64_MAX) {
			run = 0;
			i += BITS;
			continue;
		}
		run = test_bit(cells->busy, i++) ? 0 : run + 1;
		if (run == n)
			return i - n;
	}
	return cells->limit;
}

bool fib_cells_take(struct fib *fib, uint32_t n, uint32_t *first)
{
	struct fib_cells *cells = &fib->cells;

	*first = find_room(cells, n);
	if (*first == cells->limit && cells->n_waiting && fib_grace(fib))
		*first = find_room(cells, n);
	if (*first == cells->limit)
		return false;
	set_bits(cells->busy, *first, n, true);
	cells->n_taken += n;
	return true;
}

void fib_cells_give(struct fib_cells *cells, uint32_t first, uint32_t n)
{
	set_bits(cells->waiting, first, n, true);
	cells->n_taken -= n;
	cells->n_waiting += n;
}

void fib_cells_give_unused(struct fib_cells *cells, uint32_t first, uint32_t n)
{
	set_bits(cells->busy, first, n, false);
	cells->n_taken -= n;
	if (first < cells->lowest)
		cells->lowest = first;
}

void fib_cells_release(struct fib_cells *cells)
{
	if (!cells->n_waiting)
		return;
	for (uint32_t i = 0; i < WORDS; i++) {
		cells->busy[i] &= ~cells->waiting[i];
		cells->waiting[i] = 0;
	}
	cells->n_waiting = 0;
	cells->lowest = 0;
}

void fib_cells_adopt_all(struct fib_cells *cells)
{
	memset(cells->busy, 0xff, WORDS * sizeof(*cells->busy));
	memset(cells->waiting, 0xff, WORDS * sizeof(*cells->waiting));
	cells->n_waiting = SIXLANE_MAX_CELLS;
}

bool fib_cells_adopt(struct fib_cells *cells, uint32_t first, uint32_t n,
		     const union sixlane_cell *contents)
{
	if (!contents || !n || first >= SIXLANE_MAX_CELLS || n > SIXLANE_MAX_CELLS - first)
		return false;
	for (uint32_t i = first; i < first + n; i++) {
		if (!test_bit(cells->waiting, i))
			return false;
	}
	for (uint32_t i = first; i < first + n; i++)
		cells->written[i] = contents[i];
	set_bits(cells->waiting, first, n, false);
	cells->n_taken += n;
	cells->n_waiting -= n;
	return true;
}

void fib_cell_set(struct fib *fib, uint32_t index, union sixlane_cell cell)
{
	fib->writer.cell_set(fib->writer.ctx, index, cell);
	fib->cells.written[index] = cell;
}
