// SPDX-License-Identifier: GPL-2.0-only
/*
 * What scripts (test_fib_cases.c) cannot express: bounds that take many hops or buckets, held
 * ports, finding what decides for an address, and maps that another program has written.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "../../../user/fib/desired.h"
#include "fib_script.h"

static void test_bounds(void **state)
{
	static struct fib_hop many[SIXLANE_MAX_EQUAL_METRIC + 1];
	static uint16_t buckets[UINT16_MAX + 1];
	struct fib_object object = { .n_hops = 1, .hops = many, .n_buckets = UINT16_MAX };
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct fib_hop){ .ifindex = (uint32_t)i + 1 };
	set(world, "1::/48", several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC));
	assert_target(world, "1::1", several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC));
	set(world, "1::/48", several(FIB_EQUAL_METRIC, many, SIXLANE_MAX_EQUAL_METRIC + 1));
	assert_verdict(world, "1::1", SIXLANE_PUNT_EQUAL_METRIC);
	set(world, "1::/48", several(FIB_HASHED, many, 0));
	assert_verdict(world, "1::1", SIXLANE_PUNT_MULTIPATH);
	object.buckets = buckets;
	assert_int_equal(fib_set_object(world->fib, 7, &object), 0);
	set(world, "1::/48", by_object(7));
	assert_object(world, "1::1", by_object(7), &object);
	object.n_buckets++;
	assert_int_equal(fib_set_object(world->fib, 7, &object), 0);
	assert_verdict(world, "1::1", SIXLANE_PUNT_NEXT_HOP_OBJECT);
	/* Without hops all buckets are punts. */
	object = (struct fib_object){ .n_buckets = 2,
				      .buckets = (const uint16_t[]){ 0, UINT16_MAX } };
	assert_int_equal(fib_set_object(world->fib, 7, &object), 0);
	assert_object(world, "1::1", by_object(7), &object);
	for (uint32_t i = 1; world->sim->n_port_index < SIXLANE_MAX_PORTS - 1; i++)
		set_port(world, 1000 + i, SIXLANE_PORT_UP);
	assert_int_equal(
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = 5000, .flags = 1 }),
		-ENOSPC);
}

static void test_held_port(void **state)
{
	struct world *world = *state;
	const struct sixlane_port down = { .ifindex = 3, .mtu = 1500 };
	const struct sixlane_port unknown = { .ifindex = 7, .flags = SIXLANE_PORT_UP };
	uint32_t slot;

	set_port(world, 3, SIXLANE_PORT_UP);
	slot = fib_port_slot(world->fib, 3);
	assert_true(fib_prepare_port(world->fib, &down));
	assert_int_equal(world->sim->ports[slot].flags, 0);
	/* It is written even if its value did not change after all. */
	set_port(world, 3, SIXLANE_PORT_UP);
	assert_int_equal(world->sim->ports[slot].flags, SIXLANE_PORT_UP);
	assert_false(fib_prepare_port(world->fib, &world->sim->ports[slot]));
	assert_false(fib_prepare_port(world->fib, &unknown));
	assert_int_equal(fib_port_slot(world->fib, unknown.ifindex), 0);
	fib_wait_ports(world->fib);
	assert_int_equal(world->sim->graces, 1);
}

/* A route that another program has deleted is no error. */
static void test_deleted_already(void **state)
{
	struct world *world = *state;
	const struct prefix prefix = pfx("1::/48");

	set(world, "1::/48", via("fe80::1", 3));
	world->sim->routes.n = 0;
	assert_int_equal(fib_set(world->fib, SIXLANE_TABLE_MAIN, &prefix, NULL), 0);
	assert_int_equal(stats_of(world).routes + stats_of(world).missing, 0);
	assert_int_equal(stats_of(world).write_errors, 0);
}

/* --- finding, and writing again; the writer allows changes of what is in use ------------------ */

static void store(void *ctx, enum fib_map map, uint32_t index, const void *value)
{
	struct sim *sim = ctx;

	if (map == FIB_MAP_NEIGHS)
		sim->neighs[index] = *(const struct sixlane_neigh *)value;
	else
		sim_writer(sim).store(sim, map, index, value);
}

static void store_word(void *ctx, enum fib_map map, uint32_t index, uint64_t word)
{
	struct sim *sim = ctx;

	if (map == FIB_MAP_NEXT_HOPS)
		sim->next_hops[index].nh_entry.word = word;
	else
		sim->buckets[index].word = word;
}

/* Overwrite everything that next hops consist of. */
static void overwrite(struct sim *sim)
{
	for (uint32_t id = 2; id < 32; id++)
		sim->next_hops[id].nh_entry.type = SIXLANE_DROP_BLACKHOLE;
	for (uint32_t i = 0; i < 32; i++)
		sim->buckets[i] = (union sixlane_nh_bucket){ .below = 1, .above = 1 };
	for (uint32_t slot = 1; slot < 8; slot++)
		sim->neighs[slot].key.addr = addr("fe80::bad");
}

