// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions of an earlier daemon: in effect until they are said anew, or are not mentioned; what
 * they name stays theirs; what cannot be meant does no harm.
 */
#include <errno.h>

#include "../unit.h"
#include "exception_world.h"

static void tell_routes(struct world *world)
{
	fib_sync_begin(world->fib);
	set_port(world, 3, SIXLANE_PORT_UP);
	set_routes(world);
	fib_sync_end(world->fib);
}

static void say_all(struct world *world)
{
	struct fib_exception leased = until(redirect(hop_via("fe80::5", 3, 0)), 900);

	say(world, FIB_KERNEL, "2001:db8::1",
	    until(pmtu_under(1300, hop_via("fe80::2", 3, 0)), 99));
	leased.confirm_ns = 300;
	say(world, FIB_KERNEL, "2001:db8::2", leased);
	say(world, FIB_KERNEL, "2001:db8::3",
	    (struct fib_exception){ .mtu = 1290, .observe = true });
	say(world, FIB_KERNEL, "2001:db8::4", (struct fib_exception){ .punt = true });
	say(world, FIB_OPERATOR, "2001:db8::5",
	    (struct fib_exception){ .mtu = 1400, .mtu_locked = true });
	say(world, FIB_KERNEL, "2001:db8::6", pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8::6", redirect(hop_via("fe80::6", 3, 0)));
}

static void assert_all(struct world *world)
{
	assert_exceptions(world, 6);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_under(world, "2001:db8::1", hop_via("fe80::2", 3, 0));
	assert_hop(world, "2001:db8::2", hop_via("fe80::5", 3, 0));
	assert_effect(world, "2001:db8::3", SIM_OBSERVED);
	assert_effect(world, "2001:db8::4", SIM_PUNTED);
	assert_mtu(world, "2001:db8::5", 1400);
	assert_hop(world, "2001:db8::6", hop_via("fe80::6", 3, 0));
}

static unsigned long writes(const struct world *world)
{
	return world->sim->exception_writes + world->sim->routes.writes + world->sim->array_writes;
}

/* Nothing is written, and what they name is still there. */
static void test_they_stay(void **state)
{
	struct world *world = *state;
	unsigned long before;
	uint64_t next;

	set_port(world, 3, SIXLANE_PORT_UP);
	set_routes(world);
	say_all(world);
	restart(world, SIXLANE_MAX_ROUTES);
	before = writes(world);
	tell_routes(world);
	assert_all(world);
	assert_int_equal(writes(world), before);
	/* Nobody has confirmed the kernel's. */
	for (int i = 1; i <= 6; i++) {
		char dst[] = "2001:db8::0";

		dst[10] = (char)('0' + i);
		if (i != 5)
			assert_doubt(world, dst);
	}
	assert_doubt(world, NULL);
	before = world->sim->exception_writes;
	say_all(world);
	assert_int_equal(world->sim->exception_writes, before);
	assert_all(world);
	fib_exceptions_expire(world->fib, 99, 5, &next);
	assert_exceptions(world, 5);
}

static void test_they_are_swept(void **state)
{
	struct world *world = *state;

	set_port(world, 3, SIXLANE_PORT_UP);
	set_routes(world);
	say_all(world);
	restart(world, SIXLANE_MAX_ROUTES);
	tell_routes(world);
	fib_exceptions_begin(world->fib, FIB_OPERATOR);
	say(world, FIB_OPERATOR, "2001:db8::5", pmtu(1410));
	fib_exceptions_end(world->fib, FIB_OPERATOR, true, NULL, NULL);
	expire_gone(world);
	assert_mtu(world, "2001:db8::5", 1410);
	assert_mtu(world, "2001:db8::1", 1300);
	/* What the kernel said beside the operator was not in the map. */
	assert_effect(world, "2001:db8::6", SIM_PUNTED);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8::2", redirect(hop_via("fe80::7", 3, 0)));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_exceptions(world, 2);
	assert_hop(world, "2001:db8::2", hop_via("fe80::7", 3, 0));
	assert_doubt(world, NULL);
	unsay(world, FIB_KERNEL, "2001:db8::2");
	assert_int_equal(stats_of(world).next_hops, 2);
}

/* While the daemon was away, a route changed. */
static void test_other_route(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say_all(world);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set(world, "2001:db8::/32", via("fe80::9", 3));
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_mtu(world, "2001:db8::5", 1400);
	fib_sync_end(world->fib);
	assert_hop(world, "2001:db8::6", hop_via("fe80::6", 3, 0));
	assert_mtu(world, "2001:db8::5", 1400);
}

/* … or an object came to mean something else. */
static void test_other_object(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 0), hop_via("fe80::9", 3, 0) };

	for (uint32_t changed = 0; changed < 2; changed++) {
		struct fib_object object = { .verdict = SIXLANE_FORWARD, .n_hops = 1 };

		object.hops = hops;
		fib_set_object(world->fib, 7, &object);
		set(world, "2001:db8::/32", by_object(7));
		say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
		restart(world, SIXLANE_MAX_ROUTES);
		fib_sync_begin(world->fib);
		object.hops = hops + changed;
		fib_set_object(world->fib, 7, &object);
		assert_effect(world, "2001:db8::1", changed ? SIM_PUNTED : SIM_APPLIED);
		set(world, "2001:db8::/32", by_object(7));
		fib_sync_end(world->fib);
		assert_object(world, "2001:db8::1", by_object(7), &object);
		assert_effect(world, "2001:db8::1", changed ? SIM_PUNTED : SIM_APPLIED);
	}
}

