// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several tables on simulated maps, each with its own prefixes and its own covers; the flag that
 * tells rules not to go on to another table while a prefix is missing; and the tags of VLAN
 * devices.
 */
#include <errno.h>

#include "../unit.h"
#include "fib_world.h"

static void test_tables_are_apart(void **state)
{
	static const uint32_t tables[] = { 0, 254, 255, 1000, UINT32_MAX };
	struct world *world = *state;

	for (uint32_t i = 0; i < ARRAY_SIZE(tables); i++)
		set_in(world, tables[i], "2001:db8::/32", via("fe80::1", 3 + i));
	set_in(world, 1000, "2001:db8:1::/48", nh_entry(SIXLANE_PASS_LOCAL));
	for (uint32_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct fib_target target = via("fe80::1", 3 + i);
		const struct sim_found found = find_in(world, tables[i], "2001:db8:2::1", "::");

		assert_does(world, &found, "2001:db8:2::1", &target, NULL);
	}
	assert_verdict_in(world, 1000, "2001:db8:1::1", "::", SIXLANE_PASS_LOCAL);
	assert_verdict_in(world, 254, "2001:db8:1::1", "::", SIXLANE_FORWARD);
	unset_in(world, 1000, "2001:db8::/32");
	unset_in(world, 7, "2001:db8::/32");
	assert_no_route_in(world, 1000, "2001:db8:2::1");
	assert_int_equal(stats_of(world).routes, 5);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set_in(world, UINT32_MAX, "2001:db8::/32", via("fe80::1", 7));
	fib_sync_end(world->fib);
	assert_int_equal(world->sim->routes.n, 1);
	assert_verdict_in(world, UINT32_MAX, "2001:db8:2::1", "::", SIXLANE_FORWARD);
}

/* A prefix is missing: its own table's covers are punted, and no other table is to be asked. */
static void test_gaps(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;

	fib_sync_begin(world->fib);
	fib_sync_end(world->fib);
	set_in(world, 254, "2001:db8::/32", via("fe80::1", 3));
	set_in(world, 255, "2001:db8::/32", via("fe80::2", 3));
	assert_false(sim->gaps);
	sim->routes.capacity = 2;
	set_in(world, 255, "2001:db8:1::/48", nh_entry(SIXLANE_PASS_LOCAL));
	assert_true(sim->gaps);
	assert_verdict_in(world, 255, "2001:db8:1::1", "::", SIXLANE_PUNT_MAP_FULL);
	assert_verdict_in(world, 254, "2001:db8:1::1", "::", SIXLANE_FORWARD);
	set_in(world, 1000, "2001:db8:1::/48", nh_entry(SIXLANE_PASS_LOCAL));
	unset_in(world, 255, "2001:db8:1::/48");
	assert_true(sim->gaps);
	assert_verdict_in(world, 255, "2001:db8:1::1", "::", SIXLANE_FORWARD);
	sim->routes.capacity = 3;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_false(sim->gaps);
	assert_verdict_in(world, 1000, "2001:db8:1::1", "::", SIXLANE_PASS_LOCAL);
	assert_int_equal(sim->gaps_writes, 3); /* once to be sure, once set, once cleared */
	/* Punted for lack of an id is not missing. */
	sim->index_fails = 1;
	set_in(world, 1000, "2001:db8:1::/48", via("fe80::9", 9));
	assert_int_equal(stats_of(world).missing, 1);
	assert_false(sim->gaps);
}

