// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulated maps of sim_maps.h. Slow and plain on purpose.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/rib/radix.h"
#include "sim_maps.h"

uint32_t sim_random(struct sim *sim, uint32_t n)
{
	sim->random = sim->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(sim->random >> 33) % n;
}

static bool strikes(struct sim *sim, unsigned int one_in)
{
	return one_in && sim_random(sim, one_in) == 0;
}

static void tell(struct sim *sim)
{
	if (sim->written)
		sim->written(sim->ctx);
}

/* --- who names what --------------------------------------------------------------------------- */

static bool is_named(const struct sim *sim, uint32_t id)
{
	for (size_t i = 0; i < sim->n_routes; i++) {
		if (sixlane_route_next_hop(sim->routes[i].value) == id)
			return true;
	}
	return false;
}

/* Packets may go on using a port and a neighbour until the next grace period ends. */
static void note_parts(struct sim *sim, const struct sixlane_next_hop *next_hop)
{
	if (next_hop->verdict != SIXLANE_FORWARD)
		return;
	if (next_hop->port < SIXLANE_MAX_PORTS)
		sim->port_use[next_hop->port].until = sim->epoch;
	if (next_hop->neighbour < SIXLANE_MAX_NEIGHBOURS)
		sim->neigh_use[next_hop->neighbour].until = sim->epoch;
}

/* A value leaves the trie. */
static void note_use(struct sim *sim, uint32_t value)
{
	uint32_t id = sixlane_route_next_hop(value);

	if (id >= SIXLANE_MAX_NEXT_HOPS)
		return;
	sim->next_hop_use[id].until = sim->epoch;
	note_parts(sim, &sim->next_hops[id]);
}

static bool forwards(const struct sim *sim, uint32_t id)
{
	return is_named(sim, id) && sim->next_hops[id].verdict == SIXLANE_FORWARD;
}

static bool port_is_named(const struct sim *sim, uint32_t slot)
{
	for (size_t i = 0; i < sim->n_routes; i++) {
		uint32_t id = sixlane_route_next_hop(sim->routes[i].value);

		if (id < SIXLANE_MAX_NEXT_HOPS && forwards(sim, id) &&
		    sim->next_hops[id].port == slot)
			return true;
	}
	return false;
}

static bool neigh_is_named(const struct sim *sim, uint32_t slot)
{
	for (size_t i = 0; i < sim->n_routes; i++) {
		uint32_t id = sixlane_route_next_hop(sim->routes[i].value);

		if (id < SIXLANE_MAX_NEXT_HOPS && forwards(sim, id) &&
		    sim->next_hops[id].neighbour == slot)
			return true;
	}
	return false;
}

/* --- routes ----------------------------------------------------------------------------------- */

static struct sim_route *find_route(struct sim *sim, const struct sixlane_route_key *key)
{
	for (size_t i = 0; i < sim->n_routes; i++) {
		if (!memcmp(&sim->routes[i].key, key, sizeof(*key)))
			return &sim->routes[i];
	}
	return NULL;
}

static int route_set(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct sim *sim = ctx;
	struct sim_route *route = find_route(sim, key);
	uint32_t id = sixlane_route_next_hop(value);
	const struct sixlane_next_hop *next_hop = &sim->next_hops[id];

	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	assert_int_equal(key->table, htonl(SIXLANE_TABLE_MAIN));
	assert_int_equal(value, sixlane_route_value(id, key->prefix_len - SIXLANE_TABLE_BITS));
	if (next_hop->verdict == SIXLANE_FORWARD) {
		assert_int_not_equal(sim->ports[next_hop->port].ifindex, 0);
		if (next_hop->neighbour)
			assert_int_equal(sim->neighs[next_hop->neighbour].key.ifindex,
					 sim->ports[next_hop->port].ifindex);
	}
	sim->route_writes++;
	if (strikes(sim, sim->enomem))
		return -ENOMEM;
	if (strikes(sim, sim->set_fails))
		return -EBUSY;
	if (sim->n_routes >= sim->capacity && (!route || sim->full_refuses_replace))
		return -ENOSPC;
	if (route) {
		note_use(sim, route->value);
	} else {
		assert_true(sim->n_routes < SIM_MAX_ROUTES);
		route = &sim->routes[sim->n_routes++];
		route->key = *key;
	}
	route->value = value;
	tell(sim);
	return 0;
}

static int route_del(void *ctx, const struct sixlane_route_key *key)
{
	struct sim *sim = ctx;
	struct sim_route *route = find_route(sim, key);

	sim->route_writes++;
	if (!route)
		return -ENOENT;
	if (strikes(sim, sim->del_fails))
		return -EBUSY;
	note_use(sim, route->value);
	*route = sim->routes[--sim->n_routes];
	tell(sim);
	return 0;
}

/* --- arrays ----------------------------------------------------------------------------------- */

