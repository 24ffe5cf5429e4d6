// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RIB against what a kernel announces: each script is what `ip -6 -d monitor route` showed
 * (Linux 6.18) for the requests named beside the steps, and what `ip -6 route show` had then.
 */
#include "rib_steps.h"

SCRIPT(test_multipath,
       { "add nexthop via a dev 1 nexthop via a dev 2", MORE, 0, "50 a1 a2", .hops = "a1 a2" },
       { "append via b dev 1", APPEND, 0, "50 a1 a2 b1", .hops = "b1 a1 a2" },
       { "del via a dev 1", DEL, 0, "50 a2 b1", .hops = "a1" },
       { "append nexthop via c dev 1 nexthop via c dev 2", APPEND, -EINPROGRESS,
	 "50 a2 b1 c1 c2 stale", .hops = "a2 b1 c1 c2" },
       { "replace nexthop via d dev 1 nexthop via d dev 2", REPLACE, -EINPROGRESS, "50 d1 d2 stale",
	 .hops = "d1 d2" },
       { "replace nexthop via d dev 2 nexthop via d dev 1", REPLACE, -EINPROGRESS, "50 d2 d1 stale",
	 .hops = "d2 d1" },
       { "replace via e dev 1", REPLACE, -EINPROGRESS, "50 e1 stale", .hops = "e1" },
       { "append via f dev 1", APPEND, -EINPROGRESS, "50 e1 f1 stale", .hops = "f1 e1" },
       { "add via e dev 2 metric 40", CREATE, 0, "40 e2; 50 e1 f1 stale", .metric = 40,
	 .hops = "e2" },
       { "del metric 40: promotion is not announced", DEL, 0, "50 e1 f1 stale", .metric = 40,
	 .hops = "e2" },
       { "del metric 50: one message for all", DEL, -EAGAIN, "50 stale", .hops = "e1 f1" })

SCRIPT(test_weights,
       { "add nexthop via a dev 1 nexthop via b dev 2", MORE, 0, "50 a1 b2", .hops = "a1 b2" },
       { "replace, a weight", REPLACE, 0, "50 a1*2 b2", .hops = "a1*2 b2" },
       { "replace, the other", REPLACE, 0, "50 a1 b2*2", .hops = "a1 b2*2" })

SCRIPT(test_delete_hop_by_hop,
       { "add nexthop via a dev 1 nexthop via b dev 2", MORE, 0, "50 a1 b2", .hops = "a1 b2" },
       { "del nexthop via a dev 1 nexthop via b dev 2, 1st", DEL, 0, "50 b2", .hops = "a1" },
       { "2nd", DEL, 0, "", .hops = "b2" }, { "once more", DEL, -EAGAIN, NULL, .hops = "b2" })

SCRIPT(test_device_routes_of_one_metric, { "add dev 1", CREATE, 0, "50 -1", .hops = "-1" },
       { "append dev 2", APPEND, 0, "50 -1; 50 -2", .hops = "-2" },
       { "del dev 1", DEL, 0, "50 -2", .hops = "-1" },
       { "append dev 1", APPEND, 0, "50 -2; 50 -1", .hops = "-1" },
       { "replace dev 3: the first one goes, ambiguous after a replay", REPLACE, -EAGAIN,
	 "50 -3; 50 -1", .hops = "-3" },
       { "replace dev 1: fib6 has it twice", REPLACE, -EAGAIN, "50 -1; 50 -1", .hops = "-1" },
       { "del dev 1: either", DEL, -EAGAIN, "50 -1", .hops = "-1" },
       { "del dev 1", DEL, 0, "", .hops = "-1" })

SCRIPT(test_replace_device_route, { "add dev 1", CREATE, 0, "50 -1", .hops = "-1" },
       { "add dev 1 metric 60", CREATE, 0, "50 -1; 60 -1", .metric = 60, .hops = "-1" },
       { "replace dev 2", REPLACE, 0, "50 -2; 60 -1", .hops = "-2" },
       { "replace dev 2 mtu lock 1300", REPLACE, 0, "50 -2 mtu lock 1300; 60 -1", .mtu = 1300,
	 .mtu_locked = true, .hops = "-2" },
       { "replace dev 2 mtu 1300", REPLACE, 0, "50 -2 mtu 1300; 60 -1", .mtu = 1300, .hops = "-2" },
       { "replace dev 2 src", REPLACE, 0, "50 -2 src; 60 -1", .own_source = true, .hops = "-2" },
       { "replace dev 2", REPLACE, 0, "50 -2; 60 -1", .hops = "-2" })

