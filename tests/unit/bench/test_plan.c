// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of bench plan: line rates as everybody knows them, what CPUs make of them, and
 * where the one or the other is the limit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../../user/bench/plan.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-9 * fabs(expected))
		fail_msg("%.9g is not %.9g", value, expected);
}

static struct plan plan_of(double ns)
{
	return (struct plan){
		.costs = { { .frame_bytes = 64, .ns = ns } },
		.n_costs = 1,
		.scaling = 1,
		.cpus = 8,
		.ports = 2,
	};
}

static void test_line_rates(void **state)
{
	static const struct {
		double gbit;
		uint32_t bytes, rate;
	} known[] = {
		{ 1, 64, 1488095 },	{ 10, 64, 14880952 },	{ 10, 128, 8445946 },
		{ 10, 256, 4528986 },	{ 10, 512, 2349624 },	{ 10, 1024, 1197318 },
		{ 10, 1280, 961538 },	{ 10, 1518, 812744 },	{ 25, 64, 37202381 },
		{ 100, 64, 148809524 }, { 400, 64, 595238095 }, { 100, 9000, 1385809 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_int_equal(lround(plan_line_rate(known[i].gbit, known[i].bytes)),
				 known[i].rate);
}

/* Two ports of 10G with 64 bytes are 29.76 Mpps; a packet of 100 ns is 10 Mpps of each CPU. */
static void test_cell(void **state)
{
	struct plan plan = plan_of(100);
	struct plan_cell cell = plan_cell_of(&plan, 10, 64);

	assert_near(cell.line, 1e10 / 8 / 84);
	assert_near(cell.total, 2 * cell.line);
	assert_near(cell.expected, cell.total);
	assert_near(cell.cpus, 3);
	assert_near(cell.queues, 2);
	assert_true(cell.is_line_limit);
	plan.cpus = 2;
	cell = plan_cell_of(&plan, 10, 64);
	assert_near(cell.expected, 20e6);
	assert_near(cell.cpus, 3);
	assert_false(cell.is_line_limit);
	plan.ports = 1;
	cell = plan_cell_of(&plan, 10, 64);
	assert_near(cell.total, cell.line);
	assert_near(cell.cpus, 2);
	assert_near(cell.queues, 2);
	assert_true(cell.is_line_limit);
}

/* Exactly as much as the line takes is enough, also where rounding has it a bit less. */
static void test_exactly_enough(void **state)
{
	for (unsigned int n = 1; n <= 40; n++) {
		struct plan plan = plan_of(84 * 0.8 * n);
		struct plan_cell cell;

		plan.ports = 1;
		plan.cpus = n;
		cell = plan_cell_of(&plan, 10, 64);
		assert_near(cell.cpus, n);
		assert_near(cell.expected, cell.line);
		assert_true(cell.is_line_limit);
		plan.cpus = n - 1;
		assert_false(plan_cell_of(&plan, 10, 64).is_line_limit);
	}
}

/* A CPU alone does all that it can, several do less each. */
static void test_scaling(void **state)
{
	struct plan plan = plan_of(100);
	struct plan_cell cell;

	plan.scaling = 0.8;
	plan.cpus = 1;
	plan.ports = 1;
	cell = plan_cell_of(&plan, 10, 64);
	assert_near(cell.expected, 10e6);
	assert_near(cell.cpus, 2);
	plan.cpus = 2;
	plan.ports = 2;
	cell = plan_cell_of(&plan, 10, 64);
	assert_near(cell.expected, 16e6);
	assert_near(cell.cpus, 4);
	/* what one CPU does, one CPU does, although not if it were one of two */
	assert_near(plan_cell_of(&plan, 1, 120).cpus, 1);
	assert_near(plan_cell_of(&plan, 3, 64).cpus, 1);
	plan.scaling = 0.4;
	assert_near(plan_cell_of(&plan, 4, 64).cpus, 3);
}

static void test_costs_between_sizes(void **state)
{
	struct plan plan = {
		.costs = { { 64, 100, "" },
			   { 512, 100, "" },
			   { 1024, 200, "" },
			   { 1518, 200, "" } },
		.n_costs = 4,
	};

	assert_near(plan_cost_ns(&plan, 64), 100);
	assert_near(plan_cost_ns(&plan, 300), 100);
	assert_near(plan_cost_ns(&plan, 768), 150);
	assert_near(plan_cost_ns(&plan, 1024), 200);
	assert_near(plan_cost_ns(&plan, 9000), 200);
	plan.costs[0].frame_bytes = 128;
	assert_near(plan_cost_ns(&plan, 64), 100);
}

/* 8 CPUs of 350 ns are 22.857 Mpps: at 100G two ports are less than that from 1074 bytes on. */
static void test_least_at_line(void **state)
{
	struct plan plan = plan_of(350);
	uint32_t least = plan_least_at_line(&plan, 100);

	assert_int_equal(least, 1074);
	assert_true(plan_cell_of(&plan, 100, least).is_line_limit);
	assert_false(plan_cell_of(&plan, 100, least - 1).is_line_limit);
	plan.cpus = 11;
	assert_int_equal(plan_least_at_line(&plan, 10), PLAN_LEAST_FRAME);
	plan.cpus = 1;
	assert_int_equal(plan_least_at_line(&plan, 400), 0);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_rates),	    cmocka_unit_test(test_cell),
		cmocka_unit_test(test_exactly_enough),	    cmocka_unit_test(test_scaling),
		cmocka_unit_test(test_costs_between_sizes), cmocka_unit_test(test_least_at_line),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
