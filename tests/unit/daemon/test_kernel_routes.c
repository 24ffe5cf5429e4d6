// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the kernel reader as routes: what is put together of several fields, and where hops
 * of a set are unlike. That all is as messages tell it is an end-to-end test.
 */
#include <linux/ipv6_route.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/daemon/kernel_routes.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

#define NOW_NS 1000000000000ull
#define NOW_JIFFIES 4000000ull

static const struct kernel_view view = { .now_ns = NOW_NS, .jiffies = NOW_JIFFIES };
static struct kernel_routes routes;

static const struct route *fill(const struct kernel_record *records, size_t n)
{
	assert_int_equal(kernel_routes_fill(&routes, &view, 77, records, n), 0);
	return routes.routes;
}

/* What `ip` cannot set, or a route by an object does not show. */
static void test_attributes(void **state)
{
	static const struct {
		struct kernel_record record;
		bool own_source, encap, unknown;
		uint32_t ifindex; /* of the only hop; 0: there is none */
	} cases[] = {
		{ .record = { .mtu = 1280 } },
		{ .record = { .mtu = 1279 }, .own_source = true },
		{ .record = { .encap = 1 }, .encap = true },
		{ .record = { .features = RTAX_FEATURE_ECN } },
		{ .record = { .features = RTAX_FEATURE_ALLFRAG }, .unknown = true },
		/* an object that discards is shown with the loopback device */
		{ .record = { .next_hop_id = 10, .type = RTN_BLACKHOLE },
		  .ifindex = LOOPBACK_IFINDEX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct route *route = fill(&cases[i].record, 1);

		assert_int_equal(route->own_source, cases[i].own_source);
		assert_int_equal(route->encap, cases[i].encap);
		assert_int_equal(route->unknown, cases[i].unknown);
		assert_int_equal(route->n_hops, cases[i].ifindex != 0);
		if (cases[i].ifindex)
			assert_int_equal(route->hops[0].ifindex, cases[i].ifindex);
	}
}

static void test_unlike_hops(void **state)
{
	static const struct {
		struct kernel_record second; /* beside one without all these */
		bool unlike;
	} cases[] = {
		{ { .weight = 9 }, false },	    { { .mtu = 1400 }, true },
		{ { .mtu_locked = 1 }, true },	    { { .type = RTN_LOCAL }, true },
		{ { .preference = 3 }, true },	    { { .flags = RTF_EXPIRES }, true },
		{ { .gateway = { 0xfd } }, false }, /* what a set is for */
	};
	struct kernel_record hops[] = { { .ifindex = 1, .n_siblings = 1 },
					{ .ifindex = 2 },
					{ .kind = KERNEL_RECORD_EXCEPTION } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		hops[1] = cases[i].second;
		hops[1].ifindex = 2;
		hops[1].n_siblings = 1;
		assert_int_equal(fill(hops, 3)->unlike, cases[i].unlike);
		assert_int_equal(routes.n, 1);
	}
	/* hops that were given a lifetime together end a little apart: the first end counts */
	hops[0].flags = hops[1].flags = RTF_EXPIRES;
	hops[0].expires = NOW_JIFFIES + 100000;
	hops[1].expires = hops[0].expires - 1;
	assert_false(fill(hops, 2)->unlike);
	assert_int_equal(routes.routes->expires_ns, kernel_reader_expires_ns(&view, &hops[1]));
	hops[1].expires = hops[0].expires - 50000;
	assert_true(fill(hops, 2)->unlike);
}

static void test_too_many_hops(void **state)
{
	static struct kernel_record records[ROUTE_MAX_HOPS + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records[i] = (struct kernel_record){ .ifindex = 1, .n_siblings = ROUTE_MAX_HOPS };
	assert_false(fill(records, ROUTE_MAX_HOPS)->truncated);
	assert_true(fill(records, ARRAY_SIZE(records))->truncated);
	assert_int_equal(routes.routes->n_hops, ROUTE_MAX_HOPS);
	kernel_routes_free(&routes);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_unlike_hops),
		cmocka_unit_test(test_too_many_hops),
	};

	return cmocka_run_group_tests_name("kernel routes", tests, NULL, NULL);
}
