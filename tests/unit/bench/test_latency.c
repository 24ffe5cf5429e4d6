// SPDX-License-Identifier: GPL-2.0-only
/* Buckets of latencies have no gaps, and percentiles are of the nearest rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../user/bench/latency.h"
#include "../unit.h"

/* Each holds from its least to the next one's, and is as narrow as is said. */
static void check_bucket(uint64_t ns)
{
	uint32_t bucket = latency_bucket(ns);
	uint64_t least = latency_bucket_ns(bucket), next = latency_bucket_ns(bucket + 1);

	assert_in_range(bucket, 0, LATENCY_BUCKETS - 1);
	assert_true(least <= ns && ns < next);
	assert_true((next - least) * LATENCY_BUCKETS_OF_POWER <= (least ?: 1) * 1 ||
		    next - least == 1);
}

static void test_buckets(void **state)
{
	for (uint64_t ns = 0; ns < 100000; ns++)
		check_bucket(ns);
	for (int power = 17; power < LATENCY_BITS; power++)
		for (int more = -1; more <= 1; more++)
			check_bucket((1ull << power) + (uint64_t)more);
	assert_int_equal(latency_bucket((1ull << LATENCY_BITS) - 1), LATENCY_BUCKETS - 1);
	assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

/* Of 100 of them, four ns apart: up to 256 ns a bucket is no wider than that. */
static void test_percentiles(void **state)
{
	uint64_t counts[LATENCY_BUCKETS] = { 0 };

	assert_true(latency_percentile(counts, 50) == 0);
	for (uint64_t i = 1; i <= 100; i++)
		counts[latency_bucket(4 * i)]++;
	assert_int_equal(latency_count(counts), 100);
	for (unsigned int percent = 0; percent <= 100; percent++)
		assert_int_equal(latency_bucket((uint64_t)latency_percentile(counts, percent)),
				 latency_bucket(4 * (percent ?: 1)));
}

/* Of one alone, whatever the percentage: it, and exactly where buckets are of one nanosecond. */
static void test_the_only_one(void **state)
{
	uint64_t counts[LATENCY_BUCKETS] = { 0 };

	counts[latency_bucket(17)] = 1;
	for (unsigned int percent = 0; percent <= 100; percent += 50)
		assert_true(latency_percentile(counts, percent) == 17);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_the_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
