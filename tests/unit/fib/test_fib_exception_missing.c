// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions of the kernel that find no room: which packets are punted for them, and until when.
 */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "../unit.h"
#include "exception_world.h"

#define KNOWN "2001:db8::1"

/* With room for KNOWN alone. */
static void fill_up(struct world *world)
{
	set_routes(world);
	set(world, "2001:db8:1::/48", via("fe80::3", 4));
	fib_set_max_exceptions(world->fib, 1);
	say(world, FIB_KERNEL, KNOWN, pmtu(1300));
}

static void lose(struct world *world, const char *dst, struct fib_exception said)
{
	assert_int_equal(say(world, FIB_KERNEL, dst, said), -ENOSPC);
	assert_effect(world, dst, SIM_PUNTED);
}

/* The kernel has KNOWN, and if not NULL the other. */
static void tell(struct world *world, const char *other, bool complete)
{
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, KNOWN, pmtu(1300));
	if (other)
		say(world, FIB_KERNEL, other, pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, complete, NULL, NULL);
}

static uint64_t missing(const struct world *world)
{
	return stats_of(world).exceptions_missing;
}

static void test_only_they_are_punted(void **state)
{
	const struct prefix other = pfx("2001:db8:1::/48");
	struct world *world = *state;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	assert_marks(world, KNOWN, MISSING);
	assert_effect(world, "2001:db8::3", SIM_NO_EFFECT);
	assert_mtu(world, KNOWN, 1300);
	lose(world, "2001:db8::2", pmtu(1310));
	assert_int_equal(missing(world), 1);
	assert_false(fib_has_exceptions(world->fib, SIXLANE_TABLE_MAIN, &other));
	lose(world, "2001:db8:1::2", pmtu(1300));
	assert_true(fib_has_exceptions(world->fib, SIXLANE_TABLE_MAIN, &other));
}

/* … when all was told and they were not, or found room, and not before. */
static void test_until_all_was_told(void **state)
{
	struct world *world = *state;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	lose(world, "2001:db8::3", pmtu(1300));
	lose(world, "2001:db8:1::2", pmtu(1300));
	assert_int_equal(missing(world), 3);
	tell(world, NULL, false);
	assert_marks(world, "2001:db8:1::1", MISSING);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
	assert_effect(world, "2001:db8:1::2", SIM_PUNTED);
	assert_int_equal(missing(world), 3);
	tell(world, "2001:db8::2", true);
	assert_marks(world, "2001:db8:1::1", 0);
	assert_marks(world, KNOWN, MISSING);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8::3", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 1);
	tell(world, NULL, true);
	assert_marks(world, KNOWN, ANY);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
	/* The operator's are not told by that. */
	lose(world, "2001:db8::2", pmtu(1300));
	fib_exceptions_begin(world->fib, FIB_OPERATOR);
	fib_exceptions_end(world->fib, FIB_OPERATOR, true, NULL, NULL);
	expire_gone(world);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
}

/* What one telling leaves out that is not complete, another one before it may have told. */
static void test_told_in_parts(void **state)
{
	struct world *world = *state;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	tell(world, "2001:db8::2", false);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	tell(world, "2001:db8::3", false);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
	assert_int_equal(missing(world), 2);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_effect(world, "2001:db8::3", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
}

/* Under 2001:db8:2::/48. */
static void set_third(struct world *world, struct fib_target target)
{
	set(world, "2001:db8:2::/48", target);
}

static struct fib_target by_source(const struct fib_source *source)
{
	return (struct fib_target){
		.verdict = SIXLANE_FORWARD,
		.kind = FIB_SOURCES,
		.n_sources = 1,
		.sources = source,
	};
}

/* Of routes by several hops, or by source, the kernel does not tell all that it has. */
static void test_what_is_never_told(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const struct fib_source source = { pfx("::/0"), 48, via("fe80::1", 3) };
	const struct fib_target routes[] = {
		several(FIB_HASHED, hops, 2),
		by_source(&source),
	};
	struct world *world = *state;

	fill_up(world);
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		set_third(world, routes[i]);
		lose(world, "2001:db8:1::2", until(pmtu(1300), 900));
		lose(world, "2001:db8:2::2", until(pmtu(1300), 500));
		lose(world, "2001:db8:2::3", until(pmtu(1300), 400));
		pass(world, 499);
		tell(world, NULL, true);
		assert_effect(world, "2001:db8:1::2", SIM_NO_EFFECT);
		assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
		assert_effect(world, "2001:db8:2::3", SIM_PUNTED);
		assert_marks(world, "2001:db8:1::2", 0);
		assert_int_equal(missing(world), 2);
		pass(world, 500);
		tell(world, NULL, true);
		assert_int_equal(missing(world), 0);
		assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
		assert_marks(world, "2001:db8:2::2", 0);
		pass(world, 1);
	}
}

/* Lost when it would have been told, and again when the route had changed. */
static void test_what_is_not_told_any_more(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct world *world = *state;

	fill_up(world);
	set_third(world, via("fe80::1", 3));
	lose(world, "2001:db8:2::2", until(pmtu(1300), 500));
	set_third(world, several(FIB_HASHED, hops, 2));
	lose(world, "2001:db8:2::2", until(pmtu(1300), 500));
	pass(world, 499);
	tell(world, NULL, true);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
	assert_int_equal(missing(world), 1);
	pass(world, 500);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
}

/* Nobody knows when the kernel forgets a redirect: it is lost for an hour. */
static void test_what_is_never_told_and_has_no_end(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct fib_exception leased = until(redirect(hops[0]), 100);
	struct world *world = *state;

	leased.confirm_ns = 50;
	fill_up(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	lose(world, "2001:db8:2::2", leased);
	pass(world, 1000);
	tell(world, NULL, true);
	pass(world, HOUR + 999);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
	pass(world, HOUR + 1000);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
}

/* By one hop at a time, or by an object. */
static void test_what_is_told_of_several_hops(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const struct fib_object object = { .hops = hops, .n_hops = 2 };
	const struct fib_target routes[] = { several(FIB_FIRST, hops, 2), by_object(1) };
	struct world *world = *state;

	fill_up(world);
	fib_set_object(world->fib, 1, &object);
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		set_third(world, routes[i]);
		lose(world, "2001:db8:2::2", until(pmtu(1300), 500));
		tell(world, NULL, true);
		assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
		assert_int_equal(missing(world), 0);
	}
}

static bool all_are_gone(void *ctx, uint32_t table, const union sixlane_addr *dst,
			 enum fib_doubt doubt)
{
	(void)ctx;
	(void)table;
	(void)dst;
	(void)doubt;
	return true;
}

static void tell_none(struct world *world)
{
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
}

/* What the kernel has no more, and is still to be removed, is not lost when it makes room. */
static void test_what_is_gone_makes_room(void **state)
{
	struct world *world = *state;

	fill_up(world);
	tell_none(world);
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8::2", pmtu(1300)), 0);
	assert_mtu(world, "2001:db8::2", 1300);
	assert_effect(world, KNOWN, SIM_NO_EFFECT);
	assert_marks(world, KNOWN, ANY);
	assert_int_equal(missing(world), 0);
}

/* When KNOWN went, and since when its route had said before that some are missing. */
struct going {
	struct world *world;
	uint32_t marked_in, gone_in; /* grace periods; 0: not yet */
};

static void watch(void *ctx)
{
	struct going *going = ctx;
	const struct sim *sim = going->world->sim;
	const struct sim_found found = find_in(going->world, SIXLANE_TABLE_MAIN, KNOWN, "::");

	if (!(found.marks & SIXLANE_ROUTE_EXCEPTIONS_MISSING))
		going->marked_in = 0;
	else if (!going->marked_in)
		going->marked_in = sim->epoch;
	if (!sim->n_exceptions)
		going->gone_in = sim->epoch;
}