/* Each kind of next hop is right again after a rewrite of 1::/32. */
static void test_rewrite(void **state)
{
	static const struct {
		const char *script, *found;
		bool intact; /* nothing is overwritten before */
	} rows[] = {
		{ "set 1::/32 1@3;set 2::/32 1@3", "is 1::1 1@3;is 2::1 1@3", false },
		{ "set 1::/32 1@3+2@4*700", "is 1::1 1@3+2@4*700", false },
		{ "object 9 1@3+2@4*2;set 1::/32 object=9", "is 1::1 object=9 as 1@3+2@4*2",
		  false },
		{ "set 1::/32 {::/0=32=1@3 2001:db8:a::/48=32=2@4}",
		  "is 1::1 1@3;is 1::1<2001:db8:a::1 2@4", false },
		/* 2::/32 names its old next hop, which is punted in place. */
		{ "set 1::/32 1@3;set 2::/32 1@3;fail set 1;fail del 1;set 2::/32 local",
		  "is 1::1 full", true },
	};
	const struct prefix prefix = pfx("1::/32"), none = pfx("3::/32");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *world;

		setup(state);
		world = *state;
		fib_decompile(world->fib); /* which would see the source table in use */
		world->fib->writer.store = store;
		world->fib->writer.store_word = store_word;
		fib_script_run(world, rows[i].script);
		if (!rows[i].intact)
			overwrite(world->sim);
		fib_rewrite(world->fib, SIXLANE_TABLE_MAIN, &prefix);
		fib_rewrite(world->fib, SIXLANE_TABLE_MAIN, &none);
		fib_script_run(world, rows[i].found);
		teardown(state);
	}
}

static void test_find(void **state)
{
	/* object -1: it depends on the source */
	static const struct {
		const char *dst, *prefix;
		int object;
	} cases[] = {
		{ "1::1", "1::/32", 0 }, { "1:0:1::1", "1:0:1::/48", 9 },
		{ "2::1", "2::/32", 0 }, { "3::1", "3::/32", -1 },
		{ "4::1", NULL, 0 },
	};
	struct world *world = *state;

	fib_script_run(world, "set 1::/32 1@3;set 1:0:1::/48 object=9;set 2::/32 {::/0=32=1@3};"
			      "set 3::/32 {::/0=32=1@3 2001:db8:a::/48=32=object=9}");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const union sixlane_addr dst = addr(cases[i].dst);
		struct prefix found, expected;
		uint32_t object = 7;

		assert_int_equal(fib_find_prefix(world->fib, SIXLANE_TABLE_MAIN, &dst, &found),
				 cases[i].prefix != NULL);
		if (cases[i].prefix) {
			expected = pfx(cases[i].prefix);
			assert_true(prefix_equal(&found, &expected));
		}
		assert_int_equal(fib_find_object(world->fib, SIXLANE_TABLE_MAIN, &dst, &object),
				 cases[i].object >= 0);
		if (cases[i].object >= 0)
			assert_int_equal(object, cases[i].object);
		assert_false(fib_find_prefix(world->fib, 100, &dst, &found));
	}
}

/* --- adoption --------------------------------------------------------------------------------- */

/* The home slot is free in adopted maps, too, after a grace period. */
static void test_adopt_port_home(void **state)
{
	struct world *world = *state;

	restart(world, SIXLANE_MAX_ROUTES);
	set_port(world, 7, SIXLANE_PORT_UP);
	assert_int_equal(fib_port_slot(world->fib, 7), sixlane_port_home(7));
	set_port(world, 9, SIXLANE_PORT_UP);
	assert_int_equal(fib_port_slot(world->fib, 9), sixlane_port_home(9));
	set_port(world, 9 + SIXLANE_MAX_PORTS, SIXLANE_PORT_UP);
	assert_int_not_equal(fib_port_slot(world->fib, 9 + SIXLANE_MAX_PORTS), 0);
	assert_int_equal(world->sim->graces, 1);
}

