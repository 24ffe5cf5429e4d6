// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes from records of the kernel reader: what is computed from several fields or hops. That
 * single fields agree with messages, test_kernel_reader.py compares.
 */
#include "../unit.h"

#include <linux/ipv6_route.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../../../user/daemon/kernel_reader.h"
#include "../../../user/lib/util.h"

#define NOW_NS 1000000000000ull
#define JIFFIES 4000000ull
#define MAX_JIFFY_NS 10000000ull /* with HZ=100 */

static const struct kernel_view view = { .now_ns = NOW_NS, .jiffies = JIFFIES };
static struct kernel_routes routes;

static const struct route *fill(const struct kernel_record *records, size_t n)
{
	kernel_routes_fill(&routes, &view, 77, records, n);
	return routes.routes;
}

/* Two hops of a set. The first one expires now, and has no attributes. */
static void test_hops_together(void **state)
{
	static const struct {
		struct kernel_record second;
		uint32_t sooner; /* in jiffies */
		bool never, unlike, own_source, encap, unknown;
	} cases[] = {
		{ .second = { .weight = 9 } },
		{ .second = { .gateway = { 0xfd } } },
		{ .second = { .features = RTAX_FEATURE_ECN } },
		{ .second = { .features = RTAX_FEATURE_ALLFRAG }, .unknown = true },
		{ .second = { .prefsrc = 1 }, .own_source = true },
		{ .second = { .hop_limit = 9 }, .own_source = true },
		{ .second = { .encap = 1 }, .encap = true },
		{ .second = { .mtu = 1280 }, .unlike = true },
		{ .second = { .mtu = 1279 }, .unlike = true, .own_source = true },
		{ .second = { .mtu_locked = 1 }, .unlike = true },
		{ .second = { .type = RTN_LOCAL }, .unlike = true },
		{ .second = { .preference = 3 }, .unlike = true },
		{ .never = true, .unlike = true },
		{ .sooner = 1 }, /* they were given a lifetime together */
		{ .sooner = 50000, .unlike = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_record hops[2] = { { .weight = 1 }, cases[i].second };
		const struct route *route;
		uint64_t past_ns;

		for (size_t j = 0; j < 2; j++) {
			hops[j].ifindex = 1;
			hops[j].n_siblings = 1;
			hops[j].flags = j && cases[i].never ? 0 : RTF_EXPIRES;
			hops[j].expires = JIFFIES - j * cases[i].sooner;
		}
		route = fill(hops, 2);
		assert_int_equal(routes.n, 1);
		assert_int_equal(route->n_hops, 2);
		assert_int_equal(routes.n_hops, 2);
		assert_int_equal(route->unlike, cases[i].unlike);
		assert_int_equal(route->own_source, cases[i].own_source);
		assert_int_equal(route->encap, cases[i].encap);
		assert_int_equal(route->unknown, cases[i].unknown);
		past_ns = NOW_NS - route->expires_ns; /* the first end counts */
		assert_in_range(past_ns, cases[i].sooner, cases[i].sooner * MAX_JIFFY_NS);
	}
}

static void test_too_many_hops(void **state)
{
	static struct kernel_record records[ROUTE_MAX_HOPS + 1];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records[i] = (struct kernel_record){ .ifindex = 1, .n_siblings = ROUTE_MAX_HOPS };
	assert_false(fill(records, ROUTE_MAX_HOPS)->truncated);
	assert_true(fill(records, ARRAY_SIZE(records))->truncated);
	assert_int_equal(routes.routes->n_hops, ROUTE_MAX_HOPS);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hops_together),
		cmocka_unit_test(test_too_many_hops),
	};

	return cmocka_run_group_tests_name("kernel routes", tests, NULL, NULL);
}
