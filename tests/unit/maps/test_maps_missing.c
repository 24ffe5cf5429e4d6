// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bits of exceptions that the map lacks: when they come, and that none goes before all was told
 * anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/maps/maps_internal.h"
#include "../unit.h"

#define LACKS SIXLANE_ROUTE_EXCEPTIONS_MISSING
#define N 100000

enum { KEEP, TURN };

static uint64_t bits[SIXLANE_MISSING_WORDS], anew[SIXLANE_MISSING_WORDS];
static uint64_t untold[2][SIXLANE_MISSING_WORDS];
static struct maps maps = { .missing = bits,
			    .missing_anew = anew,
			    .missing_untold = { untold[0], untold[1] } };

static int setup(void **state)
{
	(void)state;
	memset(bits, 0, sizeof(bits));
	memset(anew, 0, sizeof(anew));
	memset(untold, 0, sizeof(untold));
	return 0;
}

static union sixlane_addr numbered(uint32_t number)
{
	return (union sixlane_addr){ .words = { htobe32(0x20010db8), 0, 0, htobe32(number) } };
}

static unsigned int add_one(uint32_t number, bool is_untold)
{
	const union sixlane_addr dst = numbered(number);

	return maps_write_missing(&maps, &dst, is_untold);
}

static void add(uint32_t number)
{
	add_one(number, false);
}

static bool is_missing(uint32_t number)
{
	const union sixlane_addr dst = numbered(number);

	return maps_exception_may_be_missing(&maps, &dst, LACKS);
}

static size_t bits_set(void)
{
	size_t n = 0;

	for (size_t i = 0; i < SIXLANE_MISSING_WORDS; i++)
		n += (size_t)__builtin_popcountll(bits[i]);
	return n;
}

static void each_is_found_and_hardly_another(void **state)
{
	size_t others = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		add(i);
	assert_in_range(bits_set(), 2 * (N - N / 20), 2 * N);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(is_missing(i));
		others += is_missing(N + i);
	}
	assert_in_range(others, 0, N / 400);
}

static void asked_only_under_a_route_that_lacks_some(void **state)
{
	const union sixlane_addr dst = numbered(1);

	(void)state;
	add(1);
	assert_true(maps_exception_may_be_missing(&maps, &dst, LACKS | SIXLANE_ROUTE_EXCEPTIONS));
	assert_true(maps_write_missing_has(&maps, &dst));
	assert_false(maps_exception_may_be_missing(&maps, &dst, SIXLANE_ROUTE_EXCEPTIONS));
}

static void those_that_are_not_told_anew_go_at_the_end(void **state)
{
	(void)state;
	add(1);
	add(2);
	maps_write_missing_begin(&maps, KEEP);
	assert_true(is_missing(1) && is_missing(2));
	add(2);
	add(3);
	assert_true(is_missing(1) && is_missing(2) && is_missing(3));
	maps_write_missing_end(&maps);
	assert_false(is_missing(1));
	assert_true(is_missing(2) && is_missing(3));
}

static void what_is_new(void **state)
{
	const unsigned int now = FIB_MISSING_NOW, since_begin = FIB_MISSING_ANEW;

	(void)state;
	assert_int_equal(add_one(1, false), now | since_begin);
	assert_int_equal(add_one(1, false), 0);
	maps_write_missing_begin(&maps, KEEP);
	assert_int_equal(add_one(1, false), since_begin);
	assert_int_equal(add_one(1, false), 0);
	maps_write_missing_end(&maps);
	assert_int_equal(add_one(1, false), 0);
	maps_write_missing_begin(&maps, KEEP);
	maps_write_missing_end(&maps);
	assert_int_equal(add_one(1, false), now | since_begin);
	assert_int_equal(add_one(1, true), FIB_MISSING_UNTOLD);
	assert_int_equal(add_one(1, true), 0);
	maps_write_missing_begin(&maps, TURN);
	assert_int_equal(add_one(1, true), 0);
	maps_write_missing_begin(&maps, TURN);
	maps_write_missing_begin(&maps, TURN);
	assert_int_equal(add_one(1, true), since_begin | FIB_MISSING_UNTOLD);
}

static void find(bool turn)
{
	maps_write_missing_begin(&maps, turn);
	maps_write_missing_end(&maps);
}

/* … for two turns, and later ones do not keep them. */
static void those_that_are_never_told_are_kept(void **state)
{
	(void)state;
	add_one(1, true);
	add_one(2, false);
	for (int i = 0; i < 2; i++) {
		find(KEEP);
		assert_true(is_missing(1));
		assert_false(is_missing(2));
	}
	find(TURN);
	add_one(3, true);
	find(KEEP);
	assert_true(is_missing(1) && is_missing(3));
	maps_write_missing_begin(&maps, TURN);
	assert_true(is_missing(1));
	maps_write_missing_end(&maps);
	assert_false(is_missing(1));
	assert_true(is_missing(3));
	find(TURN);
	assert_int_equal(bits_set(), 0);
}

static void those_that_are_adopted_are_never_told(void **state)
{
	(void)state;
	assert_false(maps_write_missing_adopt(&maps));
	add(1);
	assert_true(maps_write_missing_adopt(&maps));
	add(2);
	find(KEEP);
	assert_true(is_missing(1));
	assert_false(is_missing(2));
	find(TURN);
	find(TURN);
	assert_int_equal(bits_set(), 0);
}

/* Of an earlier daemon, which nobody has told of. */
static void what_is_there_before_stays_to_the_end(void **state)
{
	(void)state;
	add(1);
	memset(anew, 0, sizeof(anew));
	add(2);
	assert_true(is_missing(1));
	maps_write_missing_begin(&maps, KEEP);
	maps_write_missing_end(&maps);
	assert_int_equal(bits_set(), 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_is_found_and_hardly_another, setup),
		cmocka_unit_test_setup(asked_only_under_a_route_that_lacks_some, setup),
		cmocka_unit_test_setup(those_that_are_not_told_anew_go_at_the_end, setup),
		cmocka_unit_test_setup(what_is_new, setup),
		cmocka_unit_test_setup(those_that_are_never_told_are_kept, setup),
		cmocka_unit_test_setup(those_that_are_adopted_are_never_told, setup),
		cmocka_unit_test_setup(what_is_there_before_stays_to_the_end, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
