// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source-specific routes on simulated maps: sets are written whole before a route leads to them,
 * shared, replaced, taken away in an order that misleads no packet, and adopted.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "../../../user/fib/desired.h"
#include "../unit.h"
#include "fib_world.h"

static struct fib_source source(const char *src, uint8_t dst_len, struct fib_target target)
{
	return (struct fib_source){ .src = pfx(src), .dst_len = dst_len, .target = target };
}

static struct fib_target by_source(const struct fib_source *sources, size_t n)
{
	return (struct fib_target){
		.verdict = SIXLANE_FORWARD, .kind = FIB_SOURCES, .n_sources = n, .sources = sources
	};
}

static void assert_from(const struct world *world, const char *dst, const char *src, uint32_t len,
			struct fib_target target, const struct fib_object *object)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, src);

	assert_does(world, &found, dst, &target, object);
	assert_int_equal(found.len, len);
}

static uint32_t set_of(const struct world *world, const char *dst)
{
	const union sixlane_addr to = addr(dst);

	for (size_t i = 0; i < world->sim->routes.n; i++) {
		const struct sim_route *route = &world->sim->routes.routes[i];
		const union sixlane_nh_entry nh_entry =
			world->sim->next_hops[sixlane_route_next_hop(route->value)].nh_entry;

		if (!memcmp(&route->key.addr, &to, sizeof(to))) {
			assert_int_equal(nh_entry.type, SIXLANE_NH_SOURCES);
			return nh_entry.source_table;
		}
	}
	fail_msg("%s: no route", dst);
	return 0;
}

static void test_lookup(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::3", 3, 1), hop_via("fe80::4", 4, 2) };
	const struct fib_object object = { .verdict = SIXLANE_FORWARD, .n_hops = 2, .hops = hops };
	struct fib_target small = via("fe80::2", 4);
	struct world *world = *state;

	small.mtu = 1400;
	small.expires_ns = 900;
	const struct fib_source sources[] = {
		source("2001:db8:a:b::/64", 32, small),
		source("2001:db8:a::/48", 32, several(FIB_HASHED, hops, 2)),
		source("::/0", 0, by_object(7)),
		source("2001:db8:c::/48", 32, nh_entry(SIXLANE_PASS_PROHIBIT)),
	};

	fib_set_object(world->fib, 7, &object);
	assert_int_equal(set(world, "2001:db8::/32", by_source(sources, 4)), 0);
	assert_from(world, "2001:db8::1", "2001:db8:a:b::1", 32, small, NULL);
	assert_from(world, "2001:db8::1", "2001:db8:a:c::1", 32, sources[1].target, NULL);
	assert_from(world, "2001:db8::1", "2001:db8:c::1", 32, nh_entry(SIXLANE_PASS_PROHIBIT),
		    NULL);
	assert_from(world, "2001:db8::1", "2001:db8:d::1", 0, by_object(7), &object);
	assert_int_equal(stats_of(world).sources, 4);
	/* The set stands while what an object in it means changes. */
	fib_set_object(world->fib, 7, NULL);
	assert_from(world, "2001:db8::1", "2001:db8:d::1", 0, by_object(7), NULL);
	assert_int_equal(world->sim->sources.writes, 4);
	unset(world, "2001:db8::/32");
	assert_int_equal(stats_of(world).sources, 0);
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(world->sim->sources.n, 0);
}

static void test_sharing(void **state)
{
	struct fib_source sources[] = {
		source("::/0", 0, via("fe80::1", 3)),
		source("2001:db8:a::/48", 0, via("fe80::2", 3)),
		source("2001:db8:b::/48", 0, via("fe80::3", 3)),
	};
	const struct fib_source turned[] = { sources[2], sources[0], sources[1] };
	struct world *world = *state;

	set(world, "2001:db8:1::/48", by_source(sources, 3));
	set(world, "2001:db8:2::/48", by_source(turned, 3));
	assert_int_equal(set_of(world, "2001:db8:1::"), set_of(world, "2001:db8:2::"));
	assert_int_equal(stats_of(world).sources, 3);
	sources[1].dst_len = 16;
	set(world, "2001:db8:2::/48", by_source(sources, 3));
	assert_int_not_equal(set_of(world, "2001:db8:1::"), set_of(world, "2001:db8:2::"));
	assert_int_equal(stats_of(world).sources, 6);
	unset(world, "2001:db8:2::/48");
	assert_int_equal(stats_of(world).sources, 3);
	set(world, "2001:db8:1::/48", by_source(sources, 0));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_SOURCE_ROUTE);
	assert_int_equal(stats_of(world).sources, 0);
}

