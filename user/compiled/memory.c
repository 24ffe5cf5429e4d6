// SPDX-License-Identifier: GPL-2.0-only
/*
 * Units of the chunks, see memory.h. A free run has its list links in its first unit, and its
 * length also in its last one. So free memory needs one bit a unit besides, and adjacent runs are
 * merged at once. Nothing is written to a run before it is free.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Retired units that are worth a grace period, which takes milliseconds: 255 largest wide nodes. */
#define RETIRED_UNITS_MAX 131072u

#define LINE_UNITS (64u / SIXLANE_FIB_UNIT_BYTES)

/* A free run's first unit; n also stands at the end of its last one. */
struct free_run {
	uint32_t n, prev, next, last_n;
};
_Static_assert(sizeof(struct free_run) == SIXLANE_FIB_UNIT_BYTES,
	       "a run of one unit has all fields");

static struct free_run *run_at(const struct compiled_chunk *chunk, uint32_t unit)
{
	return (struct free_run *)(chunk->bytes + (size_t)unit * SIXLANE_FIB_UNIT_BYTES);
}

static uint32_t list_of(uint32_t n)
{
	uint32_t log2 = 31 - (uint32_t)__builtin_clz(n);

	return n < COMPILED_SHORT_RUNS ? n : COMPILED_SHORT_RUNS + log2 - 6;
}

static bool is_free(const struct compiled_chunk *chunk, uint32_t unit)
{
	return chunk->free[unit / 64] >> unit % 64 & 1;
}

static void mark(struct compiled_chunk *chunk, uint32_t unit, uint32_t n, bool is)
{
	for (uint32_t end = unit + n; unit < end;) {
		uint32_t bit = unit % 64, count = end - unit < 64 - bit ? end - unit : 64 - bit;
		uint64_t mask = (count == 64 ? ~0ull : (1ull << count) - 1) << bit;

		if (is)
			chunk->free[unit / 64] |= mask;
		else
			chunk->free[unit / 64] &= ~mask;
		unit += count;
	}
}

static void link_run(struct compiled_chunk *chunk, uint32_t unit, uint32_t n)
{
	uint32_t list = list_of(n);
	struct free_run *run = run_at(chunk, unit);

	run->n = n;
	run->prev = 0;
	run->next = chunk->first[list];
	run_at(chunk, unit + n - 1)->last_n = n;
	if (run->next)
		run_at(chunk, run->next)->prev = unit;
	chunk->first[list] = unit;
	chunk->lists[list / 64] |= 1ull << list % 64;
}

static void unlink_run(struct compiled_chunk *chunk, uint32_t unit)
{
	const struct free_run *run = run_at(chunk, unit);
	uint32_t list = list_of(run->n);

	if (run->next)
		run_at(chunk, run->next)->prev = run->prev;
	if (run->prev)
		run_at(chunk, run->prev)->next = run->next;
	else
		chunk->first[list] = run->next;
	if (!chunk->first[list])
		chunk->lists[list / 64] &= ~(1ull << list % 64);
}

/* Free a run, and merge it with adjacent ones. */
static void release(struct compiled_chunk *chunk, uint32_t unit, uint32_t n)
{
	uint32_t end = unit + n;

	mark(chunk, unit, n, true);
	chunk->n_free += n;
	if (is_free(chunk, unit - 1)) {
		unit -= run_at(chunk, unit - 1)->last_n;
		unlink_run(chunk, unit);
	}
	if (end < SIXLANE_FIB_CHUNK_UNITS && is_free(chunk, end)) {
		unlink_run(chunk, end);
		end += run_at(chunk, end)->n;
	}
	link_run(chunk, unit, end - unit);
}

/* The first non-empty list from this one on; COMPILED_RUN_LISTS: none. */
static uint32_t list_with_any(const struct compiled_chunk *chunk, uint32_t list)
{
	uint64_t word = chunk->lists[list / 64] >> list % 64;

	if (word)
		return list + (uint32_t)__builtin_ctzll(word);
	if (list >= 64 || !chunk->lists[1])
		return COMPILED_RUN_LISTS;
	return 64 + (uint32_t)__builtin_ctzll(chunk->lists[1]);
}

/* A run of at least n units, the smallest that the lists distinguish. 0: none. */
static uint32_t find_run(const struct compiled_chunk *chunk, uint32_t n)
{
	uint32_t list = list_of(n), unit;

	if (n >= COMPILED_SHORT_RUNS) {
		for (unit = chunk->first[list]; unit; unit = run_at(chunk, unit)->next)
			if (run_at(chunk, unit)->n >= n)
				return unit;
		list++;
	}
	list = list_with_any(chunk, list);
	return list < COMPILED_RUN_LISTS ? chunk->first[list] : 0;
}

/* Units to skip so that n units share one cache line, or begin one. */
static uint32_t line_gap(uint32_t unit, uint32_t n)
{
	uint32_t in_line = unit % LINE_UNITS;

	return in_line && in_line + n > LINE_UNITS ? LINE_UNITS - in_line : 0;
}

/*
 * A run that fits into a cache line is placed in one, a longer one begins one. Nodes of one unit,
 * the most frequent, fill the gaps. anywhere: without an aligned place, use any.
 */