/* A set and a device route: a dump of the first four steps would show a1 a2 alone. */
SCRIPT(test_set_beside_device_route, { "append via a dev 1", APPEND, 0, "50 a1", .hops = "a1" },
       { "append dev 2", APPEND, 0, "50 a1; 50 -2", .hops = "-2" },
       { "append via a dev 2", APPEND, 0, "50 a1 a2; 50 -2", .hops = "a2 a1" },
       { "del via a dev 1", DEL, 0, "50 a2; 50 -2", .hops = "a1" },
       { "replace dev 1: the first of its kind", REPLACE, 0, "50 a2; 50 -1", .hops = "-1" },
       { "replace via b dev 1", REPLACE, 0, "50 b1; 50 -1", .hops = "b1" })

SCRIPT(test_replace_the_other_kind, { "append via a dev 1", APPEND, 0, "50 a1", .hops = "a1" },
       { "append via a dev 2", APPEND, 0, "50 a1 a2", .hops = "a2 a1" },
       { "replace dev 1: all siblings go", REPLACE, 0, "50 -1", .hops = "-1" },
       { "replace nexthop via d dev 1 nexthop via d dev 2", REPLACE, 0, "50 d1 d2",
	 .hops = "d1 d2" })

SCRIPT(test_reject,
       { "add blackhole", CREATE, 0, "50 blackhole -9", .type = RTN_BLACKHOLE, .hops = "-9" },
       { "del", DEL, 0, "", .type = RTN_BLACKHOLE, .hops = "-9" })

SCRIPT(test_next_hop_objects, { "add nhid 10", CREATE, 0, "50 #10 a1", .nhid = 10, .hops = "a1" },
       { "append nhid 11", APPEND, 0, "50 #10 a1; 50 #11 a2", .nhid = 11, .hops = "a2" },
       { "append via b dev 1", APPEND, 0, "50 #10 a1; 50 #11 a2; 50 b1", .hops = "b1" },
       { "nexthop replace id 11 via b dev 2", REPLACE, -EAGAIN, "50 #10 a1; 50 #11 b2; 50 b1",
	 .nhid = 11, .hops = "b2" },
       { "replace nhid 12", REPLACE, -EAGAIN, "50 #12 a1 b2; 50 #11 b2; 50 b1", .nhid = 12,
	 .hops = "a1 b2" },
       { "nexthop del id 11", DEL, 0, "50 #12 a1 b2; 50 b1", .nhid = 11, .hops = "b2" },
       { "… and the group that was left with it", DEL, 0, "50 b1", .nhid = 12, .hops = "b2" },
       { "without compat mode: add nhid 10 metric 60", CREATE, 0, "50 b1; 60 #10", .metric = 60,
	 .nhid = 10 },
       { "del nhid 10 metric 60", DEL, 0, "50 b1", .metric = 60, .nhid = 10 })

/* ip link del dev 2, with dev 1 down: the whole set goes, hop by hop. */
SCRIPT(test_device_goes,
       { "add nexthop via a dev 1 nexthop via a dev 2", MORE, 0, "50 a1 a2", .hops = "a1 a2" },
       { "append via b dev 1 mtu lock 1300: announced with the new hop's mtu", APPEND, -EINPROGRESS,
	 "50 a1 a2 b1 mtu 1300 stale", .mtu = 1300, .hops = "b1 a1 a2" },
       { "1st", DEL, -EINPROGRESS, "50 a2 b1 mtu 1300 stale", .hops = "a1" },
       { "2nd: b's own mtu is not known", DEL, -EAGAIN, "50 b1 mtu 1300 stale", .hops = "a2" },
       { "a dump", DUMP, 0, "50 b1 mtu 1300", .mtu = 1300, .hops = "b1" },
       { "3rd", DEL, 0, "", .mtu = 1300, .hops = "b1" })

