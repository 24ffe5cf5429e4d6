// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exact exceptions on simulated maps: what the map says of what is told, how many there may be, the
 * operator's told anew, what a restart leaves, and the marks of routes.
 */
#include <errno.h>

#include "../unit.h"
#include "fib_world.h"

#define O SIXLANE_EXCEPTION_OPERATOR
#define K SIXLANE_EXCEPTION_KERNEL
#define MTU SIXLANE_EXCEPTION_MTU
#define LOCKED SIXLANE_EXCEPTION_LOCKED
#define HOP SIXLANE_EXCEPTION_NEXT_HOP
#define OBSERVE SIXLANE_EXCEPTION_OBSERVE

#define DST "2001:db8:1::1"
#define MARK SIXLANE_ROUTE_EXCEPTIONS

static struct fib_exception told(enum fib_origin origin, uint32_t mtu)
{
	return (struct fib_exception){ .origin = origin, .table = SIXLANE_TABLE_MAIN, .mtu = mtu };
}

static int except(struct world *world, const char *dst, struct fib_exception exception)
{
	const union sixlane_addr to = addr(dst);

	fib_mark(world->fib, exception.table, &to);
	return fib_set_exception(world->fib, &to, &exception);
}

static void unexcept(struct world *world, const char *dst)
{
	const union sixlane_addr to = addr(dst);

	assert_int_equal(fib_set_exception(world->fib, &to, NULL), 0);
}

static const struct sixlane_exception *value_of(const struct world *world, const char *dst)
{
	const union sixlane_addr to = addr(dst);

	return sim_exception(world->sim, &to);
}

static void assert_mark(const struct world *world, const char *dst, uint32_t mark)
{
	assert_int_equal(find_in(world, SIXLANE_TABLE_MAIN, dst, "::").marks, mark);
}

static void set_routes(struct world *world)
{
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", via("fe80::2", 3));
}

/* --- what the map says -------------------------------------------------------------------------
 */

static const struct {
	const char *what;
	struct fib_exception told;
	uint32_t flags, mtu;
} contents[] = {
	{ "an MTU", { .mtu = 1300 }, K | MTU, 1300 },
	{ "an MTU that no link may have", { .mtu = 1000 }, K | MTU, 1280 },
	{ "one that is locked", { .mtu = 1300, .mtu_locked = true }, K | MTU | LOCKED, 1300 },
	{ "nothing to lock",
	  { .mtu_locked = true, .has_hop = true, .hop = { .ifindex = 3 } },
	  K | HOP,
	  0 },
	{ "the operator's",
	  { .origin = FIB_OPERATOR, .mtu = 1300, .expires_ns = 7 },
	  O | MTU,
	  1300 },
	{ "one that is counted", { .mtu = 1300, .observe = true }, K | MTU | OBSERVE, 1300 },
};

static void test_contents(void **state)
{
	struct world *world = *state;

	set_routes(world);
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		struct fib_exception exception = contents[i].told;
		const struct sixlane_exception *value;

		exception.table = 100;
		assert_int_equal(except(world, DST, exception), 0);
		value = value_of(world, DST);
		if (value->flags != contents[i].flags || value->mtu != contents[i].mtu)
			fail_msg("%s: flags %#x, mtu %u", contents[i].what, value->flags,
				 value->mtu);
		assert_int_equal(value->table, 100);
		assert_int_equal(value->expires_ns, exception.expires_ns);
	}
	assert_int_equal(stats_of(world).exceptions, 1);
}

static void test_next_hop_is_held(void **state)
{
	struct world *world = *state;
	struct fib_exception exception = told(FIB_KERNEL, 0);
	uint64_t next_hops;

	set_routes(world);
	next_hops = stats_of(world).next_hops;
	exception.has_hop = true;
	exception.hop = hop_via("fe80::9", 4, 0);
	assert_int_equal(except(world, DST, exception), 0);
	assert_int_equal(stats_of(world).next_hops, next_hops + 1);
	assert_true(sim_fate_is(world->sim,
				world->sim->next_hops[value_of(world, DST)->next_hop].fate,
				&exception.hop));
	assert_int_equal(except(world, DST, told(FIB_KERNEL, 1300)), 0);
	assert_int_equal(stats_of(world).next_hops, next_hops);
	exception.hop.ifindex = 0;
	assert_int_equal(except(world, DST, exception), -EINVAL);
	assert_int_equal(value_of(world, DST)->mtu, 1300);
}

