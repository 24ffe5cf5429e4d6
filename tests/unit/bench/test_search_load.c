// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the trials at one load say of it, by the example of RFC 9971; and what a search refuses.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/bench/nic/search_load.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-6 * fabs(expected))
		fail_msg("%f is not %f", value, expected);
}

/* --- what trials say of a load -------------------------------------------------------------- */

/*
 * The example of RFC 9971, appendix "Example Search": what is added, and what the load is then. Its
 * tables call the load a lower bound of the fourth goal at the last two points; by its code, and by
 * the ratios in the same tables (43 % and 27 %, where 20 % may exceed), it is an upper bound.
 */
static const struct {
	size_t n;
	double duration, loss_ratio;
	enum search_class classes[4];
} rfc_points[] = {
	{ 59, 1, 0, { SEARCH_UNDECIDED, SEARCH_UNDECIDED, SEARCH_UNDECIDED, SEARCH_UNDECIDED } },
	{ 1, 1, 0.01, { SEARCH_UPPER, SEARCH_UNDECIDED, SEARCH_UNDECIDED, SEARCH_UNDECIDED } },
	{ 59, 1, 0.01, { SEARCH_UPPER, SEARCH_UNDECIDED, SEARCH_UNDECIDED, SEARCH_UPPER } },
	{ 1, 1, 0, { SEARCH_UPPER, SEARCH_UNDECIDED, SEARCH_LOWER, SEARCH_UPPER } },
	{ 1, 60, 0.001, { SEARCH_UPPER, SEARCH_UNDECIDED, SEARCH_LOWER, SEARCH_UPPER } },
	{ 1, 60, 0, { SEARCH_UPPER, SEARCH_LOWER, SEARCH_LOWER, SEARCH_UPPER } },
};

static const struct search_goal rfc_goals[4] = {
	{ 0, 0, 1, 60, 60, 0.005 },
	{ 0, 0.5, 1, 60, 120, 0.005 },
	{ 0.005, 0.5, 1, 1, 120, 0.005 },
	{ 0.005, 0.2, 1, 60, 60, 0.005 },
};

static void test_example_of_the_rfc(void **state)
{
	struct search_load load = { .rate = 1e6 };

	for (size_t i = 0; i < ARRAY_SIZE(rfc_points); i++) {
		for (size_t k = 0; k < rfc_points[i].n; k++)
			assert_int_equal(search_load_add(&load, rfc_points[i].duration,
							 rfc_points[i].loss_ratio),
					 0);
		for (size_t k = 0; k < ARRAY_SIZE(rfc_goals); k++)
			if (search_load_class(&load, &rfc_goals[k]) != rfc_points[i].classes[k])
				fail_msg("point %zu, goal %zu", i + 1, k + 1);
	}
	assert_near(search_load_throughput(&load, &rfc_goals[1]), 1e6);
	assert_near(search_load_throughput(&load, &rfc_goals[2]), 1e6);
	assert_near(search_load_throughput(&load, &rfc_goals[3]), 999e3);
	free(load.trials);
}

/* 29 of 100 are 29 %, although 0.29 * 100 is less than 29 in floating point. */
static void test_exceed_ratio_is_exact(void **state)
{
	struct search_goal goal = { 0, 0.29, 1, 1, 100, 0.005 };
	struct search_load load = { .rate = 1e6 };

	for (int i = 0; i < 100; i++) {
		assert_int_equal(search_load_class(&load, &goal), SEARCH_UNDECIDED);
		assert_int_equal(search_load_add(&load, 1, i < 29 ? 0.5 : 0), 0);
	}
	assert_int_equal(search_load_class(&load, &goal), SEARCH_LOWER);
	assert_near(search_load_throughput(&load, &goal), 1e6);
	assert_int_equal(search_load_add(&load, 1, 0.5), 0);
	assert_int_equal(search_load_class(&load, &goal), SEARCH_UPPER);
	free(load.trials);
}

/* However many of them lose nothing, they do not make up for long ones that do. */
static void test_short_trials_prove_nothing(void **state)
{
	const struct search_goal *goal = &rfc_goals[1];
	struct search_load load = { .rate = 1e6 };

	for (int i = 0; i < 500; i++)
		assert_int_equal(search_load_add(&load, 1, 0), 0);
	assert_int_equal(search_load_class(&load, goal), SEARCH_UNDECIDED);
	assert_near(search_load_throughput(&load, goal), 0);
	assert_int_equal(search_load_add(&load, 60, 0.1), 0);
	assert_int_equal(search_load_class(&load, goal), SEARCH_UNDECIDED);
	assert_int_equal(search_load_add(&load, 60, 0.1), 0);
	assert_int_equal(search_load_class(&load, goal), SEARCH_UPPER);
	free(load.trials);
}

/* --- arguments ------------------------------------------------------------------------------ */

static const struct search_options good = {
	.method = SEARCH_MLR,
	.min_rate = 9001,
	.max_rate = 14880952,
	.goals = { { 0, 0.5, 1, 1, 20, 0.005 } },
	.n_goals = 1,
	.phases = 3,
	.tolerance = 0.01,
	.most_trials = 1000,
};

/* It stays the same trial until it has an outcome. */
static void test_bad_outcomes(void **state)
{
	static const struct search_outcome bad[] = {
		{ 0, 0, 1 }, { 10, 11, 1 }, { 100, 0, 0 }, { 100, 0, 0.5 }, { 100, 0, INFINITY },
	};
	struct search_options options = good;
	struct search_trial trial, same;
	struct search *search;

	assert_int_equal(search_new(&options, &search), 0);
	assert_int_equal(search_take(search, &(struct search_outcome){ 1000, 0, 1 }), -EINVAL);
	assert_int_equal(search_next(search, &trial), 1);
	assert_true(search_left_s(search) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(search_take(search, &bad[i]), -EINVAL);
		assert_int_equal(search_next(search, &same), 1);
		assert_memory_equal(&trial, &same, sizeof(trial));
	}
	assert_int_equal(search_totals(search).trials, 0);
	search_free(search);
	search_free(NULL);
}

static void test_bad_options(void **state)
{
	struct search_options bad[16];
	struct search *search = NULL;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[n++].min_rate = 0;
	bad[n++].min_rate = 0.5; /* no frame in a trial */
	bad[n++].max_rate = good.min_rate;
	bad[n++].max_rate = NAN;
	bad[n++].n_goals = 0;
	bad[n++].n_goals = SEARCH_MOST_GOALS + 1;
	bad[n++].phases = 0;
	bad[n++].phases = 9;
	bad[n++].tolerance = 0;
	bad[n++].most_trials = 0;
	bad[n++].goals[0].loss_ratio = 1;
	bad[n++].goals[0].exceed_ratio = -0.1;
	bad[n++].goals[0].width = 0;
	bad[n++].goals[0].final_s = 0.5;
	bad[n++].goals[0].sum_s = 0.5;
	bad[n++].method = SEARCH_BINARY; /* takes no other goal than that of RFC 2544 */
	assert_int_equal(n, ARRAY_SIZE(bad));
	for (size_t i = 0; i < n; i++)
		if (search_new(&bad[i], &search) != -EINVAL)
			fail_msg("options %zu were taken", i);
	assert_null(search);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_rfc),
		cmocka_unit_test(test_exceed_ratio_is_exact),
		cmocka_unit_test(test_short_trials_prove_nothing),
		cmocka_unit_test(test_bad_outcomes),
		cmocka_unit_test(test_bad_options),
	};

	return cmocka_run_group_tests_name("search_load", tests, NULL, NULL);
}
