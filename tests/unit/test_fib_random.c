// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random histories of a fib against a model: prefixes come, change and go while the trie is full,
 * writes fail and the daemon restarts. After every single write, packets to random addresses must
 * meet the fate of the longest prefix before or after the change, or be punted; when nothing is
 * missing, exactly the fate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/util.h"
#include "sim_maps.h"

#define N_PREFIXES 96
#define N_PROBES 48
#define N_HISTORIES 24
#define N_OPERATIONS 900

struct slot {
	struct prefix dst;
	struct fib_target target;
	bool there;
};

struct world {
	struct sim *sim;
	struct fib *fib;
	struct slot now[N_PREFIXES], before[N_PREFIXES]; /* before the operation under way */
	union sixlane_addr probes[N_PROBES];
	uint32_t max_routes;
	bool trouble; /* something was made to fail since the last clean retry */
};

static uint32_t rnd(struct world *world, uint32_t n)
{
	return sim_random(world->sim, n);
}

/* Few bits, so that prefixes nest deeply. */
static union sixlane_addr random_addr(struct world *world)
{
	union sixlane_addr addr = { .bytes = { 0x20 } };

	addr.bytes[1] = (uint8_t)(rnd(world, 3) << 6);
	addr.bytes[7] = (uint8_t)rnd(world, 3);
	addr.bytes[8] = (uint8_t)(rnd(world, 2) << 7);
	addr.bytes[15] = (uint8_t)rnd(world, 4);
	return addr;
}

static struct prefix random_prefix(struct world *world)
{
	static const uint8_t lens[] = { 0, 3, 8, 9, 10, 16, 62, 63, 64, 65, 66, 126, 127, 128 };
	struct prefix prefix = { .addr = random_addr(world),
				 .len = lens[rnd(world, ARRAY_SIZE(lens))] };

	prefix_mask(&prefix);
	return prefix;
}

static struct fib_target random_target(struct world *world)
{
	static const uint32_t fates[] = { SIXLANE_PASS_LOCAL, SIXLANE_DROP_BLACKHOLE,
					  SIXLANE_PUNT_MULTIPATH };
	struct fib_target target = { 0 };

	if (rnd(world, 4) == 0) {
		target.verdict = fates[rnd(world, ARRAY_SIZE(fates))];
		return target;
	}
	target.verdict = SIXLANE_FORWARD;
	target.ifindex = 1 + rnd(world, 4);
	target.mtu = rnd(world, 5) ? 0 : 1280 + rnd(world, 2);
	if (rnd(world, 3)) {
		target.has_gateway = 1;
		target.gateway = random_addr(world);
	}
	return target;
}

static void open_world(struct world *world, uint64_t seed)
{
	struct fib_writer writer;

	memset(world, 0, sizeof(*world));
	world->sim = sim_new();
	world->sim->random = seed;
	world->max_routes = SIXLANE_MAX_ROUTES;
	writer = sim_writer(world->sim);
	world->fib = fib_new(&writer, world->max_routes);
	for (size_t i = 0; i < N_PREFIXES; i++) {
		bool fresh = false;

		while (!fresh) {
			world->now[i].dst = random_prefix(world);
			fresh = true;
			for (size_t j = 0; j < i; j++)
				fresh &= !prefix_equal(&world->now[i].dst, &world->now[j].dst);
		}
	}
	for (size_t i = 0; i < N_PROBES; i++)
		world->probes[i] = random_addr(world);
}

/* --- the model -------------------------------------------------------------------------------- */

static const struct slot *match(const struct slot *slots, const union sixlane_addr *addr)
{
	const struct prefix host = { .addr = *addr, .len = 128 };
	const struct slot *best = NULL;

	for (size_t i = 0; i < N_PREFIXES; i++) {
		if (slots[i].there && prefix_covers(&slots[i].dst, &host) &&
		    (!best || slots[i].dst.len > best->dst.len))
			best = &slots[i];
	}
	return best;
}

/* found: what the maps do, NULL: no route. */
static bool agrees(const struct slot *slot, const struct fib_target *found)
{
	if (!slot || !found)
		return !slot && !found;
	return !memcmp(&slot->target, found, sizeof(*found));
}

/* Passing for want of room is never wrong, neither is passing for want of any route. */
static bool is_pass(const struct fib_target *found)
{
	return !found || found->verdict == SIXLANE_PUNT_MAP_FULL;
}

static void check_probe(const struct world *world, const union sixlane_addr *addr, bool exact)
{
	struct fib_target target;
	const struct fib_target *found = sim_lookup(world->sim, addr, &target) ? &target : NULL;

	if (agrees(match(world->now, addr), found))
		return;
	assert_false(exact);
	if (!agrees(match(world->before, addr), found))
		assert_true(is_pass(found));
}

static void check_write(void *ctx)
{
	struct world *world = ctx;

	for (int i = 0; i < 6; i++)
		check_probe(world, &world->probes[rnd(world, N_PROBES)], false);
}

/* Between operations. */
static void check_all(struct world *world)
{
	struct fib_stats stats;
	size_t there = 0;

	fib_get_stats(world->fib, &stats);
	memcpy(world->before, world->now, sizeof(world->now));
	for (size_t i = 0; i < N_PROBES; i++)
		check_probe(world, &world->probes[i], stats.missing == 0);
	for (size_t i = 0; i < N_PREFIXES; i++)
		there += world->now[i].there;
	assert_int_equal(stats.routes, world->sim->n_routes);
	assert_int_equal(stats.neighbours, world->sim->n_neigh_index);
	if (!stats.missing)
		assert_int_equal(stats.routes, there);
	if (!world->trouble)
		assert_int_equal(stats.missing, 0);
}