/* A packet that has read its route before one goes, and looks for it afterwards, misses it. */
static void test_none_makes_room_unexpected(void **state)
{
	struct world *world = *state;
	struct going going = { .world = world };

	fill_up(world);
	world->sim->ctx = &going;
	world->sim->written = watch;
	world->sim->grace_fails = true;
	lose(world, "2001:db8:1::2", until(pmtu(1300), 100));
	say(world, FIB_KERNEL, KNOWN, until(pmtu(1300), 50));
	lose(world, "2001:db8:1::2", until(pmtu(1300), 100));
	assert_int_equal(going.gone_in, 0);
	assert_int_equal(going.marked_in, world->sim->epoch);
	world->sim->grace_fails = false;
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8:1::2", until(pmtu(1300), 100)), 0);
	assert_int_equal(going.gone_in, world->sim->epoch);
	assert_int_equal(going.marked_in, world->sim->epoch - 1);
	world->sim->written = NULL;
}

/* … which is so while it goes on, for one grace period, and as long as there is no room. */
static void test_room_is_expected_once(void **state)
{
	struct world *world = *state;
	unsigned long graces;

	fill_up(world);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_KERNEL, KNOWN, until(pmtu(1300), 50));
	say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), 60));
	assert_marks(world, KNOWN, ANY);
	graces = world->sim->graces;
	say(world, FIB_KERNEL, "2001:db8:1::2", until(pmtu(1300), 70));
	assert_marks(world, KNOWN, MISSING);
	assert_marks(world, "2001:db8:1::2", MISSING);
	say(world, FIB_KERNEL, "2001:db8:1::3", until(pmtu(1300), 80));
	assert_int_equal(world->sim->graces, graces + 1);
	assert_exceptions(world, 2);
	assert_marks(world, "2001:db8:1::2", MISSING);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8:1::2", until(pmtu(1300), 70));
	say(world, FIB_KERNEL, "2001:db8:1::3", until(pmtu(1300), 80));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_int_equal(missing(world), 0);
	assert_marks(world, "2001:db8:1::2", MISSING);
	graces = world->sim->graces;
	say(world, FIB_KERNEL, "2001:db8::4", until(pmtu(1300), 90));
	assert_int_equal(world->sim->graces, graces);
	fib_exceptions_expire(world->fib, 100, 1, &(uint64_t){ 0 });
	tell_none(world);
	assert_exceptions(world, 1);
	assert_marks(world, "2001:db8::4", ANY);
	assert_marks(world, "2001:db8:1::2", 0);
	assert_int_equal(missing(world), 0);
	graces = world->sim->graces;
	tell_none(world);
	assert_int_equal(world->sim->graces, graces);
}

/* Nor is that over with the first one that goes: the next one might come at once. */
static void test_room_for_some(void **state)
{
	const uint32_t max = 8;
	struct world *world = *state;

	set_routes(world);
	fib_set_max_exceptions(world->fib, max);
	for (uint8_t i = 0; i <= max; i++) {
		char dst[] = "2001:db8::0";

		dst[10] = (char)('0' + i);
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 10u + i));
	}
	for (uint32_t gone = 1; gone <= 2; gone++) {
		tell_none(world);
		assert_marks(world, "2001:db8::8", MISSING);
		fib_exceptions_expire(world->fib, 99, 1, &(uint64_t){ 0 });
		assert_exceptions(world, max - gone);
	}
	tell_none(world);
	assert_marks(world, "2001:db8::8", ANY);
}

/* --- of table local, where packets look for them in main since rules have changed ------------- */

static int say_in_local(struct world *world, const char *dst, struct fib_exception said)
{
	const union sixlane_addr to = addr(dst);

	return fib_set_exception(world->fib, FIB_KERNEL, RT_TABLE_LOCAL, &to, &said);
}

static void test_lost_in_local(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	fill_up(world);
	set_in(world, RT_TABLE_LOCAL, "2001:db8:2::/48", via("fe80::1", 3));
	tell(world, NULL, true);
	fib_join_exceptions(world->fib);
	assert_marks(world, dst, ANY);
	assert_int_equal(say_in_local(world, dst, until(pmtu(1300), 500)), -ENOSPC);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_OPERATOR, dst, pmtu(1400));
	assert_mtu(world, dst, 1400);
	fib_join_exceptions(world->fib);
	assert_forbids(world, dst, 1400);
	unsay(world, FIB_OPERATOR, dst);
	assert_effect(world, dst, SIM_PUNTED);
	assert_effect(world, "2001:db8:2::3", SIM_NO_EFFECT);
	assert_mtu(world, KNOWN, 1300);
	assert_int_equal(find_in(world, RT_TABLE_LOCAL, dst, "::").marks, MISSING);
	tell(world, NULL, true);
	assert_effect(world, dst, SIM_NO_EFFECT);
	assert_marks(world, dst, ANY);
	assert_int_equal(missing(world), 0);
}

static void tell_nothing(struct world *world)
{
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
}

/* What is known there may be missing here, if it is not known here as well. */
static void test_known_in_local(void **state)
{
	struct world *world = *state;

	set_routes(world);
	set_in(world, RT_TABLE_LOCAL, "2001:db8::/48", via("fe80::1", 3));
	say_in_local(world, "2001:db8::2", pmtu(1300));
	say_in_local(world, "2001:db8::3", pmtu(1300));
	say(world, FIB_KERNEL, "2001:db8::3", until(pmtu(1310), 50));
	fib_set_max_exceptions(world->fib, 3);
	fib_join_exceptions(world->fib);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_mtu(world, "2001:db8::3", 1310);
	assert_effect(world, "2001:db9::1", SIM_NO_EFFECT);
	assert_true(fib_wants_exceptions(world->fib));
	assert_false(fib_wants_exceptions(world->fib));
	/* They need no room. */
	assert_exceptions(world, 3);
	tell_nothing(world);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
}

/* For so long after all was told. */
static void assert_lost_for(struct world *world, const char *dst, uint64_t now, uint64_t time)
{
	fib_join_exceptions(world->fib);
	pass(world, now);
	assert_effect(world, dst, SIM_PUNTED);
	tell_nothing(world);
	if (time) {
		pass(world, now + time - 1);
		tell_nothing(world);
		assert_effect(world, dst, SIM_PUNTED);
		pass(world, now + time);
		tell_nothing(world);
	}
	assert_effect(world, dst, SIM_NO_EFFECT);
}

/* With the one that is but to be removed main goes, where it has no route. */
static void test_local_beside_an_empty_main(void **state)
{
	struct world *world = *state;

	set_in(world, RT_TABLE_LOCAL, "2001:db8::/48", via("fe80::1", 3));
	say(world, FIB_KERNEL, "2001:db8::2", until(pmtu(1300), 500));
	tell_none(world);
	assert_exceptions(world, 1);
	say_in_local(world, "2001:db8::2", pmtu(1300));
	say_in_local(world, "2001:db8::3", pmtu(1300));
	fib_join_exceptions(world->fib);
	assert_exceptions(world, 2);
	set(world, "2001:db8::/48", via("fe80::1", 3));
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8::3", SIM_PUNTED);
}

/* No dump tells those at several hops. */
static void test_untold_in_local(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const char *dst = "2001:db8::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set_routes(world);
	set_in(world, RT_TABLE_LOCAL, "2001:db8::/48", several(FIB_HASHED, hops, 2));
	fib_set_max_exceptions(world->fib, 1);
	say(world, FIB_OPERATOR, "2001:db8::7", pmtu(1400));
	say_in_local(world, dst, until(pmtu(1300), HOUR));
	assert_lost_for(world, dst, 1, HOUR - 1);
	/* They are told, but of a route that packets do not go by. */
	set_in(world, RT_TABLE_LOCAL, "2001:db8::/48", via("fe80::1", 3));
	fib_lose_exception(world->fib, RT_TABLE_LOCAL, &to, false);
	assert_lost_for(world, dst, 5 * HOUR, 0);
}

