// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fib on simulated maps: the order of writes, sharing and quarantine of ids, full maps and
 * failing writes, synchronisation and restart. Random histories (tests/unit/test_fib_random.c)
 * check the same against a model.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util.h"
#include "sim_maps.h"

struct world {
	struct sim *sim;
	struct fib *fib;
};

static const uint8_t mac_1[6] = { 2, 0, 0, 0, 0, 1 }, mac_2[6] = { 2, 0, 0, 0, 0, 2 };

static struct prefix pfx(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static union sixlane_addr addr(const char *text)
{
	return pfx(text).addr;
}

static struct fib_target via(const char *gateway, uint32_t ifindex)
{
	return (struct fib_target){ .verdict = SIXLANE_FORWARD,
				    .gateway = addr(gateway),
				    .ifindex = ifindex,
				    .has_gateway = 1 };
}

static struct fib_target on_link(uint32_t ifindex)
{
	return (struct fib_target){ .verdict = SIXLANE_FORWARD, .ifindex = ifindex };
}

static int set(struct world *world, const char *dst, struct fib_target target)
{
	struct prefix prefix = pfx(dst);

	return fib_set(world->fib, &prefix, &target);
}

static void unset(struct world *world, const char *dst)
{
	struct prefix prefix = pfx(dst);

	assert_int_equal(fib_set(world->fib, &prefix, NULL), 0);
}

static void set_port(struct world *world, uint32_t ifindex, uint32_t flags)
{
	struct sixlane_port port = { .ifindex = ifindex, .flags = flags, .mtu = 1500 };

	assert_int_equal(fib_set_port(world->fib, &port), 0);
}

static struct fib_stats stats_of(const struct world *world)
{
	struct fib_stats stats;

	fib_get_stats(world->fib, &stats);
	return stats;
}

static void assert_fate(const struct world *world, const char *dst, struct fib_target expected)
{
	const union sixlane_addr address = addr(dst);
	struct fib_target target;

	if (!sim_lookup(world->sim, &address, &target))
		fail_msg("%s: no route", dst);
	if (memcmp(&target, &expected, sizeof(target)))
		fail_msg("%s: verdict %u port %u, should be verdict %u port %u", dst,
			 target.verdict, target.ifindex, expected.verdict, expected.ifindex);
}

static void assert_verdict(const struct world *world, const char *dst, uint32_t verdict)
{
	assert_fate(world, dst, (struct fib_target){ .verdict = verdict });
}

static void assert_no_route(const struct world *world, const char *dst)
{
	const union sixlane_addr address = addr(dst);
	struct fib_target target;

	assert_false(sim_lookup(world->sim, &address, &target));
}

static int setup(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	struct fib_writer writer;

	world->sim = sim_new();
	writer = sim_writer(world->sim);
	world->fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	assert_non_null(world->fib);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	fib_freep(&world->fib);
	assert_null(world->fib);
	sim_free(world->sim);
	test_free(world);
	return 0;
}

/* A new daemon over the maps of the one before. */
static void restart(struct world *world, uint32_t max_routes)
{
	struct fib_writer writer = sim_writer(world->sim);

	fib_free(world->fib);
	world->fib = fib_new(&writer, max_routes);
	sim_adopt(world->sim, world->fib);
}

static void test_forward(void **state)
{
	struct world *world = *state;
	union sixlane_addr dst = addr("2001:db8::1"), gateway = addr("fe80::1");
	struct fib_target target = via("fe80::1", 3);

	target.mtu = 1400;
	assert_int_equal(set(world, "2001:db8::/32", target), 0);
	assert_fate(world, "2001:db8::1", target);
	assert_no_route(world, "2001:db9::1");
	assert_int_not_equal(fib_port_slot(world->fib, 3), 0);
	assert_int_equal(world->sim->ports[fib_port_slot(world->fib, 3)].flags, 0);
	set_port(world, 3, SIXLANE_PORT_UP);
	assert_int_equal(world->sim->ports[fib_port_slot(world->fib, 3)].flags, SIXLANE_PORT_UP);
	assert_int_equal(sim_gateway_mac(world->sim, &dst), 0);
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, mac_1), 0);
	assert_int_not_equal(sim_gateway_mac(world->sim, &dst), 0);
	assert_int_equal(fib_set_neigh(world->fib, 3, &gateway, NULL), 0);
	assert_int_equal(sim_gateway_mac(world->sim, &dst), 0);
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
	struct fib_target garbage = { .verdict = SIXLANE_PASS_LOCAL, .ifindex = 9, .mtu = 1 };

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
	set(world, "2001:db8:5::/48", garbage);
	set(world, "2001:db8:6::/48", (struct fib_target){ .verdict = SIXLANE_PASS_LOCAL });
	assert_int_equal(stats_of(world).next_hops, 3);
}