/* --- operations ------------------------------------------------------------------------------- */

static void change(struct world *world)
{
	struct slot *slot = &world->now[rnd(world, N_PREFIXES)];

	if (slot->there && rnd(world, 2)) {
		slot->there = false;
		assert_int_equal(fib_set(world->fib, &slot->dst, NULL), 0);
		return;
	}
	slot->there = true;
	slot->target = random_target(world);
	assert_int_equal(fib_set(world->fib, &slot->dst, &slot->target), 0);
}

static void make_trouble(struct world *world)
{
	struct sim *sim = world->sim;

	world->trouble = true;
	switch (rnd(world, 7)) {
	case 0:
		sim->capacity = sim->n_routes + rnd(world, 3);
		break;
	case 1:
		sim->full_refuses_replace = !sim->full_refuses_replace;
		break;
	case 2:
		sim->enomem = rnd(world, 3);
		break;
	case 3:
		sim->set_fails = rnd(world, 4);
		break;
	case 4:
		sim->del_fails = rnd(world, 4);
		break;
	case 5:
		sim->index_fails = rnd(world, 4);
		break;
	default:
		sim->capacity = SIM_MAX_ROUTES;
		break;
	}
}

static void end_trouble(struct world *world)
{
	struct sim *sim = world->sim;

	sim->capacity = SIM_MAX_ROUTES;
	sim->full_refuses_replace = false;
	sim->enomem = sim->set_fails = sim->del_fails = sim->index_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	world->trouble = false;
}

static void move_neigh(struct world *world)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)rnd(world, 4) };
	union sixlane_addr addr = random_addr(world);
	uint32_t ifindex = 1 + rnd(world, 4);
	bool up = rnd(world, 3) != 0;
	int err = fib_set_neigh(world->fib, ifindex, &addr, up ? mac : NULL);

	if (!world->trouble)
		assert_int_equal(err, 0);
	if (up && !err)
		assert_memory_equal(&(uint64_t){ sim_neigh_mac(world->sim, ifindex, &addr) }, mac,
				    6);
	else
		assert_int_equal(sim_neigh_mac(world->sim, ifindex, &addr), 0);
}

static void move_port(struct world *world)
{
	struct sixlane_port port = { .ifindex = 1 + rnd(world, 6), .flags = rnd(world, 3) };
	int err = fib_set_port(world->fib, &port);

	if (!world->trouble)
		assert_int_equal(err, 0);
}

static void sync_all(struct world *world)
{
	fib_sync_begin(world->fib);
	for (int len = 128; len >= 0; len--) {
		for (size_t i = 0; i < N_PREFIXES; i++) {
			const struct slot *slot = &world->now[i];

			if (slot->there && slot->dst.len == len)
				assert_int_equal(fib_set(world->fib, &slot->dst, &slot->target), 0);
		}
	}
	fib_sync_end(world->fib);
}

/* What the old daemon had to leave is swept, what was right is not touched. */
static void restart(struct world *world)
{
	struct fib_writer writer = sim_writer(world->sim);
	bool quiet = !world->trouble;
	unsigned long writes;

	fib_free(world->fib);
	world->fib = fib_new(&writer, world->max_routes);
	sim_adopt(world->sim, world->fib);
	writes = world->sim->route_writes;
	sync_all(world);
	if (quiet)
		assert_int_equal(world->sim->route_writes, writes);
}

/* Prefixes went and came while nobody listened. */
static void resync(struct world *world)
{
	for (int i = 0; i < 5; i++) {
		struct slot *slot = &world->now[rnd(world, N_PREFIXES)];

		slot->there = !slot->there;
		slot->target = random_target(world);
	}
	sync_all(world);
}

static void operate(struct world *world)
{
	uint32_t dice = rnd(world, 100);

	if (dice < 70)
		change(world);
	else if (dice < 78)
		move_neigh(world);
	else if (dice < 84)
		move_port(world);
	else if (dice < 92)
		fib_retry(world->fib);
	else if (dice < 95)
		make_trouble(world);
	else if (dice < 97)
		end_trouble(world);
	else if (dice < 98)
		restart(world);
	else
		resync(world);
}

/* In the end nothing is left, whatever happened. */
static void empty(struct world *world)
{
	struct fib_stats stats;

	end_trouble(world);
	check_all(world);
	for (size_t i = 0; i < N_PREFIXES; i++)
		world->now[i].there = false;
	sync_all(world);
	check_all(world);
	fib_get_stats(world->fib, &stats);
	assert_int_equal(stats.routes, 0);
	assert_int_equal(stats.next_hops, 0);
	assert_int_equal(stats.neighbours, 0);
	for (uint32_t ifindex = 1; ifindex <= 6; ifindex++)
		fib_set_port(world->fib, &(struct sixlane_port){ .ifindex = ifindex });
	assert_int_equal(world->sim->n_port_index, 0);
}

static void play(uint64_t seed, bool trouble_allowed)
{
	static struct world world;

	open_world(&world, seed);
	world.sim->written = check_write;
	world.sim->ctx = &world;
	for (int i = 0; i < N_OPERATIONS; i++) {
		operate(&world);
		check_all(&world);
		if (!trouble_allowed && world.trouble)
			end_trouble(&world);
	}
	empty(&world);
	fib_free(world.fib);
	sim_free(world.sim);
}

static uint64_t seed_of_run(void)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : util_now_ns();

	print_message("SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

static void test_histories(void **state)
{
	uint64_t seed = seed_of_run();

	(void)state;
	for (uint64_t i = 0; i < N_HISTORIES; i++)
		play(seed + i, i % 4 != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_histories) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
