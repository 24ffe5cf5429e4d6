// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fib that has no memory for an exception: the operator's is refused, and the kernel's is lost,
 * so that packets to whatever is not known are punted until all was told again. fib/exception.c is
 * built into this test with a calloc that fails when told.
 */
#include <errno.h>

#include "../../unit.h"
#include "../exception_world.h"

static bool no_memory;

static void *calloc_unless_told(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define calloc calloc_unless_told
#include "../../../../user/fib/exception.c"
#undef calloc

static int say_without_memory(struct world *world, enum fib_origin origin, const char *dst)
{
	int err;

	no_memory = true;
	err = say(world, origin, dst, pmtu(1300));
	no_memory = false;
	return err;
}

static void tell_all(struct world *world, const char *dst)
{
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	if (dst)
		say(world, FIB_KERNEL, dst, pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
}

/* What an earlier daemon has lost is the kernel's for an hour, whatever that tells. */
static void tell_all_for_an_hour(struct world *world, const char *dst)
{
	pass(world, 1);
	tell_all(world, NULL);
	assert_effect(world, dst, SIM_PUNTED);
	pass(world, HOUR);
	tell_all(world, NULL);
	assert_effect(world, dst, SIM_PUNTED);
	pass(world, HOUR + 1);
	tell_all(world, dst);
	/* How many there were nobody knows. */
	assert_int_equal(stats_of(world).exceptions_missing, 0);
}

static void test_kernels_is_lost(void **state)
{
	struct world *world = *state;

	fill(world);
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	assert_int_equal(say_without_memory(world, FIB_KERNEL, "2001:db8::1"), -ENOMEM);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db8::2", 1300);
	assert_marks(world, "::1", 0);
	assert_int_equal(stats_of(world).exceptions_missing, 1);
	/* It may be under a route that comes, and under what is left when one goes. */
	set(world, "2001:db8::/48", via("fe80::4", 3));
	assert_marks(world, "2001:db8::1", MISSING);
	unset(world, "2001:db8::/48");
	unset(world, "2001:db8::/32");
	assert_marks(world, "2001:db8::1", MISSING);
	set(world, "2001:db8::/32", via("fe80::2", 3));
	assert_marks(world, "2001:db8::1", MISSING);
	/* Nor does a retry find it, nor another daemon. */
	fib_retry(world->fib);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	tell_all_for_an_hour(world, "2001:db8::1");
	assert_mtu(world, "2001:db8::1", 1300);
	assert_marks(world, "2001:db8::1", ANY);
	assert_marks(world, "::1", 0);
}

/* Something is known of that destination then, but not what the kernel has there. */
static void test_operators_comes_to_a_lost_one(void **state)
{
	struct world *world = *state;

	fill(world);
	say_without_memory(world, FIB_KERNEL, "2001:db8::1");
	say_without_memory(world, FIB_KERNEL, "2001:db8::2");
	say(world, FIB_OPERATOR, "2001:db8::1", pmtu(1300));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1400));
	assert_mtu(world, "2001:db8::1", 1300);
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	say(world, FIB_OPERATOR, "2001:db8::3", pmtu(1300));
	assert_mtu(world, "2001:db8::3", 1300);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_mtu(world, "2001:db8::3", 1300);
	tell_all_for_an_hour(world, "2001:db8::1");
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	assert_mtu(world, "2001:db8::2", 1300);
	assert_mtu(world, "2001:db8::1", 1300);
}

/* … and neither is it known when the operator's has expired; by another next hop it does not count.
 */
static void test_operators_beside_a_lost_one(void **state)
{
	struct world *world = *state;
	const struct fib_hop hop = hop_via("fe80::4", 3, 0);
	const struct sixlane_exception *value;

	fill(world);
	say_without_memory(world, FIB_KERNEL, "2001:db8::1");
	say_without_memory(world, FIB_KERNEL, "2001:db8::2");
	say(world, FIB_OPERATOR, "2001:db8::1", until(pmtu(1300), 99));
	assert_forbids(world, "2001:db8::1", 1300);
	effect_of(world, "2001:db8::1", &value);
	assert_true(value->flags & SIXLANE_EXCEPTION_MORE);
	assert_int_equal(value->expires_ns, 99);
	say(world, FIB_OPERATOR, "2001:db8::2", redirect(hop));
	for (int i = 0; i < 2; i++) {
		assert_hop(world, "2001:db8::2", hop);
		effect_of(world, "2001:db8::2", &value);
		assert_true(value->flags & SIXLANE_EXCEPTION_MORE);
		restart(world, SIXLANE_MAX_ROUTES);
		fib_retry(world->fib);
	}
}

static void test_operators_is_refused(void **state)
{
	struct world *world = *state;

	fill(world);
	assert_int_equal(say_without_memory(world, FIB_OPERATOR, "2001:db8::1"), -ENOMEM);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	assert_marks(world, "2001:db8::1", 0);
	assert_int_equal(stats_of(world).exceptions_missing, 0);
}

/* Nobody takes over what an earlier daemon knew, which stays for the next one. */
static void test_not_adopted(void **state)
{
	const struct sixlane_exception *value;
	struct sixlane_exception_key key = { .dst = addr("2001:db8::1"),
					     .table = SIXLANE_TABLE_MAIN };
	struct world *world = *state;
	const struct fib_writer writer = sim_writer(world->sim);
	struct fib *another;

	fill(world);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	effect_of(world, "2001:db8::1", &value);
	another = fib_new(&writer, SIXLANE_MAX_ROUTES);
	no_memory = true;
	assert_int_equal(fib_adopt_exception(another, &key, value), -ENOMEM);
	no_memory = false;
	fib_free(another);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_exceptions(world, 1);
}

/* Of a table that has no route yet, or none any more. */
static void test_lost_without_owner(void **state)
{
	struct world *world = *state;

	assert_int_equal(say_without_memory(world, FIB_KERNEL, "2001:db8::1"), -ENOMEM);
	set(world, "2001:db8::/32", via("fe80::2", 3));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	unset(world, "2001:db8::/32");
	set(world, "2001:db8::/48", via("fe80::2", 3));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	/* Of what is under no route it is not known that the kernel tells it: it is lost for an
	 * hour. */
	pass(world, 1);
	tell_all(world, NULL);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	pass(world, HOUR + 1);
	/* Lost again while all is told. */
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say_without_memory(world, FIB_KERNEL, "2001:db9::1");
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_effect(world, "2001:db8::1", SIM_NO_EFFECT);
	set(world, "2001:db9::/32", via("fe80::2", 3));
	assert_effect(world, "2001:db9::1", SIM_PUNTED);
	pass(world, HOUR + 1);
	tell_all(world, NULL);
	pass(world, 2 * HOUR + 1);
	tell_all(world, NULL);
	set(world, "2001:dba::/32", via("fe80::2", 3));
	assert_marks(world, "2001:db9::1", 0);
	assert_marks(world, "2001:dba::1", 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_kernels_is_lost),
		TEST(test_operators_comes_to_a_lost_one),
		TEST(test_operators_beside_a_lost_one),
		TEST(test_operators_is_refused),
		TEST(test_not_adopted),
		TEST(test_lost_without_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
