// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fib on simulated maps: the order of writes, sharing and quarantine of ids and slots. The same
 * for groups, objects, source sets and tables is in files of their own; random histories
 * (tests/unit/fib/alone/test_fib_random.c) check all of it against a model.
 */
#include <errno.h>

#include "../unit.h"
#include "fib_world.h"

static const uint8_t mac_1[6] = { 2, 0, 0, 0, 0, 1 };

static uint64_t gateway_mac(const struct world *world, const char *dst)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");

	return sim_gateway_mac(world->sim, &found);
}

static void test_forward(void **state)
{
	struct world *world = *state;
	union sixlane_addr gateway = addr("fe80::1");
	struct fib_target target = via("fe80::1", 3);

	target.mtu = 1400;
	assert_int_equal(set(world, "2001:db8::/32", target), 0);
	assert_target(world, "2001:db8::1", target);
	assert_no_route(world, "2001:db9::1");
	assert_int_not_equal(fib_port_slot(world->fib, 3), 0);
	assert_int_equal(world->sim->ports[fib_port_slot(world->fib, 3)].flags, 0);
	set_port(world, 3, SIXLANE_PORT_UP);
	assert_int_equal(world->sim->ports[fib_port_slot(world->fib, 3)].flags, SIXLANE_PORT_UP);
	assert_int_equal(gateway_mac(world, "2001:db8::1"), 0);
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, mac_1), 0);
	assert_int_not_equal(gateway_mac(world, "2001:db8::1"), 0);
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, NULL), 0);
	assert_int_equal(gateway_mac(world, "2001:db8::1"), 0);
	unset(world, "2001:db8::/32");
	assert_no_route(world, "2001:db8::1");
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).neighbours, 0);
	set_port(world, 3, 0);
	assert_int_equal(fib_port_slot(world->fib, 3), 0);
	assert_int_equal(world->sim->n_port_index, 0);
}

static void test_sharing(void **state)
{
	struct world *world = *state;
	union sixlane_addr gateway = addr("fe80::1");
	struct fib_target garbage = on_link(9);

	set(world, "2001:db8:1::/48", via("fe80::1", 3));
	set(world, "2001:db8:2::/48", via("fe80::1", 3));
	assert_int_equal(stats_of(world).next_hops, 1);
	set(world, "2001:db8:3::/48", on_link(3));
	set(world, "2001:db8:4::/48", via("fe80::1", 4));
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(stats_of(world).neighbours, 2);
	/* The kernel's neighbour and the gateway are one. */
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, mac_1), 0);
	assert_int_equal(stats_of(world).neighbours, 2);
	unset(world, "2001:db8:1::/48");
	unset(world, "2001:db8:2::/48");
	assert_int_equal(stats_of(world).neighbours, 2);
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, NULL), 0);
	assert_int_equal(stats_of(world).neighbours, 1);
	/* What a verdict leaves unused makes no difference. */
	garbage.verdict = SIXLANE_PASS_LOCAL;
	garbage.mtu = 1;
	set(world, "2001:db8:5::/48", garbage);
	set(world, "2001:db8:6::/48", nh_entry(SIXLANE_PASS_LOCAL));
	assert_int_equal(stats_of(world).next_hops, 3);
}

static void test_nothing_to_do(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	unsigned long routes, arrays, indices;

	set_port(world, 3, SIXLANE_PORT_UP);
	set(world, "2001:db8::/32", via("fe80::1", 3));
	routes = sim->routes.writes;
	arrays = sim->array_writes;
	indices = sim->index_writes;
	set_port(world, 3, SIXLANE_PORT_UP);
	set(world, "2001:db8::/32", via("fe80::1", 3));
	unset(world, "2001:db9::/32");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(sim->routes.writes, routes);
	assert_int_equal(sim->array_writes, arrays);
	assert_int_equal(sim->index_writes, indices);
}

/* Ids are reused only when the pool is empty, and only after a grace period. */
static void test_quarantine(void **state)
{
	struct world *world = *state;
	struct fib_target target = on_link(3);

	set(world, "::/0", nh_entry(SIXLANE_PASS_LOCAL));
	for (uint32_t i = 0; i < SIXLANE_MAX_NEXT_HOPS - 3; i++) {
		target.mtu = 1280 + i;
		assert_int_equal(set(world, "2001:db8::/32", target), 0);
	}
	assert_int_equal(world->sim->graces, 0);
	world->sim->grace_fails = true;
	target.mtu++;
	assert_int_equal(set(world, "2001:db8::/32", target), 0);
	assert_int_equal(world->sim->graces, 1);
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).missing, 1);
	assert_int_equal(fib_retry(world->fib), 1);
	world->sim->grace_fails = false;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(world->sim->graces, 3);
	assert_target(world, "2001:db8::1", target);
	assert_verdict(world, "::1", SIXLANE_PASS_LOCAL);
}

