// SPDX-License-Identifier: GPL-2.0-only
/* See sim_maps.h: the writer, and what must hold at each of its calls. Slow and plain on purpose.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "sim_use.h"

uint32_t sim_random(struct sim *sim, uint32_t n)
{
	sim->random = sim->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(sim->random >> 33) % n;
}

bool sim_fails(struct sim *sim, unsigned int one_in)
{
	return one_in && sim_random(sim, one_in) == 0;
}

void sim_report(struct sim *sim)
{
	sim->stale = true;
	if (sim->written)
		sim->written(sim->ctx);
}

/* --- tries ------------------------------------------------------------------------------------ */

static struct sim_route *find_route(struct sim_trie *trie, const struct sixlane_route_key *key)
{
	for (size_t i = 0; i < trie->n; i++) {
		if (!memcmp(&trie->routes[i].key, key, sizeof(*key)))
			return &trie->routes[i];
	}
	return NULL;
}

static int trie_set(struct sim *sim, struct sim_trie *trie, const struct sixlane_route_key *key,
		    uint32_t value)
{
	struct sim_route *route = find_route(trie, key);

	assert_in_range(key->prefix_len, SIXLANE_TABLE_BITS, SIXLANE_TABLE_BITS + 128);
	trie->writes++;
	if (sim_fails(sim, sim->enomem))
		return -ENOMEM;
	if (sim_fails(sim, sim->set_fails))
		return -EBUSY;
	if (trie->n >= trie->capacity && (!route || sim->full_refuses_replace))
		return -ENOSPC;
	if (!route) {
		assert_true(trie->n < SIM_MAX_ROUTES);
		route = &trie->routes[trie->n++];
		route->key = *key;
	}
	route->value = value;
	sim_report(sim);
	return 0;
}

static int trie_del(struct sim *sim, struct sim_trie *trie, const struct sixlane_route_key *key)
{
	struct sim_route *route = find_route(trie, key);

	trie->writes++;
	if (!route)
		return -ENOENT;
	if (sim_fails(sim, sim->del_fails))
		return -EBUSY;
	*route = trie->routes[--trie->n];
	sim_report(sim);
	return 0;
}

static int route_set(struct sim *sim, const struct sixlane_route_key *key, uint32_t value)
{
	uint32_t id = sixlane_route_next_hop(value);

	sim_use_refresh(sim);
	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	assert_int_equal(value & ~SIXLANE_ROUTE_EXCEPTIONS,
			 sixlane_route_value(id, key->prefix_len - SIXLANE_TABLE_BITS));
	sim_check_entry(sim, sim->next_hops[id].nh_entry);
	return trie_set(sim, &sim->routes, key, value);
}

static int route_del(struct sim *sim, const struct sixlane_route_key *key)
{
	sim_use_refresh(sim);
	return trie_del(sim, &sim->routes, key);
}

/* A table that packets can get to, or may still be in, gets no entries. */
static int source_route_set(struct sim *sim, const struct sixlane_route_key *key, uint32_t value)
{
	uint32_t table = ntohl(key->table), id = sixlane_route_next_hop(value);

	sim_use_refresh(sim);
	assert_in_range(table, 1, SIXLANE_MAX_SOURCES);
	assert_false(sim_use_is_recent(sim, &sim->source_use[table]));
	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	assert_int_not_equal(sim->next_hops[id].nh_entry.type, SIXLANE_NH_SOURCES);
	sim_check_entry(sim, sim->next_hops[id].nh_entry);
	return trie_set(sim, &sim->sources, key, value);
}

static bool key_covers(const struct sixlane_route_key *a, const struct sixlane_route_key *b)
{
	const struct prefix outer = sim_prefix(a), inner = sim_prefix(b);

	return a->table == b->table && outer.len < inner.len && prefix_covers(&outer, &inner);
}