static void next_hop_set(void *ctx, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	struct sim *sim = ctx;
	struct sixlane_next_hop *old = &sim->next_hops[id];
	struct sixlane_next_hop poisoned = *old;

	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	sim->array_writes++;
	poisoned.verdict = next_hop->verdict;
	if (memcmp(old, next_hop, sizeof(*old)) &&
	    (is_named(sim, id) || sim->next_hop_use[id].until >= sim->epoch)) {
		/* Only the verdict may change, to a punt or back from one. */
		assert_memory_equal(&poisoned, next_hop, sizeof(poisoned));
		assert_true(next_hop->verdict == SIXLANE_PUNT_MAP_FULL ||
			    old->verdict == SIXLANE_PUNT_MAP_FULL);
	}
	if (is_named(sim, id))
		note_parts(sim, old);
	*old = *next_hop;
	tell(sim);
}

static void neigh_set(void *ctx, uint32_t slot, const struct sixlane_neigh *neigh)
{
	struct sim *sim = ctx;

	assert_true(slot > 0 && slot < SIXLANE_MAX_NEIGHBOURS);
	assert_int_equal(neigh->used, 0);
	assert_int_equal(neigh->key.zero, 0);
	assert_false(neigh_is_named(sim, slot));
	assert_true(sim->neigh_use[slot].until < sim->epoch);
	for (size_t i = 0; i < sim->n_neigh_index; i++)
		assert_int_not_equal(sim->neigh_index[i].slot, slot);
	sim->array_writes++;
	sim->neighs[slot] = *neigh;
}

static void neigh_set_mac(void *ctx, uint32_t slot, union sixlane_mac mac)
{
	struct sim *sim = ctx;

	assert_true(slot > 0 && slot < SIXLANE_MAX_NEIGHBOURS);
	sim->array_writes++;
	sim->neighs[slot].mac = mac;
	tell(sim);
}

static void port_set(void *ctx, uint32_t slot, const struct sixlane_port *port)
{
	struct sim *sim = ctx;
	struct sixlane_port *old = &sim->ports[slot];

	assert_true(slot > 0 && slot < SIXLANE_MAX_PORTS);
	if (old->ifindex != port->ifindex) {
		assert_false(port_is_named(sim, slot));
		/* Without ifindex it is down, at any moment. */
		if (port->ifindex)
			assert_true(sim->port_use[slot].until < sim->epoch);
		for (size_t i = 0; i < sim->n_port_index; i++)
			assert_int_not_equal(sim->port_index[i].slot, slot);
	}
	sim->array_writes++;
	*old = *port;
}

/* --- indices ---------------------------------------------------------------------------------- */

static int index_set(struct sim *sim, struct sim_index *index, size_t *n,
		     const struct sixlane_neigh_key *key, uint32_t slot)
{
	sim->index_writes++;
	if (strikes(sim, sim->index_fails))
		return -ENOSPC;
	for (size_t i = 0; i < *n; i++) {
		if (!memcmp(&index[i].key, key, sizeof(*key)))
			fail_msg("an index entry is overwritten");
		assert_int_not_equal(index[i].slot, slot);
	}
	index[*n].key = *key;
	index[(*n)++].slot = slot;
	return 0;
}

static int index_del(struct sim *sim, struct sim_index *index, size_t *n,
		     const struct sixlane_neigh_key *key, struct sim_use *uses)
{
	sim->index_writes++;
	if (strikes(sim, sim->index_fails))
		return -EBUSY;
	for (size_t i = 0; i < *n; i++) {
		if (memcmp(&index[i].key, key, sizeof(*key)))
			continue;
		uses[index[i].slot].until = sim->epoch;
		index[i] = index[--(*n)];
		return 0;
	}
	return -ENOENT;
}

static int neigh_index_set(void *ctx, const struct sixlane_neigh_key *key, uint32_t slot)
{
	struct sim *sim = ctx;

	assert_memory_equal(&sim->neighs[slot].key, key, sizeof(*key));
	return index_set(sim, sim->neigh_index, &sim->n_neigh_index, key, slot);
}

static int neigh_index_del(void *ctx, const struct sixlane_neigh_key *key)
{
	struct sim *sim = ctx;

	for (size_t i = 0; i < sim->n_neigh_index; i++) {
		if (!memcmp(&sim->neigh_index[i].key, key, sizeof(*key)))
			assert_false(neigh_is_named(sim, sim->neigh_index[i].slot));
	}
	return index_del(sim, sim->neigh_index, &sim->n_neigh_index, key, sim->neigh_use);
}

static int port_index_set(void *ctx, uint32_t ifindex, uint32_t slot)
{
	const struct sixlane_neigh_key key = { .ifindex = ifindex };
	struct sim *sim = ctx;

	assert_int_equal(sim->ports[slot].ifindex, ifindex);
	return index_set(sim, sim->port_index, &sim->n_port_index, &key, slot);
}

static int port_index_del(void *ctx, uint32_t ifindex)
{
	const struct sixlane_neigh_key key = { .ifindex = ifindex };
	struct sim *sim = ctx;

	return index_del(sim, sim->port_index, &sim->n_port_index, &key, sim->port_use);
}

