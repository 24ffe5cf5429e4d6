// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions and writes that fail: packets that may meet what is not in the maps, or not any more,
 * are the kernel's until a retry mends it.
 */
#include "../../../user/fib/fib_internal.h"
#include "../unit.h"
#include "exception_watch.h"

/* Packets to what is not in the map are the kernel's, until it is. */
static void test_exception_finds_no_room(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	world->sim->exceptions_capacity = 1;
	assert_int_equal(say(world, FIB_KERNEL, DST, pmtu(1300)), 0);
	assert_int_equal(say(world, FIB_OPERATOR, "2001:db9::1", pmtu(1300)), 0);
	assert_exceptions(world, 1);
	assert_effect(world, DST, SIM_PUNTED);
	assert_effect(world, "2001:db9::2", SIM_NO_EFFECT);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_int_equal(stats_of(world).exceptions_failed, 2);
	assert_int_equal(fib_retry(world->fib), 2);
	/* The operator's is not told when all that the kernel has is. */
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, DST, pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_effect(world, DST, SIM_PUNTED);
	assert_effect(world, "2001:db9::1", SIM_PUNTED);
	/* It is not for want of room for routes. */
	assert_int_equal(stats_of(world).missing, 0);
	assert_int_equal(stats_of(world).exceptions_missing, 0);
	/* The mark goes with it. */
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_marks(world, DST, MISSING);
	assert_marks(world, "2001:db8::1", ANY);
	unset(world, "2001:db8:1::/48");
	assert_marks(world, "2001:db8::1", MISSING);
	world->sim->exceptions_capacity = 2;
	assert_int_equal(fib_retry(world->fib), 1);
	world->sim->exceptions_capacity = 3;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_effect(world, DST, SIM_PUNTED); /* since its route changed */
	say(world, FIB_KERNEL, DST, pmtu(1300));
	assert_mtu(world, DST, 1300);
	assert_mtu(world, "2001:db9::1", 1300);
	assert_marks(world, DST, ANY);
	assert_marks(world, "2001:db9::1", ANY);
	/* One that was not written, and is not said any more. */
	world->sim->exceptions_capacity = 3;
	say(world, FIB_KERNEL, "2001:db8::3", pmtu(1300));
	assert_marks(world, DST, MISSING);
	unsay(world, FIB_KERNEL, "2001:db8::3");
	assert_marks(world, DST, ANY);
	assert_int_equal(stats_of(world).exceptions_failed, 0);
}

/* What is in doubt with a shorter route by the same object, and cannot be changed. */
static void test_exception_at_an_object_is_stuck(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object object = { .hops = &hop, .n_hops = 1 };
	struct world *world = *state;

	set_routes(world);
	fib_set_object(world->fib, 1, &object);
	set(world, "2001:db8::/32", by_object(1));
	set(world, "2001:db8:1::/48", by_object(1));
	say(world, FIB_KERNEL, DST, pmtu(1300));
	world->sim->exception_fails = 1;
	unset(world, "2001:db8::/32");
	assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
	world->sim->exception_fails = 0;
	fib_retry(world->fib);
	assert_effect(world, DST, SIM_PUNTED);
}

/* What cannot be changed must not go on: all of its owner's packets are the kernel's. */
static void test_exception_is_stuck(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_KERNEL, DST, pmtu(1300));
	for (int change = 0; change < 2; change++) {
		world->sim->exception_fails = 1;
		if (change == 0)
			assert_int_equal(say(world, FIB_KERNEL, DST, pmtu(1290)), 0);
		else
			unsay(world, FIB_KERNEL, DST);
		assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
		assert_verdict(world, "2001:db8::2", SIXLANE_PUNT_MAP_FULL);
		assert_target(world, "2001:db9::2", via("fe80::1", 3));
		assert_true(fib_retry(world->fib) > 0);
		/* A shorter one inherits the trouble, a longer one takes it. */
		set(world, "2001:db8:1::/48", via("fe80::4", 3));
		assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
		assert_target(world, "2001:db8::2", via("fe80::2", 3));
		unset(world, "2001:db8::/32");
		unset(world, "2001:db8:1::/48");
		assert_verdict(world, "2001:db9::2", SIXLANE_PUNT_MAP_FULL);
		world->sim->exception_fails = 0;
		assert_int_equal(fib_retry(world->fib), 0);
		assert_target(world, DST, via("fe80::1", 3));
		set_routes(world);
		assert_effect(world, DST, change == 0 ? SIM_PUNTED : SIM_NO_EFFECT);
		say(world, FIB_KERNEL, DST, pmtu(1290));
		assert_mtu(world, DST, 1290);
	}
}