/* No packet may find a shorter prefix because the longer one is gone. */
static int source_del(struct sim *sim, const struct sixlane_route_key *key)
{
	uint32_t table = ntohl(key->table);

	sim_use_refresh(sim);
	if (table <= SIXLANE_MAX_SOURCES && sim_use_is_recent(sim, &sim->source_use[table])) {
		assert_false(sim_use_is_named(sim, &sim->source_use[table]));
		for (size_t i = 0; i < sim->sources.n; i++)
			assert_false(key_covers(&sim->sources.routes[i].key, key));
	}
	return trie_del(sim, &sim->sources, key);
}

/* --- exceptions ------------------------------------------------------------------------------- */

static void check_exception(const struct sim *sim, const struct sixlane_exception *value)
{
	const struct sixlane_exception figures = { .hits = value->hits,
						   .bytes = value->bytes,
						   .used_ns = value->used_ns };
	static const struct sixlane_exception none;
	bool has_mtu = value->flags & SIXLANE_EXCEPTION_MTU;

	/* These fields are for the maps alone. */
	assert_memory_equal(&figures, &none, sizeof(none));
	assert_int_equal(value->check, 0);
	assert_int_equal(value->flags & SIXLANE_EXCEPTION_VERSION, 0);
	assert_int_equal(value->reserved, 0);
	assert_true(value->flags & (SIXLANE_EXCEPTION_KERNEL | SIXLANE_EXCEPTION_OPERATOR));
	if (has_mtu)
		assert_in_range(value->mtu, 1280, UINT32_MAX);
	else
		assert_int_equal(value->flags & SIXLANE_EXCEPTION_LOCKED, 0);
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		sim_check_leaf(sim, value->next_hop);
		assert_int_equal(sim->next_hops[value->next_hop].mtu, 0);
	}
}

static size_t find_exception(const struct sim *sim, const union sixlane_addr *dst)
{
	size_t i = 0;

	while (i < sim->n_exceptions && memcmp(&sim->exceptions[i].dst, dst, sizeof(*dst)))
		i++;
	return i;
}

static int exception_set(struct sim *sim, const union sixlane_addr *dst,
			 const struct sixlane_exception *value)
{
	size_t i = find_exception(sim, dst);

	sim_use_refresh(sim);
	check_exception(sim, value);
	sim->exception_writes++;
	if (sim_fails(sim, sim->enomem))
		return -ENOMEM;
	if (sim_fails(sim, sim->exception_fails))
		return -EBUSY;
	if (i == sim->n_exceptions && i >= sim->exceptions_capacity)
		return -ENOSPC;
	assert_true(i < SIM_MAX_EXCEPTIONS);
	sim->n_exceptions += i == sim->n_exceptions;
	sim->exceptions[i] = (struct sim_exception){ *dst, *value };
	sim_report(sim);
	return 0;
}

static int exception_del(struct sim *sim, const union sixlane_addr *dst)
{
	size_t i = find_exception(sim, dst);

	sim_use_refresh(sim);
	sim->exception_writes++;
	if (sim_fails(sim, sim->exception_fails))
		return -EBUSY;
	if (i == sim->n_exceptions)
		return -ENOENT;
	sim->exceptions[i] = sim->exceptions[--sim->n_exceptions];
	sim_report(sim);
	return 0;
}

/* --- arrays ----------------------------------------------------------------------------------- */

static void next_hop_set(struct sim *sim, uint32_t id, const struct sixlane_next_hop *next_hop)
{
	sim_use_refresh(sim);
	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	sim->array_writes++;
	if (sim_use_is_recent(sim, &sim->next_hop_use[id]))
		assert_memory_equal(&sim->next_hops[id], next_hop, sizeof(*next_hop));
	sim->next_hops[id] = *next_hop;
	sim_report(sim);
}

static bool is_punt(union sixlane_nh_entry nh_entry)
{
	return nh_entry.type == SIXLANE_PUNT_MAP_FULL ||
	       nh_entry.type == SIXLANE_PUNT_SOURCE_ROUTE ||
	       nh_entry.type == SIXLANE_PUNT_NEXT_HOP_OBJECT;
}

