// SPDX-License-Identifier: GPL-2.0-only
/*
 * What messages do not tell, or not well: sets that are stale, lifetimes, of which they say how
 * much is left and never when they end, and the routes of the kernel's own table beside those of
 * the RIB, compared and taken over.
 */
#include "../unit.h"
#include "rib_steps.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S (1000 * NS_PER_MS)
#define NOW_NS (1000 * NS_PER_S)
#define A_AND_B .n_hops = 2, .hops = { VIA(0xa, 1), VIA(0xb, 2) }

static const struct route_hop via_a_and_b[] = { VIA(0xa, 1), VIA(0xb, 2) };

static const struct rib_route *known(const struct steps_world *world)
{
	return rib_find(world->rib, RT_TABLE_MAIN, &world->dst)->routes;
}

static void dump(struct steps_world *world, const struct step *steps, size_t n)
{
	rib_mark(world->rib);
	for (size_t i = 0; i < n; i++)
		steps_apply(world, &steps[i]);
	rib_sweep(world->rib);
}

/* --- stale ------------------------------------------------------------------------------------ */

/* While messages were lost the first went and came again: a dump tells the order of now. */
static void test_order_of_a_dump(void **state)
{
	const struct step one = steps_device(DUMP, 1, 0), two = steps_device(DUMP, 2, 0);
	const struct step before[] = { one, two }, after[] = { two, one };
	const struct step set = { .flags = DUMP, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	const struct step set_first[] = { set, one }, set_last[] = { one, set };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	dump(&world, before, 2);
	steps_state(&world, "before", "50 -1; 50 -2");
	dump(&world, after, 2);
	steps_state(&world, "after", "50 -2; 50 -1");
	dump(&world, set_first, 2);
	steps_state(&world, "a set first", "50 a1; 50 -1");
	dump(&world, set_last, 2);
	steps_state(&world, "a set last", "50 -1; 50 a1");
	dump(&world, before, 2);
	rib_mark(world.rib);
	assert_int_equal(steps_apply(&world, &one), 0);
	steps_state(&world, "a dump that ends early", "50 -1; 50 -2");
	rib_free(world.rib);
}

/* A second dump on top tells the only route there is no second time. */
static void test_dump_again(void **state)
{
	const struct step one = steps_device(DUMP, 1, 0);
	struct steps_world world;

	(void)state;
	steps_open(&world);
	rib_mark(world.rib);
	for (int i = 0; i < 2; i++) {
		rib_dump_again(world.rib);
		steps_apply(&world, &one);
	}
	rib_sweep(world.rib);
	steps_state(&world, "dumped twice", "50 -1");
	rib_free(world.rib);
}

/* Each change beside a stale set, and what becomes of that. */
static void test_changes_beside_stale(void **state)
{
	static const struct {
		struct step step;
		const char *then;
		int ret;
	} changes[] = {
		{ { .flags = APPEND,
		    .n_hops = 3,
		    .hops = { VIA(0xc, 3), VIA(0xa, 1), VIA(0xb, 2) } },
		  "50 a1 b2 c3 stale",
		  -EINPROGRESS },
		{ { .flags = REPLACE, .n_hops = 2, .hops = { VIA(0xc, 3), VIA(0xd, 3) } },
		  "50 c3 d3 stale",
		  -EINPROGRESS },
		{ { .flags = REPLACE, A_AND_B }, "50 a1 b2 stale", -EINPROGRESS },
		{ { .flags = DEL, .n_hops = 1, .hops = { VIA(0xa, 1) } }, "50 b2 stale", -EAGAIN },
		{ { .flags = DEL, A_AND_B }, "50 stale", -EAGAIN },
		{ { .flags = DEL, .n_hops = 1, .hops = { DEV(7) } }, "50 a1 b2 stale", -EAGAIN },
		{ { .flags = MORE, .n_hops = 1, .hops = { DEV(7) } }, "50 a1 b2 stale; 50 -7", 0 },
		/* of which it is not known whether it replaced one that a dump left out */
		{ { .flags = REPLACE, .n_hops = 1, .hops = { DEV(7) } },
		  "50 a1 b2 stale; 50 -7",
		  -EAGAIN },
		{ { .flags = MORE, .metric = 60, .n_hops = 1, .hops = { DEV(7) } },
		  "50 a1 b2 stale; 60 -7",
		  0 },
	};
	const struct step set = { .flags = DUMP, A_AND_B };
	struct steps_world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		steps_open(&world);
		dump(&world, &set, 1);
		steps_state(&world, "dumped", "50 a1 b2 stale");
		assert_int_equal(steps_apply(&world, &changes[i].step), changes[i].ret);
		steps_state(&world, "a change", changes[i].then);
		dump(&world, NULL, 0);
		steps_state(&world, "swept", "");
		rib_free(world.rib);
	}
}