/* The ids of sets rest, like all others, until a grace period has passed. */
static void test_change(void **state)
{
	struct fib_source sources[] = {
		source("::/0", 0, via("fe80::1", 3)),
		source("2001:db8:a::/48", 32, via("fe80::2", 3)),
	};
	struct world *world = *state;
	uint32_t first;

	world->fib->source_pool.limit = 3;
	set(world, "2001:db8::/32", by_source(sources, 2));
	first = set_of(world, "2001:db8::");
	for (int i = 0; i < 4; i++) {
		sources[1].target = via("fe80::3", (uint32_t)(4 + i));
		set(world, "2001:db8::/32", by_source(sources, 2));
		assert_from(world, "2001:db8::1", "2001:db8:a::1", 32, sources[1].target, NULL);
		assert_int_equal(stats_of(world).sources, 2);
		assert_int_equal(world->sim->graces, i);
	}
	assert_int_equal(set_of(world, "2001:db8::"), first);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void test_no_room(void **state)
{
	const struct fib_source a[] = {
		source("::/0", 0, via("fe80::1", 3)),
		source("2001:db8:a::/48", 32, via("fe80::2", 3)),
	};
	const struct fib_source b[] = {
		source("::/0", 0, via("fe80::1", 3)),
		source("2001:db8:b::/48", 32, via("fe80::3", 3)),
	};
	struct world *world = *state;
	unsigned long routes, nh_entries;

	world->sim->sources.capacity = 3;
	set(world, "2001:db8:1::/48", by_source(a, 2));
	set(world, "2001:db8:2::/48", by_source(b, 2));
	set(world, "2001:db8:3::/48", by_source(b, 2));
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_SOURCE_ROUTE);
	assert_int_equal(world->sim->sources.n, 2);
	assert_int_equal(stats_of(world).missing, 1);
	assert_int_equal(fib_retry(world->fib), 1);
	unset(world, "2001:db8:1::/48");
	routes = world->sim->routes.writes;
	nh_entries = world->sim->entry_writes;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_from(world, "2001:db8:2::1", "2001:db8:b::1", 32, via("fe80::3", 3), NULL);
	assert_from(world, "2001:db8:3::1", "2001:db8:b::1", 32, via("fe80::3", 3), NULL);
	assert_int_equal(world->sim->routes.writes, routes);
	assert_int_equal(world->sim->entry_writes, nh_entries + 1);
}

/* A full trie is not asked again and again by all that lack room in it. */
static void test_no_room_for_many(void **state)
{
	struct world *world = *state;
	struct fib_source sources[] = { source("::/0", 0, via("fe80::1", 3)),
					source("2001:db8:a::/48", 0, via("fe80::1", 3)) };
	unsigned long writes;
	char dst[64];

	world->sim->sources.capacity = 1;
	for (uint8_t i = 0; i < 20; i++) {
		snprintf(dst, sizeof(dst), "2001:db8:%u::/48", i + 1u);
		sources[1].dst_len = i;
		set(world, dst, by_source(sources, 2));
	}
	writes = world->sim->sources.writes;
	assert_int_equal(fib_retry(world->fib), 20);
	assert_int_equal(world->sim->sources.writes, writes + 3);
	world->sim->sources.capacity = SIM_MAX_ROUTES;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(stats_of(world).sources, 40);
}

/* Entries that cannot be deleted keep their set's id and their next hops until they can be. */
static void test_delete_fails(void **state)
{
	const struct fib_source sources[] = {
		source("2001:db8:a::/48", 32, via("fe80::2", 3)),
		source("::/0", 0, via("fe80::1", 3)),
	};
	struct world *world = *state;

	set(world, "2001:db8::/32", by_source(sources, 2));
	world->sim->del_fails = 1;
	set(world, "2001:db8::/32", via("fe80::9", 3));
	assert_target(world, "2001:db8::1", via("fe80::9", 3));
	assert_int_equal(stats_of(world).sources, 2);
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(world->sim->sources.n, 2);
	world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(world->sim->sources.n, 0);
	assert_int_equal(stats_of(world).sources, 0);
	assert_int_equal(stats_of(world).next_hops, 1);
}

static void test_nested_is_starved(void **state)
{
	const struct fib_source sources[] = {
		source("2001:db8:a::/48", 32, via("fe80::2", 3)),
		source("::/0", 0, via("fe80::1", 3)),
	};
	struct world *world = *state;

	world->fib->next_hop_pool.limit = 4; /* for the set and one of its next hops */
	set(world, "2001:db8::/32", by_source(sources, 2));
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(world->sim->sources.n, 0);
	world->fib->next_hop_pool.limit = 5;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_from(world, "2001:db8::1", "2001:db8:a::1", 32, via("fe80::2", 3), NULL);
}

