// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weighted choice: whatever the weights, each member has its share of all hashes to within 2^-33,
 * and buckets name no others. And the allocator of ids and buckets.
 */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../../user/fib/group.h"
#include "../../../user/lib/util.h"

#define MAX_MEMBERS 65535u

static struct fib_key_hop hops[MAX_MEMBERS];
static union sixlane_nh_bucket buckets[MAX_MEMBERS];
static uint64_t masses[MAX_MEMBERS];

/* A bucket has 2^32 hashes; those under bound belong to below. */
static void count_masses(uint32_t n)
{
	memset(masses, 0, sizeof(masses));
	for (uint32_t i = 0; i < n; i++) {
		assert_true(buckets[i].below < n);
		assert_true(buckets[i].above < n);
		masses[buckets[i].below] += buckets[i].bound;
		masses[buckets[i].above] += (1ull << 32) - buckets[i].bound;
	}
}

static void check(uint32_t n)
{
	uint64_t total = 0, whole = (uint64_t)n << 32;

	for (uint32_t i = 0; i < n; i++)
		total += hops[i].weight;
	assert_int_equal(fib_alias_build(hops, n, buckets), 0);
	count_masses(n);
	for (uint32_t i = 0; i < n; i++) {
		__int128 is = (__int128)masses[i] * total;
		__int128 want = (__int128)hops[i].weight * whole;
		__int128 error = is > want ? is - want : want - is;

		/* error / (total * whole) <= 2^-33 */
		assert_true(error <= (__int128)total * whole >> 33);
	}
}

static void test_plain_weights(void **state)
{
	static const struct {
		uint32_t n, weights[8];
		bool alone; /* the first bucket is not shared */
	} rows[] = {
		{ .n = 1, .weights = { 7 }, .alone = true },
		{ .n = 2, .weights = { 1, 1 }, .alone = true },
		{ .n = 3, .weights = { 1, 1, 1 }, .alone = true },
		{ .n = 2, .weights = { 3, 1 } },
		{ .n = 3, .weights = { 65536, 1, 1 } },
		{ .n = 8, .weights = { 1, 2, 3, 5, 8, 65536, 1, 1000 } },
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		for (uint32_t i = 0; i < rows[row].n; i++)
			hops[i].weight = rows[row].weights[i];
		check(rows[row].n);
		if (rows[row].alone)
			assert_int_equal(buckets[0].below, buckets[0].above);
	}
}

static void test_many_weights(void **state)
{
	static const uint32_t sizes[] = { 2, 3, 5, 16, 31, 256, 1000, MAX_MEMBERS };
	uint64_t random = util_now_ns();

	print_message("seed %llu\n", (unsigned long long)random);
	for (size_t round = 0; round < 20 * ARRAY_SIZE(sizes); round++) {
		uint32_t n = sizes[round % ARRAY_SIZE(sizes)];
		uint32_t limit = round % 3 ? 65536 : 4;

		if (n == MAX_MEMBERS && round > 3 * ARRAY_SIZE(sizes))
			continue;
		for (uint32_t i = 0; i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			hops[i].weight = 1 + (uint32_t)(random >> 33) % limit;
		}
		check(n);
	}
}

/* The most members with the largest weights: nothing overflows. */
static void test_heaviest(void **state)
{
	for (uint32_t i = 0; i < MAX_MEMBERS; i++)
		hops[i].weight = 65536;
	hops[0].weight = 1;
	check(MAX_MEMBERS);
	for (uint32_t i = 0; i < MAX_MEMBERS; i++)
		hops[i].weight = 1;
	hops[MAX_MEMBERS - 1].weight = 65536;
	check(MAX_MEMBERS);
}

/* --- the allocator ---------------------------------------------------------------------------- */

static unsigned int graces;
static bool grace_fails;

static int count_grace(void *ctx)
{
	graces++;
	return grace_fails ? -1 : 0;
}