/* Who comes after does not know what is missing until all has been told. */
static void test_gaps_of_the_one_before(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;

	set_in(world, 255, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	sim->routes.capacity = 1;
	set_in(world, 255, "2001:db9::/32", nh_entry(SIXLANE_PASS_LOCAL));
	assert_true(sim->gaps);
	restart(world, SIXLANE_MAX_ROUTES);
	set_in(world, 255, "2001:dba::/32", nh_entry(SIXLANE_PASS_LOCAL));
	assert_int_equal(fib_retry(world->fib), 1);
	sim->routes.capacity = 8;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_true(sim->gaps);
	fib_sync_begin(world->fib);
	set_in(world, 255, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	assert_true(sim->gaps);
	set_in(world, 255, "2001:db9::/32", nh_entry(SIXLANE_PASS_LOCAL));
	assert_true(sim->gaps);
	fib_sync_end(world->fib);
	assert_false(sim->gaps);
}

/* --- VLAN devices ----------------------------------------------------------------------------- */

static const union sixlane_tag tag_5 = { .tpid = 0x81, .tci = 0x500 };
static const union sixlane_tag tag_6 = { .tpid = 0x81, .tci = 0x600 };

static int set_vlan(struct world *world, uint32_t ifindex, uint32_t lower, union sixlane_tag tag)
{
	const struct sixlane_port port = { .ifindex = ifindex,
					   .flags = lower ? SIXLANE_PORT_TAGGED : 0,
					   .lower = lower,
					   .tag = tag };

	return fib_set_port(world->fib, &port);
}

static void test_vlan(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;

	set_vlan(world, 10, 3, tag_5);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 10);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_6), 0);
	set_vlan(world, 10, 3, tag_6);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_6), 10);
	set_vlan(world, 10, 4, tag_6);
	assert_int_equal(sim_vlan_ifindex(sim, 4, tag_6), 10);
	assert_int_equal(sim->n_vlans, 1);
	set_port(world, 10, SIXLANE_PORT_UP); /* another device by the same index */
	assert_int_equal(sim->n_vlans, 0);
	set_vlan(world, 10, 4, tag_6);
	/* A route keeps the port, but not its tag. */
	set(world, "2001:db8::/32", via("fe80::1", 10));
	set_vlan(world, 10, 0, tag_6);
	assert_int_equal(sim->n_vlans, 0);
	assert_int_equal(sim->n_port_index, 1);
}

/* A device comes before it is told that the one before it is gone. */
static void test_vlan_takeover(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	unsigned long writes;

	set_vlan(world, 10, 3, tag_5);
	set_vlan(world, 11, 3, tag_5);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 11);
	writes = sim->index_writes;
	fib_retry(world->fib);
	assert_int_equal(sim->index_writes, writes);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 11);
	set_vlan(world, 10, 0, tag_5);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 11);
	set_vlan(world, 10, 3, tag_5);
	set_vlan(world, 10, 0, tag_5);
	fib_retry(world->fib);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 11);
}

static void test_vlan_write_fails(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;

	set_vlan(world, 10, 3, tag_5);
	sim->index_fails = 1;
	assert_int_equal(set_vlan(world, 10, 3, tag_6), 0);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 0); /* not its port's any more */
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_6), 0);
	assert_int_equal(sim->n_vlans, 1);
	sim->index_fails = 0;
	fib_retry(world->fib);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_6), 10);
	assert_int_equal(sim->n_vlans, 1);
}

static void test_vlan_restart(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	unsigned long writes;

	set_vlan(world, 10, 3, tag_5);
	set_vlan(world, 11, 3, tag_6);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_retry(world->fib);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 10);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_6), 11);
	fib_sync_begin(world->fib);
	writes = sim->index_writes;
	set_vlan(world, 10, 3, tag_5);
	assert_int_equal(sim->index_writes, writes);
	fib_sync_end(world->fib);
	assert_int_equal(sim_vlan_ifindex(sim, 3, tag_5), 10);
	assert_int_equal(sim->n_vlans, 1);
	assert_int_equal(sim->n_port_index, 1);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_tables_are_apart),	   TEST(test_gaps),
		TEST(test_gaps_of_the_one_before), TEST(test_vlan),
		TEST(test_vlan_takeover),	   TEST(test_vlan_write_fails),
		TEST(test_vlan_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