/* The next write may succeed, whatever it was for. */
static void test_stuck_one_is_cured_by_a_doubt(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::3", 3, 1) };
	struct fib_object object = { .verdict = SIXLANE_FORWARD, .n_hops = 1 };

	for (int by_what = 0; by_what < 2; by_what++) {
		set_routes(world);
		object.hops = hops;
		fib_set_object(world->fib, 7, &object);
		if (by_what)
			set(world, "2001:db8::/32", by_object(7));
		say(world, FIB_KERNEL, DST, pmtu(1300));
		world->sim->exception_fails = 1;
		say(world, FIB_KERNEL, DST, pmtu(1290));
		assert_verdict(world, "2001:db8::2", SIXLANE_PUNT_MAP_FULL);
		world->sim->exception_fails = 0;
		object.hops = hops + 1;
		if (by_what)
			fib_set_object(world->fib, 7, &object);
		else
			set(world, "2001:db8:1::/48", via("fe80::4", 3));
		assert_verdict(world, "2001:db8::2", SIXLANE_FORWARD);
		assert_effect(world, DST, SIM_PUNTED);
		assert_int_equal(stats_of(world).exceptions_failed, 0);
		unset(world, "2001:db8:1::/48");
	}
}

/* In doubt, and cannot be punted: before the new route is written, all of it is punted. */
static void test_doubt_is_stuck(void **state)
{
	struct world *world = *state;
	const struct fib_target old = via("fe80::2", 3), full = fate(SIXLANE_PUNT_MAP_FULL);
	const struct meeting may[] = { { old, SIM_APPLIED }, { full, SIM_APPLIED } };
	static const char *const changed[] = { "2001:db8::/32", "2001:db8:1::/48" };

	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		set_routes(world);
		say(world, FIB_KERNEL, DST, pmtu(1300));
		world->sim->exception_fails = 1;
		watch_for(world, may, 2);
		set(world, changed[i], via("fe80::9", 3));
		watch_end(world);
		world->sim->exception_fails = 0;
		assert_int_equal(fib_retry(world->fib), 0);
		assert_target(world, DST, via("fe80::9", 3));
		assert_effect(world, DST, SIM_PUNTED);
		assert_doubt(world, DST);
		unset(world, changed[i]);
	}
}

/* Of an object, whose fate changes by a store that cannot wait. */
static void test_doubt_by_object_is_stuck(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::3", 3, 1) };
	const struct fib_object old = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = hops };
	const struct fib_object new = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = hops + 1 };

	fib_set_object(world->fib, 7, &old);
	set(world, "2001:db8::/32", by_object(7));
	say(world, FIB_KERNEL, DST, pmtu(1300));
	world->sim->exception_fails = 1;
	fib_set_object(world->fib, 7, &new);
	assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
	world->sim->exception_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_object(world, DST, by_object(7), &new);
	assert_effect(world, DST, SIM_PUNTED);
}

/* A route without its mark would forward past its exceptions. */
static void test_mark_cannot_be_written(void **state)
{
	struct world *world = *state;

	set_routes(world);
	world->sim->set_fails = 1;
	say(world, FIB_OPERATOR, DST, pmtu(1300));
	assert_no_route(world, DST);
	assert_true(world->sim->gaps);
	world->sim->set_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_mtu(world, DST, 1300);
	/* One too many does no harm, and goes when it can. */
	world->sim->set_fails = 1;
	unsay(world, FIB_OPERATOR, DST);
	assert_target(world, DST, via("fe80::2", 3));
	assert_marks(world, DST, ANY);
	assert_int_equal(stats_of(world).missing, 1);
	world->sim->set_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_marks(world, DST, 0);
}