static void test_nothing_to_do(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	unsigned long routes, arrays, indices;

	set_port(world, 3, SIXLANE_PORT_UP);
	set(world, "2001:db8::/32", via("fe80::1", 3));
	routes = sim->route_writes;
	arrays = sim->array_writes;
	indices = sim->index_writes;
	set_port(world, 3, SIXLANE_PORT_UP);
	set(world, "2001:db8::/32", via("fe80::1", 3));
	unset(world, "2001:db9::/32");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(sim->route_writes, routes);
	assert_int_equal(sim->array_writes, arrays);
	assert_int_equal(sim->index_writes, indices);
}

/* Ids are reused only when the pool is empty, and only after a grace period. */
static void test_quarantine(void **state)
{
	struct world *world = *state;
	struct fib_target target = on_link(3);

	set(world, "::/0", (struct fib_target){ .verdict = SIXLANE_PASS_LOCAL });
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
	assert_fate(world, "2001:db8::1", target);
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
	assert_fate(world, "2001:db8::1", via("fe80::1", 5000));
	set_port(world, 18, 0);
	assert_int_equal(
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = 5001, .flags = 1 }), 0);
	assert_int_equal(
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = 5002, .flags = 1 }),
		-ENOSPC);
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
	assert_fate(world, "2001:db8:1::1", via("fe80::1", 3));
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

/* --- overflow --------------------------------------------------------------------------------- */

static void fill(struct world *world)
{
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", via("fe80::2", 3));
	set(world, "2001:db9::/32", via("fe80::3", 3));
}

static void assert_covers_punted(struct world *world)
{
	assert_int_equal(stats_of(world).missing, 1);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_fate(world, "2001:db9::1", via("fe80::3", 3));
}

static void assert_all_there(struct world *world)
{
	assert_int_equal(stats_of(world).missing, 0);
	assert_fate(world, "::1", via("fe80::1", 3));
	assert_fate(world, "2001:db8:2::1", via("fe80::2", 3));
	assert_fate(world, "2001:db8:1::1", via("fe80::4", 3));
}

static void test_trie_is_full(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->capacity = 3;
	assert_int_equal(set(world, "2001:db8:1::/48", via("fe80::4", 3)), 0);
	assert_covers_punted(world);
	assert_int_equal(fib_retry(world->fib), 1);
	assert_covers_punted(world);
	/* A cover that comes between is punted too. */
	unset(world, "2001:db9::/32");
	assert_int_equal(set(world, "2001:db8::/40", via("fe80::5", 3)), 0);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(fib_retry(world->fib), 1);
	unset(world, "2001:db8::/40");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_all_there(world);
}

static void test_missing_is_withdrawn(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->capacity = 3;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_covers_punted(world);
	unset(world, "2001:db8:1::/48");
	assert_int_equal(stats_of(world).missing, 0);
	assert_fate(world, "2001:db8:1::1", via("fe80::2", 3));
	assert_fate(world, "::1", via("fe80::1", 3));
}

/* The daemon's own bound, without a write that could fail. */
static void test_max_routes(void **state)
{
	struct world *world = *state;
	unsigned long before;

	restart(world, 3);
	fill(world);
	before = world->sim->route_writes;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_covers_punted(world);
	assert_int_equal(world->sim->n_routes, 3);
	assert_int_equal(world->sim->route_writes, before + 2);
	unset(world, "2001:db9::/32");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_all_there(world);
}

/* Covers that cannot be replaced in a full trie go, and theirs are punted in turn. */
static void test_full_trie_refuses_replace(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->capacity = 3;
	world->sim->full_refuses_replace = true;
	set(world, "2001:db8:1::/48", via("fe80::4", 3));
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_fate(world, "2001:db9::1", via("fe80::3", 3));
	/* A new next hop where the old one stands. */
	set(world, "2001:db9::/32", via("fe80::6", 3));
	assert_fate(world, "2001:db9::1", via("fe80::6", 3));
	unset(world, "2001:db9::/32");
	while (fib_retry(world->fib) && world->sim->capacity < 8)
		world->sim->capacity++;
	assert_all_there(world);
}

