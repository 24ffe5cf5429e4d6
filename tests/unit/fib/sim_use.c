// SPDX-License-Identifier: GPL-2.0-only
/* See sim_use.h. Walks all maps each time. */
#include <arpa/inet.h>
#include <string.h>

#include "../unit.h"
#include "sim_use.h"

/* --- what packets can reach ------------------------------------------------------------------- */

static bool use(struct sim *sim, struct sim_use *of)
{
	bool fresh = of->mark != sim->mark;

	of->until = sim->epoch;
	of->mark = sim->mark;
	return fresh;
}

static void use_next_hop(struct sim *sim, uint32_t id);

static void use_source_table(struct sim *sim, uint32_t table)
{
	if (!use(sim, &sim->source_use[table]))
		return;
	for (size_t i = 0; i < sim->sources.n; i++) {
		if (ntohl(sim->sources.routes[i].key.table) == table)
			use_next_hop(sim, sixlane_route_next_hop(sim->sources.routes[i].value));
	}
}

static void use_entry(struct sim *sim, union sixlane_nh_entry nh_entry)
{
	switch (nh_entry.type) {
	case SIXLANE_FORWARD:
		if (nh_entry.port < SIXLANE_MAX_PORTS)
			use(sim, &sim->port_use[nh_entry.port]);
		if (nh_entry.neighbour < SIXLANE_MAX_NEIGHBOURS)
			use(sim, &sim->neigh_use[nh_entry.neighbour]);
		break;
	case SIXLANE_NH_GROUP:
	case SIXLANE_NH_EQUAL_METRIC:
		for (uint32_t i = nh_entry.first_bucket;
		     i < nh_entry.first_bucket + nh_entry.n_buckets; i++) {
			if (i >= SIXLANE_MAX_NH_BUCKETS || !use(sim, &sim->bucket_use[i]))
				continue;
			use_next_hop(sim, sim->buckets[i].below);
			use_next_hop(sim, sim->buckets[i].above);
		}
		break;
	case SIXLANE_NH_SOURCES:
		if (nh_entry.source_table <= SIXLANE_MAX_SOURCES)
			use_source_table(sim, nh_entry.source_table);
		break;
	}
}

static void use_next_hop(struct sim *sim, uint32_t id)
{
	if (id < SIXLANE_MAX_NEXT_HOPS && use(sim, &sim->next_hop_use[id]))
		use_entry(sim, sim->next_hops[id].nh_entry);
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
	assert_true(sim->next_hops[id].nh_entry.type < SIXLANE_N_VERDICTS);
	assert_int_equal(sim->next_hops[id].flags, 0);
	sim_check_entry(sim, sim->next_hops[id].nh_entry);
}

static void check_buckets(const struct sim *sim, union sixlane_nh_entry nh_entry)
{
	assert_true(nh_entry.n_buckets > 0);
	assert_true(nh_entry.first_bucket + nh_entry.n_buckets <= SIXLANE_MAX_NH_BUCKETS);
	assert_true(nh_entry.type == SIXLANE_NH_GROUP ||
		    nh_entry.n_buckets <= SIXLANE_MAX_EQUAL_METRIC);
	for (uint32_t i = nh_entry.first_bucket; i < nh_entry.first_bucket + nh_entry.n_buckets;
	     i++) {
		sim_check_leaf(sim, sim->buckets[i].below);
		sim_check_leaf(sim, sim->buckets[i].above);
		if (nh_entry.type == SIXLANE_NH_EQUAL_METRIC)
			assert_int_equal(sim->buckets[i].below, sim->buckets[i].above);
	}
}

static void check_source_table(const struct sim *sim, uint32_t table)
{
	bool has_rest = false;

	assert_true(table > 0);
	for (size_t i = 0; i < sim->sources.n; i++) {
		const struct sim_route *entry = &sim->sources.routes[i];
		uint32_t id = sixlane_route_next_hop(entry->value);

		if (ntohl(entry->key.table) != table)
			continue;
		has_rest |= entry->key.prefix_len == SIXLANE_TABLE_BITS;
		assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
		assert_int_not_equal(sim->next_hops[id].nh_entry.type, SIXLANE_NH_SOURCES);
		sim_check_entry(sim, sim->next_hops[id].nh_entry);
	}
	assert_true(has_rest);
}

void sim_check_entry(const struct sim *sim, union sixlane_nh_entry nh_entry)
{
	switch (nh_entry.type) {
	case SIXLANE_FORWARD:
		assert_int_not_equal(sim->ports[nh_entry.port].ifindex, 0);
		if (nh_entry.neighbour)
			assert_int_equal(sim->neighs[nh_entry.neighbour].key.ifindex,
					 sim->ports[nh_entry.port].ifindex);
		break;
	case SIXLANE_NH_GROUP:
	case SIXLANE_NH_EQUAL_METRIC:
		check_buckets(sim, nh_entry);
		break;
	case SIXLANE_NH_SOURCES:
		check_source_table(sim, nh_entry.source_table);
		break;
	default:
		assert_true(nh_entry.type < SIXLANE_N_VERDICTS);
	}
}
