// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the random histories (test_fib_random.c) do not say of exact exceptions: that what is there
 * already is not written again, and that marks go, and where they are below what is not in the
 * trie.
 */
#include "../unit.h"
#include "fib_world.h"

#define FIRST "2001:db8:1::1"

static void tell(struct world *world, const char *dst)
{
	const struct fib_exception told = { FIB_KERNEL, .table = SIXLANE_TABLE_MAIN, .mtu = 1300 };
	const union sixlane_addr to = addr(dst);

	fib_set_exception_flag(world->fib, SIXLANE_TABLE_MAIN, &to);
	assert_int_equal(fib_set_exception(world->fib, &to, &told), 0);
}

static void test_same_again_writes_nothing(void **state)
{
	struct world *world = *state;
	unsigned long writes;

	set(world, "2001:db8::/32", via("fe80::2", 3));
	tell(world, FIRST);
	writes = world->sim->exception_writes + world->sim->routes.writes;
	tell(world, FIRST);
	assert_int_equal(world->sim->exception_writes + world->sim->routes.writes, writes);
}

static void test_marks_go(void **state)
{
	struct world *world = *state;

	set(world, "2001:db8::/32", via("fe80::2", 3));
	tell(world, FIRST);
	tell(world, "3001::1");
	fib_clear_exception_flags(world->fib);
	set(world, "3001::/16", via("fe80::4", 3));
	assert_int_equal(find_in(world, SIXLANE_TABLE_MAIN, FIRST, "::").marks, 0);
	assert_int_equal(find_in(world, SIXLANE_TABLE_MAIN, "3001::1", "::").marks, 0);
}

/* Below a prefix that cannot be written, and then goes. */
static void test_mark_of_what_is_not_there(void **state)
{
	struct world *world = *state;

	set(world, "::/0", via("fe80::1", 3));
	world->sim->set_fails = 1;
	set(world, "2001:db8::/32", via("fe80::2", 3));
	tell(world, FIRST);
	world->sim->set_fails = 0;
	unset(world, "2001:db8::/32");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(find_in(world, SIXLANE_TABLE_MAIN, FIRST, "::").marks,
			 SIXLANE_ROUTE_EXCEPTIONS);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_again_writes_nothing),
		TEST(test_marks_go),
		TEST(test_mark_of_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
