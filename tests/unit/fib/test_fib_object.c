// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects on simulated maps: routes by one follow it by a single store, whatever it turns
 * into; buckets change one by one; a restarted daemon finds them again.
 */
#include <errno.h>

#include "../../../user/fib/desired.h"
#include "../unit.h"
#include "fib_world.h"

static int set_object(struct world *world, uint32_t id, const struct fib_object *object)
{
	return fib_set_object(world->fib, id, object);
}

static struct fib_object object(const struct fib_hop *hops, size_t n)
{
	return (struct fib_object){ .verdict = SIXLANE_FORWARD, .n_hops = n, .hops = hops };
}

static void test_meaning_comes_and_goes(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1), drop = { .weight = 1 };
	const struct fib_hop two[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 300) };
	const struct fib_object one_hop = object(&hop, 1), group = object(two, 2);
	const struct fib_object blackhole = object(&drop, 1), nothing = object(NULL, 0);
	const struct fib_object dropped = { .verdict = SIXLANE_DROP_BLACKHOLE };
	const struct fib_object encap = { .verdict = SIXLANE_PUNT_ENCAP };
	const struct fib_target target = by_object(7);
	struct world *world = *state;
	unsigned long routes;

	assert_int_equal(set_object(world, 7, NULL), 0);
	set(world, "2001:db8::/32", target);
	assert_object(world, "2001:db8::1", target, NULL);
	routes = world->sim->routes.writes;
	assert_int_equal(set_object(world, 7, &one_hop), 0);
	assert_object(world, "2001:db8::1", target, &one_hop);
	assert_int_equal(find_in(world, 254, "2001:db8::1", "::").next_hop->nh_entry.type,
			 SIXLANE_FORWARD);
	assert_int_equal(stats_of(world).buckets, 0);
	assert_int_equal(set_object(world, 7, &group), 0);
	assert_object(world, "2001:db8::1", target, &group);
	assert_int_equal(stats_of(world).buckets, 2);
	assert_int_equal(stats_of(world).next_hops, 3);
	assert_int_equal(set_object(world, 7, &blackhole), 0);
	assert_verdict(world, "2001:db8::1", SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(stats_of(world).buckets, 0);
	assert_int_equal(set_object(world, 7, &dropped), 0);
	assert_verdict(world, "2001:db8::1", SIXLANE_DROP_BLACKHOLE);
	assert_int_equal(set_object(world, 7, &encap), 0);
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_ENCAP);
	assert_int_equal(set_object(world, 7, &nothing), 0);
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_NEXT_HOP_OBJECT);
	assert_int_equal(set_object(world, 7, &group), 0);
	assert_object(world, "2001:db8::1", target, &group);
	assert_int_equal(set_object(world, 7, NULL), 0);
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_NEXT_HOP_OBJECT);
	assert_int_equal(world->sim->routes.writes, routes);
	unset(world, "2001:db8::/32");
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).neighbours, 0);
}

/* An object by which no route goes takes no room; what it means is remembered. */
static void test_without_routes(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_object group = object(hops, 2);
	struct world *world = *state;

	set_object(world, 7, &group);
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).buckets, 0);
	set(world, "2001:db8::/32", by_object(7));
	assert_object(world, "2001:db8::1", by_object(7), &group);
	unset(world, "2001:db8::/32");
	assert_int_equal(stats_of(world).next_hops, 0);
	assert_int_equal(stats_of(world).buckets, 0);
	set(world, "2001:db8::/32", by_object(7));
	assert_object(world, "2001:db8::1", by_object(7), &group);
}