/* Several hops appended at once are announced with the attributes of the first that was there. */
SCRIPT(test_append_several,
       { "add via a dev 1 mtu lock 1300", CREATE, 0, "50 a1 mtu 1300", .mtu = 1300, .hops = "a1" },
       { "append nexthop via b dev 1 nexthop via c dev 1", APPEND, -EINPROGRESS,
	 "50 a1 b1 c1 mtu 1300 stale", .mtu = 1300, .hops = "a1 b1 c1" },
       { "del via a dev 1", DEL, -EINPROGRESS, "50 b1 c1 mtu 1300 stale", .mtu = 1300,
	 .hops = "a1" },
       { "del via b dev 1", DEL, -EAGAIN, "50 c1 mtu 1300 stale", .hops = "b1" })

/* The kernel's own routes from advertisements never form a set; those of a daemon do. */
SCRIPT(test_router_advertisements,
       { "a router", CREATE, 0, "50 a1", .protocol = RTPROT_RA, .expires = true, .hops = "a1" },
       { "another", MORE, 0, "50 a1; 50 b1", .protocol = RTPROT_RA, .expires = true, .hops = "b1" },
       { "the first again, lifetime infinite", MORE, 0, "50 a1; 50 b1", .protocol = RTPROT_RA,
	 .hops = "a1" },
       { "a static one: a set of its own", MORE, 0, "50 a1; 50 b1; 50 c1", .hops = "c1" },
       { "del a", DEL, 0, "50 b1; 50 c1", .protocol = RTPROT_RA, .hops = "a1" },
       { "del c", DEL, 0, "50 b1", .hops = "c1" },
       { "it was a daemon's: b has a sibling", MORE, 0, "50 b1 d1", .protocol = RTPROT_RA,
	 .hops = "b1 d1" })

SCRIPT(test_source_specific, { "add dev 1", CREATE, 0, "50 -1", .hops = "-1" },
       { "add from /48 via a dev 1", CREATE, 0, "50 -1; 50 a1 from /48", .src_len = 48,
	 .hops = "a1" },
       { "add from /32 via a dev 1", CREATE, 0, "50 -1; 50 a1 from /48; 50 a1 from /32",
	 .src_len = 32, .hops = "a1" },
       { "del from /48", DEL, 0, "50 -1; 50 a1 from /32", .src_len = 48, .hops = "a1" })

/* Messages that only make sense if others were lost. */
SCRIPT(test_missed, { "del of what is not there", DEL, -EAGAIN, NULL, .hops = "-1" },
       { "replace of what is not there", REPLACE, -EAGAIN, "50 -1", .hops = "-1" },
       { "del of another metric", DEL, -EAGAIN, NULL, .metric = 60, .hops = "-1" },
       { "del of another device", DEL, -EAGAIN, NULL, .hops = "-2" },
       { "replace by a set", REPLACE, 0, "50 a1 b1", .hops = "a1 b1" },
       { "append to a set that lost b", APPEND, -EAGAIN, "50 a1 c1", .hops = "c1 a1" },
       { "del of more hops than there are", DEL, -EAGAIN, "", .hops = "a1 b1 c1" })

/* Encapsulations are not compared: there may be two, and only a dump shows which is left. */
SCRIPT(test_encapsulation,
       { "add encap seg6 … dev 1", CREATE, 0, "50 -1 encap", .encap = true, .hops = "-1" },
       { "append encap seg6 … dev 1: fib6 may have both", APPEND, -EAGAIN, NULL, .encap = true,
	 .hops = "-1" },
       { "del", DEL, 0, "", .encap = true, .hops = "-1" })

/* A later kernel may give a route an unknown attribute, and remove it again. */
SCRIPT(test_unknown_attribute, { "add dev 1", CREATE, 0, "50 -1", .hops = "-1" },
       { "replace, unknown", REPLACE, 0, "50 -1 unknown", .unknown = true, .hops = "-1" },
       { "replace", REPLACE, 0, "50 -1", .hops = "-1" },
       { "del, unknown", DEL, 0, "", .unknown = true, .hops = "-1" },
       { "add dev 2, unknown", CREATE, 0, "50 -2 unknown", .unknown = true, .hops = "-2" },
       { "append dev 2: fib6 may have both", APPEND, -EAGAIN, "50 -2", .hops = "-2" })

/* After a dump of a set, the attributes of a single hop of it are unknown. */
SCRIPT(test_hop_left_after_a_dump,
       { "dumped", DUMP, -EINPROGRESS, "50 a1 b1 c1 stale", .hops = "a1 b1 c1" },
       { "del a", DEL, -EINPROGRESS, "50 b1 c1 stale", .hops = "a1" },
       { "del b", DEL, -EAGAIN, "50 c1 stale", .hops = "b1" })