/* What cannot be changed and cannot be deleted must not go on forwarding. */
static void test_stuck_value(void **state)
{
	struct world *world = *state;

	fill(world);
	set(world, "2001:db9::/33", via("fe80::2", 3));
	world->sim->set_fails = world->sim->del_fails = 1;
	set(world, "2001:db8::/32", via("fe80::4", 3));
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	/* The price: others by the same next hop. */
	assert_verdict(world, "2001:db9::1", SIXLANE_PUNT_MAP_FULL);
	assert_fate(world, "::1", via("fe80::1", 3));
	unset(world, "::/0");
	assert_verdict(world, "::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).missing, 2);
	assert_int_equal(fib_retry(world->fib), 2);
	world->sim->set_fails = world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_no_route(world, "::1");
	assert_fate(world, "2001:db8::1", via("fe80::4", 3));
	assert_fate(world, "2001:db9::1", via("fe80::2", 3));
	assert_true(stats_of(world).write_errors > 0);
}

static void test_delete_fails(void **state)
{
	struct world *world = *state;

	fill(world);
	world->sim->del_fails = 1;
	unset(world, "2001:db8::/32");
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	assert_fate(world, "::1", via("fe80::1", 3));
	assert_int_equal(fib_retry(world->fib), 1);
	/* It comes back. */
	set(world, "2001:db8::/32", via("fe80::7", 3));
	assert_int_equal(stats_of(world).missing, 0);
	assert_fate(world, "2001:db8::1", via("fe80::7", 3));
	world->sim->del_fails = 0;
	unset(world, "2001:db8::/32");
	assert_fate(world, "2001:db8::1", via("fe80::1", 3));
}

static void test_enomem_is_tried_again(void **state)
{
	struct world *world = *state;

	world->sim->enomem = 3;
	for (uint32_t i = 0; i < 500; i++) {
		struct prefix prefix = pfx("2001:db8::/48");
		struct fib_target target = on_link(3);

		prefix.addr.words[1] = htonl(i << 16);
		assert_int_equal(fib_set(world->fib, &prefix, &target), 0);
	}
	assert_true(stats_of(world).missing < 40);
	world->sim->enomem = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_int_equal(world->sim->n_routes, 500);
}

/* --- synchronisation and restart -------------------------------------------------------------- */

static void test_sync(void **state)
{
	struct world *world = *state;
	union sixlane_addr host = addr("2001:db8::7"), other = addr("2001:db8::8");
	unsigned long before;

	fill(world);
	fib_set_neigh(world->fib, 3, &host, mac_1);
	fib_set_neigh(world->fib, 3, &other, mac_2);
	before = world->sim->route_writes;
	fib_sync_begin(world->fib);
	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db9::/32", via("fe80::3", 3));
	fib_set_neigh(world->fib, 3, &other, mac_2);
	assert_fate(world, "2001:db8::1", via("fe80::2", 3));
	assert_int_not_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	fib_sync_end(world->fib);
	assert_fate(world, "2001:db8::1", via("fe80::1", 3));
	assert_int_equal(world->sim->route_writes, before + 1);
	assert_int_equal(sim_neigh_mac(world->sim, 3, &host), 0);
	assert_int_not_equal(sim_neigh_mac(world->sim, 3, &other), 0);
}

static void test_restart(void **state)
{
	struct world *world = *state;
	union sixlane_addr gateway = addr("fe80::1"), dst = addr("::1");
	unsigned long routes, arrays, indices;
	uint32_t slot;

	set_port(world, 3, SIXLANE_PORT_UP);
	set_port(world, 4, SIXLANE_PORT_UP);
	fill(world);
	fib_set_neigh(world->fib, 3, &gateway, mac_1);
	slot = fib_port_slot(world->fib, 3);
	restart(world, SIXLANE_MAX_ROUTES);
	assert_int_equal(fib_port_slot(world->fib, 3), slot);
	routes = world->sim->route_writes;
	arrays = world->sim->array_writes;
	indices = world->sim->index_writes;
	fib_sync_begin(world->fib);
	set_port(world, 3, SIXLANE_PORT_UP);
	fill(world);
	fib_set_neigh(world->fib, 3, &gateway, mac_1);
	assert_int_not_equal(sim_gateway_mac(world->sim, &dst), 0);
	assert_int_equal(world->sim->route_writes, routes);
	assert_int_equal(world->sim->array_writes, arrays);
	assert_int_equal(world->sim->index_writes, indices);
	unset(world, "2001:db9::/32");
	/* A new next hop needs an id that no packet of before can still hold. */
	set(world, "2001:db9::/32", via("fe80::9", 3));
	assert_int_equal(world->sim->graces, 1);
	fib_sync_end(world->fib);
	assert_int_equal(world->sim->route_writes, routes + 2);
	assert_int_equal(fib_port_slot(world->fib, 4), 0);
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(stats_of(world).neighbours, 3);
	assert_fate(world, "2001:db9::1", via("fe80::9", 3));
}

/* Maps that another hand has written: nothing of it forwards wrongly, nothing of it stays. */
static void test_adopt_nonsense(void **state)
{
	struct world *world = *state;
	struct sim *sim = world->sim;
	struct sixlane_route_key key = { .table = htonl(SIXLANE_TABLE_MAIN) };
	struct sixlane_next_hop bad = { .verdict = SIXLANE_FORWARD, .port = 77 };

	set(world, "::/0", via("fe80::1", 3));
	set(world, "2001:db8::/32", on_link(3));
	sim->next_hops[100] = bad; /* no such port */
	sim->next_hops[101] = (struct sixlane_next_hop){ .verdict = 63 };
	sim->next_hops[102] = (struct sixlane_next_hop){ .verdict = SIXLANE_PASS_LOCAL, .port = 1 };
	sim->next_hops[103] = sim->next_hops[2]; /* one meaning, two ids */
	for (uint32_t i = 0; i < 6; i++) {
		key.prefix_len = SIXLANE_TABLE_BITS + 48;
		key.addr = addr("2001:db9::");
		key.addr.bytes[5] = (uint8_t)i;
		sim->routes[sim->n_routes].key = key;
		/* The last two: no id, and the wrong length. */
		sim->routes[sim->n_routes++].value =
			i < 4 ? sixlane_route_value(100 + i, 48)
			      : sixlane_route_value(i == 4 ? 0 : 2, 47);
	}
	key.table = htonl(4711);
	sim->routes[sim->n_routes++] = (struct sim_route){ key, sixlane_route_value(2, 48) };
	key.prefix_len = 3;
	sim->routes[sim->n_routes++] = (struct sim_route){ key, sixlane_route_value(2, 0) };
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
	assert_int_equal(sim->n_routes, 4);
	assert_fate(world, "2001:db9::1", via("fe80::2", 3));
	assert_fate(world, "2001:db9:1::1", via("fe80::1", 3));
	assert_fate(world, "2001:db9:3::1", via("fe80::1", 3));
	assert_int_equal(stats_of(world).next_hops, 2);
	for (size_t i = 0; i < sim->n_routes; i++)
		assert_int_equal(sixlane_route_len(sim->routes[i].value) + SIXLANE_TABLE_BITS,
				 sim->routes[i].key.prefix_len);
}

static void test_adopt_refuses(void **state)
{
	struct world *world = *state;
	struct sixlane_neigh neigh = { .key.ifindex = 3 };
	struct sixlane_port port = { .ifindex = 3 };
	struct sixlane_next_hop next_hop = { .verdict = SIXLANE_PASS_LOCAL };

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
	world->sim->capacity = 3;
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
	assert_fate(world, "2001:db8:1::1", via("fe80::2", 3));
}

/* --- a figure, not asserted ------------------------------------------------------------------- */

static int set_nothing(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	(void)ctx;
	(void)key;
	(void)value;
	return 0;
}

static void test_time(void **state)
{
	struct world *world = *state;
	struct fib_writer writer = sim_writer(world->sim);
	const unsigned int n = 160000;
	uint64_t random = 1, start = util_now_ns();
	struct fib *fib;

	writer.route_set = set_nothing;
	fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	for (unsigned int i = 0; i < n; i++) {
		struct fib_target target = via("fe80::", 3);
		struct prefix prefix = { 0 };

		random = random * 6364136223846793005u + 1442695040888963407u;
		prefix.len = (uint8_t)(24 + (random >> 60) * 2);
		prefix.addr.words[0] = (uint32_t)(random >> 20);
		prefix.addr.words[1] = (uint32_t)(random >> 40);
		prefix.addr.bytes[0] = 0x20;
		prefix_mask(&prefix);
		target.gateway.bytes[15] = (uint8_t)(random >> 50);
		assert_int_equal(fib_set(fib, &prefix, &target), 0);
	}
	print_message("%u prefixes in %.0f ms\n", n, (double)(util_now_ns() - start) / 1e6);
	fib_free(fib);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_forward),
		TEST(test_sharing),
		TEST(test_nothing_to_do),
		TEST(test_quarantine),
		TEST(test_ports_run_out),
		TEST(test_index_fails),
		TEST(test_trie_is_full),
		TEST(test_missing_is_withdrawn),
		TEST(test_max_routes),
		TEST(test_full_trie_refuses_replace),
		TEST(test_stuck_value),
		TEST(test_delete_fails),
		TEST(test_enomem_is_tried_again),
		TEST(test_sync),
		TEST(test_restart),
		TEST(test_adopt_nonsense),
		TEST(test_adopt_refuses),
		TEST(test_restart_when_full),
		TEST(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
