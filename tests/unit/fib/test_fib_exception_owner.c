// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose exceptions are while routes and objects change: the kernel's word is of the route that it
 * was said under, and in doubt when that changes; the operator's is of the destination.
 */
#include "../unit.h"
#include "exception_watch.h"

/* --- routes that come, go and change ------------------------------------------------------------
 */

/* What was learnt of a route goes when the same takes its place, which the FIB cannot see. */
static void test_doubted_without_a_change(void **state)
{
	const struct prefix prefix = pfx("2001:db8::/32"), other = pfx("2001:db8:2::/48");
	struct world *world = *state;

	set_routes(world);
	set(world, "2001:db8:1::/48", via("fe80::3", 3));
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8:1::1", pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	fib_doubt_exceptions(world->fib, SIXLANE_TABLE_MAIN, &other);
	fib_doubt_exceptions(world->fib, SIXLANE_TABLE_MAIN + 1, &prefix);
	assert_mtu(world, "2001:db8::1", 1300);
	fib_doubt_exceptions(world->fib, SIXLANE_TABLE_MAIN, &prefix);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db8:1::1", 1300);
	assert_mtu(world, "2001:db8::2", 1300);
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	assert_mtu(world, "2001:db8::1", 1300);
	fib_doubt_exceptions(world->fib, 0, NULL);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_effect(world, "2001:db8:1::1", SIM_PUNTED);
	assert_mtu(world, "2001:db8::2", 1300);
}