/* A store for each MTU and expiry; a route that expires goes by a group of one. */
static void test_variants(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_hop drop = { .weight = 1 };
	const struct fib_object one_hop = object(hops, 1), group = object(hops, 2);
	const struct fib_object dropped = { .verdict = SIXLANE_DROP_BLACKHOLE };
	const struct fib_object discard = object(&drop, 1);
	struct fib_target plain = by_object(7), small = by_object(7), expires = by_object(7);
	struct world *world = *state;
	unsigned long nh_entries;

	small.mtu = 1280;
	expires.expires_ns = 1000;
	set_object(world, 7, &one_hop);
	set(world, "2001:db8:1::/48", plain);
	set(world, "2001:db8:2::/48", small);
	assert_int_equal(stats_of(world).buckets, 0);
	set(world, "2001:db8:3::/48", expires);
	assert_object(world, "2001:db8:1::1", plain, &one_hop);
	assert_object(world, "2001:db8:2::1", small, &one_hop);
	assert_object(world, "2001:db8:3::1", expires, &one_hop);
	nh_entries = world->sim->entry_writes;
	set_object(world, 7, &group);
	assert_int_equal(world->sim->entry_writes, nh_entries + 3);
	assert_object(world, "2001:db8:1::1", plain, &group);
	assert_object(world, "2001:db8:2::1", small, &group);
	assert_object(world, "2001:db8:3::1", expires, &group);
	assert_int_equal(stats_of(world).buckets, 2);
	/* Not by a group, which a rule's suppressor would take for a way out. */
	for (int i = 0; i < 2; i++) {
		set_object(world, 7, i ? &dropped : &discard);
		assert_object(world, "2001:db8:3::1", expires, &dropped);
		assert_verdict(world, "2001:db8:1::1", SIXLANE_DROP_BLACKHOLE);
		assert_verdict(world, "2001:db8:2::1", SIXLANE_DROP_BLACKHOLE);
		assert_verdict(world, "2001:db8:3::1", SIXLANE_PUNT_EXPIRES);
		assert_int_equal(stats_of(world).buckets, 0);
	}
	set_object(world, 7, &one_hop);
	unset(world, "2001:db8:3::/48");
	assert_object(world, "2001:db8:1::1", plain, &one_hop);
	assert_object(world, "2001:db8:2::1", small, &one_hop);
}

static struct fib_object with_buckets(struct fib_object group, const uint16_t *buckets, size_t n)
{
	group.buckets = buckets;
	group.n_buckets = n;
	return group;
}

/*
 * An id that came to mean something else while nobody listened: routes of before, which do not go
 * by it any more, must not go where it leads now.
 */
static void test_another_in_a_synchronisation(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const uint16_t buckets[] = { 0, 1, 1 }, moved[] = { 1, 0, 1 };
	const struct fib_object one_hop = object(hops, 1), other = object(hops + 1, 1);
	const struct fib_object group = object(hops, 2);
	const struct fib_object was[] = { one_hop, group, with_buckets(group, buckets, 3) };
	const struct fib_object is[] = { other, other, with_buckets(group, moved, 3) };
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(was); i++) {
		set_object(world, 7, &was[i]);
		set_object(world, 8, &group);
		set(world, "2001:db8:1::/48", by_object(7));
		set(world, "2001:db8:2::/48", by_object(8));
		fib_sync_begin(world->fib);
		set_object(world, 7, &is[i]);
		set_object(world, 8, &group);
		assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_NEXT_HOP_OBJECT);
		assert_object(world, "2001:db8:2::1", by_object(8), &group);
		set(world, "2001:db8:1::/48", by_object(8));
		set(world, "2001:db8:2::/48", by_object(7));
		assert_object(world, "2001:db8:1::1", by_object(8), &group);
		fib_sync_end(world->fib);
		assert_object(world, "2001:db8:1::1", by_object(8), &group);
		assert_object(world, "2001:db8:2::1", by_object(7), &is[i]);
	}
}

/* Of what an earlier daemon left, what means the same goes on forwarding. */
static void test_restart_holds_nothing(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const uint16_t buckets[] = { 0, 1, 1 };
	const struct fib_object one_hop = object(hops, 1), group = object(hops, 2);
	const struct fib_object all[] = { one_hop, group, with_buckets(group, buckets, 3) };
	struct world *world = *state;

	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		set_object(world, 7, &all[i]);
		set(world, "2001:db8:1::/48", by_object(7));
		restart(world, SIXLANE_MAX_ROUTES);
		fib_sync_begin(world->fib);
		set_object(world, 7, &all[i]);
		assert_object(world, "2001:db8:1::1", by_object(7), &all[i]);
		set(world, "2001:db8:1::/48", by_object(7));
		fib_sync_end(world->fib);
		assert_object(world, "2001:db8:1::1", by_object(7), &all[i]);
	}
}