/* What is marked while all is being told is not marked for ever. */
static void test_local_while_all_is_told(void **state)
{
	struct world *world = *state;

	fill_up(world);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_join_exceptions(world->fib);
	assert_marks(world, KNOWN, MISSING);
	say(world, FIB_KERNEL, KNOWN, pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	tell(world, NULL, true);
	assert_marks(world, KNOWN, ANY);
}

/* Main has no route there before rules change. */
static void test_lost_in_local_alone(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_in(world, RT_TABLE_LOCAL, "2001:db8:2::/48", via("fe80::1", 3));
	fib_set_max_exceptions(world->fib, 1);
	say(world, FIB_OPERATOR, "2001:db8::7", pmtu(1400));
	assert_int_equal(say_in_local(world, dst, until(pmtu(1300), 500)), -ENOSPC);
	fib_join_exceptions(world->fib);
	set(world, "2001:db8:2::/48", via("fe80::1", 3));
	assert_effect(world, dst, SIM_PUNTED);
	assert_effect(world, "2001:db8:2::3", SIM_NO_EFFECT);
}

/* --- of routes in two tables by the same object ------------------------------------------------
 */

/* It is known in another table, of a route by object 1. */
static void know_elsewhere(struct world *world, const char *dst)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object object = { .hops = &hop, .n_hops = 1 };
	const struct fib_exception said = until(pmtu(1300), 500);
	const union sixlane_addr to = addr(dst);

	fib_set_object(world->fib, 1, &object);
	set_in(world, 1000, "2001:db8:2::/48", by_object(1));
	fib_set_exception(world->fib, FIB_KERNEL, 1000, &to, &said);
}

/* It has here a longer route, which then goes: before a dump has told, and afterwards. */
static void test_suspected_behind(void **state)
{
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	for (int told = 0; told < 2; told++) {
		know_elsewhere(world, dst);
		set(world, "2001:db8:2::/64", via("fe80::3", 4));
		set(world, "2001:db8:2::/48", by_object(1));
		assert_effect(world, dst, SIM_NO_EFFECT);
		if (told) {
			fib_exceptions_begin(world->fib, FIB_KERNEL);
			fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
			fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
			assert_effect(world, dst, SIM_NO_EFFECT);
		}
		unset(world, "2001:db8:2::/64");
		assert_effect(world, dst, SIM_PUNTED);
		unset(world, "2001:db8:2::/48");
		tell_none(world);
	}
}

/* Until a dump has told, not for hours, and no matter of the bound. */
static void test_suspected_without_room(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	fib_set_max_exceptions(world->fib, 1);
	know_elsewhere(world, dst);
	pass(world, 1);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_effect(world, dst, SIM_PUNTED);
	assert_int_equal(missing(world), 0);
	tell_nothing(world);
	assert_effect(world, dst, SIM_NO_EFFECT);
}

/* So many of this group's hops: the second one is object 1's. */
static void set_group(struct world *world, size_t n)
{
	const struct fib_hop hops[] = { hop_via("fe80::2", 3, 1), hop_via("fe80::1", 3, 1) };
	const struct fib_object object = { .hops = hops, .n_hops = n };

	fib_set_object(world->fib, 2, &object);
}

/* Known, or lost, there. */
static void test_suspected_of_a_new_member(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	for (uint32_t i = 0; i < 3; i++) {
		fib_set_max_exceptions(world->fib, i % 2);
		set_group(world, 1);
		set(world, "2001:db8:2::/48", by_object(2));
		know_elsewhere(world, dst);
		assert_effect(world, dst, SIM_NO_EFFECT);
		assert_false(fib_wants_exceptions(world->fib));
		set_group(world, 2);
		assert_effect(world, dst, SIM_PUNTED);
		assert_effect(world, "2001:db8:2::3", SIM_NO_EFFECT);
		assert_true(fib_wants_exceptions(world->fib));
		tell_none(world);
	}
}

/* What is but to be removed is not what is there. */
static void test_suspected_where_one_is_gone(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set(world, "2001:db8:2::/48", via("fe80::3", 3));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	tell_none(world);
	know_elsewhere(world, dst);
	assert_exceptions(world, 2);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_exceptions(world, 1);
	assert_effect(world, dst, SIM_PUNTED);
}

/* Found in no dump of another table, but as one for which there was no room. */
static void lose_elsewhere(struct world *world, const char *dst)
{
	fib_set_max_exceptions(world->fib, 0);
	know_elsewhere(world, dst);
}

static void test_lost_in_another_table(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	lose_elsewhere(world, dst);
	set(world, "2001:db8:2::/48", via("fe80::1", 3));
	assert_effect(world, dst, SIM_NO_EFFECT);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_effect(world, dst, SIM_PUNTED);
	assert_effect(world, "2001:db8:2::3", SIM_NO_EFFECT);
	tell_nothing(world);
	assert_effect(world, dst, SIM_NO_EFFECT);
}

/* The table's own are none of another's. */
static void test_lost_in_the_same_table(void **state)
{
	struct world *world = *state;

	set_routes(world);
	fib_set_max_exceptions(world->fib, 0);
	say(world, FIB_KERNEL, "2001:db9::1", until(pmtu(1300), 500));
	pass(world, 1);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_marks(world, "2001:db8:2::2", 0);
	tell_nothing(world);
	set(world, "2001:db8:3::/48", by_object(1));
	assert_marks(world, "2001:db8:3::2", 0);
}

static void test_learnt_in_another_table(void **state)
{
	const union sixlane_addr to = addr("2001:db8:2::2");
	struct world *world = *state;

	set(world, "2001:db8:2::/48", by_object(1));
	know_elsewhere(world, "2001:db8:2::2");
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
	fib_share_exception(world->fib, 1000, &to);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
}

/* One that found no room there, and one that is not as it is known here. */
static void test_learnt_without_room(void **state)
{
	const union sixlane_addr to = addr("2001:db8:2::2");
	struct world *world = *state;

	fib_set_max_exceptions(world->fib, 0);
	set(world, "2001:db8:2::/48", by_object(1));
	know_elsewhere(world, "2001:db8:2::2");
	fib_share_exception(world->fib, 1000, &to);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
}

static void test_learnt_anew(void **state)
{
	const struct fib_exception smaller = until(pmtu(1290), 600);
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set(world, "2001:db8:2::/48", by_object(1));
	know_elsewhere(world, dst);
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	fib_share_exception(world->fib, 1000, &to);
	assert_mtu(world, dst, 1300);
	fib_set_exception(world->fib, FIB_KERNEL, 1000, &to, &smaller);
	fib_share_exception(world->fib, 1000, &to);
	assert_effect(world, dst, SIM_PUNTED);
	assert_doubt(world, dst);
}

/* All of main was told, then it has a route by the object, and then the other table is told. */
static void test_room_after_another_table_was_told(void **state)
{
	const struct fib_exception said = until(pmtu(1300), 500);
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	lose_elsewhere(world, dst);
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	set(world, "2001:db8:2::/48", by_object(1));
	fib_set_max_exceptions(world->fib, 5);
	fib_set_exception(world->fib, FIB_KERNEL, 1000, &to, &said);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
	assert_effect(world, dst, SIM_PUNTED);
}

/* Its marks outlive the dump under way, and no other. */
static void test_shared_while_all_is_told(void **state)
{
	struct world *world = *state;

	lose_elsewhere(world, "2001:db8:2::2");
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_true(fib_wants_exceptions(world->fib));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
	assert_marks(world, "2001:db8:2::2", MISSING);
	tell_none(world);
	assert_marks(world, "2001:db8:2::2", 0);
	set(world, "2001:db8:3::/48", by_object(1));
	assert_marks(world, "2001:db8:3::2", 0);
	assert_false(fib_wants_exceptions(world->fib));
}