static uint32_t alloc_from(struct compiled_chunk *chunk, uint32_t n, bool anywhere)
{
	uint32_t any = find_run(chunk, n), run = any, gap, rest;

	if (run && line_gap(run, n) + n > run_at(chunk, run)->n)
		run = find_run(chunk, n + LINE_UNITS - 1) ?: (anywhere ? any : 0);
	if (!run)
		return 0;
	gap = line_gap(run, n);
	if (gap + n > run_at(chunk, run)->n)
		gap = 0;
	rest = run_at(chunk, run)->n - gap - n;
	unlink_run(chunk, run);
	mark(chunk, run + gap, n, false);
	chunk->n_free -= n;
	if (gap)
		link_run(chunk, run, gap);
	if (rest)
		link_run(chunk, run + gap + n, rest);
	return run + gap;
}

/* All units but the first, so that no node is at 0 and every run has a unit before it. */
static void free_whole(struct compiled_chunk *chunk)
{
	memset(chunk->free, 0, SIXLANE_FIB_CHUNK_UNITS / 8);
	memset(chunk->first, 0, sizeof(chunk->first));
	memset(chunk->lists, 0, sizeof(chunk->lists));
	chunk->n_free = 0;
	release(chunk, 1, SIXLANE_FIB_CHUNK_UNITS - 1);
}

static bool add_chunk(struct compiled_store *store)
{
	struct compiled_chunk *chunk = &store->chunks[store->n_chunks];

	if (store->n_chunks == SIXLANE_FIB_CHUNKS || store->refused)
		return false;
	if (!chunk->free)
		chunk->free = calloc(SIXLANE_FIB_CHUNK_UNITS / 64, sizeof(*chunk->free));
	if (!chunk->free)
		return false;
	chunk->bytes = store->memory.chunk(store->memory.ctx, store->n_chunks);
	store->refused = !chunk->bytes;
	if (store->refused)
		return false;
	free_whole(chunk);
	store->n_chunks++;
	return true;
}

static int add_run(struct compiled_runs *runs, uint32_t unit, uint32_t n)
{
	if (runs->n == runs->capacity) {
		size_t capacity = runs->capacity ? 2 * runs->capacity : 1024;
		struct compiled_run *list = realloc(runs->list, capacity * sizeof(*list));

		if (!list)
			return -ENOMEM;
		runs->list = list;
		runs->capacity = capacity;
	}
	runs->list[runs->n++] = (struct compiled_run){ unit, n };
	return 0;
}

static void release_all(struct compiled_store *store, struct compiled_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		uint32_t unit = runs->list[i].unit;

		release(&store->chunks[unit / SIXLANE_FIB_CHUNK_UNITS],
			unit % SIXLANE_FIB_CHUNK_UNITS, runs->list[i].n);
	}
	runs->n = 0;
}

/* True if memory was freed. */
static bool wait_for_readers(struct compiled_store *store)
{
	if (!store->retired.n || store->memory.grace(store->memory.ctx))
		return false;
	release_all(store, &store->retired);
	store->retired_units = 0;
	return true;
}

static uint32_t alloc_any(struct compiled_store *store, uint32_t n, bool anywhere)
{
	uint32_t chunk = store->preferred, unit;

	for (uint32_t i = 0; i < store->n_chunks; i++, chunk++) {
		if (chunk == store->n_chunks)
			chunk = 0;
		if (store->chunks[chunk].n_free < n)
			continue;
		unit = alloc_from(&store->chunks[chunk], n, anywhere);
		if (unit) {
			store->preferred = chunk;
			return chunk * SIXLANE_FIB_CHUNK_UNITS + unit;
		}
	}
	return 0;
}

uint32_t compiled_alloc(struct compiled_store *store, uint32_t n)
{
	uint32_t unit = alloc_any(store, n, false);

	if (!unit && add_chunk(store))
		unit = alloc_any(store, n, false);
	if (!unit)
		unit = alloc_any(store, n, true);
	if (!unit && !store->no_wait && wait_for_readers(store))
		unit = alloc_any(store, n, true);
	if (!unit)
		return 0;
	if (store->logging && add_run(&store->log, unit, n)) {
		release(&store->chunks[unit / SIXLANE_FIB_CHUNK_UNITS],
			unit % SIXLANE_FIB_CHUNK_UNITS, n);
		return 0;
	}
	store->used_units += n;
	store->n_nodes++;
	return unit;
}

void compiled_retire(struct compiled_store *store, uint32_t unit, uint32_t n)
{
	store->used_units -= n;
	store->n_nodes--;
	if (add_run(&store->retired, unit, n) &&
	    (!wait_for_readers(store) || add_run(&store->retired, unit, n)))
		return;
	store->retired_units += n;
}

void compiled_reclaim(struct compiled_store *store)
{
	if (store->retired_units > RETIRED_UNITS_MAX)
		wait_for_readers(store);
}

void compiled_undo_begin(struct compiled_store *store)
{
	store->logging = true;
	store->log.n = 0;
}

void compiled_undo_drop(struct compiled_store *store)
{
	store->logging = false;
}

void compiled_undo_apply(struct compiled_store *store)
{
	for (size_t i = 0; i < store->log.n; i++)
		store->used_units -= store->log.list[i].n;
	store->n_nodes -= store->log.n;
	release_all(store, &store->log);
	store->logging = false;
}

void compiled_store_clear(struct compiled_store *store)
{
	for (uint32_t i = 0; i < store->n_chunks; i++)
		free_whole(&store->chunks[i]);
	store->preferred = 0;
	store->used_units = store->n_nodes = store->retired_units = 0;
	store->retired.n = store->log.n = 0;
	store->logging = store->refused = store->no_wait = false;
}

void compiled_store_free(struct compiled_store *store)
{
	for (uint32_t i = 0; i < SIXLANE_FIB_CHUNKS; i++)
		free(store->chunks[i].free);
	free(store->retired.list);
	free(store->log.list);
}
