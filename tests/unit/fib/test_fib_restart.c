// SPDX-License-Identifier: GPL-2.0-only
/*
 * Synchronisation, and a daemon that takes over the simulated maps of another: what is right is not
 * touched, what nobody confirms goes, what nobody can have meant does no harm.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "../unit.h"
#include "fib_world.h"

static const uint8_t mac_1[6] = { 2, 0, 0, 0, 0, 1 }, mac_2[6] = { 2, 0, 0, 0, 0, 2 };

static uint64_t gateway_mac(const struct world *world, const char *dst)
{
	const struct sim_found found = find_in(world, SIXLANE_TABLE_MAIN, dst, "::");

	return sim_gateway_mac(world->sim, &found);
}

static void test_sync(void **state)
{
	struct world *world = *state;
	union sixlane_addr host = addr("2001:db8::7"), other = addr("2001:db8::8");
	unsigned long before;

	fill(world);
	fib_set_neigh(world->fib, 3, &host, mac_1);
	fib_set_neigh(world->fib, 3, &other, mac_2);
	before = world->sim->routes.writes;
	fib_sync_begin(world->fib);
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db9::/32", via("fe80::3", 3));
	fib_set_neigh(world->fib, 3, &other, mac_2);
	assert_target(world, "2001:db8::1", via("fe80::2", 3));
	assert_int_not_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	fib_sync_end(world->fib);
	assert_target(world, "2001:db8::1", via("fe80::1", 3));
	assert_int_equal(world->sim->routes.writes, before + 1);
	assert_int_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	assert_int_not_equal(sim_neigh_mac(world->sim, 3, &other), 0);
}

static void test_restart(void **state)
{
	struct world *world = *state;
	union sixlane_addr gateway = addr("fe80::1");
	unsigned long routes, arrays, indices;
	uint32_t slot;

	set_port(world, 3, SIXLANE_PORT_UP);
	set_port(world, 4, SIXLANE_PORT_UP);
	fill(world);
	fib_set_neigh(world->fib, 3, &gateway, mac_1);
	slot = fib_port_slot(world->fib, 3);
	restart(world, SIXLANE_MAX_ROUTES);
	assert_int_equal(fib_port_slot(world->fib, 3), slot);
	routes = world->sim->routes.writes;
	arrays = world->sim->array_writes;
	indices = world->sim->index_writes;
	fib_sync_begin(world->fib);
	set_port(world, 3, SIXLANE_PORT_UP);
	fill(world);
	fib_set_neigh(world->fib, 3, &gateway, mac_1);
	assert_int_not_equal(gateway_mac(world, "::1"), 0);
	assert_int_equal(world->sim->routes.writes, routes);
	assert_int_equal(world->sim->array_writes, arrays);
	assert_int_equal(world->sim->index_writes, indices);
	unset(world, "2001:db9::/32");
	/* A new next hop needs an id that no packet of before can still hold. */
	set(world, "2001:db9::/32", via("fe80::9", 3));
	assert_int_equal(world->sim->graces, 1);
	fib_sync_end(world->fib);
	assert_int_equal(world->sim->routes.writes, routes + 2);
	assert_int_equal(fib_port_slot(world->fib, 4), 0);
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(stats_of(world).neighbours, 3);
	assert_target(world, "2001:db9::1", via("fe80::9", 3));
}

/* Where the datapath looks first is free in maps that were there before, too: once nobody looks. */
static void test_adopt_port_home(void **state)
{
	struct world *world = *state;

	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set_port(world, 7, SIXLANE_PORT_UP);
	assert_int_equal(fib_port_slot(world->fib, 7), sixlane_port_home(7));
	assert_int_equal(world->sim->graces, 1);
	set_port(world, 9, SIXLANE_PORT_UP);
	assert_int_equal(fib_port_slot(world->fib, 9), sixlane_port_home(9));
	set_port(world, 9 + SIXLANE_MAX_PORTS, SIXLANE_PORT_UP);
	assert_int_not_equal(fib_port_slot(world->fib, 9 + SIXLANE_MAX_PORTS), 0);
	assert_int_equal(world->sim->graces, 1);
	fib_sync_end(world->fib);
}

/* Maps that another hand has written: nothing of it forwards wrongly, nothing of it stays. */
static void test_adopt_nonsense(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	struct sixlane_route_key key = { .table = htonl(SIXLANE_TABLE_MAIN) };
	struct sixlane_next_hop bad = { .nh_entry = { .type = SIXLANE_FORWARD, .port = 77 } };

	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", on_link(3));
	sim->next_hops[100] = bad; /* no such port */
	sim->next_hops[101] = (struct sixlane_next_hop){ .nh_entry.type = 63 };
	sim->next_hops[102] =
		(struct sixlane_next_hop){ .nh_entry = { .type = SIXLANE_PASS_LOCAL, .port = 1 } };
	sim->next_hops[103] = sim->next_hops[2]; /* one meaning, two ids */
	for (uint32_t i = 0; i < 6; i++) {
		key.prefix_len = SIXLANE_TABLE_BITS + 48;
		key.addr = addr("2001:db9::");
		key.addr.bytes[5] = (uint8_t)i;
		sim->routes.routes[sim->routes.n].key = key;
		/* The last two: no id, and the wrong length. */
		sim->routes.routes[sim->routes.n++].value =
			i < 4 ? sixlane_route_value(100 + i, 48)
			      : sixlane_route_value(i == 4 ? 0 : 2, 47);
	}
	key.table = htonl(4711);
	sim->routes.routes[sim->routes.n++] = (struct sim_route){ key, sixlane_route_value(2, 48) };
	key.prefix_len = 3;
	sim->routes.routes[sim->routes.n++] = (struct sim_route){ key, sixlane_route_value(2, 0) };
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	assert_verdict(world, "2001:db9::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db9:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db9:2::1", SIXLANE_PUNT_MAP_FULL);
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db9::/48", via("fe80::2", 3));
	set(world, "2001:db9:3::/48", via("fe80::1", 3));
	set(world, "2001:db9:5::/48", via("fe80::1", 3));
	fib_sync_end(world->fib);
	assert_int_equal(sim->routes.n, 4);
	assert_target(world, "2001:db9::1", via("fe80::2", 3));
	assert_target(world, "2001:db9:1::1", via("fe80::1", 3));
	assert_target(world, "2001:db9:3::1", via("fe80::1", 3));
	assert_int_equal(stats_of(world).next_hops, 2);
	for (size_t i = 0; i < sim->routes.n; i++)
		assert_int_equal(sixlane_route_len(sim->routes.routes[i].value) +
					 SIXLANE_TABLE_BITS,
				 sim->routes.routes[i].key.prefix_len);
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

/* While prefixes were missing when the daemon ended, the covers stay punted until all is known. */
static void test_restart_when_full(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->routes.capacity = 3;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	fill(world);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	fib_sync_end(world->fib);
	assert_covers_punted(world);
	fib_sync_begin(world->fib);
	fill(world);
	fib_sync_end(world->fib);
	assert_int_equal(stats_of(world).missing, 0);
	assert_target(world, "2001:db8:1::1", via("fe80::2", 3));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_sync),	  TEST(test_restart),		TEST(test_adopt_nonsense),
		TEST(test_adopt_refuses), TEST(test_restart_when_full), TEST(test_adopt_port_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