/* … until all was told, by a route that leads to object 1 from now on. */
static void assert_forbids_beside(struct world *world, const char *dst)
{
	know_elsewhere(world, dst);
	assert_mtu(world, dst, 1400);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_forbids(world, dst, 1400);
	tell_none(world);
	assert_mtu(world, dst, 1400);
}

/* The operator's does not hide what is known, or lost, in another table. */
static void test_suspected_beside_the_operators(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	for (uint32_t max = 1; max < 3; max++) {
		fib_set_max_exceptions(world->fib, max);
		set_routes(world);
		set(world, "2001:db8:2::/48", via("fe80::7", 3));
		say(world, FIB_OPERATOR, dst, pmtu(1400));
		assert_forbids_beside(world, dst);
		unset(world, "2001:db8:2::/48");
		assert_forbids_beside(world, dst);
		set_group(world, 1);
		set(world, "2001:db8:2::/48", by_object(2));
		know_elsewhere(world, dst);
		assert_mtu(world, dst, 1400);
		set_group(world, 2);
		assert_forbids(world, dst, 1400);
		tell_none(world);
		unsay(world, FIB_OPERATOR, dst);
	}
}

/* Packets from some sources go by the object. */
static void test_suspected_by_source(void **state)
{
	const struct fib_source source = { pfx("::/0"), 48, by_object(1) };
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	know_elsewhere(world, dst);
	set(world, "2001:db8:2::/48", by_source(&source));
	assert_effect(world, dst, SIM_PUNTED);
}

/* … since all was told the last time, or is being told now: of a second group, too. */
static void test_lost_again(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	for (int i = 0; i < 3; i++) {
		set_group(world, 1);
		set(world, "2001:db8:2::/48", by_object(2));
		lose_elsewhere(world, dst);
		if (i == 1)
			set_group(world, 2);
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		if (i == 1)
			set_group(world, 1);
		lose_elsewhere(world, dst);
		if (i < 2)
			set_group(world, 2);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
		set_group(world, 2);
		assert_effect(world, dst, SIM_PUNTED);
		tell_none(world);
	}
}

/* Behind a better metric in the other table: before the kernel was asked about it, and afterwards.
 */
static void test_behind_in_another_table(void **state)
{
	const struct prefix prefix = pfx("2001:db8:2::/48");
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	for (int asked = 0; asked < 2; asked++) {
		know_elsewhere(world, dst);
		fib_move_exceptions(world->fib, 1000, &prefix);
		set_in(world, 1000, "2001:db8:2::/48", via("fe80::3", 4));
		if (asked)
			fib_set_exception(world->fib, FIB_KERNEL, 1000, &to, NULL);
		set(world, "2001:db8:2::/48", by_object(1));
		assert_effect(world, dst, SIM_PUNTED);
		tell_none(world);
		unset(world, "2001:db8:2::/48");
	}
}

/* One that is known makes no others look. */
static void test_known_marks_only_where_it_may_be(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_group(world, 1);
	set(world, "2001:db8:2::/48", by_object(2));
	set(world, "2001:db8:5::/48", by_object(2));
	know_elsewhere(world, dst);
	set_group(world, 2);
	assert_effect(world, dst, SIM_PUNTED);
	assert_marks(world, "2001:db8:5::1", 0);
}

/* In two tables routes change during each dump, and nothing is missing any more. */
static void test_marks_do_not_keep_each_other(void **state)
{
	struct world *world = *state;
	char prefix[32];

	lose_elsewhere(world, "2001:db8:2::2");
	for (int i = 0; i < 3; i++) {
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		snprintf(prefix, sizeof(prefix), "2001:db8:10%d::/48", i);
		set(world, prefix, by_object(1));
		set_in(world, 1000, prefix, by_object(1));
		fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
		assert_int_equal(fib_wants_exceptions(world->fib), !i);
	}
	assert_marks(world, "2001:db8:102::1", 0);
}

/* Its entry has no room, and goes; what covers it is by the same object. */
static void test_suspected_without_an_entry(void **state)
{
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	know_elsewhere(world, "2001:db8:2::9");
	set(world, "2001:db8::/32", by_object(1));
	tell_none(world);
	tell_none(world);
	world->sim->routes.capacity = 2;
	set(world, "2001:db8:2::/56", by_object(1));
	know_elsewhere(world, dst);
	fib_share_exception(world->fib, 1000, &to);
	assert_verdict(world, dst, SIXLANE_PUNT_MAP_FULL);
	unset(world, "2001:db8:2::/56");
	assert_effect(world, dst, SIM_PUNTED);
}

/* All were marked since the dump began, and then one is lost beside the operator's. */
static void test_lost_again_beside_the_operators(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_group(world, 1);
	set(world, "2001:db8:2::/48", by_object(2));
	say(world, FIB_OPERATOR, dst, pmtu(1400));
	fib_set_max_exceptions(world->fib, 1);
	know_elsewhere(world, "2001:db8:2::9");
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	know_elsewhere(world, "2001:db8:2::9");
	set_group(world, 2);
	set_group(world, 1);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, all_are_gone, NULL);
	know_elsewhere(world, dst);
	assert_mtu(world, dst, 1400);
	set_group(world, 2);
	assert_forbids(world, dst, 1400);
}

/* Where it was learnt the route is not expressed. */
static void test_learnt_by_a_route_that_is_punted(void **state)
{
	const struct fib_target equal = { .verdict = SIXLANE_PUNT_EQUAL_METRIC };
	const struct fib_target plain = via("fe80::9", 3);
	const struct fib_target *const routes[] = { &plain, &equal };
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set(world, "2001:db8:2::/48", by_object(1));
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		set_in(world, 1000, "2001:db8:2::/48", *routes[i]);
		fib_share_exception(world->fib, 1000, &to);
		assert_effect(world, dst, i ? SIM_PUNTED : SIM_NO_EFFECT);
	}
}

/* … so it may be when it is known there already. */
static void test_suspected_of_one_whose_route_is_punted(void **state)
{
	const struct fib_target equal = { .verdict = SIXLANE_PUNT_EQUAL_METRIC };
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	know_elsewhere(world, dst);
	set_in(world, 1000, "2001:db8:2::/48", equal);
	set(world, "2001:db8:2::/48", by_object(1));
	assert_effect(world, dst, SIM_PUNTED);
}

/* Known in main, and it is the other table's group that gets a member. */
static void test_suspected_of_a_new_member_elsewhere(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object object = { .hops = &hop, .n_hops = 1 };
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	fib_set_object(world->fib, 1, &object);
	set_group(world, 1);
	set(world, "2001:db8:2::/48", by_object(1));
	set_in(world, 1000, "2001:db8:2::/48", by_object(2));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	assert_int_equal(find_in(world, 1000, dst, "::").marks, 0);
	set_group(world, 2);
	assert_int_equal(find_in(world, 1000, dst, "::").marks, MISSING);
}

/* … and when main, which is the only table with routes by objects, has it from now on. */
static void test_suspected_of_a_new_member_of_one_table(void **state)
{
	const struct fib_target equal = { .verdict = SIXLANE_PUNT_EQUAL_METRIC };
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_group(world, 1);
	set(world, "2001:db8:2::/48", by_object(2));
	know_elsewhere(world, dst);
	set_in(world, 1000, "2001:db8:2::/48", equal);
	assert_effect(world, dst, SIM_NO_EFFECT);
	set_group(world, 2);
	assert_effect(world, dst, SIM_PUNTED);
}

