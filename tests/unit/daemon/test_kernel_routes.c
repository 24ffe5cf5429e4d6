// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the kernel reader as routes: each field, hops put together, and where they are unlike.
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
#define TABLE 77u

static const struct kernel_view view = { .now_ns = NOW_NS, .jiffies = NOW_JIFFIES };
static struct kernel_routes routes;

/* 2001:db8::/32 by gateway fd00::N and device N; with siblings or without. */
static struct kernel_record hop_of(uint8_t n, uint16_t siblings)
{
	struct kernel_record record = {
		.dst = { 0x20, 0x01, 0x0d, 0xb8 },
		.dst_len = 32,
		.gateway = { 0xfd, [15] = n },
		.ifindex = n,
		.metric = 1024,
		.weight = 1,
		.n_siblings = siblings,
		.type = RTN_UNICAST,
		.protocol = RTPROT_BOOT,
		.preference = 2,
	};

	return record;
}

static void fill(const struct kernel_record *records, size_t n)
{
	assert_int_equal(kernel_routes_fill(&routes, &view, TABLE, records, n), 0);
}

static void test_one_route(void **state)
{
	struct kernel_record record = hop_of(3, 0);
	const struct route *route;

	(void)state;
	record.src[0] = 0x20;
	record.src_len = 8;
	record.mtu = 1400;
	record.mtu_locked = 1;
	record.weight = 7;
	fill(&record, 1);
	route = routes.routes;
	assert_int_equal(routes.n, 1);
	assert_int_equal(route->dst.len, 32);
	assert_memory_equal(route->dst.addr.bytes, record.dst, 16);
	assert_int_equal(route->src.len, 8);
	assert_int_equal(route->src.addr.bytes[0], 0x20);
	assert_int_equal(route->table, TABLE);
	assert_int_equal(route->metric, 1024);
	assert_int_equal(route->mtu, 1400);
	assert_true(route->mtu_locked);
	assert_int_equal(route->type, RTN_UNICAST);
	assert_int_equal(route->protocol, RTPROT_BOOT);
	assert_int_equal(route->preference, 2);
	assert_false(route->own_source || route->encap || route->unknown || route->expires ||
		     route->unlike || route->truncated);
	assert_int_equal(route->n_hops, 1);
	assert_int_equal(route->hops[0].ifindex, 3);
	assert_int_equal(route->hops[0].weight, 7);
	assert_true(route->hops[0].has_gateway);
	assert_memory_equal(route->hops[0].gateway.bytes, record.gateway, 16);
}

/* What rtnetlink would have said in an attribute of its own. */
static void test_attributes(void **state)
{
	struct kernel_record record;

	(void)state;
	record = hop_of(1, 0), record.prefsrc = 1, fill(&record, 1);
	assert_true(routes.routes[0].own_source);
	record = hop_of(1, 0), record.hop_limit = 9, fill(&record, 1);
	assert_true(routes.routes[0].own_source);
	record = hop_of(1, 0), record.mtu = 1279, fill(&record, 1);
	assert_true(routes.routes[0].own_source);
	record = hop_of(1, 0), record.mtu = 1280, fill(&record, 1);
	assert_false(routes.routes[0].own_source);
	record = hop_of(1, 0), record.encap = 1, fill(&record, 1);
	assert_true(routes.routes[0].encap);
	record = hop_of(1, 0), record.features = RTAX_FEATURE_ECN, fill(&record, 1);
	assert_false(routes.routes[0].unknown);
	record = hop_of(1, 0), record.features = RTAX_FEATURE_ALLFRAG, fill(&record, 1);
	assert_true(routes.routes[0].unknown);
	record = hop_of(1, 0), memset(record.gateway, 0, 16), fill(&record, 1);
	assert_false(routes.routes[0].hops[0].has_gateway);
	record = hop_of(0, 0), fill(&record, 1);
	assert_int_equal(routes.routes[0].n_hops, 0);
}

static void test_lifetime(void **state)
{
	struct kernel_record record = hop_of(1, 0);

	(void)state;
	record.expires = NOW_JIFFIES + 100;
	fill(&record, 1);
	assert_false(routes.routes[0].expires);
	record.flags = RTF_EXPIRES;
	fill(&record, 1);
	assert_true(routes.routes[0].expires);
	assert_int_equal(routes.routes[0].expires_ns, kernel_reader_expires_ns(&view, &record));
	assert_true(routes.routes[0].expires_ns > NOW_NS);
	record.expires = NOW_JIFFIES - 100;
	fill(&record, 1);
	assert_true(routes.routes[0].expires_ns < NOW_NS);
}