/* --- lifetimes -------------------------------------------------------------------------------- */

/* Of a route and of a set: what is announced, what is kept, and whether it is told. */
static void test_announced_lifetimes(void **state)
{
	static const struct {
		uint32_t ends_ms, kept_ms;
		bool told;
	} rows[] = {
		{ 0, 0, true },		 { 0, 0, false },	  { 10000, 10000, true },
		{ 10000, 10000, false }, { 11999, 10000, false }, /* said later, of the same */
		{ 11999, 10000, false },			  /* … and not added up */
		{ 9999, 9999, true }, /* the earlier end is the safe one */
		{ 8100, 8100, true }, /* so that it cannot shrink without being told */
		{ 10099, 8100, false },	 { 10100, 10100, true }, /* another lifetime */
		{ 3000, 3000, true },	 { 0, 0, true },
	};
	struct steps_world world;

	(void)state;
	for (uint16_t n_hops = 1; n_hops <= 2; n_hops++) {
		struct step step = { .flags = CREATE, .n_hops = n_hops };

		memcpy(step.hops, via_a_and_b, sizeof(via_a_and_b));
		steps_open(&world);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const unsigned int before = world.changes;

			step.ends_ms = rows[i].ends_ms;
			assert_int_equal(steps_apply(&world, &step), 0);
			assert_int_equal(world.changes - before, rows[i].told);
			assert_int_equal(known(&world)->expires_ns, rows[i].kept_ms * NS_PER_MS);
			step.flags = REPLACE;
		}
		rib_free(world.rib);
	}
}