static void test_same_again_writes_nothing(void **state)
{
	struct world *world = *state;
	unsigned long writes;

	set_routes(world);
	except(world, DST, told(FIB_KERNEL, 1300));
	writes = world->sim->exception_writes + world->sim->routes.writes;
	except(world, DST, told(FIB_KERNEL, 1300));
	assert_int_equal(world->sim->exception_writes + world->sim->routes.writes, writes);
}

static void test_failures(void **state)
{
	struct world *world = *state;
	const union sixlane_addr dst = addr(DST);

	except(world, DST, told(FIB_KERNEL, 1300));
	world->sim->exception_fails = 1;
	assert_int_equal(except(world, DST, told(FIB_KERNEL, 1400)), -EBUSY);
	assert_int_equal(fib_exception(world->fib, &dst)->mtu, 1300);
	assert_int_equal(except(world, "2001:db8:1::2", told(FIB_KERNEL, 1400)), -EBUSY);
	unexcept(world, DST);
	assert_null(fib_exception(world->fib, &dst));
	assert_non_null(value_of(world, DST));
	world->sim->exception_fails = 0;
	fib_retry(world->fib);
	assert_null(value_of(world, DST));
	assert_int_equal(stats_of(world).exceptions, 0);
}

static void test_restart(void **state)
{
	struct world *world = *state;
	struct fib_exception exception = told(FIB_OPERATOR, 1300);
	const union sixlane_addr dst = addr(DST);

	set_routes(world);
	exception.has_hop = true;
	exception.hop = hop_via("fe80::9", 4, 0);
	except(world, DST, exception);
	except(world, "2001:db8:1::2", told(FIB_KERNEL, 1300));
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set_routes(world);
	fib_sync_end(world->fib);
	assert_int_equal(stats_of(world).exceptions, 1);
	assert_int_equal(value_of(world, DST)->flags, O | MTU | HOP);
	assert_true(sim_fate_is(world->sim,
				world->sim->next_hops[value_of(world, DST)->next_hop].fate,
				&exception.hop));
	assert_mark(world, DST, MARK);
	/* the one that was set last is behind the other */
	assert_int_equal(except(world, "2001:db8:1::2", told(FIB_OPERATOR, 1300)), 0);
	assert_memory_equal(fib_oldest_operator(world->fib), &dst, sizeof(dst));
	assert_int_equal(except(world, DST, exception), 0);
	assert_memory_not_equal(fib_oldest_operator(world->fib), &dst, sizeof(dst));
	assert_int_equal(except(world, "2001:db8:1::2", told(FIB_KERNEL, 1300)), 0);
	assert_memory_equal(fib_oldest_operator(world->fib), &dst, sizeof(dst));
	unexcept(world, DST);
	assert_null(fib_oldest_operator(world->fib));
	assert_null(value_of(world, DST));
}

/* --- marks --------------------------------------------------------------------------------------
 */

static void test_longest_prefix_is_marked(void **state)
{
	struct world *world = *state;
	const union sixlane_addr dst = addr(DST);

	set_routes(world);
	fib_mark(world->fib, SIXLANE_TABLE_MAIN, &dst);
	assert_mark(world, DST, MARK);
	assert_mark(world, "2001:db9::1", 0);
	/* one that comes below has its cover's, and it stays when that goes … */
	set(world, "2001:db8:1::/48", via("fe80::3", 3));
	assert_mark(world, DST, MARK);
	unset(world, "2001:db8::/32");
	assert_mark(world, DST, MARK);
	assert_mark(world, "2001:db9::1", MARK);
	/* … and its cover has it when it goes */
	unset(world, "::/0");
	unset(world, "2001:db8:1::/48");
	assert_no_route(world, DST);
	set(world, "2001::/16", via("fe80::4", 3));
	assert_mark(world, DST, MARK);
	fib_clear_marks(world->fib);
	assert_mark(world, DST, 0);
	set(world, "3001::/16", via("fe80::4", 3));
	assert_mark(world, "3001::1", 0);
}

static void test_mark_that_cannot_be_written(void **state)
{
	struct world *world = *state;
	const union sixlane_addr dst = addr(DST);

	set_routes(world);
	world->sim->set_fails = 1;
	fib_mark(world->fib, SIXLANE_TABLE_MAIN, &dst);
	assert_no_route(world, DST);
	assert_true(world->sim->gaps);
	world->sim->set_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_mark(world, DST, MARK);
	assert_target(world, DST, via("fe80::2", 3));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_contents),
		TEST(test_next_hop_is_held),
		TEST(test_same_again_writes_nothing),
		TEST(test_failures),
		TEST(test_restart),
		TEST(test_longest_prefix_is_marked),
		TEST(test_mark_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