static void test_ranges(void **state)
{
	static struct fib fib = { .writer.grace = count_grace };
	uint32_t a, b, c, d;

	assert_int_equal(fib_ids_init(&fib.buckets, 0, 200), 0);
	assert_true(fib_ids_take(&fib, &fib.buckets, 64, &a));
	assert_true(fib_ids_take(&fib, &fib.buckets, 65, &b));
	assert_true(fib_ids_take(&fib, &fib.buckets, 71, &c));
	assert_false(fib_ids_take(&fib, &fib.buckets, 1, &d));
	assert_true(a == 0 && b == 64 && c == 129);
	assert_int_equal(graces, 0);
	/* Unpublished buckets are free at once, others after a grace period. */
	fib_ids_give_unused(&fib.buckets, c, 71);
	assert_true(fib_ids_take(&fib, &fib.buckets, 70, &c));
	assert_int_equal(c, 129);
	fib_ids_give(&fib.buckets, b, 65);
	grace_fails = true;
	assert_false(fib_ids_take(&fib, &fib.buckets, 2, &d));
	assert_true(fib_ids_take(&fib, &fib.buckets, 1, &d));
	assert_int_equal(d, 199);
	assert_int_equal(graces, 1);
	grace_fails = false;
	assert_true(fib_ids_take(&fib, &fib.buckets, 65, &d));
	assert_int_equal(d, 64);
	assert_int_equal(fib.buckets.n_taken, 200);
	/* Two gaps do not add up. */
	fib_ids_give_unused(&fib.buckets, 10, 5);
	fib_ids_give_unused(&fib.buckets, 20, 5);
	assert_false(fib_ids_take(&fib, &fib.buckets, 6, &d));
	assert_true(fib_ids_take(&fib, &fib.buckets, 5, &d));
	assert_true(fib_ids_take(&fib, &fib.buckets, 3, &d));
	assert_int_equal(d, 20);
	/* What was refused is looked for again after numbers were given back. */
	assert_false(fib_ids_take(&fib, &fib.buckets, 6, &d));
	fib_ids_give_unused(&fib.buckets, 30, 6);
	assert_true(fib_ids_take(&fib, &fib.buckets, 6, &d));
	assert_int_equal(d, 30);
	fib_ids_give(&fib.buckets, 40, 9);
	assert_true(fib_ids_take(&fib, &fib.buckets, 9, &d));
	assert_int_equal(d, 40);
	fib_ids_free(&fib.buckets);
}

static void test_adopted_ranges(void **state)
{
	static struct fib fib = { .writer.grace = count_grace };
	uint32_t a;

	assert_int_equal(fib_ids_init(&fib.buckets, 0, SIXLANE_MAX_NH_BUCKETS), 0);
	fib_ids_adopt_all(&fib.buckets);
	assert_true(fib_ids_adopt(&fib.buckets, 0, 4));
	assert_false(fib_ids_adopt(&fib.buckets, 3, 4)); /* part of it is taken */
	assert_false(fib_ids_adopt(&fib.buckets, 4, 0));
	assert_false(fib_ids_adopt(&fib.buckets, SIXLANE_MAX_NH_BUCKETS - 1, 2));
	assert_false(fib_ids_adopt(&fib.buckets, UINT32_MAX, 2));
	assert_true(fib_ids_adopt(&fib.buckets, SIXLANE_MAX_NH_BUCKETS - 1, 1));
	graces = 0;
	assert_true(fib_ids_take(&fib, &fib.buckets, SIXLANE_MAX_NH_BUCKETS - 5, &a));
	assert_int_equal(a, 4);
	assert_int_equal(graces, 1);
	/* Nothing waits here: a grace period would be in vain. */
	assert_int_equal(fib_ids_init(&fib.port_ids, 1, 64), 0);
	fib_ids_adopt_all(&fib.port_ids);
	assert_true(fib_ids_adopt(&fib.port_ids, 1, 63));
	assert_int_equal(fib_ids_take_one(&fib, &fib.port_ids), 0);
	assert_int_equal(graces, 1);
	fib_ids_free(&fib.port_ids);
	fib_ids_free(&fib.buckets);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_weights),  cmocka_unit_test(test_many_weights),
		cmocka_unit_test(test_heaviest),       cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_adopted_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
