// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters and lists of the compiled FIB's memory, against a walk over all nodes that readers
 * can reach, all retired runs, and all free runs.
 */

#include "compiled_world.h"

struct audit {
	const struct compiled_store *store;
	uint8_t *seen; /* for each unit */
	uint64_t live_units, nodes, retired_units, free_units;
};

static void see(struct audit *audit, uint32_t unit, uint32_t n)
{
	for (uint32_t i = unit; i < unit + n; i++) {
		assert_true(i / SIXLANE_FIB_CHUNK_UNITS < audit->store->n_chunks);
		assert_int_equal(audit->seen[i], 0);
		audit->seen[i] = 1;
	}
	assert_true(n && unit % SIXLANE_FIB_CHUNK_UNITS);
	assert_int_equal(unit / SIXLANE_FIB_CHUNK_UNITS, (unit + n - 1) / SIXLANE_FIB_CHUNK_UNITS);
}

/* behind: bits of the address that are consumed here; loaded: that a lookup has loaded. */
static void see_nodes(struct audit *audit, uint32_t entry, bool are_tables, uint32_t behind,
		      uint32_t loaded)
{
	struct compiled_node node = compiled_open(audit->store, entry);
	uint32_t n = node.n_units;

	see(audit, sixlane_fib_unit(entry), n);
	audit->live_units += n;
	audit->nodes++;
	if (node.loaded) {
		assert_int_equal(node.loaded, behind + COMPILED_BITS_LOADED);
		loaded = node.loaded;
	}
	behind += node.skip + node.stride;
	assert_true(behind <= 128 && behind <= loaded);
	for (uint32_t i = 0; i < 1u << node.stride; i++) {
		uint64_t cell = compiled_cell(&node, i);
		uint32_t entry_below = sixlane_fib_entry(cell), checked = sixlane_fib_checked(cell);

		assert_true(checked <= SIXLANE_FIB_CHECK_MAX && behind + checked <= loaded);
		/* key bits that are not checked are 0 */
		assert_int_equal((cell >> 37) & ((1u << (SIXLANE_FIB_CHECK_MAX - checked)) - 1), 0);
		if (entry_below & SIXLANE_FIB_NODE)
			see_nodes(audit, entry_below, are_tables, behind + checked, loaded);
		else if (are_tables && entry_below)
			see_nodes(audit, entry_below | SIXLANE_FIB_NODE, false, 0,
				  COMPILED_BITS_LOADED);
	}
}

/* A run of free units as compiled/memory.c writes it. */
struct run {
	uint32_t n, prev, next, last_n;
};

static struct run *run_at(const struct compiled_chunk *chunk, uint32_t unit)
{
	return (struct run *)(chunk->bytes + (size_t)unit * SIXLANE_FIB_UNIT_BYTES);
}

static bool is_free(const struct compiled_chunk *chunk, uint32_t unit)
{
	return unit < SIXLANE_FIB_CHUNK_UNITS && chunk->free[unit / 64] >> unit % 64 & 1;
}

static void see_free(struct audit *audit, uint32_t number)
{
	const struct compiled_chunk *chunk = &audit->store->chunks[number];
	uint32_t n = 0, bits = 0;

	for (uint32_t list = 0; list < COMPILED_RUN_LISTS; list++) {
		uint32_t before = 0;

		assert_int_equal(chunk->lists[list / 64] >> list % 64 & 1, chunk->first[list] != 0);
		for (uint32_t at = chunk->first[list]; at; at = run_at(chunk, at)->next) {
			const struct run *run = run_at(chunk, at);

			see(audit, number * SIXLANE_FIB_CHUNK_UNITS + at, run->n);
			assert_int_equal(run->prev, before);
			assert_int_equal(run_at(chunk, at + run->n - 1)->last_n, run->n);
			/* Adjacent free runs are merged. */
			assert_false(is_free(chunk, at - 1) || is_free(chunk, at + run->n));
			for (uint32_t i = at; i < at + run->n; i++)
				assert_true(is_free(chunk, i));
			n += run->n;
			before = at;
		}
	}
	for (uint32_t i = 0; i < SIXLANE_FIB_CHUNK_UNITS / 64; i++)
		bits += (uint32_t)__builtin_popcountll(chunk->free[i]);
	assert_int_equal(n, chunk->n_free);
	assert_int_equal(n, bits);
	audit->free_units += n;
}

static void check_sums(const struct cworld *world, const struct audit *audit)
{
	uint64_t units = (uint64_t)world->n_chunks * SIXLANE_FIB_CHUNK_UNITS;
	struct compiled_stats stats;

	compiled_get_stats(world->compiled, &stats);
	assert_int_equal(stats.chunk_bytes, units * SIXLANE_FIB_UNIT_BYTES);
	assert_int_equal(stats.used_bytes, audit->live_units * SIXLANE_FIB_UNIT_BYTES);
	assert_int_equal(stats.free_bytes, audit->free_units * SIXLANE_FIB_UNIT_BYTES);
	assert_int_equal(stats.nodes, audit->nodes);
	assert_int_equal(audit->store->retired_units, audit->retired_units);
	/* The first unit of a chunk is not used. */
	assert_int_equal(audit->live_units + audit->free_units + audit->retired_units +
				 world->n_chunks,
			 units);
}

void cworld_audit(const struct cworld *world)
{
	struct audit audit = { .store = &world->compiled->store };
	const struct compiled_runs *retired = &audit.store->retired;

	assert_true(world->compiled->live);
	audit.seen = calloc((size_t)world->n_chunks * SIXLANE_FIB_CHUNK_UNITS, 1);
	assert_non_null(audit.seen);
	assert_true(world->view.fib.main & SIXLANE_FIB_NODE);
	assert_true(world->view.fib.tables & SIXLANE_FIB_NODE);
	see_nodes(&audit, world->view.fib.main, false, 0, COMPILED_BITS_LOADED);
	see_nodes(&audit, world->view.fib.tables, true, 0, COMPILED_BITS_LOADED);
	for (uint32_t i = 0; i < world->n_ballast; i++) {
		see(&audit, world->ballast[i].unit, world->ballast[i].n);
		audit.live_units += world->ballast[i].n;
		audit.nodes++;
	}
	for (size_t i = 0; i < retired->n; i++) {
		see(&audit, retired->list[i].unit, retired->list[i].n);
		audit.retired_units += retired->list[i].n;
	}
	for (uint32_t i = 0; i < world->n_chunks; i++)
		see_free(&audit, i);
	check_sums(world, &audit);
	free(audit.seen);
}