static void next_hop_set_entry(struct sim *sim, uint32_t id, union sixlane_nh_entry nh_entry)
{
	struct sixlane_next_hop *next_hop = &sim->next_hops[id];

	sim_use_refresh(sim);
	assert_true(id > 0 && id < SIXLANE_MAX_NEXT_HOPS);
	sim_check_entry(sim, nh_entry);
	/* It is punted in place or restored, found room, or follows an object. */
	assert_true(is_punt(nh_entry) || is_punt(next_hop->nh_entry) ||
		    next_hop->flags & SIXLANE_NEXT_HOP_OBJECT);
	sim->entry_writes++;
	next_hop->nh_entry = nh_entry;
	sim_report(sim);
}

/* A bucket in use may only change its single member for another. */
static void bucket_set(struct sim *sim, uint32_t index, union sixlane_nh_bucket bucket)
{
	sim_use_refresh(sim);
	assert_true(index < SIXLANE_MAX_NH_BUCKETS);
	sim_check_leaf(sim, bucket.below);
	sim_check_leaf(sim, bucket.above);
	if (sim_use_is_recent(sim, &sim->bucket_use[index])) {
		assert_int_equal(sim->buckets[index].below, sim->buckets[index].above);
		assert_int_equal(bucket.below, bucket.above);
	}
	sim->bucket_writes++;
	sim->buckets[index] = bucket;
	if (sim_use_is_recent(sim, &sim->bucket_use[index]))
		sim_report(sim);
}

static void gaps_set(void *ctx, bool gaps)
{
	struct sim *sim = ctx;

	sim->gaps_writes++;
	sim->gaps = gaps;
	sim_report(sim);
}

static void fib_publish(void *ctx, union sixlane_fib fib)
{
	struct sim *sim = ctx;

	sim_use_refresh(sim);
	sim->view.fib = fib;
	sim_report(sim);
}

static int grace(void *ctx)
{
	struct sim *sim = ctx;

	sim->graces++;
	if (sim->grace_fails)
		return -EINTR;
	sim_use_refresh(sim);
	sim->epoch++;
	sim->stale = true;
	return 0;
}

/* --- for tests -------------------------------------------------------------------------------- */

/* The arrays of a sim. */
#define ARRAY(member, n)                                                            \
	{                                                                           \
		offsetof(struct sim, member), n, sizeof(*((struct sim *)0)->member) \
	}

static const struct {
	size_t at, n, bytes;
} arrays[] = {
	ARRAY(next_hops, SIXLANE_MAX_NEXT_HOPS),    ARRAY(buckets, SIXLANE_MAX_NH_BUCKETS),
	ARRAY(neighs, SIXLANE_MAX_NEIGHBOURS),	    ARRAY(ports, SIXLANE_MAX_PORTS),
	ARRAY(next_hop_use, SIXLANE_MAX_NEXT_HOPS), ARRAY(bucket_use, SIXLANE_MAX_NH_BUCKETS),
	ARRAY(source_use, SIXLANE_MAX_SOURCES + 1), ARRAY(neigh_use, SIXLANE_MAX_NEIGHBOURS),
	ARRAY(port_use, SIXLANE_MAX_PORTS),	    ARRAY(neigh_index, SIXLANE_MAX_NEIGHBOURS),
	ARRAY(port_index, SIXLANE_MAX_PORTS),
};

struct sim *sim_new(void)
{
	struct sim *sim = test_calloc(1, sizeof(*sim));

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		*(void **)((char *)sim + arrays[i].at) = test_calloc(arrays[i].n, arrays[i].bytes);
	sim->routes.capacity = sim->sources.capacity = SIM_MAX_ROUTES;
	sim->exceptions_capacity = SIM_MAX_EXCEPTIONS;
	sim->epoch = sim->mark = 1;
	sim->random = 1;
	return sim;
}

void sim_free(struct sim *sim)
{
	sim_fib_drop(sim);
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		test_free(*(void **)((char *)sim + arrays[i].at));
	test_free(sim);
}

