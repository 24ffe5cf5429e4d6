// SPDX-License-Identifier: GPL-2.0-only
/*
 * Units of the chunks: taking runs of them, giving them back, and waiting until readers have left
 * them. Knows no node.
 *
 * A free run holds its own links, in its first unit, and its length in its last one, too: what is
 * free costs nothing but a bit a unit, and neighbours are joined at once. Nothing is written to a
 * run before it is free.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_internal.h"

/* So much may wait before readers are waited for, which takes some milliseconds: copies of 256 of
 * the largest nodes that are copied. */
#define WAITING_UNITS_MAX 131072u

#define LINE_UNITS (64u / SIXLANE_FIB_UNIT_BYTES)

/* A free run's first unit; n also stands at the end of its last one. */
struct free_run {
	uint32_t n, prev, next, last_n;
};
_Static_assert(sizeof(struct free_run) == SIXLANE_FIB_UNIT_BYTES, "a run of one has all of it");

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

/* The run is free: with those beside it it becomes one. */
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

/* The first list from this one on that has any; COMPILED_RUN_LISTS: none has. */
static uint32_t list_with_any(const struct compiled_chunk *chunk, uint32_t list)
{
	uint64_t word = chunk->lists[list / 64] >> list % 64;

	if (word)
		return list + (uint32_t)__builtin_ctzll(word);
	if (list >= 64 || !chunk->lists[1])
		return COMPILED_RUN_LISTS;
	return 64 + (uint32_t)__builtin_ctzll(chunk->lists[1]);
}

/* A run of at least n units, 0: none. The best of those that lists tell apart. */
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

/* Units from here to the first from which on so many are in one cache line, or begin one. */
static uint32_t line_gap(uint32_t unit, uint32_t n)
{
	uint32_t in_line = unit % LINE_UNITS;

	return in_line && in_line + n > LINE_UNITS ? LINE_UNITS - in_line : 0;
}

/*
 * What fits into a cache line lies in one, and what does not begins one: others fill the gap, most
 * nodes being of one unit. anywhere: if there is no such room, wherever there is any.
 */
static uint32_t take_from(struct compiled_chunk *chunk, uint32_t n, bool anywhere)
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

/* All of a chunk but its first unit, so that no node is 0 and every one has a unit before it. */
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
	if (runs->n == runs->room) {
		size_t room = runs->room ? 2 * runs->room : 1024;
		struct compiled_run *list = realloc(runs->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		runs->list = list;
		runs->room = room;
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

/* Whether anything has become free. */
static bool wait_for_readers(struct compiled_store *store)
{
	if (!store->waiting.n || store->memory.grace(store->memory.ctx))
		return false;
	release_all(store, &store->waiting);
	store->waiting_units = 0;
	return true;
}

static uint32_t take_any(struct compiled_store *store, uint32_t n, bool anywhere)
{
	uint32_t chunk = store->preferred, unit;

	for (uint32_t i = 0; i < store->n_chunks; i++, chunk++) {
		if (chunk == store->n_chunks)
			chunk = 0;
		if (store->chunks[chunk].n_free < n)
			continue;
		unit = take_from(&store->chunks[chunk], n, anywhere);
		if (unit) {
			store->preferred = chunk;
			return chunk * SIXLANE_FIB_CHUNK_UNITS + unit;
		}
	}
	return 0;
}

uint32_t compiled_take(struct compiled_store *store, uint32_t n)
{
	uint32_t unit = take_any(store, n, false);

	if (!unit && add_chunk(store))
		unit = take_any(store, n, false);
	if (!unit)
		unit = take_any(store, n, true);
	if (!unit && !store->sparing && wait_for_readers(store))
		unit = take_any(store, n, true);
	if (!unit)
		return 0;
	if (store->noting && add_run(&store->noted, unit, n)) {
		release(&store->chunks[unit / SIXLANE_FIB_CHUNK_UNITS],
			unit % SIXLANE_FIB_CHUNK_UNITS, n);
		return 0;
	}
	store->used_units += n;
	store->n_nodes++;
	return unit;
}

void compiled_give(struct compiled_store *store, uint32_t unit, uint32_t n)
{
	store->used_units -= n;
	store->n_nodes--;
	if (add_run(&store->waiting, unit, n) &&
	    (!wait_for_readers(store) || add_run(&store->waiting, unit, n)))
		return;
	store->waiting_units += n;
}

void compiled_settle(struct compiled_store *store)
{
	if (store->waiting_units > WAITING_UNITS_MAX)
		wait_for_readers(store);
}

void compiled_note(struct compiled_store *store)
{
	store->noting = true;
	store->noted.n = 0;
}

void compiled_keep_noted(struct compiled_store *store)
{
	store->noting = false;
}

void compiled_undo_noted(struct compiled_store *store)
{
	for (size_t i = 0; i < store->noted.n; i++)
		store->used_units -= store->noted.list[i].n;
	store->n_nodes -= store->noted.n;
	release_all(store, &store->noted);
	store->noting = false;
}

void compiled_store_init(struct compiled_store *store, const struct compiled_memory *memory)
{
	*store = (struct compiled_store){ .memory = *memory };
}

void compiled_store_clear(struct compiled_store *store)
{
	for (uint32_t i = 0; i < store->n_chunks; i++)
		free_whole(&store->chunks[i]);
	store->preferred = 0;
	store->used_units = store->n_nodes = store->waiting_units = 0;
	store->waiting.n = store->noted.n = 0;
	store->noting = store->refused = store->sparing = false;
}

void compiled_store_free(struct compiled_store *store)
{
	for (uint32_t i = 0; i < SIXLANE_FIB_CHUNKS; i++)
		free(store->chunks[i].free);
	free(store->waiting.list);
	free(store->noted.list);
}