static void test_adopt_refuses(void **state)
{
	struct world *world = *state;
	struct sixlane_neigh neigh = { .key.ifindex = 3 };
	struct sixlane_port port = { .ifindex = 3 };
	struct sixlane_next_hop next_hop = { .nh_entry.type = SIXLANE_PASS_LOCAL };

	assert_int_equal(fib_adopt_port(world->fib, 0, &port), -EINVAL);
	assert_int_equal(fib_adopt_port(world->fib, SIXLANE_MAX_PORTS, &port), -EINVAL);
	assert_int_equal(fib_adopt_port(world->fib, 1, &port), 0);
	assert_int_equal(fib_adopt_port(world->fib, 2, &port), -EINVAL);
	port.ifindex = 4;
	assert_int_equal(fib_adopt_port(world->fib, 1, &port), -EINVAL);
	assert_int_equal(fib_adopt_neigh(world->fib, 0, &neigh), -EINVAL);
	assert_int_equal(fib_adopt_neigh(world->fib, SIXLANE_MAX_NEIGHBOURS, &neigh), -EINVAL);
	assert_int_equal(fib_adopt_neigh(world->fib, 1, &neigh), 0);
	assert_int_equal(fib_adopt_neigh(world->fib, 2, &neigh), -EINVAL);
	neigh.key.zero = 1;
	assert_int_equal(fib_adopt_neigh(world->fib, 3, &neigh), -EINVAL);
	assert_int_equal(fib_adopt_next_hop(world->fib, 0, &next_hop), -EINVAL);
	assert_int_equal(fib_adopt_next_hop(world->fib, SIXLANE_MAX_NEXT_HOPS, &next_hop), -EINVAL);
}

/* Next hops from id 100 on that cannot be understood. Buckets from 900 on are written by spoil().
 */
static const struct sixlane_next_hop bad[] = {
	{ .nh_entry = { .type = SIXLANE_FORWARD, .port = 77 } }, /* no such port */
	{ .nh_entry = { .type = 63 } },
	{ .nh_entry = { .type = 67 } },
	{ .nh_entry = { .type = SIXLANE_PASS_LOCAL, .port = 1 } },
	{ .nh_entry = { .type = SIXLANE_PASS_LOCAL }, .expires_ns = 5 },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 0, .first_bucket = 900 } },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP,
			.n_buckets = 2,
			.first_bucket = SIXLANE_MAX_NH_BUCKETS - 1 } },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 2, .first_bucket = 910 } },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 920 } },
	{ .nh_entry = { .type = SIXLANE_NH_EQUAL_METRIC, .n_buckets = 17, .first_bucket = 930 } },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 0 } },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 950 },
	  .flags = 2 },
	{ .nh_entry = { .type = SIXLANE_NH_GROUP, .n_buckets = 1, .first_bucket = 960 },
	  .reserved = 1 },
	{ .nh_entry = { .type = SIXLANE_NH_SOURCES, .source_table = 50 } },
	{ .nh_entry = { .type = SIXLANE_NH_SOURCES, .source_table = 51 } },
	{ .nh_entry = { .type = SIXLANE_NH_SOURCES, .source_table = 52 } },
	{ .nh_entry = { .type = SIXLANE_NH_SOURCES, .source_table = 53 } }, /* it has no entries */
	{ .nh_entry = { .type = SIXLANE_NH_SOURCES, .source_table = 1 } },  /* two with one table */
};

static void put(struct sim_trie *trie, uint32_t table, struct prefix dst, uint32_t value)
{
	trie->routes[trie->n++] = (struct sim_route){
		.key = { .prefix_len = SIXLANE_TABLE_BITS + dst.len,
			 .table = htonl(table),
			 .addr = dst.addr },
		.value = value,
	};
}

static struct prefix bad_prefix(size_t i)
{
	struct prefix prefix = pfx("2001:db9::/48");

	prefix.addr.bytes[5] = (uint8_t)i;
	return prefix;
}

static void spoil(struct sim *sim, uint32_t leaf, uint32_t group)
{
	const struct prefix all = { 0 };

	for (uint32_t i = 900; i < 980; i++)
		sim->buckets[i] = (union sixlane_nh_bucket){ .below = (uint16_t)leaf,
							     .above = (uint16_t)leaf };
	sim->buckets[911].above = 60000; /* no next hop */
	sim->buckets[920].below = (uint16_t)group;
	put(&sim->sources, 50, all, sixlane_route_value(113, 0)); /* sources again */
	put(&sim->sources, 51, all, sixlane_route_value(0, 0));	  /* no next hop */
	put(&sim->sources, 52, all, sixlane_route_value(leaf, 129));
	put(&sim->sources, 60, all, sixlane_route_value(leaf, 0)); /* nothing leads to it */
	put(&sim->sources, 60, pfx("2001::/16"), sixlane_route_value(leaf, 0));
	put(&sim->sources, UINT32_MAX, all, sixlane_route_value(leaf, 0));
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		sim->next_hops[100 + i] = bad[i];
		put(&sim->routes, SIXLANE_TABLE_MAIN, bad_prefix(i),
		    sixlane_route_value(100 + i, 48));
	}
	/* A copy of a next hop, no id, a wrong length, a table without routes, a short key. */
	sim->next_hops[150] = sim->next_hops[leaf];
	put(&sim->routes, SIXLANE_TABLE_MAIN, bad_prefix(50), sixlane_route_value(150, 48));
	put(&sim->routes, SIXLANE_TABLE_MAIN, bad_prefix(51), sixlane_route_value(0, 48));
	put(&sim->routes, SIXLANE_TABLE_MAIN, bad_prefix(52), sixlane_route_value(leaf, 47));
	put(&sim->routes, 4711, bad_prefix(53), sixlane_route_value(leaf, 48));
	put(&sim->routes, 4711, all, sixlane_route_value(leaf, 0));
	sim->routes.routes[sim->routes.n - 1].key.prefix_len = 3;
	sim->stale = true;
}

