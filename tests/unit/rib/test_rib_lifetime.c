// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the RIB makes of announcements that differ in their lifetimes, by which the kernel tells how
 * much is left and never when it ends, and in their preference.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../user/lib/util.h"
#include "../../../user/rib/rib.h"
#include "../unit.h"

#define NS_PER_MS 1000000ull
#define ADD (NLM_F_CREATE | NLM_F_EXCL)
#define APPEND (NLM_F_CREATE | NLM_F_APPEND)
#define DUMP 0

static unsigned int changes;

static void note_change(void *ctx, uint32_t table, const struct prefix *dst)
{
	(void)ctx;
	(void)table;
	(void)dst;
	changes++;
}

static struct route make_route(const struct route_hop *hops, uint16_t n_hops)
{
	return (struct route){ .table = RT_TABLE_MAIN,
			       .type = RTN_UNICAST,
			       .preference = 2,
			       .n_hops = n_hops,
			       .hops = hops };
}

static const struct rib_route *first(const struct rib *rib)
{
	static const struct prefix all;

	return rib_find(rib, RT_TABLE_MAIN, &all)->routes;
}

/* An announcement that the route ends at that time, 0: never; what is kept; whether it is told. */
struct step {
	uint64_t end_ms, kept_ms;
	bool changes;
};

static void play(const struct step *steps, size_t n, const struct route_hop *hops, uint16_t n_hops,
		 uint16_t flags)
{
	struct route route = make_route(hops, n_hops);
	struct rib *rib = rib_new(note_change, NULL);

	for (size_t i = 0; i < n; i++) {
		const bool dumped = i && flags == DUMP && n_hops > 1;
		const struct rib_route *kept;

		changes = 0;
		rib_mark(rib); /* a dump of its own */
		route.expires = steps[i].end_ms != 0;
		/* without a lifetime the time means nothing */
		route.expires_ns = route.expires ? steps[i].end_ms * NS_PER_MS : 4711 * i;
		assert_int_equal(rib_add(rib, &route, i ? flags : ADD), dumped ? -EINPROGRESS : 0);
		/* the first dump of a set makes it stale */
		if (changes != (steps[i].changes || (dumped && i == 1)))
			fail_msg("step %zu: told %u times", i, changes);
		kept = first(rib);
		assert_null(kept->next);
		assert_int_equal(kept->expires, route.expires);
		assert_int_equal(kept->expires_ns, steps[i].kept_ms * NS_PER_MS);
	}
	rib_free(rib);
}

static void test_lifetimes(void **state)
{
	static const struct step steps[] = {
		{ 0, 0, true },		 { 0, 0, false },	  { 10000, 10000, true },
		{ 10000, 10000, false }, { 11999, 10000, false }, /* said later, of the same
								     lifetime */
		{ 11999, 10000, false },			  /* … and not added up */
		{ 9999, 9999, true }, /* the earlier end is the safe one, and is told */
		{ 8100, 8100, true }, /* so that it cannot shrink without being told */
		{ 10099, 8100, false },	 { 10100, 10100, true }, /* a new lifetime */
		{ 3000, 3000, true },	 { 0, 0, true },
	};
	static const struct route_hop device = { .ifindex = 1, .weight = 1 };
	static const struct route_hop gateways[2] = {
		{ .ifindex = 1, .weight = 1, .has_gateway = true },
		{ .ifindex = 2, .weight = 1, .has_gateway = true },
	};

	(void)state;
	play(steps, ARRAY_SIZE(steps), &device, 1, NLM_F_REPLACE);
	play(steps, ARRAY_SIZE(steps), &device, 1, DUMP);
	play(steps, ARRAY_SIZE(steps), gateways, 1, NLM_F_REPLACE);
	play(steps, ARRAY_SIZE(steps), gateways, 2, NLM_F_REPLACE);
	play(steps, ARRAY_SIZE(steps), gateways, 2, DUMP);
}

/* Hops with ends a little apart are hops of one kind: the one that is left needs no dump. */
static void test_hops_that_end_together(void **state)
{
	static const struct route_hop hops[2] = {
		{ .ifindex = 2, .weight = 1, .has_gateway = true },
		{ .ifindex = 1, .weight = 1, .has_gateway = true },
	};
	static const struct {
		uint64_t second_ms;
		int rc;
	} cases[] = {
		{ 10000, 0 },
		{ 8001, 0 },
		{ 11999, 0 },
		{ 8000, -EINPROGRESS },
		{ 12000, -EINPROGRESS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rib *rib = rib_new(NULL, NULL);
		struct route route = make_route(&hops[1], 1);

		route.expires = true;
		route.expires_ns = 10000 * NS_PER_MS;
		assert_int_equal(rib_add(rib, &route, ADD), 0);
		route = make_route(hops, 2);
		route.expires = true;
		route.expires_ns = cases[i].second_ms * NS_PER_MS;
		assert_int_equal(rib_add(rib, &route, APPEND), cases[i].rc);
		route = make_route(hops, 1);
		assert_int_equal(rib_del(rib, &route), cases[i].rc ? -EAGAIN : 0);
		assert_true(first(rib)->expires);
		assert_int_equal(first(rib)->expires_ns, cases[i].second_ms * NS_PER_MS);
		rib_free(rib);
	}
}

static void test_preference(void **state)
{
	static const struct route_hop hop = { .ifindex = 1, .weight = 1 };
	struct rib *rib = rib_new(note_change, NULL);
	struct route route = make_route(&hop, 1);

	(void)state;
	changes = 0;
	for (unsigned int i = 0; i < 6; i++) {
		route.preference = 1 + i / 2;
		assert_int_equal(rib_add(rib, &route, i ? NLM_F_REPLACE : ADD), 0);
		assert_int_equal(changes, route.preference);
		assert_int_equal(first(rib)->preference, route.preference);
	}
	rib_free(rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_hops_that_end_together),
		cmocka_unit_test(test_preference),
	};

	return cmocka_run_group_tests_name("rib lifetime", tests, NULL, NULL);
}