static void test_nothing_to_do(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const uint16_t buckets[] = { 0, 1, 1, UINT16_MAX };
	struct fib_object group = object(hops, 2);
	struct world *world = *state;
	struct sim *sim = world->sim;
	unsigned long nh_entries, bucket_writes, arrays;

	for (int resilient = 0; resilient < 2; resilient++) {
		group.n_buckets = resilient ? ARRAY_SIZE(buckets) : 0;
		group.buckets = buckets;
		set_object(world, 7, &group);
		set(world, "2001:db8::/32", by_object(7));
		nh_entries = sim->entry_writes;
		bucket_writes = sim->bucket_writes;
		arrays = sim->array_writes;
		set_object(world, 7, &group);
		assert_int_equal(fib_retry(world->fib), 0);
		assert_int_equal(sim->entry_writes, nh_entries);
		assert_int_equal(sim->bucket_writes, bucket_writes);
		assert_int_equal(sim->array_writes, arrays);
	}
}

/* --- resilient groups ------------------------------------------------------------------------- */

static void test_buckets(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_hop after[] = { hop_via("fe80::2", 4, 9), hop_via("fe80::3", 3, 1) };
	uint16_t buckets[] = { 0, 1, 0, 1, UINT16_MAX, 0 };
	struct fib_object group = object(hops, 2);
	struct world *world = *state;
	unsigned long bucket_writes, nh_entries;
	uint32_t first;

	group.n_buckets = ARRAY_SIZE(buckets);
	group.buckets = buckets;
	set_object(world, 7, &group);
	set(world, "2001:db8::/32", by_object(7));
	assert_object(world, "2001:db8::1", by_object(7), &group);
	first = find_in(world, 254, "2001:db8::1", "::").next_hop->nh_entry.first_bucket;
	bucket_writes = world->sim->bucket_writes;
	nh_entries = world->sim->entry_writes;
	/* One is known now, one migrates. */
	buckets[4] = 1;
	buckets[0] = 1;
	set_object(world, 7, &group);
	assert_object(world, "2001:db8::1", by_object(7), &group);
	assert_int_equal(world->sim->bucket_writes, bucket_writes + 2);
	/* A member leaves, another comes: those of the one that stays are not touched. */
	group.hops = after;
	for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
		buckets[i] = buckets[i] == 1 ? 0 : 1;
	set_object(world, 7, &group);
	assert_object(world, "2001:db8::1", by_object(7), &group);
	assert_int_equal(world->sim->bucket_writes, bucket_writes + 4);
	assert_int_equal(world->sim->entry_writes, nh_entries);
	assert_int_equal(find_in(world, 254, "2001:db8::1", "::").next_hop->nh_entry.first_bucket,
			 first);
	assert_int_equal(stats_of(world).next_hops, 4);
	/* A weight alone makes no difference. */
	group.hops = hops;
	group.n_buckets = 3;
	set_object(world, 7, &group);
	assert_object(world, "2001:db8::1", by_object(7), &group);
	assert_int_equal(stats_of(world).buckets, 3);
	group.n_hops = 0;
	for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
		buckets[i] = UINT16_MAX;
	set_object(world, 7, &group);
	assert_object(world, "2001:db8::1", by_object(7), &group);
}

/* Four of the largest groups fill the buckets. */
static void test_buckets_run_out(void **state)
{
	static uint16_t buckets[UINT16_MAX];
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	struct fib_object group = object(&hop, 1);
	struct world *world = *state;
	char dst[64];

	group.n_buckets = UINT16_MAX;
	group.buckets = buckets;
	for (uint32_t i = 1; i <= 5; i++) {
		snprintf(dst, sizeof(dst), "2001:db8:%u::/48", i);
		assert_int_equal(set_object(world, i, &group), 0);
		set(world, dst, by_object(i));
	}
	assert_object(world, "2001:db8:4::1", by_object(4), &group);
	assert_verdict(world, "2001:db8:5::1", SIXLANE_PUNT_MAP_FULL);
	assert_int_equal(stats_of(world).buckets, 4 * UINT16_MAX);
	assert_int_equal(stats_of(world).missing, 1);
	assert_int_equal(fib_retry(world->fib), 1);
	unset(world, "2001:db8:2::/48");
	assert_int_equal(fib_retry(world->fib), 0);
	assert_object(world, "2001:db8:5::1", by_object(5), &group);
	/* One that is hungry may mean something else before there is room. */
	set(world, "2001:db8:2::/48", by_object(2));
	assert_int_equal(stats_of(world).missing, 1);
	assert_int_equal(set_object(world, 2, NULL), 0);
	assert_int_equal(stats_of(world).missing, 0);
	group.n_buckets++;
	assert_int_equal(set_object(world, 2, &group), 0);
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_NEXT_HOP_OBJECT);
}