static void test_new_route_doubts_the_kernels(void **state)
{
	struct world *world = *state;
	const struct fib_target old = via("fe80::2", 3), new = via("fe80::3", 3);
	const struct meeting may[] = { { old, SIM_APPLIED },
				       { old, SIM_PUNTED },
				       { new, SIM_PUNTED } };

	set_routes(world);
	say(world, FIB_KERNEL, DST, pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8:2::1", pmtu(1300));
	watch_for(world, may, 3);
	set(world, "2001:db8:1::/48", new);
	watch_end(world);
	/* The next hop, the punt, the route with its mark, and where the compiled FIB begins. */
	assert_int_equal(watch.writes, 4);
	assert_marks(world, DST, ANY);
	assert_mtu(world, "2001:db8:2::1", 1300);
	assert_doubt(world, DST);
	assert_doubt(world, NULL);
	assert_effect(world, DST, SIM_PUNTED);
	say(world, FIB_KERNEL, DST, pmtu(1310));
	assert_mtu(world, DST, 1310);
}

static void test_new_route_takes_the_operators(void **state)
{
	struct world *world = *state;
	const struct fib_target old = via("fe80::2", 3), new = via("fe80::3", 3);
	const struct meeting may[] = { { old, SIM_APPLIED }, { new, SIM_APPLIED } };

	set_routes(world);
	say(world, FIB_OPERATOR, DST, pmtu(1300));
	watch_for(world, may, 2);
	set(world, "2001:db8:1::/48", new);
	watch_end(world);
	assert_marks(world, "2001:db8::1", 0);
	assert_doubt(world, NULL);
	/* … and back. */
	watch_for(world, (struct meeting[]){ { new, SIM_APPLIED }, { old, SIM_APPLIED } }, 2);
	unset(world, "2001:db8:1::/48");
	watch_end(world);
	assert_marks(world, "2001:db8::1", ANY);
	assert_doubt(world, NULL);
	/* Without any route it waits for the next one. */
	unset(world, "2001:db8::/32");
	assert_marks(world, DST, ANY);
	unset(world, "::/0");
	assert_exceptions(world, 1);
	watch_for(world,
		  (struct meeting[]){ { fate(SIXLANE_PASS_NO_ROUTE), SIM_NO_EFFECT },
				      { old, SIM_APPLIED } },
		  2);
	set(world, "2001::/16", old);
	watch_end(world);
}

static void test_withdrawn_route_doubts_the_kernels(void **state)
{
	struct world *world = *state;
	const struct fib_target old = via("fe80::2", 3), new = via("fe80::1", 3);
	const struct meeting may[] = { { old, SIM_APPLIED },
				       { old, SIM_PUNTED },
				       { new, SIM_PUNTED } };

	set_routes(world);
	say(world, FIB_KERNEL, DST, pmtu_under(1300, hop_via("fe80::2", 3, 0)));
	watch_for(world, may, 3);
	unset(world, "2001:db8::/32");
	watch_end(world);
	assert_doubt(world, DST);
	/* The kernel has forgotten it. */
	unsay(world, FIB_KERNEL, DST);
	assert_effect(world, DST, SIM_NO_EFFECT);
	assert_marks(world, DST, 0);
	assert_doubt(world, NULL);
}

/* Both words: the kernel's doubt is the packet's. */
static void test_other_next_hop_doubts_the_kernels(void **state)
{
	struct world *world = *state;
	const struct fib_target old = via("fe80::2", 3);
	struct fib_target new = old;
	const struct meeting may[] = { { old, SIM_APPLIED },
				       { old, SIM_PUNTED },
				       { new, SIM_PUNTED } };

	new.mtu = 1400;
	set_routes(world);
	say(world, FIB_KERNEL, DST, pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8:1::2", pmtu(1290));
	say(world, FIB_OPERATOR, DST, pmtu(1290));
	watch_for(world, may, 3);
	watch.may[2].route = new;
	set(world, "2001:db8::/32", new);
	watch_end(world);
	assert_mtu(world, "2001:db8:1::2", 1290);
	assert_doubt(world, DST);
	assert_doubt(world, NULL);
	/* What is set again as it is doubts nothing. */
	say(world, FIB_KERNEL, DST, pmtu(1300));
	set(world, "2001:db8::/32", new);
	assert_mtu(world, DST, 1290);
	assert_doubt(world, NULL);
	/* Another doubt is another question. */
	set(world, "2001:db8::/32", old);
	assert_doubt(world, DST);
	set(world, "2001:db8::/32", new);
	assert_doubt(world, DST);
	unsay(world, FIB_KERNEL, DST);
	assert_mtu(world, DST, 1290);
}

static void test_changes_elsewhere_doubt_nothing(void **state)
{
	struct world *world = *state;

	set_routes(world);
	say(world, FIB_KERNEL, DST, pmtu(1300));
	set(world, "::/0", via("fe80::9", 4));
	set(world, "2001::/16", via("fe80::9", 4));
	set(world, "2001:db8:1::2/127", via("fe80::9", 4));
	set_in(world, 1000, "2001:db8:1::1/128", via("fe80::9", 4));
	unset(world, "::/0");
	assert_mtu(world, DST, 1300);
	assert_doubt(world, NULL);
	/* What is only observed is asked about, too, and is not punted. */
	say(world, FIB_KERNEL, DST, (struct fib_exception){ .mtu = 1300, .observe = true });
	set(world, "2001:db8::/32", via("fe80::9", 4));
	assert_effect(world, DST, SIM_OBSERVED);
	assert_doubt(world, DST);
}

/* --- objects ------------------------------------------------------------------------------------
 */

static void test_objects_doubt_the_kernels(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::3", 3, 1) };
	const struct fib_object old = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = hops };
	const struct fib_object new = { .verdict = SIXLANE_FORWARD, .n_hops = 2, .hops = hops };

	fib_set_object(world->fib, 7, &old);
	set(world, "2001:db8::/32", by_object(7));
	set(world, "2001:db9::/32", by_object(8));
	say(world, FIB_KERNEL, DST, pmtu_under(1300, hops[0]));
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db9::1", pmtu(1300));
	fib_set_object(world->fib, 7, &old);
	assert_doubt(world, NULL);
	fib_set_object(world->fib, 7, &new);
	assert_effect(world, DST, SIM_PUNTED);
	assert_doubt(world, DST);
	assert_doubt(world, NULL);
	assert_mtu(world, "2001:db8::2", 1300);
	assert_mtu(world, "2001:db9::1", 1300);
	say(world, FIB_KERNEL, DST, pmtu_under(1300, hops[0]));
	fib_set_object(world->fib, 7, NULL);
	assert_doubt(world, DST);
}

/* A bucket that moves is no other route; a member that is another is. */
static void test_buckets_doubt_nothing(void **state)
{
	struct world *world = *state;
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::3", 3, 1),
					hop_via("fe80::4", 3, 1) };
	const uint16_t buckets[2][4] = { { 0, 0, 1, 1 }, { 0, 1, 1, 1 } };
	struct fib_object object = {
		.verdict = SIXLANE_FORWARD, .n_hops = 2, .hops = hops, .n_buckets = 4
	};

	object.buckets = buckets[0];
	fib_set_object(world->fib, 7, &object);
	set(world, "2001:db8::/32", by_object(7));
	say(world, FIB_KERNEL, DST, pmtu_under(1300, hops[1]));
	object.buckets = buckets[1];
	fib_set_object(world->fib, 7, &object);
	assert_mtu(world, DST, 1300);
	assert_doubt(world, NULL);
	object.hops = hops + 1;
	fib_set_object(world->fib, 7, &object);
	assert_effect(world, DST, SIM_PUNTED);
	assert_doubt(world, DST);
}

/* An object that was replaced by the same has none of its exceptions any more. */
static void test_objects_are_replaced(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object said = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = &hop };
	struct world *world = *state;

	fib_set_object(world->fib, 7, &said);
	set(world, "2001:db8::/32", by_object(7));
	set(world, "2001:db9::/32", via("fe80::2", 3));
	say(world, FIB_KERNEL, "2001:db8::1", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db9::1", pmtu(1300));
	fib_doubt_object_exceptions(world->fib, &(struct prefix){ 0 }, 0);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db9::1", 1300);
	assert_doubt(world, "2001:db8::1");
	assert_doubt(world, NULL);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_doubted_without_a_change),
		TEST(test_new_route_doubts_the_kernels),
		TEST(test_new_route_takes_the_operators),
		TEST(test_withdrawn_route_doubts_the_kernels),
		TEST(test_other_next_hop_doubts_the_kernels),
		TEST(test_changes_elsewhere_doubt_nothing),
		TEST(test_objects_doubt_the_kernels),
		TEST(test_buckets_doubt_nothing),
		TEST(test_objects_are_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
