// SPDX-License-Identifier: GPL-2.0-only
/*
 * See sim_use.h. Walks everything that there is, each time.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim_use.h"

/* --- what packets can get to ------------------------------------------------------------------ */

static bool use(struct sim *sim, struct sim_use *of)
{
	bool fresh = of->mark != sim->mark;

	of->until = sim->epoch;
	of->mark = sim->mark;
	return fresh;
}

static void use_next_hop(struct sim *sim, uint32_t id);

static void use_set(struct sim *sim, uint32_t set)
{
	if (!use(sim, &sim->set_use[set]))
		return;
	for (size_t i = 0; i < sim->sources.n; i++) {
		if (ntohl(sim->sources.routes[i].key.table) == set)
			use_next_hop(sim, sixlane_route_next_hop(sim->sources.routes[i].value));
	}
}

static void use_fate(struct sim *sim, union sixlane_fate fate)
{
	switch (fate.kind) {
	case SIXLANE_FORWARD:
		if (fate.port < SIXLANE_MAX_PORTS)
			use(sim, &sim->port_use[fate.port]);
		if (fate.neighbour < SIXLANE_MAX_NEIGHBOURS)
			use(sim, &sim->neigh_use[fate.neighbour]);
		break;
	case SIXLANE_KIND_GROUP:
	case SIXLANE_KIND_FIRST:
		for (uint32_t i = fate.first_cell; i < fate.first_cell + fate.n_cells; i++) {
			if (i >= SIXLANE_MAX_CELLS || !use(sim, &sim->cell_use[i]))
				continue;
			use_next_hop(sim, sim->cells[i].below);
			use_next_hop(sim, sim->cells[i].above);
		}
		break;
	case SIXLANE_KIND_SOURCES:
		if (fate.set <= SIXLANE_MAX_SOURCES)
			use_set(sim, fate.set);
		break;
	}
}

static void use_next_hop(struct sim *sim, uint32_t id)
{
	if (id < SIXLANE_MAX_NEXT_HOPS && use(sim, &sim->next_hop_use[id]))
		use_fate(sim, sim->next_hops[id].fate);
}

static void use_exception(struct sim *sim, const struct sixlane_exception *value)
{
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP)
		use_next_hop(sim, value->next_hop);
}

static void use_value(void *ctx, uint32_t value)
{
	use_next_hop(ctx, sixlane_route_next_hop(value));
}

void sim_use_refresh(struct sim *sim)
{
	if (!sim->stale)
		return;
	sim->stale = false;
	sim->mark++;
	for (size_t i = 0; i < sim->routes.n; i++)
		use_next_hop(sim, sixlane_route_next_hop(sim->routes.routes[i].value));
	sim_fib_each(sim, use_value, sim);
	for (size_t i = 0; i < sim->n_exceptions; i++)
		use_exception(sim, &sim->exceptions[i].value);
}

bool sim_use_is_named(const struct sim *sim, const struct sim_use *of)
{
	return of->mark == sim->mark;
}

bool sim_use_is_recent(const struct sim *sim, const struct sim_use *of)
{
	return of->until >= sim->epoch;
}

/* --- whether something may be named ----------------------------------------------------------- */

void sim_check_leaf(const struct sim *sim, uint32_t id)
{
	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	assert_true(sim->next_hops[id].fate.kind < SIXLANE_N_VERDICTS);
	assert_int_equal(sim->next_hops[id].flags, 0);
	sim_check_fate(sim, sim->next_hops[id].fate);
}

static void check_cells(const struct sim *sim, union sixlane_fate fate)
{
	assert_true(fate.n_cells > 0);
	assert_true(fate.first_cell + fate.n_cells <= SIXLANE_MAX_CELLS);
	assert_true(fate.kind == SIXLANE_KIND_GROUP || fate.n_cells <= SIXLANE_MAX_FIRST);
	for (uint32_t i = fate.first_cell; i < fate.first_cell + fate.n_cells; i++) {
		sim_check_leaf(sim, sim->cells[i].below);
		sim_check_leaf(sim, sim->cells[i].above);
		if (fate.kind == SIXLANE_KIND_FIRST)
			assert_int_equal(sim->cells[i].below, sim->cells[i].above);
	}
}

static void check_set(const struct sim *sim, uint32_t set)
{
	bool has_rest = false;

	assert_true(set > 0);
	for (size_t i = 0; i < sim->sources.n; i++) {
		const struct sim_route *entry = &sim->sources.routes[i];
		uint32_t id = sixlane_route_next_hop(entry->value);

		if (ntohl(entry->key.table) != set)
			continue;
		has_rest |= entry->key.prefix_len == SIXLANE_TABLE_BITS;
		assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
		assert_int_not_equal(sim->next_hops[id].fate.kind, SIXLANE_KIND_SOURCES);
		sim_check_fate(sim, sim->next_hops[id].fate);
	}
	assert_true(has_rest);
}

void sim_check_fate(const struct sim *sim, union sixlane_fate fate)
{
	switch (fate.kind) {
	case SIXLANE_FORWARD:
		assert_int_not_equal(sim->ports[fate.port].ifindex, 0);
		if (fate.neighbour)
			assert_int_equal(sim->neighs[fate.neighbour].key.ifindex,
					 sim->ports[fate.port].ifindex);
		break;
	case SIXLANE_KIND_GROUP:
	case SIXLANE_KIND_FIRST:
		check_cells(sim, fate);
		break;
	case SIXLANE_KIND_SOURCES:
		check_set(sim, fate.set);
		break;
	default:
		assert_true(fate.kind < SIXLANE_N_VERDICTS);
	}
}