/* --- synchronisation and restart -------------------------------------------------------------- */

static void test_sync_forgets(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object one_hop = object(&hop, 1);
	struct world *world = *state;

	set_object(world, 7, &one_hop);
	set_object(world, 8, &one_hop);
	set(world, "2001:db8:7::/48", by_object(7));
	set(world, "2001:db8:8::/48", by_object(8));
	fib_sync_begin(world->fib);
	set_object(world, 8, &one_hop);
	set(world, "2001:db8:7::/48", by_object(7));
	set(world, "2001:db8:8::/48", by_object(8));
	assert_object(world, "2001:db8:7::1", by_object(7), &one_hop);
	fib_sync_end(world->fib);
	assert_object(world, "2001:db8:7::1", by_object(7), NULL);
	assert_object(world, "2001:db8:8::1", by_object(8), &one_hop);
}

static void say_all(struct world *world, const struct fib_object *group,
		    const struct fib_object *one_hop)
{
	struct fib_target small = by_object(7);

	small.mtu = 1300;
	if (group)
		set_object(world, 7, group);
	set_object(world, 8, one_hop);
	set(world, "2001:db8:7::/48", by_object(7));
	set(world, "2001:db8:70::/48", small);
	set(world, "2001:db8:8::/48", by_object(8));
}

/* Routes are not touched: their next hops say whose they are. */
static void test_restart(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_object group = object(hops, 2), one_hop = object(hops, 1);
	struct fib_target small = by_object(7);
	struct world *world = *state;
	unsigned long routes, nh_entries;

	small.mtu = 1300;
	say_all(world, &group, &one_hop);
	restart(world, SIXLANE_MAX_ROUTES);
	routes = world->sim->routes.writes;
	nh_entries = world->sim->entry_writes;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_object(world, "2001:db8:7::1", by_object(7), &group);
	assert_object(world, "2001:db8:70::1", small, &group);
	assert_int_equal(stats_of(world).buckets, 2);
	fib_sync_begin(world->fib);
	say_all(world, &group, &one_hop);
	fib_sync_end(world->fib);
	assert_int_equal(world->sim->routes.writes, routes);
	/* The group is made anew, the single hop is what it was. */
	assert_int_equal(world->sim->entry_writes, nh_entries + 2);
	assert_object(world, "2001:db8:7::1", by_object(7), &group);
	assert_object(world, "2001:db8:70::1", small, &group);
	assert_object(world, "2001:db8:8::1", by_object(8), &one_hop);
	assert_int_equal(stats_of(world).buckets, 2);
	assert_int_equal(stats_of(world).next_hops, 5);
	/* And the other way round, with one of them gone. */
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	say_all(world, NULL, &group);
	fib_sync_end(world->fib);
	assert_object(world, "2001:db8:7::1", by_object(7), NULL);
	assert_object(world, "2001:db8:70::1", small, NULL);
	assert_object(world, "2001:db8:8::1", by_object(8), &group);
	assert_int_equal(world->sim->routes.writes, routes);
}

/* What was poisoned for a route that could not be changed stays so until all is told. */
static void test_restart_poisoned(void **state)
{
	const struct fib_hop hop = hop_via("fe80::1", 3, 1);
	const struct fib_object one_hop = object(&hop, 1);
	struct world *world = *state;

	set_object(world, 7, &one_hop);
	set(world, "2001:db8::/32", by_object(7));
	world->sim->set_fails = world->sim->del_fails = 1;
	set(world, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	restart(world, SIXLANE_MAX_ROUTES);
	fib_sync_begin(world->fib);
	set_object(world, 7, &one_hop);
	assert_verdict(world, "2001:db8::1", SIXLANE_PUNT_MAP_FULL);
	world->sim->set_fails = world->sim->del_fails = 0;
	set(world, "2001:db8::/32", nh_entry(SIXLANE_PASS_LOCAL));
	fib_sync_end(world->fib);
	assert_verdict(world, "2001:db8::1", SIXLANE_PASS_LOCAL);
}

/* A route that could not be changed punts by its object, whatever that turns into meanwhile. */
static void test_stuck(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_object one_hop = object(hops, 1), group = object(hops, 2);
	struct world *world = *state;

	set_object(world, 7, &one_hop);
	set(world, "2001:db8:1::/48", by_object(7));
	set(world, "2001:db8:2::/48", by_object(7));
	world->sim->set_fails = world->sim->del_fails = 1;
	set(world, "2001:db8:1::/48", nh_entry(SIXLANE_PASS_LOCAL));
	set_object(world, 7, &group);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PUNT_MAP_FULL);
	assert_verdict(world, "2001:db8:2::1", SIXLANE_PUNT_MAP_FULL);
	world->sim->set_fails = world->sim->del_fails = 0;
	assert_int_equal(fib_retry(world->fib), 0);
	assert_verdict(world, "2001:db8:1::1", SIXLANE_PASS_LOCAL);
	assert_object(world, "2001:db8:2::1", by_object(7), &group);
}