/* --- restart ---------------------------------------------------------------------------------- */

static void test_restart(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::3", 3, 1), hop_via("fe80::4", 4, 2) };
	const struct fib_source sources[] = {
		source("2001:db8:a:b::/64", 32, several(FIB_EQUAL_METRIC, hops, 2)),
		source("::/0", 0, via("fe80::1", 3)),
		source("2001:db8:a::/48", 32, via("fe80::2", 3)),
	};
	struct world *world = *state;
	uint32_t before;

	set(world, "2001:db8::/32", by_source(sources, 3));
	before = set_of(world, "2001:db8::");
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_from(world, "2001:db8::1", "2001:db8:a:b::1", 32, sources[0].target, NULL);
	assert_from(world, "2001:db8::1", "2001:db8:a::1", 32, via("fe80::2", 3), NULL);
	assert_int_equal(stats_of(world).sources, 3);
	set(world, "2001:db8::/32", by_source(sources, 3));
	assert_int_not_equal(set_of(world, "2001:db8::"), before);
	fib_sync_end(world->fib);
	assert_from(world, "2001:db8::1", "2001:db8:a:b::1", 32, sources[0].target, NULL);
	assert_int_equal(stats_of(world).sources, 3);
	assert_int_equal(stats_of(world).buckets, 2);
	assert_int_equal(stats_of(world).next_hops, 6);
}

static void put_entry(struct sim_trie *trie, uint32_t table, const char *dst, uint32_t value)
{
	const struct prefix prefix = pfx(dst);

	trie->routes[trie->n++] = (struct sim_route){
		.key = { .prefix_len = SIXLANE_TABLE_BITS + prefix.len,
			 .table = htonl(table),
			 .addr = prefix.addr },
		.value = value,
	};
}

/* Sets of nobody's go; sets that lead nowhere are punted; ids that are there are given to none. */
static void test_adopt_nonsense(void **state)
{
	const struct fib_source sources[] = { source("::/0", 0, via("fe80::1", 3)) };
	struct world *world = *state;
	struct sim *sim = world->sim;

	set(world, "2001:db8::/32", by_source(sources, 1));
	for (uint32_t i = 0; i < 5; i++)
		sim->next_hops[100 + i].nh_entry =
			(union sixlane_nh_entry){ .type = SIXLANE_NH_SOURCES,
						  .source_table = 50 + i };
	sim->next_hops[104].nh_entry.source_table =
		set_of(world, "2001:db8::");				   /* two with one set */
	put_entry(&sim->sources, 50, "::/0", sixlane_route_value(100, 0)); /* sources again */
	put_entry(&sim->sources, 51, "::/0", sixlane_route_value(0, 0));   /* no next hop */
	put_entry(&sim->sources, 52, "::/0", sixlane_route_value(2, 129)); /* no such length */
	put_entry(&sim->sources, 60, "::/0", sixlane_route_value(2, 0));   /* nobody's */
	put_entry(&sim->sources, 60, "2001::/16", sixlane_route_value(2, 0));
	put_entry(&sim->sources, UINT32_MAX, "::/0", sixlane_route_value(2, 0)); /* out of range */
	put_entry(&sim->routes, SIXLANE_TABLE_MAIN, "2001:db0::/32", sixlane_route_value(100, 32));
	put_entry(&sim->routes, SIXLANE_TABLE_MAIN, "2001:db1::/32", sixlane_route_value(101, 32));
	put_entry(&sim->routes, SIXLANE_TABLE_MAIN, "2001:db2::/32", sixlane_route_value(102, 32));
	put_entry(&sim->routes, SIXLANE_TABLE_MAIN, "2001:db3::/32", sixlane_route_value(103, 32));
	put_entry(&sim->routes, SIXLANE_TABLE_MAIN, "2001:db4::/32", sixlane_route_value(104, 32));
	sim->stale = true;
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_verdict(world, "2001:db0::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db2::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db3::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db4::1", SIXLANE_PUNT_MAP_FULL);
	assert_target(world, "2001:db8::1", via("fe80::1", 3));
	set(world, "2001:db8::/32", by_source(sources, 1));
	fib_sync_end(world->fib);
	assert_target(world, "2001:db8::1", via("fe80::1", 3));
	assert_int_equal(sim->sources.n, 1);
	assert_int_equal(sim->routes.n, 1);
	assert_int_equal(stats_of(world).next_hops, 2);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_lookup),
		TEST(test_sharing),
		TEST(test_change),
		TEST(test_no_room),
		TEST(test_no_room_for_many),
		TEST(test_delete_fails),
		TEST(test_nested_is_starved),
		TEST(test_restart),
		TEST(test_adopt_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
