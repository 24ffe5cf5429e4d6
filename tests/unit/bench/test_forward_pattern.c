// SPDX-License-Identifier: GPL-2.0-only
/* Destinations are spread as the pattern says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../../user/bench/forward/forward_pattern.h"
#include "../unit.h"

#define N 100000u
#define ROUTES 1000u

static void make_table(const char *name, struct bench_table *table)
{
	assert_int_equal(bench_table_named(name, 7, table), 0);
}

static union sixlane_addr *draw(const char *word, const struct bench_table *table, uint64_t seed)
{
	union sixlane_addr *out = calloc(N, sizeof(*out));
	struct forward_pattern pattern;

	assert_non_null(out);
	assert_int_equal(forward_pattern_parse(word, &pattern), 0);
	assert_int_equal(forward_pattern_draw(&pattern, table, seed, N, out), 0);
	return out;
}

/* The value of the route that an address has; 0: none. */
static uint32_t route_of(const struct bench_table *table, const union sixlane_addr *addr)
{
	struct prefix host = { .addr = *addr, .len = 128 };
	const struct radix_node *node = radix_match(&table->radix, &host);

	return node ? container_of(node, struct bench_entry, node)->value : 0;
}

static int falling(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/* How many addresses each route has, the most first. */
static uint32_t *ranks(const struct bench_table *table, const union sixlane_addr *addresses)
{
	uint32_t *counts = calloc(ROUTES + 1, sizeof(*counts));

	assert_non_null(counts);
	for (size_t i = 0; i < N; i++)
		counts[route_of(table, &addresses[i])]++;
	assert_int_equal(counts[0], 0);
	qsort(counts + 1, ROUTES, sizeof(*counts), falling);
	return counts + 1;
}

static void free_ranks(uint32_t *counts)
{
	free(counts - 1);
}

/* Of the k-th there are to be N / k^s / sum; what chance does to that is within five deviations. */
static void check_zipf(const char *word, double s)
{
	struct bench_table table;
	union sixlane_addr *addresses;
	double sum = 0;
	uint32_t *counts;

	make_table("1k", &table);
	addresses = draw(word, &table, 3);
	counts = ranks(&table, addresses);
	for (unsigned int k = 1; k <= ROUTES; k++)
		sum += pow(k, -s);
	for (unsigned int k = 1; k <= 20; k++) {
		double wanted = N * pow(k, -s) / sum;

		assert_true(fabs(counts[k - 1] - wanted) < 5 * sqrt(wanted));
	}
	free_ranks(counts);
	free(addresses);
	bench_table_free(&table);
}

static void test_zipf(void **state)
{
	check_zipf("zipf", 1);
	check_zipf("zipf:1.5", 1.5);
	check_zipf("zipf:0.5", 0.5);
}

static void test_random(void **state)
{
	struct bench_table table;
	union sixlane_addr *addresses;
	double wanted = N / ROUTES;
	uint32_t *counts;

	make_table("1k", &table);
	addresses = draw("random", &table, 3);
	counts = ranks(&table, addresses);
	assert_true(counts[0] < wanted + 6 * sqrt(wanted));
	assert_true(counts[ROUTES - 1] > wanted - 6 * sqrt(wanted));
	free_ranks(counts);
	free(addresses);
	bench_table_free(&table);
}

static void test_flow(void **state)
{
	struct bench_table table;
	union sixlane_addr *addresses, *others;

	make_table("1k", &table);
	addresses = draw("flow", &table, 3);
	others = draw("flow", &table, 4);
	assert_int_not_equal(route_of(&table, &addresses[0]), 0);
	for (size_t i = 1; i < N; i++)
		assert_memory_equal(&addresses[i], &addresses[0], sizeof(*addresses));
	assert_memory_not_equal(&others[0], &addresses[0], sizeof(*addresses));
	free(others);
	free(addresses);
	bench_table_free(&table);
}

static void check_miss(const char *name)
{
	struct bench_table table;
	union sixlane_addr *addresses;

	make_table(name, &table);
	addresses = draw("miss", &table, 3);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(route_of(&table, &addresses[i]), 0);
		/* no loopback, multicast, link-local … */
		assert_in_range(addresses[i].bytes[0], 0x20, 0x3f);
	}
	assert_memory_not_equal(&addresses[0], &addresses[1], sizeof(*addresses));
	free(addresses);
	bench_table_free(&table);
}

static void test_miss(void **state)
{
	struct forward_pattern miss = { .kind = FORWARD_MISS };
	struct bench_table table;
	union sixlane_addr addr;

	check_miss("1");
	check_miss("1k");
	make_table("nested", &table); /* has ::/0 */
	assert_int_equal(forward_pattern_draw(&miss, &table, 1, 1, &addr), -ERANGE);
	bench_table_free(&table);
}

static void test_same_seed(void **state)
{
	static const char *const words[] = { "random", "zipf", "flow", "miss" };
	struct bench_table table;

	make_table("1k", &table);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		union sixlane_addr *a = draw(words[i], &table, 3), *b = draw(words[i], &table, 3);
		union sixlane_addr *c = draw(words[i], &table, 4);

		assert_memory_equal(a, b, N * sizeof(*a));
		assert_memory_not_equal(a, c, N * sizeof(*a));
		free(a);
		free(b);
		free(c);
	}
	bench_table_free(&table);
}

static void test_words(void **state)
{
	static const char *const bad[] = { "",	      "zip",	  "zipf:",   "zipf:x", "zipf:-1",
					   "zipf:1x", "zipf:nan", "zipf:11", "Random", "zipf:inf" };
	struct forward_pattern pattern = { .s = 77 };
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(forward_pattern_parse(bad[i], &pattern), -EINVAL);
	assert_true(pattern.s == 77);
	assert_int_equal(forward_pattern_parse("zipf:1.10", &pattern), 0);
	forward_pattern_name(&pattern, name, sizeof(name));
	assert_string_equal(name, "zipf 1.1");
	assert_int_equal(forward_pattern_parse("miss", &pattern), 0);
	forward_pattern_name(&pattern, name, sizeof(name));
	assert_string_equal(name, "miss");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zipf),	  cmocka_unit_test(test_random),
		cmocka_unit_test(test_flow),	  cmocka_unit_test(test_miss),
		cmocka_unit_test(test_same_seed), cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