SCRIPT(test_mark_and_sweep, { "add dev 1", MORE, 0, "50 -1", .hops = "-1" },
       { "add dev 2", MORE, 0, "50 -1; 50 -2", .hops = "-2" }, MARKED,
       { "dumped dev 1", DUMP, 0, NULL, .hops = "-1" }, SWEPT("50 -1"), MARKED, SWEPT(""))

/* `replace dev 2` over dev 1 and dev 2 leaves dev 2 twice; a dump shows both. */
SCRIPT(test_twins_in_a_dump, MARKED, { "a dump", DUMP, 0, "50 -2", .hops = "-2" },
       { "unlike", DUMP, 0, "50 -2; 50 -2 mtu 1300", .mtu = 1300, .hops = "-2" }, SWEPT(NULL),
       MARKED, { "the same dump", DUMP, 0, NULL, .hops = "-2" },
       { "unlike", DUMP, 0, NULL, .mtu = 1300, .hops = "-2" }, SWEPT(NULL), MARKED,
       { "alike", DUMP, 0, NULL, .hops = "-2" }, { "alike", DUMP, 0, "50 -2; 50 -2", .hops = "-2" },
       SWEPT(NULL), { "del dev 2: either", DEL, -EAGAIN, "50 -2", .hops = "-2" },
       { "del dev 2", DEL, 0, "", .hops = "-2" })

/* A dump that is taken again on top, because routes changed under it, makes no twins. */
static void test_dump_in_rounds(void **state)
{
	struct route_hop hop = DEV(1);
	struct route route = {
		.table = RT_TABLE_MAIN, .metric = 50, .type = RTN_UNICAST, .n_hops = 1, .hops = &hop
	};
	struct rib *rib = rib_new(NULL, NULL);

	for (int round = 0; round < 2; round++) {
		for (uint8_t i = 0; i < 4; i++) {
			route.dst.len = 8 + i / 2;
			hop.ifindex = 1 + i % 2;
			assert_int_equal(rib_add(rib, &route, DUMP, &(bool){ 0 }), 0);
		}
	}
	assert_int_equal(rib_routes(rib), 4);
	for (uint8_t i = 0; i < 4; i++) {
		route.dst.len = 8 + i / 2;
		hop.ifindex = 1 + i % 2;
		assert_int_equal(rib_del(rib, &route, &(bool){ 0 }), 0);
	}
	rib_free(rib);
}

static void test_truncated_set(void **state)
{
	static struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route = { .table = RT_TABLE_MAIN,
			       .metric = 50,
			       .type = RTN_UNICAST,
			       .truncated = true,
			       .n_hops = ROUTE_MAX_HOPS,
			       .hops = hops };
	struct steps_world world;
	bool changed;

	steps_open(&world);
	for (unsigned int i = 0; i < ROUTE_MAX_HOPS; i++)
		hops[i] = (struct route_hop)VIA((uint8_t)i, 1);
	route.dst = world.dst;
	assert_int_equal(rib_add(world.rib, &route, MORE, &changed), 0);
	assert_true(changed);
	assert_int_equal(rib_add(world.rib, &route, MORE, &changed), 0);
	assert_false(changed);
	/* One hop goes, and an unseen one, while the set may have others that were never seen. */
	route.n_hops = 1;
	route.truncated = false;
	assert_int_equal(rib_del(world.rib, &route, &(bool){ 0 }), -EAGAIN);
	hops[0].ifindex = 2;
	assert_int_equal(rib_del(world.rib, &route, &(bool){ 0 }), -EAGAIN);
	hops[0].ifindex = 1;
	assert_int_equal(rib_routes(world.rib), 1);
	route.n_hops = ROUTE_MAX_HOPS;
	route.truncated = true;
	assert_int_equal(rib_del(world.rib, &route, &(bool){ 0 }), -EAGAIN);
	assert_int_equal(rib_routes(world.rib), 0);
	rib_free(world.rib);
}

static bool uses_device_2(const struct route *route, void *ctx)
{
	return route->hops[0].ifindex == 2;
}