/* More devices than slots: those over it are punted, and fed when one goes. */
static void test_ports_run_out(void **state)
{
	struct world *world = *state;

	for (uint32_t i = 1; i < SIXLANE_MAX_PORTS; i++)
		set_port(world, i, SIXLANE_PORT_UP);
	set(world, "2001:db8::/32", via("fe80::1", 5000));
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(fib_retry(world->fib), 1);
	set_port(world, 17, 0);
	assert_int_equal(fib_retry(world->fib), 0);
	assert_target(world, "2001:db8::1", via("fe80::1", 5000));
	set_port(world, 18, 0);
	assert_int_equal(
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = 5001, .flags = 1 }), 0);
	assert_int_equal(
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = 5002, .flags = 1 }),
		-ENOSPC);
}

/* It gets all that it had, also where there is nothing new after all. */
static void test_held_port(void **state)
{
	struct world *world = *state;
	const struct sixlane_port down = { .ifindex = 3, .mtu = 1500 };
	const struct sixlane_port unknown = { .ifindex = 7, .flags = SIXLANE_PORT_UP };
	uint32_t slot;

	set_port(world, 3, SIXLANE_PORT_UP);
	slot = fib_port_slot(world->fib, 3);
	assert_true(fib_hold_port(world->fib, &down));
	assert_int_equal(world->sim->ports[slot].flags, 0);
	set_port(world, 3, SIXLANE_PORT_UP);
	assert_int_equal(world->sim->ports[slot].flags, SIXLANE_PORT_UP);
	assert_false(fib_hold_port(world->fib, &unknown));
	fib_held_ports(world->fib);
	assert_int_equal(world->sim->graces, 1);
}

static void test_index_fails(void **state)
{
	struct world *world = *state;
	union sixlane_addr host = addr("2001:db8::7");

	world->sim->index_fails = 1;
	assert_int_equal(fib_set_neigh(world->fib, 3, &host, mac_1), -ENOSPC);
	assert_int_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	set(world, "2001:db8:1::/48", via("fe80::1", 3));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	world->sim->index_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_target(world, "2001:db8:1::1", via("fe80::1", 3));
	assert_int_equal(fib_set_neigh(world->fib, 3, &host, mac_1), 0);
	/* A neighbour that cannot be taken out of the index stays there without a MAC. */
	world->sim->index_fails = 1;
	assert_int_equal(fib_set_neigh(world->fib, 3, &host, NULL), 0);
	assert_int_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	assert_int_equal(world->sim->n_neigh_index, 2);
	world->sim->index_fails = 0;
	fib_retry(world->fib);
	assert_int_equal(world->sim->n_neigh_index, 1);
}

/* --- a figure, not asserted ------------------------------------------------------------------- */

static int set_nothing(void *ctx, enum fib_map map, const void *key, const void *value)
{
	return 0;
}

static void test_time(void **state)
{
	struct world *world = *state;
	struct fib_writer writer = sim_writer(world->sim);
	const unsigned int n = 160000;
	struct fib_hop hop = hop_via("fe80::", 3, 0);
	uint64_t random = 1, start = util_now_ns();
	struct fib *fib;

	writer.set = set_nothing;
	fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	for (unsigned int i = 0; i < n; i++) {
		struct fib_target target;
		struct prefix prefix = { 0 };

		random = random * 6364136223846793005u + 1442695040888963407u;
		prefix.len = (uint8_t)(24 + (random >> 60) * 2);
		prefix.addr.words[0] = (uint32_t)(random >> 20);
		prefix.addr.words[1] = (uint32_t)(random >> 40);
		prefix.addr.bytes[0] = 0x20;
		prefix_mask(&prefix);
		hop.gateway.bytes[15] = (uint8_t)(random >> 50);
		target = one(hop);
		assert_int_equal(fib_set(fib, SIXLANE_TABLE_MAIN, &prefix, &target), 0);
	}
	print_message("%u prefixes in %.0f ms\n", n, (double)(util_now_ns() - start) / 1e6);
	fib_free(fib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_forward),	TEST(test_sharing),	  TEST(test_nothing_to_do),
		TEST(test_quarantine),	TEST(test_ports_run_out), TEST(test_held_port),
		TEST(test_index_fails), TEST(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