/* Hops with ends a little apart are hops of one kind: the one that is left needs no dump. */
static void test_hops_that_end_together(void **state)
{
	static const uint32_t seconds_ms[] = { 10000, 8001, 11999, 8000, 12000 };
	const struct step del = { .flags = DEL, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	struct step first = { .flags = CREATE, .n_hops = 1, .hops = { VIA(0xb, 2) } };
	struct step both = { .flags = APPEND, A_AND_B };
	struct steps_world world;

	(void)state;
	first.ends_ms = 10000;
	for (size_t i = 0; i < ARRAY_SIZE(seconds_ms); i++) {
		const bool alike = i < 3;

		steps_open(&world);
		both.ends_ms = seconds_ms[i];
		assert_int_equal(steps_apply(&world, &first), 0);
		assert_int_equal(steps_apply(&world, &both), alike ? 0 : -EINPROGRESS);
		assert_int_equal(steps_apply(&world, &del), alike ? 0 : -EAGAIN);
		assert_int_equal(known(&world)->expires_ns, seconds_ms[i] * NS_PER_MS);
		rib_free(world.rib);
	}
}

SCRIPT(test_preference,
       { "add pref low", CREATE, 0, "50 -1 pref 1", .preference = 1, .n_hops = 1,
	 .hops = { DEV(1) } },
       { "replace", REPLACE, 0, "50 -1", .n_hops = 1, .hops = { DEV(1) } },
       { "pref high", REPLACE, 0, "50 -1 pref 3", .preference = 3, .n_hops = 1,
	 .hops = { DEV(1) } })

/* --- the kernel's own table ------------------------------------------------------------------- */

static const struct route_hop via_b_and_a[] = { VIA(0xb, 2), VIA(0xa, 1) };
static const struct route_hop by_1[] = { DEV(1) }, by_2[] = { DEV(2) };

static struct route kernel_route(const struct route_hop *hops, uint16_t n_hops)
{
	return (struct route){ .table = RT_TABLE_MAIN,
			       .metric = 50,
			       .type = RTN_UNICAST,
			       .protocol = RTPROT_BOOT,
			       .preference = 2,
			       .n_hops = n_hops,
			       .hops = hops };
}

static enum rib_difference compare(const struct steps_world *world, const struct route *routes,
				   size_t n)
{
	return rib_compare(rib_find(world->rib, RT_TABLE_MAIN, &world->dst), routes, n, NOW_NS);
}

static void put(struct steps_world *world, const struct route *routes, size_t n)
{
	assert_int_equal(rib_put(world->rib, RT_TABLE_MAIN, &world->dst, routes, n), 0);
	assert_int_equal(compare(world, routes, n), RIB_SAME);
}

/* One route as it is known, and as the kernel has it. */
struct pair {
	struct route known, kernel;
	enum rib_difference difference;
};

static struct pair pair_of(enum rib_difference difference)
{
	struct pair pair = { kernel_route(by_1, 1), kernel_route(by_1, 1), difference };

	return pair;
}

static void check_pair(const struct pair *pair)
{
	struct steps_world world;

	steps_open(&world);
	put(&world, &pair->known, 1);
	if (compare(&world, &pair->kernel, 1) != pair->difference)
		fail_msg("%s, should be %s",
			 rib_difference_names[compare(&world, &pair->kernel, 1)],
			 rib_difference_names[pair->difference]);
	put(&world, &pair->kernel, 1);
	rib_free(world.rib);
}

static void test_differences(void **state)
{
	struct pair pair;

	(void)state;
	pair = pair_of(RIB_SAME);
	check_pair(&pair);
	pair = pair_of(RIB_REPLACED), pair.kernel.hops = by_2, check_pair(&pair);
	pair = pair_of(RIB_REPLACED), pair.kernel.metric = 51, check_pair(&pair);
	pair = pair_of(RIB_REPLACED), pair.kernel.src.len = 1, check_pair(&pair);
	pair = pair_of(RIB_REPLACED), pair.kernel.encap = true, check_pair(&pair);
	pair = pair_of(RIB_REPLACED), pair.kernel.next_hop_id = 7, check_pair(&pair);
	pair = pair_of(RIB_MTU), pair.kernel.mtu = 1400, check_pair(&pair);
	pair = pair_of(RIB_MTU), pair.kernel.mtu_locked = true, check_pair(&pair);
	pair = pair_of(RIB_PREFERENCE), pair.kernel.preference = 3, check_pair(&pair);
	pair = pair_of(RIB_TYPE), pair.kernel.type = RTN_BLACKHOLE, check_pair(&pair);
	pair = pair_of(RIB_TYPE), pair.kernel.protocol = RTPROT_RA, check_pair(&pair);
	pair = pair_of(RIB_ATTRIBUTES), pair.kernel.own_source = true, check_pair(&pair);
	pair = pair_of(RIB_ATTRIBUTES), pair.kernel.unlike = true, check_pair(&pair);
	pair = pair_of(RIB_ATTRIBUTES), pair.kernel.truncated = true, check_pair(&pair);
}

static void test_lifetimes_read(void **state)
{
	static const struct {
		uint64_t known_s, kernel_s; /* from now on; 0: never */
		enum rib_difference difference;
	} cases[] = {
		{ 0, 0, RIB_SAME },	    { 0, 60, RIB_LIFETIME },  { 60, 0, RIB_LIFETIME },
		{ 60, 60, RIB_SAME },	    { 60, 59, RIB_LIFETIME }, { 60, 1800, RIB_SAME },
		{ 6, 1800, RIB_SAME },	    { 4, 1800, RIB_RENEWED }, { 4, 4, RIB_SAME },
		{ 1800, 60, RIB_LIFETIME },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair pair = pair_of(cases[i].difference);

		pair.known.expires = cases[i].known_s;
		pair.known.expires_ns = NOW_NS + cases[i].known_s * NS_PER_S;
		pair.kernel.expires = cases[i].kernel_s;
		pair.kernel.expires_ns = NOW_NS + cases[i].kernel_s * NS_PER_S;
		check_pair(&pair);
	}
}

/* A set that a dump told is stale until it was read. */
static void test_stale_is_read(void **state)
{
	const struct step set = { .flags = DUMP, A_AND_B };
	struct route kernel = kernel_route(via_b_and_a, 2);
	struct steps_world world;

	(void)state;
	steps_open(&world);
	dump(&world, &set, 1);
	assert_int_equal(compare(&world, &kernel, 1), RIB_RENEWED);
	kernel.unlike = true;
	assert_int_equal(compare(&world, &kernel, 1), RIB_ATTRIBUTES);
	put(&world, &kernel, 1);
	steps_state(&world, "read", "50 b2 a1 unlike");
	rib_free(world.rib);
}

static void test_more_and_fewer(void **state)
{
	struct route routes[] = { kernel_route(by_1, 1), kernel_route(by_2, 1) }, one;
	const struct route turned[] = { routes[1], routes[0] };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	assert_int_equal(compare(&world, routes, 0), RIB_SAME);
	assert_int_equal(compare(&world, routes, 1), RIB_MISSING);
	put(&world, routes, 2);
	steps_state(&world, "both", "50 -1; 50 -2");
	assert_int_equal(compare(&world, turned, 2), RIB_REPLACED);
	assert_int_equal(compare(&world, routes, 1), RIB_EXTRA);
	one = kernel_route(via_a_and_b, 2);
	put(&world, &one, 1);
	steps_state(&world, "a set", "50 a1 b2");
	put(&world, NULL, 0);
	steps_state(&world, "none", "");
	put(&world, NULL, 0);
	rib_free(world.rib);
}

/* The kernel's table has a source's routes together, the list all by their metrics. */
static void test_sources(void **state)
{
	struct route routes[] = { kernel_route(by_1, 1), kernel_route(by_1, 1),
				  kernel_route(by_2, 1) };
	const struct rib_route *list;
	struct steps_world world;

	(void)state;
	steps_open(&world);
	routes[1].metric = 70;
	routes[2].metric = 60;
	routes[2].src.len = 1;
	put(&world, routes, 3);
	list = known(&world);
	assert_int_equal(list->metric, 50);
	assert_int_equal(list->next->metric, 60);
	assert_int_equal(list->next->next->metric, 70);
	rib_free(world.rib);
}

/* What is not to be seen in the table stays as messages told it. */
static void test_what_stays(void **state)
{
	const struct step object = {
		.flags = MORE, .nhid = 10, .n_hops = 1, .type = RTN_BLACKHOLE, .hops = { DEV(1) }
	};
	const struct step unknown = {
		.flags = MORE, .unknown = true, .n_hops = 1, .hops = { DEV(2) }
	};
	struct route kernel[] = { kernel_route(NULL, 0), kernel_route(by_2, 1) };
	const struct rib_route *routes;
	struct steps_world world;

	(void)state;
	steps_open(&world);
	assert_int_equal(steps_apply(&world, &object), 0);
	assert_int_equal(steps_apply(&world, &unknown), 0);
	kernel[0].next_hop_id = 10;
	assert_int_equal(compare(&world, kernel, 2), RIB_SAME);
	kernel[1].mtu = 1400;
	put(&world, kernel, 2);
	steps_state(&world, "read", "50 blackhole #10 -1; 50 -2 mtu 1400");
	routes = known(&world);
	assert_true(routes->next->unknown);
	assert_int_equal(rib_by_object(world.rib, 10).n, 1);
	rib_free(world.rib);
}

static void test_counts(void **state)
{
	struct route routes[] = { kernel_route(by_1, 1), kernel_route(by_2, 1),
				  kernel_route(by_1, 1), kernel_route(by_2, 1) };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	routes[0].protocol = RTPROT_RA;
	routes[1].expires = true;
	routes[1].expires_ns = NOW_NS;
	routes[2].metric = routes[3].metric = 60;
	routes[2].mtu = 1400;
	put(&world, routes, ARRAY_SIZE(routes));
	assert_int_equal(rib_unsteady(world.rib), 3);
	put(&world, NULL, 0);
	assert_int_equal(rib_unsteady(world.rib), 0);
	rib_free(world.rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_a_dump),
		cmocka_unit_test(test_dump_again),
		cmocka_unit_test(test_changes_beside_stale),
		cmocka_unit_test(test_announced_lifetimes),
		cmocka_unit_test(test_hops_that_end_together),
		cmocka_unit_test(test_preference),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_lifetimes_read),
		cmocka_unit_test(test_stale_is_read),
		cmocka_unit_test(test_more_and_fewer),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_what_stays),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests_name("rib kernel", tests, NULL, NULL);
}