static void test_prune(void **state)
{
	struct step one = { .flags = MORE, .hops = "-1" }, two = { .flags = MORE, .hops = "-2" };
	struct steps_world world;

	steps_open(&world);
	steps_apply(&world, &one);
	steps_apply(&world, &two);
	rib_prune(world.rib, uses_device_2, NULL);
	steps_state(&world, "pruned", "50 -1");
	rib_free(world.rib);
}

/* Whether it is worth while to look for the routes of a device, or of an object. */
static void test_users(void **state)
{
	struct route_hop hops[] = { DEV(7), DEV(8) };
	struct route route = {
		.table = RT_TABLE_MAIN, .type = RTN_UNICAST, .n_hops = 1, .hops = hops
	};
	struct rib *rib = rib_new(NULL, NULL);

	for (int i = 0; i < 2; i++) {
		assert_false(rib_may_use_device(rib, 7) || rib_by_object(rib, 5).n);
		assert_int_equal(rib_add(rib, &route, NLM_F_CREATE, &(bool){ 0 }), 0);
		assert_true(rib_may_use_device(rib, 7));
		/* Replaced by one with an object, whose device says nothing. */
		route.next_hop_id = 5;
		assert_int_equal(rib_add(rib, &route, NLM_F_REPLACE, &(bool){ 0 }), 0);
		assert_int_equal(rib_by_object(rib, 5).n, 1);
		assert_false(rib_may_use_device(rib, 7));
		assert_int_equal(rib_del(rib, &route, &(bool){ 0 }), 0);
		route.next_hop_id = 0;
	}
	route.n_hops = 2;
	assert_int_equal(rib_add(rib, &route, NLM_F_CREATE, &(bool){ 0 }), 0);
	assert_false(rib_may_use_device(rib, 7) || rib_may_use_device(rib, 8));
	rib_free(rib);
}

static void add_table(void *ctx, uint32_t table)
{
	*(uint64_t *)ctx += table;
}

/* Tables are apart, whatever bucket they fall into; cloned routes are no routes. */
static void test_tables(void **state)
{
	static const uint32_t tables[] = { 254, 255, 254 + 64, 0xfffffffe };
	struct route_hop hop = DEV(1);
	struct route route = { .type = RTN_UNICAST, .n_hops = 1, .hops = &hop };
	struct rib *rib = rib_new(NULL, NULL);
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		assert_null(rib_table(rib, tables[i]));
		route.table = tables[i];
		route.cloned = true;
		assert_int_equal(rib_add(rib, &route, 0, &(bool){ 0 }), 0);
		assert_null(rib_table(rib, tables[i]));
		route.cloned = false;
		assert_int_equal(rib_add(rib, &route, 0, &(bool){ 0 }), 0);
		assert_int_equal(rib_table(rib, tables[i])->entries, 1);
	}
	assert_int_equal(rib_routes(rib), ARRAY_SIZE(tables));
	rib_each_table(rib, add_table, &sum);
	assert_int_equal(sum, 254ull + 255 + 318 + 0xfffffffe);
	assert_int_equal(rib_del(rib, &route, &(bool){ 0 }), 0);
	sum = 0;
	rib_each_table(rib, add_table, &sum);
	assert_int_equal(sum, 254ull + 255 + 318);
	assert_null(rib_find(rib, route.table, &route.dst));
	assert_non_null(rib_find(rib, 254, &route.dst));
	rib_free(rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_multipath),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_delete_hop_by_hop),
		cmocka_unit_test(test_device_routes_of_one_metric),
		cmocka_unit_test(test_replace_device_route),
		cmocka_unit_test(test_set_beside_device_route),
		cmocka_unit_test(test_replace_the_other_kind),
		cmocka_unit_test(test_reject),
		cmocka_unit_test(test_next_hop_objects),
		cmocka_unit_test(test_device_goes),
		cmocka_unit_test(test_append_several),
		cmocka_unit_test(test_router_advertisements),
		cmocka_unit_test(test_source_specific),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_encapsulation),
		cmocka_unit_test(test_unknown_attribute),
		cmocka_unit_test(test_mark_and_sweep),
		cmocka_unit_test(test_twins_in_a_dump),
		cmocka_unit_test(test_dump_in_rounds),
		cmocka_unit_test(test_hop_left_after_a_dump),
		cmocka_unit_test(test_truncated_set),
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