static uint32_t id_of(const struct world *world, const char *dst)
{
	const union sixlane_addr to = addr(dst);

	return sixlane_route_next_hop(sim_value(world->sim, SIXLANE_TABLE_MAIN, &to));
}

/* What is bad is punted, and gone after a synchronisation; the rest is not disturbed. */
static void test_adopt_nonsense(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 3, 1) };
	const struct fib_target group = several(FIB_HASHED, hops, 2), leaf = via("fe80::1", 3);
	const struct fib_source source = { .target = leaf };
	const struct fib_target sources = {
		.verdict = SIXLANE_FORWARD, .kind = FIB_SOURCES, .n_sources = 1, .sources = &source
	};
	struct world *world = *state;
	struct sim *sim = world->sim;

	set(world, "2001:db8::/32", group);
	set(world, "2001:dba::/32", sources);
	set(world, "::/0", leaf);
	spoil(sim, id_of(world, "::1"), id_of(world, "2001:db8::1"));
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_target(world, "2001:db8::1", group);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct prefix prefix = bad_prefix(i);
		struct sim_found found;

		assert_true(sim_find(sim, SIXLANE_TABLE_MAIN, &prefix.addr, &prefix.addr, &found));
		assert_int_equal(sim_verdict(&found), SIXLANE_PUNT_MAP_FULL);
	}
	set(world, "2001:db8::/32", group);
	set(world, "2001:dba::/32", sources);
	set(world, "::/0", leaf);
	set(world, "2001:db9:1::/48", group);
	set(world, "2001:db9:32::/48", leaf);
	set(world, "2001:db9:34::/48", leaf);
	fib_sync_end(world->fib);
	assert_target(world, "2001:db8::1", group);
	assert_target(world, "2001:db9:1::1", group);
	assert_target(world, "2001:db9:2::1", leaf);
	assert_target(world, "2001:db9:32::1", leaf);
	assert_target(world, "2001:dba::1", leaf);
	assert_int_equal(sim->routes.n, 6);
	assert_int_equal(sim->sources.n, 1);
	assert_int_equal(stats_of(world).buckets, 2);
	assert_int_equal(stats_of(world).next_hops, 4);
	for (size_t i = 0; i < sim->routes.n; i++)
		assert_int_equal(sixlane_route_len(sim->routes.routes[i].value) +
					 SIXLANE_TABLE_BITS,
				 sim->routes.routes[i].key.prefix_len);
}

/* A key that no prefix can have is deleted, by a retry if the synchronisation cannot. */
static void test_adopt_orphan(void **state)
{
	struct world *world = *state;

	set(world, "1::/48", via("fe80::1", 3));
	put(&world->sim->routes, 4711, (struct prefix){ 0 }, sixlane_route_value(1, 0));
	world->sim->routes.routes[1].key.prefix_len = 3;
	restart(world, SIXLANE_MAX_ROUTES);
	fib_script_run(world, "fail del 1;sync;set 1::/48 1@3;end");
	assert_int_equal(world->sim->routes.n, 2);
	fib_script_run(world, "fail del 0;retry 0;is 1::1 1@3");
	assert_int_equal(world->sim->routes.n, 1);
}

/* The device of a port is gone unless a synchronisation sets it: packets to it pass. */
static void test_adopt_port_without_device(void **state)
{
	struct world *world = *state;

	fib_script_run(world, "port 3 1;set 1::/48 1@3;port 4 1");
	restart(world, SIXLANE_MAX_ROUTES);
	fib_script_run(world, "sync;set 1::/48 1@3;is 1::1 1@3;end;is 1::1 1@3;count ports 1");
	assert_int_equal(world->sim->ports[fib_port_slot(world->fib, 3)].flags, 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewrite), TEST(test_find),
		TEST(test_deleted_already),	TEST(test_bounds),
		TEST(test_held_port),		TEST(test_adopt_port_home),
		TEST(test_adopt_refuses),	TEST(test_adopt_nonsense),
		TEST(test_adopt_orphan),	TEST(test_adopt_port_without_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