/* Lost under a route that comes into the trie when no dump is there any more to say of what. */
static void test_lost_beside_the_operators_without_room(void **state)
{
	const char *dst = "2001:db8:2:1::1";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set_routes(world);
	set_third(world, via("fe80::7", 3));
	restart(world, 4);
	know_elsewhere(world, dst);
	set(world, "2001:db8:2:1::/64", by_object(1));
	say(world, FIB_OPERATOR, dst, pmtu(1400));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	fib_set_exception(world->fib, FIB_KERNEL, 1000, &to, NULL);
	know_elsewhere(world, dst);
	fib_share_exception(world->fib, 1000, &to);
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_mtu(world, dst, 1400);
	unset(world, "2001:db8::/32");
	fib_retry(world->fib);
	assert_forbids(world, dst, 1400);
}

/* It never comes into the trie: what is lost there is lost at the route above. */
static void test_lost_beside_the_operators_without_room_ever(void **state)
{
	const char *dst = "2001:db8:2:1::1";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set_routes(world);
	set_third(world, by_object(1));
	restart(world, 4);
	set_third(world, by_object(1));
	know_elsewhere(world, "2001:db8:2:1::9");
	tell_none(world);
	tell_none(world);
	set(world, "2001:db8:2:1::/64", by_object(1));
	know_elsewhere(world, dst);
	fib_share_exception(world->fib, 1000, &to);
	say(world, FIB_OPERATOR, dst, pmtu(1400));
	assert_verdict(world, dst, SIXLANE_PUNT_MAP_FULL);
	unset(world, "2001:db8:2:1::/64");
	assert_forbids(world, dst, 1400);
}

/* Main has a route by the object since an earlier daemon wrote the maps, and is told first. */
static void test_known_of_an_earlier_daemon(void **state)
{
	const struct fib_source source = { pfx("::/0"), 48, by_object(1) };
	const struct fib_target routes[] = { by_object(1), by_source(&source) };
	const char *dst = "2001:db8:2::2";
	const union sixlane_addr to = addr(dst);
	const struct fib_exception oper = pmtu(1400);
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		know_elsewhere(world, dst);
		set_in(world, 1000, "2001:db8:2::/48", routes[i]);
		fib_set_exception(world->fib, FIB_OPERATOR, 1000, &to, i ? &oper : NULL);
		restart(world, SIXLANE_MAX_ROUTES);
		fib_sync_begin(world->fib);
		set(world, "2001:db8:2::/48", by_object(1));
		set_in(world, 1000, "2001:db8:2::/48", routes[i]);
		fib_sync_end(world->fib);
		assert_effect(world, dst, SIM_PUNTED);
		unset(world, "2001:db8:2::/48");
		tell_none(world);
	}
}

/* It takes no change of the next hops: a member may be another object with the same one. */
static void test_suspected_of_a_member_alike(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_group(world, 1);
	set(world, "2001:db8:2::/48", by_object(2));
	know_elsewhere(world, dst);
	fib_share_object_exceptions(world->fib, 3);
	assert_effect(world, dst, SIM_NO_EFFECT);
	fib_share_object_exceptions(world->fib, 2);
	assert_effect(world, dst, SIM_PUNTED);
}

/* -------------------------------------------------------------------------------------------- */

/* It cannot be taken from the map, and the operator speaks of it before anybody else does. */
static void test_one_that_does_not_go(void **state)
{
	struct world *world = *state;

	fill_up(world);
	world->sim->exception_fails = 1;
	fib_set_max_exceptions(world->fib, 0);
	world->sim->exception_fails = 0;
	assert_verdict(world, KNOWN, SIXLANE_PUNT_MAP_FULL);
	fib_set_max_exceptions(world->fib, 1);
	say(world, FIB_OPERATOR, KNOWN, pmtu(1400));
	assert_forbids(world, KNOWN, 1400);
	tell_none(world);
	assert_mtu(world, KNOWN, 1400);
}

/* That some may come to be missing is not that some are. */
static void test_another_daemon_where_none_is_missing(void **state)
{
	struct world *world = *state;

	fill_up(world);
	say(world, FIB_KERNEL, KNOWN, until(pmtu(1300), 50));
	say(world, FIB_KERNEL, "2001:db8:1::2", until(pmtu(1300), 60));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	say(world, FIB_KERNEL, "2001:db8:1::2", until(pmtu(1300), 60));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_marks(world, "2001:db8:1::2", MISSING);
	assert_int_equal(missing(world), 0);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_marks(world, "2001:db8:1::2", ANY);
	assert_int_equal(missing(world), 0);
}

/* What is lost is lost for its own destination, whosoever else is of its route. */
static void test_the_operators_beside_lost_ones(void **state)
{
	struct world *world = *state;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	say(world, FIB_OPERATOR, "2001:db8::3", pmtu(1400));
	assert_mtu(world, "2001:db8::3", 1400);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1400));
	assert_forbids(world, "2001:db8::2", 1400);
	lose(world, "2001:db8::4", pmtu(1300));
	tell(world, "2001:db8::4", true);
	assert_mtu(world, "2001:db8::2", 1400);
	assert_effect(world, "2001:db8::4", SIM_PUNTED);
}

/* The kernel knows nothing of what the operator said. */
static void test_the_operators_is_not_lost(void **state)
{
	struct world *world = *state;

	fill_up(world);
	fib_set_max_exceptions(world->fib, 2);
	say(world, FIB_OPERATOR, "2001:db8::2", pmtu(1300));
	fib_set_max_exceptions(world->fib, 0);
	assert_exceptions(world, 0);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_effect(world, KNOWN, SIM_PUNTED);
	assert_int_equal(missing(world), 1);
}

/* Packets that were under way when one found room may have missed it. */
static void test_none_goes_without_a_grace_period(void **state)
{
	struct world *world = *state;
	unsigned long graces;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	world->sim->grace_fails = true;
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	world->sim->grace_fails = false;
	graces = world->sim->graces;
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_int_equal(world->sim->graces, graces + 1);
	/* Where nothing is missing no end waits for one. */
	tell(world, NULL, true);
	assert_int_equal(world->sim->graces, graces + 1);
	lose(world, "2001:db8::2", pmtu(1300));
	tell(world, "2001:db8::2", true);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
}