static int set_entry(void *ctx, enum fib_map map, const void *key, const void *value)
{
	switch (map) {
	case FIB_MAP_ROUTES:
		return route_set(ctx, key, *(const uint32_t *)value);
	case FIB_MAP_SOURCES:
		return source_route_set(ctx, key, *(const uint32_t *)value);
	case FIB_MAP_NEIGH_INDEX:
		return sim_neigh_index_set(ctx, key, *(const uint32_t *)value);
	case FIB_MAP_PORT_INDEX:
		return sim_port_index_set(ctx, *(const uint32_t *)key, *(const uint32_t *)value);
	case FIB_MAP_VLANS:
		return sim_vlan_set(ctx, key, *(const uint32_t *)value);
	default:
		return exception_set(ctx, key, value);
	}
}

static int del_entry(void *ctx, enum fib_map map, const void *key)
{
	switch (map) {
	case FIB_MAP_ROUTES:
		return route_del(ctx, key);
	case FIB_MAP_SOURCES:
		return source_del(ctx, key);
	case FIB_MAP_NEIGH_INDEX:
		return sim_neigh_index_del(ctx, key);
	case FIB_MAP_PORT_INDEX:
		return sim_port_index_del(ctx, *(const uint32_t *)key);
	case FIB_MAP_VLANS:
		return sim_vlan_del(ctx, key);
	default:
		return exception_del(ctx, key);
	}
}

static void store(void *ctx, enum fib_map map, uint32_t index, const void *value)
{
	if (map == FIB_MAP_NEXT_HOPS)
		next_hop_set(ctx, index, value);
	else if (map == FIB_MAP_NEIGHS)
		sim_neigh_set(ctx, index, value);
	else
		sim_port_set(ctx, index, value);
}

static void store_word(void *ctx, enum fib_map map, uint32_t index, uint64_t word)
{
	if (map == FIB_MAP_NEXT_HOPS)
		next_hop_set_entry(ctx, index, (union sixlane_nh_entry){ .word = word });
	else if (map == FIB_MAP_BUCKETS)
		bucket_set(ctx, index, (union sixlane_nh_bucket){ .word = word });
	else
		sim_neigh_set_mac(ctx, index, (union sixlane_mac){ .word = word });
}

struct fib_writer sim_writer(struct sim *sim)
{
	return (struct fib_writer){
		.ctx = sim,
		.set = set_entry,
		.del = del_entry,
		.store = store,
		.store_word = store_word,
		.hold_port = sim_port_hold,
		.set_gaps = gaps_set,
		.chunk = sim_fib_chunk,
		.publish = fib_publish,
		.grace = grace,
	};
}

void sim_adopt(struct sim *sim, struct fib *fib)
{
	static const struct sixlane_next_hop none;

	sim_fib_drop(sim);
	sim->stale = true;
	for (size_t i = 0; i < sim->n_port_index; i++)
		fib_adopt_port(fib, sim->port_index[i].slot, &sim->ports[sim->port_index[i].slot]);
	for (size_t i = 0; i < sim->n_neigh_index; i++)
		fib_adopt_neigh(fib, sim->neigh_index[i].slot,
				&sim->neighs[sim->neigh_index[i].slot]);
	for (size_t i = 0; i < sim->n_vlans; i++)
		fib_adopt_vlan(fib, &sim->vlans[i].key, sim->vlans[i].slot);
	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS; id++) {
		if (memcmp(&sim->next_hops[id], &none, sizeof(none)))
			fib_adopt_next_hop(fib, id, &sim->next_hops[id]);
	}
	for (size_t i = 0; i < sim->sources.n; i++)
		fib_adopt_source(fib, &sim->sources.routes[i].key, sim->sources.routes[i].value);
	for (size_t i = 0; i < sim->routes.n; i++)
		fib_adopt_route(fib, &sim->routes.routes[i].key, sim->routes.routes[i].value);
	/* Exceptions of the kernel are not adopted: the daemon reads them again. */
	for (size_t i = 0; i < sim->n_exceptions;) {
		struct sim_exception *exception = &sim->exceptions[i];

		if (exception->value.flags & SIXLANE_EXCEPTION_OPERATOR) {
			fib_adopt_exception(fib, &exception->dst, &exception->value);
			i++;
		} else {
			*exception = sim->exceptions[--sim->n_exceptions];
		}
	}
	fib_adopt_end(fib, sim->buckets);
}
