// SPDX-License-Identifier: GPL-2.0-only
/*
 * Full maps and failing writes on simulated maps: what is missing is punted with all that covers
 * it, what cannot be changed does not go on forwarding, and both are mended when it can be done.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "../unit.h"
#include "fib_world.h"

static void assert_all_there(struct world *world)
{
	assert_int_equal(stats_of(world).missing, 0);
	assert_target(world, "::1", via("fe80::1", 3));
	assert_target(world, "2001:db8:2::1", via("fe80::2", 3));
	assert_target(world, "2001:db8:1::1", via("fe80::4", 3));
}

static void test_trie_is_full(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->routes.capacity = 3;
	assert_int_equal(set(world, "2001:db8:1::/48", via("fe80::4", 3)), 0);
	assert_covers_punted(world);
	assert_int_equal(fib_retry(world->fib), 1);
	assert_covers_punted(world);
	/* A cover that comes between is punted too. */
	unset(world, "2001:db9::/32");
	assert_int_equal(set(world, "2001:db8::/40", via("fe80::5", 3)), 0);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(fib_retry(world->fib), 1);
	unset(world, "2001:db8::/40");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_all_there(world);
}

static void test_missing_is_withdrawn(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->routes.capacity = 3;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_covers_punted(world);
	unset(world, "2001:db8:1::/48");
	assert_int_equal(stats_of(world).missing, 0);
	assert_target(world, "2001:db8:1::1", via("fe80::2", 3));
	assert_target(world, "::1", via("fe80::1", 3));
}

/* The daemon's own bound, without a write that could fail. */
static void test_max_routes(void **state)
{
	struct world *world = *state;
	unsigned long before;

	restart(world, 3);
	fill(world);
	before = world->sim->routes.writes;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_covers_punted(world);
	assert_int_equal(world->sim->routes.n, 3);
	assert_int_equal(world->sim->routes.writes, before + 2);
	unset(world, "2001:db9::/32");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_all_there(world);
}

/* Covers that cannot be replaced in a full trie go, and theirs are punted in turn. */
static void test_full_trie_refuses_replace(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->routes.capacity = 3;
	world->sim->full_refuses_replace = true;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "2001:db9::1", via("fe80::3", 3));
	/* A new next hop where the old one stands. */
	set(world, "2001:db9::/32", via("fe80::6", 3));
	assert_target(world, "2001:db9::1", via("fe80::6", 3));
	unset(world, "2001:db9::/32");
	while (fib_retry(world->fib) && world->sim->routes.capacity < 8)
		world->sim->routes.capacity++;
	assert_all_there(world);
}

/* What cannot be changed and cannot be deleted must not go on forwarding. */
static void test_stuck_value(void **state)
{
	struct world *world = *state;

	fill(world);
	set(world, "2001:db9::/33", via("fe80::2", 3));
	world->sim->set_fails = world->sim->del_fails = 1;
	set(world, "2001:db8::/32", via("fe80::4", 3));
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	/* The price: others by the same next hop. */
	assert_verdict(world, "2001:db9::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "::1", via("fe80::1", 3));
	unset(world, "::/0");
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).missing, 2);
	assert_int_equal(fib_retry(world->fib), 2);
	world->sim->set_fails = world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_no_route(world, "::1");
	assert_target(world, "2001:db8::1", via("fe80::4", 3));
	assert_target(world, "2001:db9::1", via("fe80::2", 3));
	assert_true(stats_of(world).write_errors > 0);
}

static void test_delete_fails(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->del_fails = 1;
	unset(world, "2001:db8::/32");
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "::1", via("fe80::1", 3));
	assert_int_equal(fib_retry(world->fib), 1);
	/* It comes back. */
	set(world, "2001:db8::/32", via("fe80::7", 3));
	assert_int_equal(stats_of(world).missing, 0);
	assert_target(world, "2001:db8::1", via("fe80::7", 3));
	world->sim->del_fails = 0;
	unset(world, "2001:db8::/32");
	assert_target(world, "2001:db8::1", via("fe80::1", 3));
}

static void test_enomem_is_tried_again(void **state)
{
	struct world *world = *state;

	world->sim->enomem = 3;
	for (uint32_t i = 0; i < 500; i++) {
		struct prefix prefix = pfx("2001:db8::/48");
		struct fib_target target = on_link(3);

		prefix.addr.words[1] = htonl(i << 16);
		assert_int_equal(fib_set(world->fib, SIXLANE_TABLE_MAIN, &prefix, &target), 0);
	}
	assert_true(stats_of(world).missing < 40);
	world->sim->enomem = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(world->sim->routes.n, 500);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_trie_is_full),
		TEST(test_missing_is_withdrawn),
		TEST(test_max_routes),
		TEST(test_full_trie_refuses_replace),
		TEST(test_stuck_value),
		TEST(test_delete_fails),
		TEST(test_enomem_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
