// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions while routes change: at each single write packets meet what held before or what holds
 * afterwards. The kernel's word is of the route that it was said under; the operator's of the
 * destination.
 */
#include <errno.h>

#include "../../user/fib/fib_internal.h"
#include "exception_world.h"

#define DST "2001:db8:1::1"

/* --- packets at each write ----------------------------------------------------------------------
 */

/* A packet's route, and what it meets there. */
struct meeting {
	struct fib_target route;
	enum sim_effect effect;
};

static struct {
	struct world *world;
	struct meeting may[3];
	size_t n;
	unsigned int writes;
} watch;

static bool meets(const struct meeting *meeting)
{
	const struct sixlane_exception *value;
	const union sixlane_addr dst = addr(DST);
	struct sim_found found;

	if (!sim_find(watch.world->sim, SIXLANE_TABLE_MAIN, &dst, &dst, &found))
		return meeting->route.verdict != SIXLANE_FORWARD;
	return sim_does(watch.world->sim, &found, &meeting->route, NULL, NULL, false) &&
	       sim_effect(watch.world->sim, SIXLANE_TABLE_MAIN, &dst, &found, &value) ==
		       meeting->effect;
}

static void look(void *ctx)
{
	(void)ctx;
	watch.writes++;
	for (size_t i = 0; i < watch.n; i++) {
		if (meets(&watch.may[i]))
			return;
	}
	fail_msg("a packet meets what is neither of before nor of afterwards");
}

/* From now on packets to DST meet one of these, and in the end the last one. */
static void watch_for(struct world *world, const struct meeting *may, size_t n)
{
	watch.world = world;
	memcpy(watch.may, may, n * sizeof(*may));
	watch.n = n;
	watch.writes = 0;
	world->sim->written = look;
}

static void watch_end(struct world *world)
{
	assert_true(watch.writes > 0);
	world->sim->written = NULL;
	assert_true(meets(&watch.may[watch.n - 1]));
}

/* --- routes that come, go and change ------------------------------------------------------------
 */

static void set_routes(struct world *world)
{
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", via("fe80::2", 3));
}

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
	/* The next hop, the punt, the route with its mark. */
	assert_int_equal(watch.writes, 3);
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
	fib_doubt_object_exceptions(world->fib);
	assert_effect(world, "2001:db8::1", SIM_PUNTED);
	assert_mtu(world, "2001:db9::1", 1300);
	assert_doubt(world, "2001:db8::1");
	assert_doubt(world, NULL);
}

/* --- writes that fail ---------------------------------------------------------------------------
 */

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
	assert_effect(world, "2001:db9::2", SIM_PUNTED);
	assert_mtu(world, "2001:db8::1", 1300);
	assert_int_equal(stats_of(world).exceptions_failed, 2);
	assert_int_equal(fib_retry(world->fib), 2);
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
	assert_mtu(world, DST, 1290);
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

int main(void)
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
		TEST(test_exception_finds_no_room),
		TEST(test_exception_is_stuck),
		TEST(test_stuck_one_is_cured_by_a_doubt),
		TEST(test_doubt_is_stuck),
		TEST(test_doubt_by_object_is_stuck),
		TEST(test_mark_cannot_be_written),
		TEST(test_route_finds_no_room),
		TEST(test_next_hop_is_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
