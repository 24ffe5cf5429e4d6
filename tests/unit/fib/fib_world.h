/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fib on simulated maps, and short words for what tests say to it and ask of it. Tables other
 * than main, and sources other than ::, are said with the functions whose names end in _in.
 */
#ifndef TEST_FIB_WORLD_H
#define TEST_FIB_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/lib/util.h"
#include "../../../user/rib/radix.h"
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

/* --- targets: valid until some hundred more are made -------------------------------------- */

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

static inline struct fib_target on_link(uint32_t ifindex)
{
	return one((struct fib_hop){ .ifindex = ifindex });
}

static inline struct fib_target nh_entry(uint32_t verdict)
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

/* --- what is said ------------------------------------------------------------------------- */

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

/* --- what is there ------------------------------------------------------------------------ */

static inline struct sim_found find_in(const struct world *world, uint32_t table, const char *dst,
				       const char *src)
{
	const union sixlane_addr to = addr(dst), from = addr(src);
	struct sim_found found;

	if (!world->sim->written) /* at a write it says what was before, or what is then */
		sim_fib_check_at(world->sim, table, &to);
	if (!sim_find(world->sim, table, &to, &from, &found))
		fail_msg("%s: no route", dst);
	return found;
}

static inline void assert_does(const struct world *world, const struct sim_found *found,
			       const char *dst, const struct fib_target *target,
			       const struct fib_object *object)
{
	if (!sim_does(world->sim, found, target, object, NULL, false))
		fail_msg("%s: verdict %u instead of %u, or another way there", dst,
			 sim_verdict(found), target->verdict);
}

static inline void assert_target(const struct world *world, const char *dst,
				 struct fib_target target)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");

	assert_does(world, &found, dst, &target, NULL);
}

static inline void assert_object(const struct world *world, const char *dst,
				 struct fib_target target, const struct fib_object *object)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");

	assert_does(world, &found, dst, &target, object);
}

static inline void assert_verdict_in(const struct world *world, uint32_t table, const char *dst,
				     const char *src, uint32_t verdict)
{
	const struct sim_found found = find_in(world, table, dst, src);

	assert_int_equal(sim_verdict(&found), verdict);
}

static inline void assert_verdict(const struct world *world, const char *dst, uint32_t verdict)
{
	assert_verdict_in(world, SIXLANE_TABLE_MAIN, dst, "::", verdict);
}

static inline void assert_no_route_in(const struct world *world, uint32_t table, const char *dst)
{
	const union sixlane_addr to = addr(dst);
	struct sim_found found;

	assert_false(sim_find(world->sim, table, &to, &to, &found));
}

static inline void assert_no_route(const struct world *world, const char *dst)
{
	assert_no_route_in(world, SIXLANE_TABLE_MAIN, dst);
}

/* Prefixes for tests of full maps … */
static inline void fill(struct world *world)
{
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", via("fe80::2", 3));
	set(world, "2001:db9::/32", via("fe80::3", 3));
}

/* … of which 2001:db8:1::/48 is missing. */
static inline void assert_covers_punted(struct world *world)
{
	assert_int_equal(stats_of(world).missing, 1);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "2001:db9::1", via("fe80::3", 3));
}

/* --- worlds ------------------------------------------------------------------------------- */

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
	fib_freep(&world->fib);
	assert_null(world->fib);
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
