// SPDX-License-Identifier: GPL-2.0-only
/* Whether the maps may send a flow to a next hop: each kind of next hop, and unused ports. */

#include "../../unit.h"

#include <errno.h>

#include "../../../../user/maps/flow.c"

#define LEN 48
#define TABLE 100u
#define SOURCE_TABLE 7u
#define NOW 1000u

enum { ON_LINK = 1, GATEWAY, BLACKHOLE, GROUP, EQUAL_METRIC, SOURCES };

static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static union sixlane_nh_bucket buckets[SIXLANE_MAX_NH_BUCKETS];
static struct sixlane_fib_head head;
static struct maps maps;
static uint32_t in_trie, compiled, by_source; /* next hops; 0: no route */
static bool is_compiled;

int maps_view(const struct maps *of, struct compiled_view *view)
{
	return is_compiled ? 0 : -ENODATA;
}

void maps_unview(struct compiled_view *view)
{
}

int compiled_find(const struct compiled_view *view, uint32_t table, const union sixlane_addr *addr,
		  uint32_t *value)
{
	assert_int_equal(table, TABLE);
	*value = compiled ? sixlane_route_value(compiled, LEN + 1) : 0;
	return 0;
}

int maps_route_lookup(const struct maps *of, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value)
{
	assert_int_equal(table, TABLE);
	*value = sixlane_route_value(in_trie, LEN);
	return in_trie ? 0 : -ENOENT;
}

int maps_source_lookup(const struct maps *of, uint32_t id, const union sixlane_addr *addr,
		       uint32_t *value)
{
	assert_int_equal(id, SOURCE_TABLE);
	*value = sixlane_route_value(by_source, 32);
	return by_source ? 0 : -ENOENT;
}

static const struct maps_flow by_gateway = {
	.table = TABLE, .dst = { .bytes = { 1 } }, .ifindex = 40, .next_hop = { .bytes = { 2 } }
};
static const struct maps_flow on_link = {
	.table = TABLE, .dst = { .bytes = { 1 } }, .ifindex = 50, .next_hop = { .bytes = { 1 } }
};

static int setup(void **state)
{
	next_hops[ON_LINK].nh_entry =
		(union sixlane_nh_entry){ .type = SIXLANE_FORWARD, .port = 5 };
	next_hops[GATEWAY].nh_entry =
		(union sixlane_nh_entry){ .type = SIXLANE_FORWARD, .port = 4, .neighbour = 9 };
	next_hops[BLACKHOLE].nh_entry.type = SIXLANE_DROP_BLACKHOLE;
	next_hops[GROUP] = (struct sixlane_next_hop){
		.nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 2, .first_bucket = 6 },
	};
	next_hops[EQUAL_METRIC].nh_entry = next_hops[GROUP].nh_entry;
	next_hops[EQUAL_METRIC].nh_entry.type = SIXLANE_NH_EQUAL_METRIC;
	next_hops[SOURCES].nh_entry = (union sixlane_nh_entry){ .type = SIXLANE_NH_SOURCES,
								.source_table = SOURCE_TABLE };
	buckets[6] = (union sixlane_nh_bucket){ .below = BLACKHOLE, .above = BLACKHOLE };
	buckets[7] = (union sixlane_nh_bucket){ .below = BLACKHOLE, .above = GATEWAY };
	buckets[8] = (union sixlane_nh_bucket){ .below = ON_LINK, .above = ON_LINK };
	neighbours[9].key.addr = by_gateway.next_hop;
	ports[4] = (struct sixlane_port){ .ifindex = 40,
					  .flags = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6 };
	ports[5] = (struct sixlane_port){ .ifindex = 50,
					  .flags = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6 };
	head.engine = SIXLANE_ENGINE_COMPILED;
	maps = (struct maps){ .next_hops = next_hops,
			      .neighbours = neighbours,
			      .ports = ports,
			      .buckets = buckets,
			      .fib_head = &head };
	in_trie = compiled = by_source = 0;
	is_compiled = false;
	return 0;
}

static bool may_forward(const struct maps_flow *flow)
{
	uint8_t len;

	return maps_may_forward(&maps, flow, NOW, &len);
}

static void each_kind(void **state)
{
	static const struct {
		uint32_t in_trie, by_source;
		bool by_gateway, on_link;
	} rows[] = {
		{ .in_trie = 0 },
		{ .in_trie = GATEWAY, .by_gateway = true },
		{ .in_trie = ON_LINK, .on_link = true },
		{ .in_trie = BLACKHOLE },
		{ .in_trie = GROUP, .by_gateway = true },
		{ .in_trie = EQUAL_METRIC, .by_gateway = true },
		{ .in_trie = SOURCES },
		{ .in_trie = SOURCES, .by_source = GATEWAY, .by_gateway = true },
		{ .in_trie = SOURCES, .by_source = GROUP, .by_gateway = true },
		{ .in_trie = SOURCES, .by_source = ON_LINK, .on_link = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		in_trie = rows[i].in_trie;
		by_source = rows[i].by_source;
		assert_int_equal(may_forward(&by_gateway), rows[i].by_gateway);
		assert_int_equal(may_forward(&on_link), rows[i].on_link);
	}
}

static void a_group_expires(void **state)
{
	in_trie = GROUP;
	next_hops[GROUP].expires_ns = NOW + 1;
	assert_true(may_forward(&by_gateway));
	next_hops[GROUP].expires_ns = NOW;
	assert_false(may_forward(&by_gateway));
}

static void ports_out_of_use(void **state)
{
	in_trie = GATEWAY;
	ports[4].flags |= SIXLANE_PORT_SKIP | SIXLANE_PORT_SKIP_OBJECT;
	assert_true(may_forward(&by_gateway));
	in_trie = GROUP;
	assert_false(may_forward(&by_gateway));
	ports[4].flags &= ~SIXLANE_PORT_SKIP;
	assert_true(may_forward(&by_gateway));
	next_hops[GROUP].flags = SIXLANE_NEXT_HOP_OBJECT;
	assert_false(may_forward(&by_gateway));
	in_trie = GATEWAY;
	ports[4].flags = SIXLANE_PORT_IPV6;
	assert_false(may_forward(&by_gateway));
}

/* The engine in use decides, also about the length. */
static void by_the_engine_in_use(void **state)
{
	uint8_t len = 0;

	in_trie = GATEWAY;
	compiled = ON_LINK;
	assert_true(maps_may_forward(&maps, &by_gateway, NOW, &len));
	assert_int_equal(len, LEN);
	is_compiled = true;
	assert_false(maps_may_forward(&maps, &by_gateway, NOW, &len));
	assert_true(maps_may_forward(&maps, &on_link, NOW, &len));
	assert_int_equal(len, LEN + 1);
	head.engine = SIXLANE_ENGINE_TRIE;
	assert_true(maps_may_forward(&maps, &by_gateway, NOW, &len));
	assert_int_equal(len, LEN);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_kind, setup),
		cmocka_unit_test_setup(a_group_expires, setup),
		cmocka_unit_test_setup(ports_out_of_use, setup),
		cmocka_unit_test_setup(by_the_engine_in_use, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
