// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes by source: the kernel's own order of destinations and sources, as seen by experiment on
 * Linux 6.18, case by case.
 */
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "resolve_world.h"

struct row {
	const char *what;
	const char *routes[6];
	const char *dst;
	const char *result;
};

static const struct row rows[] = {
	{ "sources nowhere", { "::/0 dev 3", "2001:db8::/32 dev 7" }, "2001:db8::/32", "-" },
	{ "a source beside a plain default",
	  { "::/0 dev 3", "::/0 from 3000::/16 dev 4" },
	  "::/0",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @0;" },
	{ "a source without a plain default",
	  { "::/0 from 3000::/16 dev 4" },
	  "::/0",
	  "sources ::/0 pass_no_route; 3000::/16 one dev 4 @0;" },
	{ "longer sources",
	  { "::/0 from 3000::/16 dev 4", "::/0 from 3000:1::/32 dev 5",
	    "::/0 from 2000::/16 dev 6" },
	  "::/0",
	  "sources ::/0 pass_no_route; 2000::/16 one dev 6 @0; 3000::/16 one dev 4 @0; "
	  "3000:1::/32 one dev 5 @0;" },
	{ "a plain route that a default by source does not touch",
	  { "::/0 from 3000::/16 dev 4", "2001:db8::/32 dev 3" },
	  "2001:db8::/32",
	  "one dev 3" },

	{ "the plain route beside sources is passed over",
	  { "::/0 dev 3", "2001:db8::/32 dev 4", "2001:db8::/32 from 3000::/16 dev 5" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 5 @32;" },
	{ "the plain route beside sources is passed over for nothing",
	  { "2001:db8::/32 dev 4", "2001:db8::/32 from 3000::/16 dev 5" },
	  "2001:db8::/32",
	  "sources ::/0 pass_no_route; 3000::/16 one dev 5 @32;" },
	{ "by an unusable source the plain one counts",
	  { "::/0 dev 3", "2001:db8::/32 dev 4", "2001:db8::/32 from 3000::/16 dev 7" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @32;" },
	{ "by an unusable source a shorter one counts",
	  { "2001:db8::/32 from 3000::/16 dev 4", "2001:db8::/32 from 3000:1::/32 dev 7" },
	  "2001:db8::/32",
	  "sources ::/0 pass_no_route; 3000::/16 one dev 4 @32;" },
	{ "by an unusable source the covers' sources count",
	  { "::/0 dev 3", "2000::/3 from 3000::/4 dev 4", "2000::/3 dev 5",
	    "2001:db8::/32 from 3000::/16 dev 7" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/4 one dev 4 @3;" },
	{ "an unusable plain route: the cover's plain one, which is passed over otherwise",
	  { "::/0 dev 3", "2000::/3 from 3000::/16 dev 4", "2000::/3 dev 5",
	    "2001:db8::/32 dev 7" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 5 @3; 3000::/16 one dev 4 @3;" },
	{ "the cover itself",
	  { "::/0 dev 3", "2000::/3 from 3000::/16 dev 4", "2000::/3 dev 5",
	    "2001:db8::/32 dev 7" },
	  "2000::/3",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @3;" },
	{ "no way past a usable plain route",
	  { "::/0 from 3000::/16 dev 3", "2000::/3 dev 5", "2001:db8::/32 dev 7" },
	  "2001:db8::/32",
	  "-" },
	{ "an unusable plain route of which nothing is left",
	  { "2000::/3 from 3000::/16 dev 7", "2001:db8::/32 dev 7" },
	  "2001:db8::/32",
	  "pass_no_route" },

	{ "all sources alike",
	  { "::/0 dev 3", "::/0 from 3000::/16 dev 3", "::/0 from 3000::/32 dev 3" },
	  "::/0",
	  "one dev 3" },
	{ "alike but for the prefix",
	  { "::/0 dev 3", "2001:db8::/32 from 3000::/16 dev 3" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 3 @32;" },
	{ "alike, but not in between",
	  { "::/0 dev 3", "::/0 from 3000::/16 dev 4", "::/0 from 3000::/32 dev 3" },
	  "::/0",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @0; 3000::/32 one dev 3 @0;" },
	{ "alike rejects, whose prefix does not count",
	  { "blackhole ::/0", "blackhole 2001:db8::/32 from 3000::/16" },
	  "2001:db8::/32",
	  "drop_blackhole" },
	{ "rejects by source",
	  { "::/0 dev 3", "throw ::/0 from 3000::/16", "prohibit ::/0 from 4000::/16" },
	  "::/0",
	  "sources ::/0 one dev 3 @0; 3000::/16 pass_throw; 4000::/16 pass_prohibit;" },
	{ "sets, expiry and MTU by source",
	  { "::/0 nhid 10", "::/0 from 3000::/16 via 3 via 4 mtu 1400",
	    "::/0 from 4000::/16 dev 5 expires 9" },
	  "::/0",
	  "sources ::/0 object 10 @0; 3000::/16 hashed via 3*1 via 4*1 mtu 1400 @0; "
	  "4000::/16 one dev 5 expires 9 @0;" },
	{ "metrics by source",
	  { "::/0 from 3000::/16 dev 7 metric 1", "::/0 from 3000::/16 dev 3 metric 2",
	    "::/0 from 3000::/16 dev 4 metric 3", "::/0 dev 5 metric 1" },
	  "::/0",
	  "sources ::/0 one dev 5 @0; 3000::/16 first dev 3 dev 4 @0;" },

	{ "by source only, with a prefix inside: the kernel's answer depends on the past",
	  { "::/0 dev 3", "2001:db8::/32 from 3000::/16 dev 4", "2001:db8:1::/48 dev 5" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/16 punt_source_route;" },
	{ "the prefix inside is by source itself, and the last one",
	  { "::/0 dev 3", "2001:db8::/32 from 3000::/16 dev 4",
	    "2001:db8:1::/48 from 4000::/16 dev 5" },
	  "2001:db8:1::/48",
	  "sources ::/0 one dev 3 @0; 3000::/16 punt_source_route; 4000::/16 one dev 5 @48;" },
	{ "with a plain route the past does not matter",
	  { "::/0 dev 3", "2001:db8::/32 from 3000::/16 dev 4", "2001:db8::/32 dev 6",
	    "2001:db8:1::/48 dev 5" },
	  "2001:db8::/32",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @32;" },
	{ "nor at ::/0",
	  { "::/0 from 3000::/16 dev 4", "2001:db8:1::/48 dev 5" },
	  "::/0",
	  "sources ::/0 pass_no_route; 3000::/16 one dev 4 @0;" },
	{ "nor on the way back",
	  { "::/0 dev 3", "2001:db8::/32 from 3000::/16 dev 4", "2001:db8:1::/48 dev 7" },
	  "2001:db8:1::/48",
	  "sources ::/0 one dev 3 @0; 3000::/16 one dev 4 @32;" },
};

static void test_rows(void **state)
{
	char text[WORLD_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *world = world_new(true);

		for (size_t j = 0; j < ARRAY_SIZE(rows[i].routes) && rows[i].routes[j]; j++)
			world_add(world, rows[i].routes[j]);
		world_describe(world, 254, rows[i].dst, text);
		if (strcmp(text, rows[i].result) != 0)
			fail_msg("%s: %s", rows[i].what, text);
		world_free(world);
	}
}

/* Destinations of every length around each other, each with a source of every length. */
static void test_deepest(void **state)
{
	struct world *world = world_new(true);
	const struct prefix host = world_prefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
	const struct fib_target *target;
	char text[WORLD_TEXT], buf[PREFIX_STRLEN];

	for (unsigned int i = 0; i <= 128; i++) {
		struct prefix prefix = { .addr = host.addr, .len = (uint8_t)i };

		prefix_mask(&prefix);
		prefix_format(&prefix, buf);
		snprintf(text, sizeof(text), "%s from %s dev %u", buf, buf, 100 + i);
		world_add(world, text);
	}
	assert_int_equal(resolve_prefix(world->resolve, 254, &host, &target), 0);
	assert_non_null(target);
	assert_int_equal(target->kind, FIB_SOURCES);
	/* Only the last source is certain, and what no source but ::/0 covers. */
	assert_int_equal(target->n_sources, 3);
	assert_int_equal(target->sources[0].target.hops[0].ifindex, 100);
	assert_int_equal(target->sources[1].target.verdict, SIXLANE_PUNT_SOURCE_ROUTE);
	assert_int_equal(target->sources[2].target.hops[0].ifindex, 228);
	assert_int_equal(target->sources[2].src.len, 128);
	world_free(world);
}

/* With so many sources, an algorithm of quadratic time would not end. */
static void test_many(void **state)
{
	struct world *world = world_new(true);
	const struct prefix dst = world_prefix("2001:db8::/32");
	const struct fib_target *target;
	const unsigned int n = 20000;
	char text[128];

	world_add(world, "::/0 dev 3");
	for (unsigned int i = n; i; i--) { /* the highest metric first: rib_add() is quick then */
		snprintf(text, sizeof(text), "2001:db8::/32 from 3000:%x:%x::/48 metric %u dev 4",
			 i / 256, i % 256, i);
		world_add(world, text);
	}
	assert_int_equal(resolve_prefix(world->resolve, 254, &dst, &target), 0);
	assert_non_null(target);
	assert_int_equal(target->n_sources, n + 1);
	world_free(world);
}

/* Whether there still is a route by source, plain routes beside it hang on. */
static void test_a_dump_may_have_left_out_others(void **state)
{
	static const char what[] = "2001:db8::/32 from 3000::/16 via 3 via 4";
	struct world *world = world_new(false);
	struct route_hop hops[ROUTE_MAX_HOPS];
	char now[WORLD_TEXT];
	struct route set;

	world_add(world, "::/0 dev 3");
	world_add(world, "2001:db8::/32 dev 5");
	world_parse(what, &set, hops);
	assert_int_equal(rib_add(world->rib, &set, 0, &(bool){ 0 }),
			 -EINPROGRESS); /* as in a dump */
	world_describe(world, RT_TABLE_MAIN, "2001:db8::/32", now);
	assert_string_equal(now, "sources ::/0 one dev 3 @0; 3000::/16 punt_equal_metric;");
	assert_int_equal(rib_del(world->rib, &set, &(bool){ 0 }), -EAGAIN);
	world_describe(world, RT_TABLE_MAIN, "2001:db8::/32", now);
	assert_string_equal(now, "punt_source_route");
	world_free(world);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_a_dump_may_have_left_out_others),
		cmocka_unit_test(test_deepest),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