/* --- at scale --------------------------------------------------------------------------------- */

static struct {
	unsigned long routes, next_hops, nh_entries, buckets;
} counts;

static int count_set(void *ctx, enum fib_map map, const void *key, const void *value)
{
	counts.routes += map == FIB_MAP_ROUTES;
	return 0;
}

static void count_store(void *ctx, enum fib_map map, uint32_t index, const void *value)
{
	counts.next_hops += map == FIB_MAP_NEXT_HOPS;
}

static void count_word(void *ctx, enum fib_map map, uint32_t index, uint64_t word)
{
	counts.nh_entries += map == FIB_MAP_NEXT_HOPS;
	counts.buckets += map == FIB_MAP_BUCKETS;
}

/* 100,000 routes, one replace, one store that packets can see. */
static void test_many_routes(void **state)
{
	const struct fib_hop hops[] = { hop_via("fe80::1", 3, 1), hop_via("fe80::2", 4, 3) };
	const struct fib_object one_hop = object(hops, 1), group = object(hops, 2);
	const struct fib_object weights = { .verdict = SIXLANE_FORWARD,
					    .n_hops = 1,
					    .hops = hops + 1 };
	const struct fib_target target = by_object(7);
	struct world *world = *state;
	struct fib_writer writer = sim_writer(world->sim);
	struct prefix prefix = { .addr.bytes = { 0x20 }, .len = 48 };
	uint64_t start;
	struct fib *fib;

	writer.set = count_set;
	writer.store = count_store;
	writer.store_word = count_word;
	fib = fib_new(&writer, SIXLANE_MAX_ROUTES);
	fib_set_object(fib, 7, &one_hop);
	for (uint32_t i = 0; i < 100000; i++) {
		prefix.addr.bytes[3] = (uint8_t)(i >> 16);
		prefix.addr.bytes[4] = (uint8_t)(i >> 8);
		prefix.addr.bytes[5] = (uint8_t)i;
		assert_int_equal(fib_set(fib, SIXLANE_TABLE_MAIN, &prefix, &target), 0);
	}
	assert_int_equal(counts.routes, 100000);
	memset(&counts, 0, sizeof(counts));
	start = util_now_ns();
	assert_int_equal(fib_set_object(fib, 7, &group), 0);
	assert_true(counts.routes == 0 && counts.nh_entries == 1);
	assert_true(counts.next_hops == 1 && counts.buckets == 2); /* which no packet sees before */
	assert_int_equal(fib_set_object(fib, 7, &weights), 0);
	assert_true(counts.routes == 0 && counts.nh_entries == 2);
	assert_true(counts.next_hops == 1 && counts.buckets == 2);
	assert_int_equal(fib_set_object(fib, 7, NULL), 0);
	assert_true(counts.routes == 0 && counts.nh_entries == 3);
	print_message("3 changes of an object with 100000 routes in %.3f ms\n",
		      (double)(util_now_ns() - start) / 1e6);
	fib_free(fib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		TEST(test_meaning_comes_and_goes),
		TEST(test_without_routes),
		TEST(test_variants),
		TEST(test_another_in_a_synchronisation),
		TEST(test_restart_holds_nothing),
		TEST(test_nothing_to_do),
		TEST(test_buckets),
		TEST(test_buckets_run_out),
		TEST(test_sync_forgets),
		TEST(test_restart),
		TEST(test_restart_poisoned),
		TEST(test_stuck),
		TEST(test_many_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