/* … for an hour, however the kernel tells it, and whatever route comes and goes meanwhile. */
static void test_another_daemon(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct world *world = *state;

	fill_up(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	lose(world, "2001:db8::2", until(pmtu(1300), 500));
	lose(world, "2001:db8:2::2", until(pmtu(1300), 500));
	restart(world, SIXLANE_MAX_ROUTES);
	fib_set_max_exceptions(world->fib, 1);
	fib_retry(world->fib);
	set_port(world, 3, SIXLANE_PORT_UP);
	set_third(world, several(FIB_HASHED, hops, 2));
	pass(world, 1000);
	tell(world, NULL, true);
	set_third(world, via("fe80::1", 3));
	tell(world, NULL, true);
	set_third(world, several(FIB_HASHED, hops, 2));
	pass(world, HOUR + 999);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
	pass(world, HOUR + 1000);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
	assert_marks(world, KNOWN, ANY);
	assert_int_equal(missing(world), 0);
}

/* Those that are lost later and never told do not keep those that were before for ever. */
static void test_they_do_not_keep_each_other(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct world *world = *state;
	char dst[] = "2001:db8:2::x";

	fill_up(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	for (unsigned int i = 0; i < 9; i++) {
		dst[12] = (char)('0' + i);
		pass(world, 100 * i);
		lose(world, dst, until(pmtu(1300), 100 * i + 150));
		tell(world, NULL, true);
		assert_in_range(missing(world), 1, 4);
		assert_effect(world, dst, SIM_PUNTED);
	}
	assert_effect(world, "2001:db8:2::0", SIM_NO_EFFECT);
	assert_effect(world, "2001:db8:2::7", SIM_PUNTED);
	pass(world, 10000);
	tell(world, NULL, true);
	tell(world, NULL, true);
	assert_int_equal(missing(world), 0);
}

/* One without an end that is known does not shorten the end of another. */
static void test_the_latest_end_counts(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct world *world = *state;

	fill_up(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	lose(world, "2001:db8:2::1", until(pmtu(1300), 9 * HOUR));
	lose(world, "2001:db8:2::2", redirect(hops[0]));
	pass(world, 1);
	tell(world, NULL, true);
	pass(world, 9 * HOUR - 1);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::1", SIM_PUNTED);
	pass(world, 9 * HOUR);
	tell(world, NULL, true);
	assert_int_equal(missing(world), 0);
}

/* Under a route that found no room, and so under none that is in the trie. */
static void test_what_is_never_told_without_owner(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	struct world *world = *state;

	fib_set_max_exceptions(world->fib, 0);
	world->sim->routes.capacity = 0;
	set_third(world, several(FIB_HASHED, hops, 2));
	assert_int_equal(say(world, FIB_KERNEL, "2001:db8:2::1", until(pmtu(1300), 500)), -ENOSPC);
	pass(world, 1);
	tell(world, NULL, true);
	world->sim->routes.capacity = SIM_MAX_ROUTES;
	fib_retry(world->fib);
	assert_effect(world, "2001:db8:2::1", SIM_PUNTED);
	pass(world, 500);
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::1", SIM_NO_EFFECT);
}

/*
 * The kernel says nothing of what it has at a route of several hops while it goes by another, nor
 * in a dump when that has gone.
 */
static void test_at_a_route_that_comes_back(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const char *const others[] = { "2001:db8:2:1::/64", "2001:db8:2::/48" };
	const char *dst = "2001:db8:2:1::1";
	struct world *world = *state;

	set_routes(world);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(others); i++) {
		set_third(world, several(FIB_HASHED, hops, 2));
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
		pass(world, 1);
		set(world, others[i / 2], via("fe80::3", 4));
		assert_doubt(world, dst);
		if (i % 2)
			tell_none(world);
		else
			unsay(world, FIB_KERNEL, dst);
		pass(world, 1);
		assert_effect(world, dst, SIM_NO_EFFECT);
		assert_marks(world, dst, 0);
		unset(world, others[i / 2]);
		set_third(world, several(FIB_HASHED, hops, 2));
		tell(world, NULL, true);
		assert_effect(world, dst, SIM_PUNTED);
		assert_effect(world, "2001:db8:2:1::2", SIM_NO_EFFECT);
		pass(world, 500);
		tell(world, NULL, true);
		assert_effect(world, dst, SIM_NO_EFFECT);
		assert_int_equal(missing(world), 0);
	}
	/* Whatever it says of the route that came between. */
	set_third(world, several(FIB_HASHED, hops, 2));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
	set(world, others[0], via("fe80::3", 4));
	say(world, FIB_KERNEL, dst, until(pmtu(1310), 800));
	assert_mtu(world, dst, 1310);
	unset(world, others[0]);
	unsay(world, FIB_KERNEL, dst);
	assert_effect(world, dst, SIM_PUNTED);
	/* Not for want of room. */
	assert_int_equal(missing(world), 0);
}

/* What it tells in a dump it may have until the next one. */
static void test_at_a_told_route_that_comes_back(void **state)
{
	const char *const between[] = { "2001:db8:2:1::/64", "2001:db8:2::/48" };
	const char *dst = "2001:db8:2:1::1";
	const union sixlane_addr to = addr(dst);
	struct world *world = *state;

	set_routes(world);
	for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
		const struct prefix prefix = pfx(between[i]);

		set_third(world, via("fe80::1", 3));
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
		/* One of a better metric, in the other one's case. */
		if (i)
			fib_move_exceptions(world->fib, SIXLANE_TABLE_MAIN, &prefix);
		set(world, between[i], via("fe80::3", 4));
		unsay(world, FIB_KERNEL, dst);
		assert_effect(world, dst, SIM_NO_EFFECT);
		fib_wants_exceptions(world->fib);
		set(world, "2001:db8:2:1::/112", via("fe80::4", 4));
		assert_marks(world, dst, 0);
		unset(world, "2001:db8:2:1::/112");
		if (!i)
			unset(world, between[i]);
		set_third(world, via("fe80::1", 3));
		assert_effect(world, dst, SIM_PUNTED);
		assert_true(fib_wants_exceptions(world->fib));
		assert_effect(world, "2001:db8:2:1::2", SIM_NO_EFFECT);
		tell(world, NULL, true);
		assert_effect(world, dst, SIM_NO_EFFECT);
		/* Told, though not of the route that it goes by. */
		set(world, between[i], via("fe80::3", 4));
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
		assert_effect(world, dst, SIM_NO_EFFECT);
		/* Something has changed that is no other next hop; and nothing after all. */
		fib_doubt_exceptions(world->fib, SIXLANE_TABLE_MAIN, &prefix);
		assert_effect(world, dst, SIM_PUNTED);
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
		assert_effect(world, dst, SIM_NO_EFFECT);
		unset(world, between[i]);
		set_third(world, via("fe80::1", 3));
		assert_effect(world, dst, SIM_PUNTED);
		/* … where it has another one, too, which goes when its route is replaced. */
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
		fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
		assert_mtu(world, dst, 1300);
		set_third(world, via("fe80::3", 4));
		unsay(world, FIB_KERNEL, dst);
		assert_effect(world, dst, SIM_PUNTED);
		set_third(world, via("fe80::1", 3));
		tell(world, NULL, true);
		assert_effect(world, dst, SIM_NO_EFFECT);
		/* The route itself takes with it what it has, and one that changes, too. */
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
		set_third(world, via("fe80::3", 4));
		unsay(world, FIB_KERNEL, dst);
		assert_effect(world, dst, SIM_NO_EFFECT);
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
		unset(world, "2001:db8:2::/48");
		unsay(world, FIB_KERNEL, dst);
		assert_effect(world, dst, SIM_NO_EFFECT);
		assert_int_equal(missing(world), 0);
	}
}

/* The same that is known is not behind itself, nor is anything told of that does not count. */
static void test_nothing_behind(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const struct fib_exception said = until(pmtu_under(1300, hops[0]), 500);
	const char *dst = "2001:db8:2:1::1", *other = "2001:db8:2:1::2";
	const union sixlane_addr to_other = addr(other);
	struct world *world = *state;

	set_routes(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	say(world, FIB_KERNEL, dst, said);
	set_third(world, via("fe80::1", 3));
	say(world, FIB_KERNEL, dst, said);
	assert_mtu(world, dst, 1300);
	set_third(world, via("fe80::4", 3));
	unsay(world, FIB_KERNEL, dst);
	set_third(world, via("fe80::1", 3));
	assert_effect(world, dst, SIM_NO_EFFECT);
	say(world, FIB_KERNEL, dst, said);
	/* Beside the operator's word something may be. */
	say(world, FIB_OPERATOR, other, pmtu(1400));
	assert_mtu(world, other, 1400);
	fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to_other, false);
	assert_forbids(world, other, 1400);
	assert_int_equal(missing(world), 0);
	/* What found no room is counted, whatever else is missing. */
	unsay(world, FIB_OPERATOR, other);
	say(world, FIB_KERNEL, other, until(pmtu(1300), 400));
	fib_set_max_exceptions(world->fib, 1);
	assert_mtu(world, dst, 1300);
	assert_effect(world, other, SIM_PUNTED);
	assert_int_equal(missing(world), 1);
}

/* Where packets to it are not forwarded the kernel has none that it does not tell of. */
static void test_behind_a_route_that_comes_back_over_a_verdict(void **state)
{
	const uint32_t verdicts[] = { SIXLANE_PASS_UNREACHABLE, SIXLANE_PASS_PROHIBIT,
				      SIXLANE_DROP_BLACKHOLE, SIXLANE_PASS_LOCAL };
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_routes(world);
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		set(world, "2001:db8::/32", fate(verdicts[i]));
		set_third(world, via("fe80::3", 3));
		say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
		for (int times = 0; times < 2; times++) {
			unset(world, "2001:db8:2::/48");
			set_third(world, via("fe80::3", 3));
			unsay(world, FIB_KERNEL, dst);
			for (int told = 0; told < 3; told++)
				tell_none(world);
		}
		assert_effect(world, dst, SIM_NO_EFFECT);
	}
}