/* What finds no room in the trie owns nothing there; its covers, which are punted, do. */
static void test_route_finds_no_room(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_OPERATOR, DST, pmtu(1300));
	world->sim->routes.capacity = 2;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
	assert_marks(world, DST, ANY);
	say(world, FIB_KERNEL, DST, pmtu(1290));
	world->sim->routes.capacity = 3;
	assert_int_equal(fib_retry(world->fib), 0);
	/* It was said of this route already. */
	assert_target(world, DST, via("fe80::4", 3));
	assert_forbids(world, DST, 1300);
	assert_doubt(world, NULL);
	assert_marks(world, "2001:db8::2", 0);
	/* It stays where it is while what is under it cannot leave. */
	world->sim->del_fails = 1;
	unset(world, "2001:db8:1::/48");
	assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
	assert_marks(world, "2001:db8::2", 0);
	world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_effect(world, DST, SIM_PUNTED);
	assert_marks(world, "2001:db8::2", ANY);
	unsay(world, FIB_KERNEL, DST);
	assert_mtu(world, DST, 1300);
}

/* No id for the next hop: the kernel's until there is one. */
static void test_next_hop_is_starved(void **state)
{
	struct world *world = *state;

	world->fib->next_hop_pool.limit = 5;
	set_routes(world);
	say(world, FIB_OPERATOR, DST, redirect(hop_via("fe80::5", 3, 0)));
	assert_hop(world, DST, hop_via("fe80::5", 3, 0));
	say(world, FIB_OPERATOR, DST, redirect(hop_via("fe80::6", 3, 0)));
	assert_effect(world, DST, SIM_PUNTED);
	assert_int_equal(stats_of(world).exceptions_failed, 1);
	/* The other one is free now. */
	assert_int_equal(fib_retry(world->fib), 0);
	assert_hop(world, DST, hop_via("fe80::6", 3, 0));
	/* So it is for a hop that has no slot. */
	world->sim->index_fails = 1;
	say(world, FIB_KERNEL, "2001:db8::2", pmtu_under(1300, hop_via("fe80::7", 9, 0)));
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_int_equal(stats_of(world).exceptions_failed, 1);
	world->sim->index_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_under(world, "2001:db8::2", hop_via("fe80::7", 9, 0));
}

/* A route that lacks an id does not follow its object yet, but the kernel's route does. */
static void test_doubt_by_object_is_starved(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::3", 3, 1) };
	const struct fib_object old = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = hops };
	const struct fib_object new = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = hops + 1 };

	world->fib->next_hop_pool.limit = 2;
	fib_set_object(world->fib, 7, &old);
	set(world, "2001:db8::/32", by_object(7));
	set(world, "2001:db9::/32", by_object(8));
	say(world, FIB_KERNEL, DST, pmtu(1300));
	assert_verdict(world, DST, SIXLANE_PUNT_MAP_FULL);
	fib_doubt_object_exceptions(world->fib, &(struct prefix){ 0 }, 0);
	assert_doubt(world, DST);
	say(world, FIB_KERNEL, DST, pmtu(1300));
	say(world, FIB_KERNEL, "2001:db9::1", pmtu(1300));
	fib_set_object(world->fib, 7, &new);
	assert_doubt(world, DST);
	assert_doubt(world, NULL);
	/* Nobody knows what it was when that was said. */
	fib_set_object(world->fib, 8, &new);
	assert_doubt(world, "2001:db9::1");
	assert_doubt(world, NULL);
	world->fib->next_hop_pool.limit = SIXLANE_MAX_NEXT_HOPS;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_object(world, DST, by_object(7), &new);
	assert_effect(world, DST, SIM_PUNTED);
	assert_effect(world, "2001:db9::1", SIM_PUNTED);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_exception_finds_no_room),
		TEST(test_exception_is_stuck),
		TEST(test_exception_at_an_object_is_stuck),
		TEST(test_stuck_one_is_cured_by_a_doubt),
		TEST(test_doubt_is_stuck),
		TEST(test_doubt_by_object_is_stuck),
		TEST(test_mark_cannot_be_written),
		TEST(test_route_finds_no_room),
		TEST(test_next_hop_is_starved),
		TEST(test_doubt_by_object_is_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
