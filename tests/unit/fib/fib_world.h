/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fib on simulated maps, and short forms of calls and assertions. Functions whose names end in
 * _in take a table, the others use main.
 */
#ifndef TEST_FIB_WORLD_H
#define TEST_FIB_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "../../../user/lib/util.h"
#include "../../../user/rib/radix.h"
#include "../unit.h"
#include "sim_maps.h"

struct world {
	struct sim *sim;
	struct fib *fib;
};

static inline struct prefix pfx(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static inline union sixlane_addr addr(const char *text)
{
	return pfx(text).addr;
}

/* --- targets: valid until a thousand more are made -------------------------------------------- */

static inline struct fib_target one(struct fib_hop hop)
{
	static struct fib_hop ring[1024];
	static unsigned int at;
	struct fib_hop *kept = &ring[at++ % ARRAY_SIZE(ring)];

	*kept = hop;
	return (struct fib_target){ .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = kept };
}

static inline struct fib_hop hop_via(const char *gateway, uint32_t ifindex, uint32_t weight)
{
	return (struct fib_hop){
		.gateway = addr(gateway), .ifindex = ifindex, .weight = weight, .has_gateway = true
	};
}

static inline struct fib_target via(const char *gateway, uint32_t ifindex)
{
	return one(hop_via(gateway, ifindex, 0));
}

static inline struct fib_target by_verdict(uint32_t verdict)
{
	return (struct fib_target){ .verdict = verdict };
}

static inline struct fib_target several(enum fib_kind kind, const struct fib_hop *hops, size_t n)
{
	return (struct fib_target){
		.verdict = SIXLANE_FORWARD, .kind = kind, .n_hops = n, .hops = hops
	};
}

static inline struct fib_target by_object(uint32_t id)
{
	return (struct fib_target){ .verdict = SIXLANE_FORWARD, .kind = FIB_OBJECT, .object = id };
}

/* --- calls ------------------------------------------------------------------------------------ */

static inline int set_in(struct world *world, uint32_t table, const char *dst,
			 struct fib_target target)
{
	struct prefix prefix = pfx(dst);

	return fib_set(world->fib, table, &prefix, &target);
}

static inline int set(struct world *world, const char *dst, struct fib_target target)
{
	return set_in(world, SIXLANE_TABLE_MAIN, dst, target);
}

static inline void unset_in(struct world *world, uint32_t table, const char *dst)
{
	struct prefix prefix = pfx(dst);

	assert_int_equal(fib_set(world->fib, table, &prefix, NULL), 0);
}

static inline void unset(struct world *world, const char *dst)
{
	unset_in(world, SIXLANE_TABLE_MAIN, dst);
}

static inline void set_port(struct world *world, uint32_t ifindex, uint32_t flags)
{
	struct sixlane_port port = { .ifindex = ifindex, .flags = flags, .mtu = 1500 };

	assert_int_equal(fib_set_port(world->fib, &port), 0);
}

static inline struct fib_stats stats_of(const struct world *world)
{
	struct fib_stats stats;

	fib_get_stats(world->fib, &stats);
	return stats;
}

/* --- assertions ------------------------------------------------------------------------------- */

/* object: what the target's object means, or NULL. */
static inline void assert_object(const struct world *world, const char *dst,
				 struct fib_target target, const struct fib_object *object)
{
	const union sixlane_addr to = addr(dst), from = { 0 };
	struct sim_found found;

	if (!sim_find(world->sim, SIXLANE_TABLE_MAIN, &to, &from, &found) ||
	    !sim_does(world->sim, &found, &target, object, NULL, false))
		fail_msg("%s: no route, or another one", dst);
}

static inline void assert_target(const struct world *world, const char *dst,
				 struct fib_target target)
{
	assert_object(world, dst, target, NULL);
}

static inline void assert_verdict(const struct world *world, const char *dst, uint32_t verdict)
{
	const union sixlane_addr to = addr(dst), from = { 0 };
	struct sim_found found;

	assert_true(sim_find(world->sim, SIXLANE_TABLE_MAIN, &to, &from, &found));
	assert_int_equal(sim_verdict(&found), verdict);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static inline int setup(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	struct fib_writer writer;

	world->sim = sim_new();
	writer = sim_writer(world->sim);
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	assert_non_null(world->fib);
	assert_int_equal(fib_compile(world->fib), 0);
	*state = world;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *world = *state;

	sim_fib_check(world->sim);
	fib_free(world->fib);
	sim_free(world->sim);
	test_free(world);
	return 0;
}

/* A new daemon over the maps of the one before. */
static inline void restart(struct world *world, uint32_t max_routes)
{
	struct fib_writer writer = sim_writer(world->sim);

	fib_free(world->fib);
	world->fib = fib_new(&writer, max_routes);
	sim_adopt(world->sim, world->fib);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