/* A verdict that hides next hops is not told of. */
static void test_behind_a_route_that_comes_back_over_hidden_hops(void **state)
{
	const char *dst = "2001:db8:2::2";
	struct world *world = *state;

	set_routes(world);
	set(world, "2001:db8::/32", fate(SIXLANE_PUNT_MULTIPATH));
	set_third(world, via("fe80::3", 3));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	unset(world, "2001:db8:2::/48");
	set_third(world, via("fe80::3", 3));
	unsay(world, FIB_KERNEL, dst);
	unset(world, "2001:db8:2::/48");
	for (int told = 0; told < 2; told++)
		tell_none(world);
	set_third(world, via("fe80::3", 3));
	assert_effect(world, dst, SIM_PUNTED);
}

/* An answer shows what is kept at any hop of a route that is not expressed, a dump not again. */
static void test_asked_behind_hidden_hops(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const union sixlane_addr to = addr("2001:db8:2::2");
	struct world *world = *state;

	set_routes(world);
	for (int asked = 0; asked < 2; asked++) {
		set_third(world, fate(SIXLANE_PUNT_EQUAL_METRIC));
		fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, asked);
		tell_none(world);
		set_third(world, several(FIB_HASHED, hops, 2));
		assert_effect(world, "2001:db8:2::2", asked ? SIM_PUNTED : SIM_NO_EFFECT);
	}
}

/* Of a route whose hop is known a dump tells what an answer has. */
static void test_asked_behind_a_told_route(void **state)
{
	const union sixlane_addr to = addr("2001:db8:2::2");
	struct world *world = *state;

	set_routes(world);
	set_third(world, via("fe80::3", 4));
	fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, true);
	tell_none(world);
	set_third(world, via("fe80::4", 4));
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
}

/*
 * What is kept at an object counts for all routes by it, and goes with the one that it was learnt
 * of, though packets go by another.
 */
static void test_routes_by_the_same_object(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1), other_hop = hop_via("fe80::2", 3, 1);
	const struct fib_object object = { .hops = &hop, .n_hops = 1 },
				other = { .hops = &other_hop, .n_hops = 1 };
	const char *dst = "2001:db8:2:1::1", *longer = "2001:db8:2:1::/64";
	const struct prefix prefix = pfx(longer);
	struct world *world = *state;

	set_routes(world);
	fib_set_object(world->fib, 1, &object);
	fib_set_object(world->fib, 2, &other);
	set_third(world, by_object(1));
	set(world, longer, by_object(1));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	say(world, FIB_KERNEL, "2001:db8:3::1", until(pmtu(1300), 500));
	assert_mtu(world, dst, 1300);
	unset(world, "2001:db8:2::/48");
	assert_effect(world, dst, SIM_PUNTED);
	assert_doubt(world, dst);
	assert_doubt(world, NULL);
	/* By others it is their own. */
	set_third(world, by_object(2));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	unset(world, "2001:db8:2::/48");
	assert_mtu(world, dst, 1300);
	/* A better metric by something else; and a longer one by that object. */
	fib_move_exceptions(world->fib, SIXLANE_TABLE_MAIN, &prefix);
	set(world, longer, via("fe80::3", 4));
	unsay(world, FIB_KERNEL, dst);
	assert_effect(world, dst, SIM_NO_EFFECT);
	set(world, "2001:db8:2:1::/112", via("fe80::2", 4));
	assert_effect(world, dst, SIM_NO_EFFECT);
	set(world, "2001:db8:2:1::/120", by_object(1));
	assert_effect(world, dst, SIM_PUNTED);
}

/* A route that could not be changed is the last one by an object that nobody tells of any more. */
static void test_object_goes_while_it_is_forgotten(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 0);
	const struct fib_object object = { .verdict = SIXLANE_FORWARD, .n_hops = 1, .hops = &hop };
	const union sixlane_addr to = addr("2001:db8:2::2");
	struct world *world = *state;

	set_routes(world);
	assert_int_equal(fib_set_object(world->fib, 1, &object), 0);
	set_third(world, by_object(1));
	fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set_routes(world);
	world->sim->set_fails = world->sim->del_fails = 1;
	set_third(world, via("fe80::9", 3));
	world->sim->set_fails = world->sim->del_fails = 0;
	fib_sync_end(world->fib);
	assert_target(world, "2001:db8:2::2", via("fe80::9", 3));
}

/* Packets from some sources go by that object. */
static void test_behind_a_route_by_source(void **state)
{
	const struct fib_source source = { pfx("::/0"), 48, by_object(1) };
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object object = { .hops = &hop, .n_hops = 1 };
	const char *dst = "2001:db8:2:1::1";
	struct world *world = *state;

	fib_set_object(world->fib, 1, &object);
	set_third(world, by_object(1));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	set(world, "2001:db8:2:1::/64", via("fe80::3", 4));
	unsay(world, FIB_KERNEL, dst);
	assert_effect(world, dst, SIM_NO_EFFECT);
	set(world, "2001:db8:2:1::/120", by_source(&source));
	assert_effect(world, dst, SIM_PUNTED);
}

/* In a trie that is full: packets meet it at the route above. */
static void test_behind_one_without_room(void **state)
{
	const char *dst = "2001:db8:2:1::1";
	struct world *world = *state;

	set_routes(world);
	set_third(world, via("fe80::1", 3));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 900));
	restart(world, 3);
	set(world, "2001:db8:2:1::/64", via("fe80::3", 4));
	unsay(world, FIB_KERNEL, dst);
	assert_marks(world, dst, 0);
	unset(world, "2001:db8:2:1::/64");
	assert_effect(world, dst, SIM_PUNTED);
	assert_effect(world, "2001:db8:2:1::2", SIM_NO_EFFECT);
}

