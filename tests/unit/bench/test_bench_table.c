// SPDX-License-Identifier: GPL-2.0-only
/* Tables to measure lookups with: which addresses are looked up, and which routes names stand for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "../../../user/bench/bench.h"
#include "../unit.h"

static struct bench_table make(const char *name, uint64_t seed, enum bench_pattern pattern)
{
	struct bench_table table;

	assert_int_equal(bench_table_named(name, seed, &table), 0);
	assert_int_equal(bench_table_set_pattern(&table, pattern), 0);
	return table;
}

/* Without the index: the place of the longest prefix that covers an address, from 1 on; or 0. */
static uint32_t naive_match(const struct bench_table *table, const union sixlane_addr *addr)
{
	struct prefix host = { .addr = *addr, .len = 128 };
	uint32_t found = 0;

	for (uint32_t i = 0; i < table->n; i++)
		if (prefix_covers(&table->prefixes[i], &host) &&
		    (!found || table->prefixes[i].len > table->prefixes[found - 1].len))
			found = i + 1;
	return found;
}

static void test_patterns(void **state)
{
	for (enum bench_pattern pattern = 0; pattern < BENCH_N_PATTERNS; pattern++)
		for (uint64_t seed = 1; seed < 4; seed++) {
			struct bench_table table = make("100", seed, pattern);

			assert_int_equal(table.n, pattern == BENCH_FALLBACK ? 101 : 100);
			for (uint32_t i = 0; i < 2000; i++) {
				const union sixlane_addr *addr = &table.addresses->at[i];
				uint32_t place = naive_match(&table, addr);

				assert_int_equal(table.expected[i], place);
				if (pattern == BENCH_HIT)
					assert_true(place > 0);
				if (pattern == BENCH_MISS)
					assert_int_equal(place, 0);
				if (pattern == BENCH_FALLBACK)
					assert_int_equal(table.prefixes[place - 1].len, 0);
				assert_int_equal(addr->bytes[0] >> 5, 1);
			}
			bench_table_free(&table);
		}
}

/* Under the prefix, and where it covers what is not for routing within 2000::/3. */
static void test_draws(void **state)
{
	static const struct {
		const char *prefix, *drawn;
	} rows[] = {
		{ "::/0", "2000::/3" },
		{ "::/1", "2000::/3" },
		{ "2000::/3", "2000::/3" },
		{ "4000::/2", "4000::/2" },
		{ "2001:db8::/33", "2001:db8::/33" },
		{ "2001:db8::7/128", "2001:db8::7/128" },
	};
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prefix prefix, drawn, host = { .len = 128 };

		assert_int_equal(prefix_parse(rows[i].prefix, &prefix), 0);
		assert_int_equal(prefix_parse(rows[i].drawn, &drawn), 0);
		for (int n = 0; n < 1000; n++) {
			bench_draw_under(&prefix, &seed, &host.addr);
			assert_true(prefix_covers(&drawn, &host));
		}
	}
}

/* What no index could tell from a hit at its first step. */
static void test_misses_are_near(void **state)
{
	struct bench_table table = make("1", 1, BENCH_MISS);
	uint32_t near = 0;

	for (size_t i = 0; i < BENCH_ADDRESSES; i++)
		near += table.addresses->at[i].bytes[0] == table.prefixes[0].addr.bytes[0];
	assert_true(near > BENCH_ADDRESSES / 2);
	bench_table_free(&table);
}

static void test_ipv4(void **state)
{
	for (enum bench_pattern pattern = 0; pattern < BENCH_N_PATTERNS; pattern++) {
		struct bench_table like = make("1k", 1, pattern), table;

		assert_int_equal(bench_table_ipv4(&like, &table), 0);
		assert_int_equal(table.n, like.n);
		assert_string_equal(table.name, "ipv4:1k");
		for (size_t i = 0; i < BENCH_ADDRESSES; i++)
			if (pattern == BENCH_HIT)
				assert_true(table.expected[i] > 0);
			else
				assert_int_equal(table.expected[i], pattern == BENCH_FALLBACK);
		bench_table_free(&table);
		bench_table_free(&like);
	}
}

static void test_nothing_misses(void **state)
{
	struct bench_table table;

	assert_int_equal(bench_table_named("nested", 1, &table), 0);
	assert_int_equal(bench_table_set_pattern(&table, BENCH_MISS), -ERANGE);
	bench_table_free(&table);
}

/* As many as are asked for, each once: the sorting leaves out what is twice. */
static void test_sizes(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		uint8_t len;
	} rows[] = {
		{ "dense-48", 65536, 48 },
		{ "dense-48-4", 16384, 48 },
		{ "dense-48-16", 4096, 48 },
		{ "dense-48-16:10k", 10000, 48 },
		{ "hosts-108", 100000, 128 },
		{ "hosts-108:1m", 1000000, 128 },
		{ "hosts-108:1048576", 1048576, 128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench_table table = make(rows[i].name, 3, BENCH_HIT);

		assert_int_equal(table.n, rows[i].n);
		assert_int_equal(table.prefixes[0].len, rows[i].len);
		bench_table_free(&table);
	}
}

/* Hosts of few are not those that are next to each other. */
static void test_hosts_are_spread(void **state)
{
	struct bench_table table = make("hosts-108:1k", 3, BENCH_HIT);
	unsigned int quarters[4] = { 0 };

	for (size_t i = 0; i < table.n; i++)
		quarters[ntohl(table.prefixes[i].addr.words[3]) >> 18]++;
	for (int i = 0; i < 4; i++)
		assert_in_range(quarters[i], 150, 350);
	bench_table_free(&table);
}

static void test_depth(void **state)
{
	struct bench_table one = make("1", 1, BENCH_HIT), dense = make("dense-48:16", 1, BENCH_HIT),
			   nested = make("nested", 1, BENCH_HIT);

	assert_int_equal(bench_table_depth(&one), 1);
	assert_int_equal(bench_table_depth(&dense), 5);
	assert_int_equal(bench_table_depth(&nested), 129);
	bench_table_free(&one);
	bench_table_free(&dense);
	bench_table_free(&nested);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_misses_are_near),
		cmocka_unit_test(test_ipv4),	 cmocka_unit_test(test_nothing_misses),
		cmocka_unit_test(test_sizes),	 cmocka_unit_test(test_hosts_are_spread),
		cmocka_unit_test(test_depth),	 cmocka_unit_test(test_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