/* An object that discards is shown with the loopback device, any other with none. */
static void test_objects(void **state)
{
	struct kernel_record record = hop_of(0, 0);

	(void)state;
	memset(record.gateway, 0, sizeof(record.gateway));
	record.next_hop_id = 10;
	fill(&record, 1);
	assert_int_equal(routes.routes[0].next_hop_id, 10);
	assert_int_equal(routes.routes[0].n_hops, 0);
	record.type = RTN_BLACKHOLE;
	fill(&record, 1);
	assert_int_equal(routes.routes[0].n_hops, 1);
	assert_int_equal(routes.routes[0].hops[0].ifindex, LOOPBACK_IFINDEX);
}

/* Hops of one set with other routes between and behind them. */
static void test_sets(void **state)
{
	struct kernel_record records[] = { hop_of(1, 1), hop_of(7, 0), hop_of(2, 1), hop_of(3, 1),
					   hop_of(4, 1), hop_of(5, 1), hop_of(6, 1) };

	(void)state;
	records[1].gateway[0] = 0;
	records[3].metric = records[4].metric = 2048;
	records[5].src_len = records[6].src_len = 1;
	fill(records, ARRAY_SIZE(records));
	assert_int_equal(routes.n, 4);
	assert_int_equal(routes.routes[0].n_hops, 2);
	assert_int_equal(routes.routes[0].hops[0].ifindex, 1);
	assert_int_equal(routes.routes[0].hops[1].ifindex, 2);
	assert_int_equal(routes.routes[1].n_hops, 1);
	assert_int_equal(routes.routes[1].hops[0].ifindex, 7);
	assert_int_equal(routes.routes[2].metric, 2048);
	assert_int_equal(routes.routes[2].n_hops, 2);
	assert_int_equal(routes.routes[3].src.len, 1);
	assert_int_equal(routes.routes[3].n_hops, 2);
	for (size_t i = 0; i < routes.n; i++)
		assert_false(routes.routes[i].unlike);
}

static bool unlike(const struct kernel_record *first, const struct kernel_record *second)
{
	const struct kernel_record records[] = { *first, *second };

	fill(records, 2);
	assert_int_equal(routes.n, 1);
	assert_int_equal(routes.routes[0].n_hops, 2);
	return routes.routes[0].unlike;
}

static void test_unlike_hops(void **state)
{
	const struct kernel_record first = hop_of(1, 1), like = hop_of(2, 1);
	struct kernel_record ends = first, second = like;

	(void)state;
	assert_false(unlike(&first, &like));
	second = like, second.weight = 9, assert_false(unlike(&first, &second));
	second = like, second.mtu = 1400, assert_true(unlike(&first, &second));
	second = like, second.mtu_locked = 1, assert_true(unlike(&first, &second));
	second = like, second.type = RTN_LOCAL, assert_true(unlike(&first, &second));
	second = like, second.preference = 3, assert_true(unlike(&first, &second));
	second = like, second.flags = RTF_EXPIRES, assert_true(unlike(&first, &second));
	ends.flags = second.flags = RTF_EXPIRES;
	ends.expires = NOW_JIFFIES + 100000;
	second.expires = ends.expires - 1;
	assert_false(unlike(&ends, &second));
	assert_int_equal(routes.routes[0].expires_ns, kernel_reader_expires_ns(&view, &second));
	second.expires = ends.expires - 50000;
	assert_true(unlike(&ends, &second));
}

static void test_too_many_hops(void **state)
{
	static struct kernel_record records[ROUTE_MAX_HOPS + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		records[i] = hop_of(1, ROUTE_MAX_HOPS);
		records[i].ifindex = 1 + (uint32_t)i;
	}
	fill(records, ROUTE_MAX_HOPS);
	assert_false(routes.routes[0].truncated);
	fill(records, ARRAY_SIZE(records));
	assert_true(routes.routes[0].truncated);
	assert_int_equal(routes.routes[0].n_hops, ROUTE_MAX_HOPS);
	kernel_routes_free(&routes);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_route),     cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_lifetime),      cmocka_unit_test(test_objects),
		cmocka_unit_test(test_sets),	      cmocka_unit_test(test_unlike_hops),
		cmocka_unit_test(test_too_many_hops),
	};

	return cmocka_run_group_tests_name("kernel routes", tests, NULL, NULL);
}