static int grace(void *ctx)
{
	struct sim *sim = ctx;

	sim->graces++;
	if (sim->grace_fails)
		return -EINTR;
	sim->epoch++;
	return 0;
}

/* --- for tests -------------------------------------------------------------------------------- */

struct sim *sim_new(void)
{
	struct sim *sim = test_calloc(1, sizeof(*sim));

	sim->next_hops = test_calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(*sim->next_hops));
	sim->neighs = test_calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(*sim->neighs));
	sim->ports = test_calloc(SIXLANE_MAX_PORTS, sizeof(*sim->ports));
	sim->next_hop_use = test_calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(struct sim_use));
	sim->neigh_use = test_calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(struct sim_use));
	sim->port_use = test_calloc(SIXLANE_MAX_PORTS, sizeof(struct sim_use));
	sim->neigh_index = test_calloc(SIXLANE_MAX_NEIGHBOURS, sizeof(struct sim_index));
	sim->port_index = test_calloc(SIXLANE_MAX_PORTS, sizeof(struct sim_index));
	sim->capacity = SIM_MAX_ROUTES;
	sim->epoch = 1;
	sim->random = 1;
	return sim;
}

void sim_free(struct sim *sim)
{
	test_free(sim->next_hops);
	test_free(sim->neighs);
	test_free(sim->ports);
	test_free(sim->next_hop_use);
	test_free(sim->neigh_use);
	test_free(sim->port_use);
	test_free(sim->neigh_index);
	test_free(sim->port_index);
	test_free(sim);
}

struct fib_writer sim_writer(struct sim *sim)
{
	return (struct fib_writer){
		.ctx = sim,
		.route_set = route_set,
		.route_del = route_del,
		.next_hop_set = next_hop_set,
		.neigh_set = neigh_set,
		.neigh_set_mac = neigh_set_mac,
		.neigh_index_set = neigh_index_set,
		.neigh_index_del = neigh_index_del,
		.port_set = port_set,
		.port_index_set = port_index_set,
		.port_index_del = port_index_del,
		.grace = grace,
	};
}

void sim_adopt(struct sim *sim, struct fib *fib)
{
	static const struct sixlane_next_hop none;

	for (size_t i = 0; i < sim->n_port_index; i++)
		fib_adopt_port(fib, sim->port_index[i].slot, &sim->ports[sim->port_index[i].slot]);
	for (size_t i = 0; i < sim->n_neigh_index; i++)
		fib_adopt_neigh(fib, sim->neigh_index[i].slot,
				&sim->neighs[sim->neigh_index[i].slot]);
	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (memcmp(&sim->next_hops[id], &none, sizeof(none)))
			fib_adopt_next_hop(fib, id, &sim->next_hops[id]);
	}
	for (size_t i = 0; i < sim->n_routes; i++)
		fib_adopt_route(fib, &sim->routes[i].key, sim->routes[i].value);
}

static const struct sixlane_next_hop *match(const struct sim *sim, const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct sim_route *best = NULL;
	uint32_t id;

	for (size_t i = 0; i < sim->n_routes; i++) {
		const struct sixlane_route_key *key = &sim->routes[i].key;
		const struct prefix prefix = {
			.addr = key->addr, .len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS)
		};

		if (key->table == htonl(SIXLANE_TABLE_MAIN) && prefix_covers(&prefix, &host) &&
		    (!best || key->prefix_len > best->key.prefix_len))
			best = &sim->routes[i];
	}
	if (!best)
		return NULL;
	id = sixlane_route_next_hop(best->value);
	return id < SIXLANE_MAX_NEXT_HOPS ? &sim->next_hops[id] : NULL;
}

bool sim_lookup(const struct sim *sim, const union sixlane_addr *addr, struct fib_target *out)
{
	const struct sixlane_next_hop *next_hop = match(sim, addr);

	if (!next_hop)
		return false;
	*out = (struct fib_target){ .verdict = next_hop->verdict };
	if (next_hop->verdict != SIXLANE_FORWARD)
		return true;
	out->ifindex = sim->ports[next_hop->port].ifindex;
	out->mtu = next_hop->mtu;
	if (next_hop->neighbour) {
		out->has_gateway = 1;
		out->gateway = sim->neighs[next_hop->neighbour].key.addr;
		assert_int_equal(sim->neighs[next_hop->neighbour].key.ifindex, out->ifindex);
	}
	return true;
}

uint64_t sim_neigh_mac(const struct sim *sim, uint32_t ifindex, const union sixlane_addr *addr)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };

	for (size_t i = 0; i < sim->n_neigh_index; i++) {
		if (!memcmp(&sim->neigh_index[i].key, &key, sizeof(key)))
			return sim->neighs[sim->neigh_index[i].slot].mac.word;
	}
	return 0;
}

uint64_t sim_gateway_mac(const struct sim *sim, const union sixlane_addr *dst)
{
	const struct sixlane_next_hop *next_hop = match(sim, dst);

	return next_hop && next_hop->neighbour ? sim->neighs[next_hop->neighbour].mac.word : 0;
}