/* The earlier daemon ended between the write of an exception and that of its mark, or the reverse.
 */
static void test_marks_are_mended(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_OPERATOR, "2001:db8::5", pmtu(1400));
	fib_decompile(world->fib); /* would not agree with these */
	for (size_t i = 0; i < world->sim->routes.n; i++)
		world->sim->routes.routes[i].value ^= SIXLANE_ROUTE_EXCEPTIONS;
	assert_marks(world, "::1", ANY);
	restart(world, SIXLANE_MAX_ROUTES);
	assert_int_equal(fib_retry(world->fib), 0);
	assert_mtu(world, "2001:db8::5", 1400);
	assert_marks(world, "::1", 0);
}

/* More than there may be now. */
static void test_smaller_bound(void **state)
{
	struct world *world = *state;
	struct fib_writer writer = sim_writer(world->sim);

	set_routes(world);
	say_all(world);
	fib_free(world->fib);
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	fib_set_max_exceptions(world->fib, 2);
	sim_adopt(world->sim, world->fib);
	fib_retry(world->fib);
	assert_exceptions(world, 2);
	assert_mtu(world, "2001:db8::5", 1400);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_marks(world, "2001:db8::1", MISSING);
}

static void put(struct world *world, const char *dst, struct sixlane_exception value)
{
	struct sim_exception *exception = &world->sim->exceptions[world->sim->n_exceptions++];

	exception->key =
		(struct sixlane_exception_key){ .dst = addr(dst), .table = SIXLANE_TABLE_MAIN };
	value.flags |= value.flags & SIXLANE_EXCEPTION_OPERATOR ? 0 : SIXLANE_EXCEPTION_KERNEL;
	exception->value = value;
}

/* Maps that another hand has written: it is punted, or gone. */
static void test_nonsense(void **state)
{
	struct world *world = *state;
	const uint32_t oper = SIXLANE_EXCEPTION_OPERATOR, hop = SIXLANE_EXCEPTION_NEXT_HOP;
	struct fib_target locked = via("fe80::3", 3);

	set_routes(world);
	locked.mtu = 1400;
	set(world, "2001:db9::/32", locked);
	say(world, FIB_OPERATOR, "2001:db8::9", pmtu(1300));
	put(world, "2001:db8::1", (struct sixlane_exception){ .flags = hop, .next_hop = 77 });
	put(world, "2001:db8::2",
	    (struct sixlane_exception){ .flags = hop, .next_hop = UINT32_MAX });
	put(world, "2001:db8::3", (struct sixlane_exception){ .flags = hop });
	put(world, "2001:db8::4", (struct sixlane_exception){ .flags = hop, .next_hop = 4 });
	put(world, "2001:db8::5",
	    (struct sixlane_exception){ .flags = SIXLANE_EXCEPTION_MTU | oper, .mtu = 9 });
	put(world, "2001:db8::6",
	    (struct sixlane_exception){ .flags = SIXLANE_EXCEPTION_UNDER | SIXLANE_EXCEPTION_MTU,
					.mtu = 1300,
					.under.kind = SIXLANE_KIND_GROUP });
	put(world, "2001:db8::7",
	    (struct sixlane_exception){ .flags = SIXLANE_EXCEPTION_UNDER | oper,
					.under = { .port = 99 } });
	put(world, "2001:db8::8", (struct sixlane_exception){ .flags = 1u << 15 });
	put(world, "2001:db8::a", (struct sixlane_exception){ .mtu = 1300 });
	world->sim->exceptions[world->sim->n_exceptions - 1].value.flags = 0;
	put(world, "2001:db8::b", (struct sixlane_exception){ .flags = oper });
	world->sim->exceptions[world->sim->n_exceptions - 1].key.zero = 1;
	assert_int_equal(world->sim->n_exceptions, 11);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_exceptions(world, 9);
	for (char last = '1'; last < '9'; last++) {
		char dst[] = "2001:db8::0";

		dst[10] = last;
		assert_effect(world, dst, SIM_PUNTED);
	}
	assert_mtu(world, "2001:db8::9", 1300);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	fib_exceptions_begin(world->fib, FIB_OPERATOR);
	fib_exceptions_end(world->fib, FIB_OPERATOR, true, NULL, NULL);
	expire_gone(world);
	assert_exceptions(world, 0);
	assert_marks(world, "2001:db8::1", MISSING);
	for (uint64_t now_ns = 1; now_ns <= 2 * HOUR + 1; now_ns += HOUR) {
		pass(world, now_ns);
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	}
	assert_marks(world, "2001:db8::1", 0);
	assert_int_equal(stats_of(world).next_hops, 3);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_they_stay),	 TEST(test_they_are_swept), TEST(test_other_route),
		TEST(test_other_object), TEST(test_smaller_bound),  TEST(test_marks_are_mended),
		TEST(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
