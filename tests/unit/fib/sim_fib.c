// SPDX-License-Identifier: GPL-2.0-only
/* The compiled FIB in the simulated maps: its memory, what it names, whether it is as the trie. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "sim_use.h"

void *sim_fib_chunk(void *ctx, uint32_t n)
{
	struct sim *sim = ctx;
	void *chunk;

	assert_in_range(n, 0, SIXLANE_FIB_CHUNKS - 1);
	assert_null(sim->view.chunks[n]);
	if (sim->chunk_fails && sim_random(sim, sim->chunk_fails) == 0)
		return NULL;
	chunk = calloc(1, SIXLANE_FIB_CHUNK_BYTES);
	sim->view.chunks[n] = chunk;
	return chunk;
}

void sim_fib_drop(struct sim *sim)
{
	sim->view.fib.word = 0;
	for (uint32_t n = 0; n < SIXLANE_FIB_CHUNKS; n++) {
		free((void *)sim->view.chunks[n]);
		sim->view.chunks[n] = NULL;
	}
}

/* --- values in it ----------------------------------------------------------------------------- */

static void walk(const struct sim *sim, uint32_t entry, unsigned int level,
		 void (*fn)(void *ctx, uint32_t value), void *ctx)
{
	const uint8_t *at = sim->view.chunks[sixlane_fib_chunk_of(entry)];
	uint32_t skip = sixlane_fib_skip(entry), n = 1u << sixlane_fib_stride(entry);
	uint32_t words = skip == SIXLANE_FIB_SKIP_WIDE ? 2 : 1; /* of a cell */
	const uint32_t *cells;

	assert_non_null(at);
	assert_true(level <= 128);
	at += sixlane_fib_offset(entry);
	at += skip == SIXLANE_FIB_SKIP_LONG ? sizeof(struct sixlane_fib_long_header)
					    : sizeof(struct sixlane_fib_header);
	cells = (const uint32_t *)at;
	/* the default leaf */
	if (cells[-1])
		fn(ctx, cells[-1]);
	for (uint32_t i = 0; i < n * words; i += words) {
		uint32_t below =
			words == 1 ? cells[i]
				   : sixlane_fib_entry(*(const uint64_t *)(const void *)&cells[i]);

		if (below & SIXLANE_FIB_NODE)
			walk(sim, below, level + 1, fn, ctx);
		else if (below)
			fn(ctx, below);
	}
}

struct named {
	const struct sim *sim;
	void (*fn)(void *ctx, uint32_t value);
	void *ctx;
};

static void walk_table(void *ctx, uint32_t root)
{
	const struct named *named = ctx;

	walk(named->sim, root | SIXLANE_FIB_NODE, 0, named->fn, named->ctx);
}

void sim_fib_each(const struct sim *sim, void (*fn)(void *ctx, uint32_t value), void *ctx)
{
	struct named named = { .sim = sim, .fn = fn, .ctx = ctx };

	if (!sim->view.fib.word)
		return;
	walk(sim, sim->view.fib.main, 0, fn, ctx);
	walk(sim, sim->view.fib.tables, 0, walk_table, &named);
}

/* --- agreement -------------------------------------------------------------------------------- */

void sim_fib_check_at(const struct sim *sim, uint32_t table, const union sixlane_addr *addr)
{
	uint32_t wanted = sim_value(sim, table, addr), found;

	if (compiled_find(&sim->view, table, addr, &found) || found == wanted)
		return;
	fail_msg("table %#x: the compiled FIB has 0x%x, the trie 0x%x", table, found, wanted);
}

void sim_fib_check(const struct sim *sim)
{
	union sixlane_addr edges[PREFIX_EDGES];

	for (size_t i = 0; sim->view.fib.word && i < sim->routes.n; i++) {
		const struct sixlane_route_key *key = &sim->routes.routes[i].key;
		const struct prefix prefix = sim_prefix(key);

		prefix_edges(&prefix, edges);
		for (size_t j = 0; j < PREFIX_EDGES; j++)
			sim_fib_check_at(sim, ntohl(key->table), &edges[j]);
	}
}