/* It is asked as soon as its route has changed, and by another daemon if this one ends before. */
static void test_another_daemon_asks(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const char *dst = "2001:db8:2:1::1";
	struct world *world = *state;

	set_routes(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	say(world, FIB_KERNEL, dst, until(pmtu(1300), 500));
	set(world, "2001:db8:2:1::/64", via("fe80::3", 4));
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	unsay(world, FIB_KERNEL, dst);
	assert_effect(world, dst, SIM_NO_EFFECT);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_effect(world, dst, SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
	unset(world, "2001:db8:2:1::/64");
	assert_effect(world, dst, SIM_PUNTED);
}

/* What slept, and is not found by it either, leaves nothing behind. */
static void test_another_daemon_finds_none(void **state)
{
	const union sixlane_addr to = addr("2001:db8::2");
	struct world *world = *state;

	set_routes(world);
	fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
	assert_marks(world, "2001:db8::2", 0);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	for (int i = 0; i < 2; i++) {
		assert_true(sim_is_missing(world->sim, &to));
		pass(world, 1000);
		fib_exceptions_begin(world->fib, FIB_KERNEL);
		fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	}
	assert_false(sim_is_missing(world->sim, &to));
}

/* Which is so beside routes that lead nowhere, too: every router has such of table local. */
static void test_another_daemon_finds_none_beside_a_verdict(void **state)
{
	const union sixlane_addr to = addr("2001:db8::2");
	struct world *world = *state;

	set_routes(world);
	set(world, "2001:db8:77::1/128", fate(SIXLANE_PASS_LOCAL));
	fib_lose_exception(world->fib, SIXLANE_TABLE_MAIN, &to, false);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	for (unsigned int i = 0; i < 4; i++) {
		pass(world, 1000 + i);
		tell_none(world);
	}
	assert_false(sim_is_missing(world->sim, &to));
}

/* Nobody has said yet how late it is, when the first telling begins. */
static void test_incomplete_before_any_time(void **state)
{
	struct world *world = *state;

	fill_up(world);
	lose(world, "2001:db8::2", pmtu(1300));
	fib_exceptions_begin(world->fib, FIB_KERNEL);
	pass(world, 2 * HOUR);
	say(world, FIB_KERNEL, KNOWN, pmtu(1300));
	fib_exceptions_end(world->fib, FIB_KERNEL, false, NULL, NULL);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
}

/* What is kept at a next hop that leaves a group counts again when that comes back. */
static void test_a_member_that_comes_back(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const struct fib_object both = { .hops = hops, .n_hops = 2 },
				one = { .hops = hops + 1, .n_hops = 1 };
	struct world *world = *state;

	set_routes(world);
	fib_set_object(world->fib, 1, &both);
	set_third(world, by_object(1));
	say(world, FIB_KERNEL, "2001:db8:2::2", until(pmtu(1300), 500));
	fib_set_object(world->fib, 1, &one);
	unsay(world, FIB_KERNEL, "2001:db8:2::2");
	tell(world, NULL, true);
	assert_effect(world, "2001:db8:2::2", SIM_NO_EFFECT);
	fib_set_object(world->fib, 1, &both);
	assert_effect(world, "2001:db8:2::2", SIM_PUNTED);
	assert_effect(world, "2001:db8:2::3", SIM_NO_EFFECT);
}

/* Where no telling is complete, many of them are. */
static void test_never_complete(void **state)
{
	struct world *world = *state;

	fill_up(world);
	pass(world, 1);
	lose(world, "2001:db8::2", pmtu(1300));
	tell(world, NULL, false);
	pass(world, HOUR + 1);
	tell(world, NULL, false);
	assert_effect(world, "2001:db8::2", SIM_PUNTED);
	pass(world, HOUR + 2);
	tell(world, NULL, false);
	assert_effect(world, "2001:db8::2", SIM_NO_EFFECT);
	assert_int_equal(missing(world), 0);
}

/* Beside the operator's word, which says nothing of what the kernel may have. */
static void test_the_operators_at_a_route_that_comes_back(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 1) };
	const struct sixlane_exception *value;
	struct world *world = *state;

	set_routes(world);
	set_third(world, several(FIB_HASHED, hops, 2));
	say(world, FIB_OPERATOR, "2001:db8:2:1::1", pmtu(1400));
	say(world, FIB_KERNEL, "2001:db8:2:1::1", until(pmtu(1300), 500));
	pass(world, 1);
	set(world, "2001:db8:2:1::/64", via("fe80::3", 4));
	for (int i = 0; i < 2; i++) {
		unsay(world, FIB_KERNEL, "2001:db8:2:1::1");
		assert_forbids(world, "2001:db8:2:1::1", 1400);
	}
	unset(world, "2001:db8:2:1::/64");
	assert_forbids(world, "2001:db8:2:1::1", 1400);
	tell(world, NULL, true);
	pass(world, 500);
	tell(world, NULL, true);
	effect_of(world, "2001:db8:2:1::1", &value);
	assert_false(value->flags & SIXLANE_EXCEPTION_PUNT);
	assert_mtu(world, "2001:db8:2:1::1", 1400);
}

/* Whether what is missing may have been told before. */
static void test_which_begin_is_the_first(void **state)
{
	struct world *world = *state;

	fill_up(world);
	tell(world, NULL, true);
	assert_false(fib_exceptions_begin(world->fib, FIB_KERNEL));
	lose(world, "2001:db8::2", pmtu(1300));
	assert_false(fib_exceptions_begin(world->fib, FIB_KERNEL));
	assert_true(fib_exceptions_begin(world->fib, FIB_KERNEL));
	assert_false(fib_exceptions_begin(world->fib, FIB_OPERATOR));
	fib_exceptions_end(world->fib, FIB_KERNEL, true, NULL, NULL);
	assert_false(fib_exceptions_begin(world->fib, FIB_KERNEL));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_they_are_punted),
		TEST(test_until_all_was_told),
		TEST(test_told_in_parts),
		TEST(test_what_is_never_told),
		TEST(test_what_is_not_told_any_more),
		TEST(test_what_is_never_told_and_has_no_end),
		TEST(test_what_is_told_of_several_hops),
		TEST(test_what_is_gone_makes_room),
		TEST(test_the_operators_is_not_lost),
		TEST(test_none_goes_without_a_grace_period),
		TEST(test_none_makes_room_unexpected),
		TEST(test_room_is_expected_once),
		TEST(test_room_for_some),
		TEST(test_lost_in_local),
		TEST(test_known_in_local),
		TEST(test_local_beside_an_empty_main),
		TEST(test_untold_in_local),
		TEST(test_lost_in_local_alone),
		TEST(test_local_while_all_is_told),
		TEST(test_suspected_behind),
		TEST(test_suspected_without_room),
		TEST(test_suspected_of_a_new_member),
		TEST(test_suspected_where_one_is_gone),
		TEST(test_lost_in_another_table),
		TEST(test_lost_in_the_same_table),
		TEST(test_learnt_in_another_table),
		TEST(test_learnt_without_room),
		TEST(test_learnt_anew),
		TEST(test_room_after_another_table_was_told),
		TEST(test_shared_while_all_is_told),
		TEST(test_suspected_beside_the_operators),
		TEST(test_suspected_by_source),
		TEST(test_lost_again),
		TEST(test_behind_in_another_table),
		TEST(test_known_marks_only_where_it_may_be),
		TEST(test_marks_do_not_keep_each_other),
		TEST(test_suspected_without_an_entry),
		TEST(test_lost_again_beside_the_operators),
		TEST(test_learnt_by_a_route_that_is_punted),
		TEST(test_suspected_of_a_member_alike),
		TEST(test_suspected_of_one_whose_route_is_punted),
		TEST(test_suspected_of_a_new_member_elsewhere),
		TEST(test_lost_beside_the_operators_without_room_ever),
		TEST(test_known_of_an_earlier_daemon),
		TEST(test_suspected_of_a_new_member_of_one_table),
		TEST(test_lost_beside_the_operators_without_room),
		TEST(test_one_that_does_not_go),
		TEST(test_another_daemon_where_none_is_missing),
		TEST(test_the_operators_beside_lost_ones),
		TEST(test_another_daemon),
		TEST(test_they_do_not_keep_each_other),
		TEST(test_the_latest_end_counts),
		TEST(test_what_is_never_told_without_owner),
		TEST(test_at_a_route_that_comes_back),
		TEST(test_the_operators_at_a_route_that_comes_back),
		TEST(test_at_a_told_route_that_comes_back),
		TEST(test_nothing_behind),
		TEST(test_behind_a_route_that_comes_back_over_a_verdict),
		TEST(test_behind_a_route_that_comes_back_over_hidden_hops),
		TEST(test_asked_behind_hidden_hops),
		TEST(test_asked_behind_a_told_route),
		TEST(test_routes_by_the_same_object),
		TEST(test_object_goes_while_it_is_forgotten),
		TEST(test_behind_a_route_by_source),
		TEST(test_behind_one_without_room),
		TEST(test_another_daemon_asks),
		TEST(test_another_daemon_finds_none),
		TEST(test_another_daemon_finds_none_beside_a_verdict),
		TEST(test_incomplete_before_any_time),
		TEST(test_a_member_that_comes_back),
		TEST(test_never_complete),
		TEST(test_which_begin_is_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
