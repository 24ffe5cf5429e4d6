// SPDX-License-Identifier: GPL-2.0-only
/* Destinations of `bench exceptions`: each once, and those of a list as the list says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/bench/exceptions/exceptions_peers.h"
#include "../unit.h"

#define N 20000u
#define EXCEPTED 500u

static int compare_pointers(const void *a, const void *b)
{
	const struct prefix *x = *(const struct prefix *const *)a;
	const struct prefix *y = *(const struct prefix *const *)b;

	return (x > y) - (x < y);
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(union sixlane_addr));
}

static void open_peers(const char *name, struct bench_table *table, struct peers *peers)
{
	assert_int_equal(bench_table_named(name, 7, table), 0);
	assert_int_equal(peers_choose(table, N, EXCEPTED, 3, peers), 0);
}

static void close_peers(struct bench_table *table, struct peers *peers)
{
	peers_free(peers);
	bench_table_free(table);
}

/* Of the table's routes the one that each of those with exceptions has, sorted. */
static void find_routes(const struct bench_table *table, const struct peers *peers,
			const struct prefix *routes[EXCEPTED])
{
	for (size_t i = 0; i < EXCEPTED; i++) {
		routes[i] = bench_table_match(table, &peers->all[i]);
		assert_non_null(routes[i]);
	}
	qsort(routes, EXCEPTED, sizeof(*routes), compare_pointers);
}

/* Also where most routes have others within them. */
static const char *const tables[] = { "4", "1k", "10k", "nested-1000" };

static void test_lists(void **state)
{
	const struct prefix *routes[EXCEPTED], *route;
	struct bench_table table;
	struct peers peers;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		open_peers(tables[t], &table, &peers);
		assert_ptr_equal(peers.lists[PEERS_HIT], peers.all);
		find_routes(&table, &peers, routes);
		for (size_t i = 0; i < EXCEPTED; i++) {
			route = bench_table_match(&table, &peers.lists[PEERS_SAME_ROUTE][i]);
			assert_ptr_equal(route, bench_table_match(&table, &peers.all[i]));
			route = bench_table_match(&table, &peers.lists[PEERS_ELSEWHERE][i]);
			assert_non_null(route);
			assert_null(
				bsearch(&route, routes, EXCEPTED, sizeof(route), compare_pointers));
		}
		close_peers(&table, &peers);
	}
}

/* Those of the lists among them, so that none beside an exception has one itself. */
static void test_each_once(void **state)
{
	static union sixlane_addr all[N + 2 * EXCEPTED];
	struct bench_table table;
	struct peers peers;

	open_peers("1k", &table, &peers);
	assert_int_equal(peers.n, N);
	memcpy(all, peers.all, N * sizeof(*all));
	memcpy(all + N, peers.lists[PEERS_ELSEWHERE], EXCEPTED * sizeof(*all));
	memcpy(all + N + EXCEPTED, peers.lists[PEERS_SAME_ROUTE], EXCEPTED * sizeof(*all));
	qsort(all, N + 2 * EXCEPTED, sizeof(*all), compare_addresses);
	for (size_t i = 0; i < N + 2 * EXCEPTED; i++) {
		assert_non_null(bench_table_match(&table, &all[i]));
		assert_true(!i || compare_addresses(&all[i - 1], &all[i]) < 0);
	}
	close_peers(&table, &peers);
}

static void test_seed(void **state)
{
	struct peers again, other;
	struct bench_table table;
	struct peers peers;

	open_peers("1k", &table, &peers);
	assert_int_equal(peers_choose(&table, N, EXCEPTED, 3, &again), 0);
	assert_int_equal(peers_choose(&table, N, EXCEPTED, 4, &other), 0);
	assert_memory_equal(peers.all, again.all, N * sizeof(*peers.all));
	assert_memory_not_equal(peers.all, other.all, N * sizeof(*peers.all));
	peers_free(&again);
	peers_free(&other);
	close_peers(&table, &peers);
}

/* All that there are: of two networks of 256 each, of which one has no exceptions. */
static void test_exhausted(void **state)
{
	struct bench_table table = { .name = "small" };
	struct peers peers;

	table.prefixes = calloc(2, sizeof(*table.prefixes));
	assert_non_null(table.prefixes);
	for (uint8_t i = 0; i < 2; i++)
		table.prefixes[table.n++] =
			(struct prefix){ .addr = { .bytes = { 0x20, 1, [2] = i } }, .len = 120 };
	assert_int_equal(bench_table_finish(&table), 0);
	/* that it is not the same coin for both, the seed must see to */
	for (uint64_t seed = 1; peers_choose(&table, 500, 2, seed, &peers); seed++)
		assert_true(seed < 8);
	peers_free(&peers);
	for (uint64_t seed = 1; seed < 8; seed++)
		assert_int_equal(peers_choose(&table, 513, 2, seed, &peers), -ERANGE);
	bench_table_free(&table);
}

static void test_impossible(void **state)
{
	static const char *const without[] = { "1", "hosts-108:1000" };
	struct bench_table table;
	struct peers peers;

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		assert_int_equal(bench_table_named(without[i], 7, &table), 0);
		assert_int_equal(peers_choose(&table, N, EXCEPTED, 3, &peers), -ERANGE);
		bench_table_free(&table);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	   cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_seed),	   cmocka_unit_test(test_exhausted),
		cmocka_unit_test(test_impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
