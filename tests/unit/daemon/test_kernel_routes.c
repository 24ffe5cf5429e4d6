// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the kernel reader as routes: what is put together of several fields, or of several
 * hops, and where these are unlike. That each field is as messages tell it is an end-to-end test.
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

/* What rtnetlink would have said in an attribute of its own. */
static void test_attributes(void **state)
{
	static const struct {
		struct kernel_record record;
		bool own_source, encap, unknown;
		uint32_t ifindex; /* of the only hop; 0: there is none */
	} cases[] = {
		{ .record = { .mtu = 1280 } },
		{ .record = { .mtu = 1279 }, .own_source = true },
		{ .record = { .prefsrc = 1 }, .own_source = true },
		{ .record = { .hop_limit = 9 }, .own_source = true },
		{ .record = { .encap = 1 }, .encap = true },
		{ .record = { .features = RTAX_FEATURE_ECN } },
		{ .record = { .features = RTAX_FEATURE_ALLFRAG }, .unknown = true },
		{ .record = { .ifindex = 5 }, .ifindex = 5 },
		{ .record = { .next_hop_id = 10 } },
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
		assert_int_equal(route->next_hop_id, cases[i].record.next_hop_id);
		assert_int_equal(route->n_hops, cases[i].ifindex != 0);
		if (cases[i].ifindex) {
			assert_int_equal(route->hops[0].ifindex, cases[i].ifindex);
			assert_false(route->hops[0].has_gateway);
		}
	}
}

/* Hops of one set with other routes between and behind them. */
static void test_sets(void **state)
{
	static const struct kernel_record records[] = {
		{ .ifindex = 1, .n_siblings = 1 },
		{ .ifindex = 7 },
		{ .ifindex = 2, .n_siblings = 1 },
		{ .ifindex = 3, .n_siblings = 1, .metric = 2048 },
		{ .ifindex = 4, .n_siblings = 1, .metric = 2048 },
		{ .ifindex = 5, .n_siblings = 1, .src_len = 1 },
		{ .ifindex = 6, .n_siblings = 1, .src_len = 1 },
		{ .kind = KERNEL_RECORD_EXCEPTION },
	};
	static const uint32_t hops[][2] = { { 1, 2 }, { 7 }, { 3, 4 }, { 5, 6 } };

	(void)state;
	fill(records, ARRAY_SIZE(records));
	assert_int_equal(routes.n, ARRAY_SIZE(hops));
	for (size_t i = 0; i < routes.n; i++) {
		const struct route *route = &routes.routes[i];

		assert_false(route->unlike);
		assert_int_equal(route->n_hops, hops[i][1] ? 2 : 1);
		for (size_t j = 0; j < route->n_hops; j++)
			assert_int_equal(route->hops[j].ifindex, hops[i][j]);
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
	struct kernel_record hops[2] = { { .ifindex = 1, .n_siblings = 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		hops[1] = cases[i].second;
		hops[1].ifindex = 2;
		hops[1].n_siblings = 1;
		assert_int_equal(fill(hops, 2)->unlike, cases[i].unlike);
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
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_unlike_hops),
		cmocka_unit_test(test_too_many_hops),
	};

	return cmocka_run_group_tests_name("kernel routes", tests, NULL, NULL);
}
