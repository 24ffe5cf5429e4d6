// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of routes: a table of cases, and random routes of both tables through RIB,
 * resolver and fib, compared at every step with a plain look-up over an array of them, done the
 * way the kernel does it under the default rules.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util.h"
#include "sim_maps.h"

#define DOWN 7 /* the device that lost its carrier */
#define VIA(dev)                                                                                 \
	{                                                                                        \
		.gateway.bytes = { 0xfe, 0x80, [15] = 1 }, .ifindex = (dev), .has_gateway = true \
	}
#define DEV(dev)                 \
	{                        \
		.ifindex = (dev) \
	}

static bool linkdown(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex == DOWN;
}

/* --- one prefix ------------------------------------------------------------------------------- */

struct given {
	uint32_t metric, nhid, mtu;
	uint8_t type, src_len;
	bool locked, encap, expires, truncated;
	uint16_t n_hops;
	struct route_hop hops[2];
};

struct row {
	const char *what;
	struct given routes[3]; /* as long as metric != 0 */
	bool usable;
	struct fib_target target;
};

#define GATEWAY .gateway.bytes = { 0xfe, 0x80, [15] = 1 }, .has_gateway = 1

static const struct row rows[] = {
	{ "gateway",
	  { { .metric = 50, .n_hops = 1, .hops = { VIA(3) } } },
	  true,
	  { GATEWAY, .ifindex = 3 } },
	{ "on-link",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3 } },
	{ "mtu that is not locked",
	  { { .metric = 50, .mtu = 1400, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3, .mtu = 1400 } },
	{ "mtu lock",
	  { { .metric = 50, .mtu = 1400, .locked = true, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3, .mtu = 1400 } },
	{ "mtu lock below the least",
	  { { .metric = 50, .mtu = 1000, .locked = true, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3, .mtu = 1000 } },
	{ "locked without a value",
	  { { .metric = 50, .locked = true, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3 } },
	{ "local",
	  { { .metric = 50, .type = RTN_LOCAL, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .verdict = SIXLANE_PASS_LOCAL } },
	{ "local on a device without carrier",
	  { { .metric = 50, .type = RTN_LOCAL, .n_hops = 1, .hops = { DEV(DOWN) } } },
	  true,
	  { .verdict = SIXLANE_PASS_LOCAL } },
	{ "anycast",
	  { { .metric = 50, .type = RTN_ANYCAST, .n_hops = 1, .hops = { DEV(DOWN) } } },
	  true,
	  { .verdict = SIXLANE_PASS_ANYCAST } },
	{ "multicast",
	  { { .metric = 50, .type = RTN_MULTICAST, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .verdict = SIXLANE_PASS_MULTICAST } },
	{ "blackhole",
	  { { .metric = 50, .type = RTN_BLACKHOLE, .n_hops = 1, .hops = { DEV(DOWN) } } },
	  true,
	  { .verdict = SIXLANE_DROP_BLACKHOLE } },
	{ "unreachable, no device told",
	  { { .metric = 50, .type = RTN_UNREACHABLE } },
	  true,
	  { .verdict = SIXLANE_PASS_UNREACHABLE } },
	{ "prohibit",
	  { { .metric = 50, .type = RTN_PROHIBIT } },
	  true,
	  { .verdict = SIXLANE_PASS_PROHIBIT } },
	{ "throw",
	  { { .metric = 50, .type = RTN_THROW } },
	  true,
	  { .verdict = SIXLANE_PASS_THROW } },
	{ "a type of its own",
	  { { .metric = 50, .type = RTN_NAT, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_ROUTE } },
	{ "unicast by nothing", { { .metric = 50 } }, true, { .verdict = SIXLANE_PUNT_ROUTE } },
	{ "multipath",
	  { { .metric = 50, .n_hops = 2, .hops = { VIA(3), VIA(4) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_MULTIPATH } },
	{ "multipath, one hop without carrier",
	  { { .metric = 50, .n_hops = 2, .hops = { VIA(3), VIA(DOWN) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_MULTIPATH } },
	{ "multipath, all without carrier",
	  { { .metric = 50, .n_hops = 2, .hops = { VIA(DOWN), VIA(DOWN) } },
	    { .metric = 60, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3 } },
	{ "hops cut off",
	  { { .metric = 50, .truncated = true, .n_hops = 1, .hops = { VIA(3) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_MULTIPATH } },
	{ "next-hop object",
	  { { .metric = 50, .nhid = 10, .n_hops = 1, .hops = { VIA(3) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_NEXT_HOP_OBJECT } },
	{ "blackhole by an object",
	  { { .metric = 50, .nhid = 10, .type = RTN_BLACKHOLE } },
	  true,
	  { .verdict = SIXLANE_PUNT_NEXT_HOP_OBJECT } },
	{ "encapsulation",
	  { { .metric = 50, .encap = true, .n_hops = 1, .hops = { VIA(3) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_ENCAP } },
	{ "expiry",
	  { { .metric = 50, .expires = true, .n_hops = 1, .hops = { VIA(3) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_EXPIRES } },
	{ "a blackhole that expires",
	  { { .metric = 50, .type = RTN_BLACKHOLE, .expires = true } },
	  true,
	  { .verdict = SIXLANE_PUNT_EXPIRES } },
	{ "the lowest metric",
	  { { .metric = 60, .n_hops = 1, .hops = { DEV(4) } },
	    { .metric = 50, .n_hops = 1, .hops = { DEV(3) } },
	    { .metric = 0xffffffff, .n_hops = 1, .hops = { DEV(5) } } },
	  true,
	  { .ifindex = 3 } },
	{ "the next metric, for want of a carrier",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(DOWN) } },
	    { .metric = 60, .n_hops = 1, .hops = { DEV(3) } } },
	  true,
	  { .ifindex = 3 } },
	{ "several next metrics, for want of a carrier",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(DOWN) } },
	    { .metric = 60, .n_hops = 1, .hops = { DEV(3) } },
	    { .metric = 70, .n_hops = 1, .hops = { DEV(4) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_EQUAL_METRIC } },
	{ "nothing usable",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(DOWN) } },
	    { .metric = 60, .n_hops = 1, .hops = { VIA(DOWN) } } },
	  false,
	  { .verdict = 0 } },
	{ "two of one metric",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(3) } },
	    { .metric = 50, .n_hops = 1, .hops = { DEV(4) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_EQUAL_METRIC } },
	{ "two of one metric, one usable",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(DOWN) } },
	    { .metric = 50, .n_hops = 1, .hops = { DEV(4) } } },
	  true,
	  { .ifindex = 4 } },
	{ "two of a metric that is not the best",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(3) } },
	    { .metric = 60, .n_hops = 1, .hops = { DEV(4) } },
	    { .metric = 60, .n_hops = 1, .hops = { DEV(5) } } },
	  true,
	  { .ifindex = 3 } },
	{ "a source-specific one, whatever its metric",
	  { { .metric = 50, .n_hops = 1, .hops = { DEV(3) } },
	    { .metric = 60, .src_len = 48, .n_hops = 1, .hops = { DEV(4) } } },
	  true,
	  { .verdict = SIXLANE_PUNT_SOURCE_ROUTE } },
};

static struct route route_of(const struct given *given, uint32_t table, const struct prefix *dst)
{
	return (struct route){
		.dst = *dst,
		.src.len = given->src_len,
		.table = table,
		.metric = given->metric,
		.next_hop_id = given->nhid,
		.mtu = given->mtu,
		.type = given->type ? given->type : RTN_UNICAST,
		.protocol = RTPROT_BOOT,
		.mtu_locked = given->locked,
		.encap = given->encap,
		.expires = given->expires,
		.truncated = given->truncated,
		.n_hops = given->n_hops,
		.hops = given->hops,
	};
}

static void test_rows(void **state)
{
	struct prefix dst = { .len = 32, .addr.bytes = { 0x20, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rib *rib = rib_new(NULL, NULL);
		struct fib_target target;
		bool usable;

		for (size_t j = 0; j < ARRAY_SIZE(rows[i].routes); j++) {
			struct route route = route_of(&rows[i].routes[j], RT_TABLE_MAIN, &dst);

			if (!route.metric)
				break;
			assert_int_equal(rib_add(rib, &route, 0), 0);
		}
		memset(&target, 0xa5, sizeof(target));
		usable = resolve_dest(rib_find(rib, RT_TABLE_MAIN, &dst), linkdown, NULL, &target);
		if (usable != rows[i].usable ||
		    (usable && memcmp(&target, &rows[i].target, sizeof(target))))
			fail_msg("%s: %d, verdict %u", rows[i].what, usable, target.verdict);
		usable = resolve_prefix(rib, &dst, linkdown, NULL, &target);
		assert_int_equal(usable, rows[i].usable);
		rib_free(rib);
	}
}

/* --- both tables ------------------------------------------------------------------------------ */

static void add(struct rib *rib, uint32_t table, const char *dst, uint8_t type, uint32_t dev)
{
	struct given given = { .metric = 50, .type = type, .n_hops = 1, .hops = { DEV(dev) } };
	struct prefix prefix;
	struct route route;

	assert_int_equal(prefix_parse(dst, &prefix), 0);
	route = route_of(&given, table, &prefix);
	assert_int_equal(rib_add(rib, &route, 0), 0);
}

/* Verdict for a prefix, -1: none of its own. */
static int verdict(const struct rib *rib, const char *dst)
{
	struct fib_target target;
	struct prefix prefix;

	assert_int_equal(prefix_parse(dst, &prefix), 0);
	return resolve_prefix(rib, &prefix, linkdown, NULL, &target) ? (int)target.verdict : -1;
}

static void test_local_before_main(void **state)
{
	struct rib *rib = rib_new(NULL, NULL);

	(void)state;
	add(rib, RT_TABLE_MAIN, "2001:db8::/64", RTN_UNICAST, 3);
	add(rib, RT_TABLE_LOCAL, "2001:db8::1/128", RTN_LOCAL, 3);
	add(rib, RT_TABLE_LOCAL, "2001:db9::/32", RTN_LOCAL, 1);
	add(rib, RT_TABLE_MAIN, "2001:db9:1::/48", RTN_UNICAST, 3);
	add(rib, RT_TABLE_LOCAL, "2001:dba::/32", RTN_MULTICAST, DOWN);
	add(rib, RT_TABLE_MAIN, "2001:dba::/32", RTN_UNICAST, 3);
	assert_int_equal(verdict(rib, "2001:db8::/64"), SIXLANE_FORWARD);
	assert_int_equal(verdict(rib, "2001:db8::1/128"), SIXLANE_PASS_LOCAL);
	assert_int_equal(verdict(rib, "2001:db9::/32"), SIXLANE_PASS_LOCAL);
	assert_int_equal(verdict(rib, "2001:db9:1::/48"), SIXLANE_PASS_LOCAL);
	assert_int_equal(verdict(rib, "2001:db9:2::/48"), -1);
	assert_int_equal(verdict(rib, "2001:dba::/32"), SIXLANE_FORWARD);
	assert_int_equal(verdict(rib, "2001:dbb::/32"), -1);
	rib_free(rib);
}

static void test_throw_in_local(void **state)
{
	struct rib *rib = rib_new(NULL, NULL);

	(void)state;
	add(rib, RT_TABLE_LOCAL, "2001:db8::/32", RTN_THROW, 1);
	add(rib, RT_TABLE_MAIN, "2001:db8:1::/48", RTN_UNICAST, 3);
	assert_int_equal(verdict(rib, "2001:db8::/32"), -1);
	assert_int_equal(verdict(rib, "2001:db8:1::/48"), SIXLANE_FORWARD);
	/* A blackhole above does not reach what is thrown. */
	add(rib, RT_TABLE_LOCAL, "2001::/16", RTN_BLACKHOLE, 1);
	assert_int_equal(verdict(rib, "2001:db8::/32"), SIXLANE_PASS_THROW);
	assert_int_equal(verdict(rib, "2001:db8:1::/48"), SIXLANE_FORWARD);
	assert_int_equal(verdict(rib, "2001::/16"), SIXLANE_DROP_BLACKHOLE);
	add(rib, RT_TABLE_MAIN, "2001:dc0::/32", RTN_THROW, 1);
	assert_int_equal(verdict(rib, "2001:dc0::/32"), SIXLANE_DROP_BLACKHOLE);
	rib_free(rib);
}

/* --- random routes, end to end ---------------------------------------------------------------- */

#define N_ROUTES 120
#define N_STEPS 12000

struct kernel_route {
	struct given given;
	struct prefix dst;
	uint32_t table;
	bool there;
};

struct world {
	struct sim *sim;
	struct fib *fib;
	struct rib *rib;
	struct kernel_route routes[N_ROUTES];
	struct prefix changed;
	uint32_t changed_table;
	bool has_changed;
};

static void note_change(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct world *world = ctx;

	assert_false(world->has_changed);
	world->changed = *dst;
	world->changed_table = table;
	world->has_changed = true;
}

static union sixlane_addr random_addr(struct world *world)
{
	union sixlane_addr addr = { .bytes = { 0x20 } };

	addr.bytes[1] = (uint8_t)(sim_random(world->sim, 4) << 6);
	addr.bytes[8] = (uint8_t)(sim_random(world->sim, 2) << 7);
	addr.bytes[15] = (uint8_t)sim_random(world->sim, 4);
	return addr;
}

static void random_route(struct world *world, struct kernel_route *route)
{
	static const uint8_t types[] = {
		RTN_UNICAST,   RTN_UNICAST, RTN_UNICAST,   RTN_LOCAL,
		RTN_BLACKHOLE, RTN_THROW,   RTN_MULTICAST, RTN_UNREACHABLE
	};
	static const uint8_t lens[] = { 0, 8, 9, 10, 64, 65, 126, 127, 128 };
	static const uint32_t devices[] = { 3, 4, 5, DOWN };

	*route = (struct kernel_route){ .table = sim_random(world->sim, 3) ? RT_TABLE_MAIN
									   : RT_TABLE_LOCAL };
	route->dst.addr = random_addr(world);
	route->dst.len = lens[sim_random(world->sim, ARRAY_SIZE(lens))];
	prefix_mask(&route->dst);
	route->given.metric = 50 + sim_random(world->sim, 3);
	route->given.type = types[sim_random(world->sim, ARRAY_SIZE(types))];
	route->given.n_hops = 1;
	/* One device for each type of reject: fib6 would refuse another with the same. */
	route->given.hops[0].ifindex = devices[sim_random(world->sim, ARRAY_SIZE(devices))];
}

/* fib6 refuses the same device at one metric, whatever the type. */
static bool refused(const struct world *world, const struct kernel_route *route)
{
	for (size_t i = 0; i < N_ROUTES; i++) {
		const struct kernel_route *r = &world->routes[i];

		if (r->there && r->table == route->table && prefix_equal(&r->dst, &route->dst) &&
		    r->given.metric == route->given.metric &&
		    r->given.hops[0].ifindex == route->given.hops[0].ifindex)
			return true;
	}
	return false;
}

static bool usable(const struct kernel_route *route)
{
	if (route->given.type == RTN_UNICAST || route->given.type == RTN_MULTICAST)
		return route->given.hops[0].ifindex != DOWN;
	return true;
}

static uint32_t fate_of(uint8_t type)
{
	switch (type) {
	case RTN_UNICAST:
		return SIXLANE_FORWARD;
	case RTN_LOCAL:
		return SIXLANE_PASS_LOCAL;
	case RTN_BLACKHOLE:
		return SIXLANE_DROP_BLACKHOLE;
	case RTN_THROW:
		return SIXLANE_PASS_THROW;
	case RTN_MULTICAST:
		return SIXLANE_PASS_MULTICAST;
	default:
		return SIXLANE_PASS_UNREACHABLE;
	}
}

/* Nothing of the first metric is usable, and more than the route that would be next. */
static bool chosen_by_score(const struct world *world, const struct kernel_route *best)
{
	bool first_metric = true, others = false;

	for (size_t i = 0; i < N_ROUTES; i++) {
		const struct kernel_route *r = &world->routes[i];

		if (!r->there || r == best || r->table != best->table ||
		    !prefix_equal(&r->dst, &best->dst))
			continue;
		first_metric &= r->given.metric >= best->given.metric;
		others |= usable(r);
	}
	return !first_metric && others;
}

/* fib6_lookup in one table: false if nothing is usable. */
static bool look_up(const struct world *world, uint32_t table, const union sixlane_addr *addr,
		    struct fib_target *out)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct kernel_route *best = NULL;
	bool several = false;

	for (size_t i = 0; i < N_ROUTES; i++) {
		const struct kernel_route *r = &world->routes[i];

		if (!r->there || r->table != table || !prefix_covers(&r->dst, &host) || !usable(r))
			continue;
		if (!best || r->dst.len > best->dst.len ||
		    (r->dst.len == best->dst.len && r->given.metric < best->given.metric)) {
			best = r;
			several = false;
		} else if (r->dst.len == best->dst.len && r->given.metric == best->given.metric) {
			several = true;
		}
	}
	if (!best)
		return false;
	several |= chosen_by_score(world, best);
	*out = (struct fib_target){ .verdict = fate_of(best->given.type) };
	if (several)
		out->verdict = SIXLANE_PUNT_EQUAL_METRIC;
	else if (out->verdict == SIXLANE_FORWARD)
		out->ifindex = best->given.hops[0].ifindex;
	return true;
}

static void check(const struct world *world, const union sixlane_addr *addr)
{
	struct fib_target expected = { .verdict = 0 }, found = { .verdict = 0 };
	bool in_local = look_up(world, RT_TABLE_LOCAL, addr, &expected);
	bool thrown = in_local && expected.verdict == SIXLANE_PASS_THROW;
	bool known = in_local, has;

	if (!in_local || thrown)
		known = look_up(world, RT_TABLE_MAIN, addr, &expected);
	has = sim_lookup(world->sim, addr, &found);
	/* What is thrown under another local route is the kernel's. */
	if (thrown && has && (found.verdict == SIXLANE_PASS_THROW))
		return;
	assert_int_equal(has, known);
	if (has)
		assert_memory_equal(&found, &expected, sizeof(found));
}

static void resolve_one(struct world *world, const struct prefix *dst)
{
	struct fib_target target;
	bool has = resolve_prefix(world->rib, dst, linkdown, NULL, &target);

	assert_int_equal(fib_set(world->fib, dst, has ? &target : NULL), 0);
}

/* What a change in the local table touches: everything under it. */
static void resolve_under(struct world *world, uint32_t table, const struct prefix *dst)
{
	const struct radix *radix = rib_table(world->rib, table);

	if (!radix)
		return;
	for (struct radix_node *n = radix_last_under(radix, dst); n; n = radix_prev_under(n, dst))
		resolve_one(world, &n->prefix);
}

static void follow(struct world *world)
{
	if (!world->has_changed)
		return;
	world->has_changed = false;
	if (world->changed_table == RT_TABLE_LOCAL) {
		resolve_under(world, RT_TABLE_LOCAL, &world->changed);
		resolve_under(world, RT_TABLE_MAIN, &world->changed);
	}
	resolve_one(world, &world->changed);
}

static void step(struct world *world)
{
	struct kernel_route *slot = &world->routes[sim_random(world->sim, N_ROUTES)];
	struct kernel_route next;
	struct route route;

	if (slot->there) {
		slot->there = false;
		route = route_of(&slot->given, slot->table, &slot->dst);
		assert_int_equal(rib_del(world->rib, &route), 0);
	} else {
		random_route(world, &next);
		if (refused(world, &next))
			return;
		*slot = next;
		slot->there = true;
		route = route_of(&slot->given, slot->table, &slot->dst);
		assert_int_equal(rib_add(world->rib, &route, NLM_F_CREATE | NLM_F_APPEND), 0);
	}
	assert_true(world->has_changed);
	follow(world);
}

static void test_random_routes(void **state)
{
	static struct world world;
	struct fib_writer writer;
	struct fib_stats stats;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.sim = sim_new();
	world.sim->random = util_now_ns();
	if (getenv("SEED"))
		world.sim->random = strtoull(getenv("SEED"), NULL, 0);
	print_message("SEED=%llu\n", (unsigned long long)world.sim->random);
	writer = sim_writer(world.sim);
	world.fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	world.rib = rib_new(note_change, &world);
	for (int i = 0; i < N_STEPS; i++) {
		step(&world);
		for (int probe = 0; probe < 8; probe++) {
			union sixlane_addr addr = random_addr(&world);

			check(&world, &addr);
		}
	}
	fib_get_stats(world.fib, &stats);
	assert_int_equal(stats.missing, 0);
	rib_free(world.rib);
	fib_free(world.fib);
	sim_free(world.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_local_before_main),
		cmocka_unit_test(test_throw_in_local),
		cmocka_unit_test(test_random_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
