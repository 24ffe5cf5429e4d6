// SPDX-License-Identifier: GPL-2.0-only
/*
 * The search for the rate that a device forwards, with devices that are known: what it finds, what
 * it says where there is nothing to find, and that it ends whatever a device does.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../user/bench/nic/search.h"
#include "../../../user/lib/util.h"
#include "../unit.h"

#define MIN_RATE 9001.0
#define MAX_RATE 14880952.0
#define ENOUGH 100000u

/* A generator, and the device behind it. */
struct device {
	double capacity;	    /* frames a second; what is more is lost */
	double hole_low, hole_high; /* rates between which one frame is lost */
	double loss_ratio;	    /* of all frames, always */
	unsigned int every;	    /* one of so many trials loses a frame; 0: none */
	double noise;		    /* the part of the trials that lose a frame, at random */
	bool chaos;		    /* any trial loses, and sends, anything */
	double generator;    /* frames a second that it sends at most; 0: all that is asked for */
	unsigned int hiccup; /* one of so many trials sends half of them; 0: none */
	double unsent[2];    /* from and to this part of them it leaves out, at random */

	uint64_t seed;
	unsigned int trials;
	double least_rate, most_rate, least_s, most_s, last_s;
};

static const struct search_goal ndr = { 0, 0.5, 1, 1, 20, 0.005 };
static const struct search_goal pdr = { 0.005, 0.5, 1, 1, 20, 0.005 };
static const struct search_goal rfc2544 = { 0, 0, 60, 60, 60, 0.005 };
static const struct search_goal from_short = { 0, 0, 1, 60, 60, 0.005 };

static double chance(struct device *device)
{
	/* xorshift64*: any seed but 0 */
	device->seed ^= device->seed >> 12;
	device->seed ^= device->seed << 25;
	device->seed ^= device->seed >> 27;
	return (double)((device->seed * 0x2545f4914f6cdd1du) >> 11) / (double)(1ull << 53);
}

static struct search_outcome run_trial(struct device *device, const struct search_trial *trial)
{
	struct search_outcome out = { .seconds = trial->duration };
	double rate = trial->rate, forwarded;

	device->trials++;
	if (device->generator > 0 && rate > device->generator)
		rate = device->generator;
	if ((device->hiccup && device->trials % device->hiccup == 0) ||
	    (device->chaos && chance(device) < 0.2))
		rate /= 2;
	if (device->unsent[1] > 0)
		rate *= 1 - device->unsent[0] -
			chance(device) * (device->unsent[1] - device->unsent[0]);
	out.sent = (uint64_t)fmax(round(rate * trial->duration), 1);
	forwarded = floor(device->capacity * trial->duration);
	out.lost = (double)out.sent > forwarded ? out.sent - (uint64_t)forwarded : 0;
	out.lost += (uint64_t)((double)out.sent * device->loss_ratio);
	out.lost += rate > device->hole_low && rate < device->hole_high;
	out.lost += device->every && device->trials % device->every == 0;
	out.lost += device->noise > 0 && chance(device) < device->noise;
	if (device->chaos)
		out.lost = chance(device) < 0.5 ? 0 : (uint64_t)((double)out.sent * chance(device));
	if (out.lost > out.sent)
		out.lost = out.sent;
	return out;
}

static void note(struct device *device, const struct search_trial *trial)
{
	bool is_first = !device->trials;

	device->least_rate = is_first ? trial->rate : fmin(device->least_rate, trial->rate);
	device->most_rate = fmax(device->most_rate, trial->rate);
	device->least_s = is_first ? trial->duration : fmin(device->least_s, trial->duration);
	device->most_s = fmax(device->most_s, trial->duration);
	device->last_s = trial->duration;
}

static struct search_options options_of(const struct search_goal *goal)
{
	return (struct search_options){
		.method = SEARCH_MLR,
		.min_rate = MIN_RATE,
		.max_rate = MAX_RATE,
		.goals = { *goal },
		.n_goals = 1,
		.phases = 3,
		.tolerance = 0.01,
		.most_trials = ENOUGH,
	};
}

static struct search_options binary_options(void)
{
	struct search_options options = options_of(&rfc2544);

	options.method = SEARCH_BINARY;
	options.phases = 1;
	return options;
}

/* To its end. The caller frees it. */
static struct search *search_device(const struct search_options *options, struct device *device)
{
	struct search *search = NULL;
	struct search_trial trial;
	int more;

	assert_int_equal(search_new(options, &search), 0);
	while ((more = search_next(search, &trial)) == 1) {
		double most_sent = search_totals(search).most_sent;
		struct search_outcome outcome;

		assert_true(most_sent <= 0 || trial.rate <= most_sent);
		note(device, &trial);
		outcome = run_trial(device, &trial);
		assert_int_equal(search_take(search, &outcome), 0);
		assert_true(device->trials <= ENOUGH);
	}
	assert_int_equal(more, 0);
	assert_true(device->least_rate >= options->min_rate);
	assert_true(device->most_rate <= options->max_rate);
	assert_true(search_left_s(search) <= 0);
	assert_int_equal(search_totals(search).trials, device->trials);
	return search;
}

static struct search_result search_goal_of(const struct search_options *options,
					   struct device *device, size_t goal)
{
	struct search *search = search_device(options, device);
	struct search_result result = search_result(search, goal);

	search_free(search);
	return result;
}

/* The bounds are as close as they were to be, on both sides of a rate. */
static void assert_bracket(const struct search_result *result, const struct search_goal *goal,
			   double rate)
{
	double frame = 2 / goal->initial_s; /* what is sent and what is forwarded are whole ones */

	assert_int_equal(result->end, SEARCH_FOUND);
	assert_true(result->lower < result->upper);
	assert_true(result->upper - result->lower <= goal->width * result->upper);
	assert_true(result->lower <= rate + frame);
	assert_true(result->upper >= rate - frame);
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-6 * fabs(expected))
		fail_msg("%f is not %f", value, expected);
}

static void assert_in(double value, double least, double most)
{
	if (value < least || value > most)
		fail_msg("%f is not from %f to %f", value, least, most);
}

/* --- devices -------------------------------------------------------------------------------- */

static void test_binary(void **state)
{
	static const double capacities[] = { 9100, 1e5, 2.4e6, 1e7, 14.8e6 };
	struct search_options options = binary_options();

	for (size_t i = 0; i < ARRAY_SIZE(capacities); i++) {
		struct device device = { .capacity = capacities[i] };
		struct search_result result = search_goal_of(&options, &device, 0);

		assert_bracket(&result, &rfc2544, capacities[i]);
		assert_near(result.throughput, result.lower);
		assert_true(device.trials <= 2 + 19); /* 0.005 * 9100 within MAX_RATE */
	}
}

/* Every capacity, with several goals at once: what lies between the bounds is the capacity. */
static void test_any_capacity(void **state)
{
	struct search_options options = options_of(&ndr);

	options.goals[1] = pdr;
	options.goals[2] = from_short;
	options.n_goals = 3;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct device device = { .seed = seed };
		struct search *search;
		struct search_result result;

		device.capacity =
			MIN_RATE * 1.01 * pow(MAX_RATE / MIN_RATE * 0.98, chance(&device));
		search = search_device(&options, &device);
		result = search_result(search, 0);
		assert_bracket(&result, &ndr, device.capacity);
		assert_near(result.throughput, result.lower);
		result = search_result(search, 1);
		assert_bracket(&result, &pdr, device.capacity / (1 - pdr.loss_ratio));
		/* not more than the device forwards, although the bounds are higher */
		assert_true(result.throughput <= device.capacity + 1);
		assert_true(result.throughput >=
			    device.capacity * (1 - pdr.width - pdr.loss_ratio));
		result = search_result(search, 2);
		assert_bracket(&result, &from_short, device.capacity);
		assert_true(device.trials < 80);
		search_free(search);
	}
}

/* Most of the search is of short trials; what it finds rests on long ones. */
static void test_short_trials_first(void **state)
{
	struct search_options options = options_of(&from_short);
	struct device device = { .capacity = 2.4e6 };
	struct search *search = search_device(&options, &device);

	assert_near(device.least_s, 1);
	assert_near(device.most_s, 60);
	assert_near(device.last_s, 60);
	assert_true(search_totals(search).seconds < 4 * 60);
	search_free(search);
}

static void test_beyond_the_limits(void **state)
{
	struct search_options options[] = { options_of(&ndr), binary_options() };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct device slow = { .capacity = MIN_RATE / 2 }, fast = { .capacity = 1e9 };
		struct search_result result = search_goal_of(&options[i], &slow, 0);

		assert_int_equal(result.end, SEARCH_MIN_FAILS);
		assert_true(result.lower <= 0 && result.throughput <= 0);
		assert_near(result.upper, MIN_RATE);
		result = search_goal_of(&options[i], &fast, 0);
		assert_int_equal(result.end, SEARCH_MAX_HOLDS);
		assert_true(result.upper <= 0);
		assert_near(result.lower, MAX_RATE);
		assert_near(result.throughput, MAX_RATE);
		assert_true(fast.trials <= 20);
	}
}

/* Every third trial loses a frame: half of them may, none of them may. */
static void test_exceed_ratio(void **state)
{
	struct search_options options = options_of(&ndr);
	struct device device = { .capacity = 2.4e6, .every = 3 }, again = device;
	struct search_result result = search_goal_of(&options, &device, 0);

	assert_bracket(&result, &ndr, 2.4e6);
	options.goals[0].exceed_ratio = 0;
	result = search_goal_of(&options, &again, 0);
	assert_int_equal(result.end, SEARCH_MIN_FAILS);
}

/* 30 % of the trials lose, where half of them may. Bad luck is possible, and rare. */
static void test_noise(void **state)
{
	struct search_options options = options_of(&ndr);
	unsigned int good = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct device device = { .capacity = 2.4e6, .noise = 0.3, .seed = seed };
		struct search_result result = search_goal_of(&options, &device, 0);

		assert_int_equal(result.end, SEARCH_FOUND);
		assert_true(result.upper - result.lower <= ndr.width * result.upper);
		assert_true(result.lower <= 2.4e6);
		assert_true(device.trials < 1000);
		good += result.lower >= 2.4e6 * (1 - 2 * ndr.width);
	}
	assert_true(good >= 90);
}

/* One frame of 10,000, at any rate. */
static void test_constant_loss(void **state)
{
	struct search_options options = options_of(&ndr);
	struct device device = { .capacity = 1e9, .loss_ratio = 1e-4 };
	struct search *search;
	struct search_result result;

	options.goals[1] = pdr;
	options.n_goals = 2;
	search = search_device(&options, &device);
	result = search_result(search, 0);
	assert_bracket(&result, &ndr, 1e4);
	result = search_result(search, 1);
	assert_int_equal(result.end, SEARCH_MAX_HOLDS);
	assert_near(result.lower, MAX_RATE);
	assert_near(result.throughput, MAX_RATE * (1 - 1e-4));
	assert_true(device.trials < 250);
	search_free(search);
}

/* Rates that lose below rates that do not: whatever is found is an edge, and the lower side of one
 * that was seen to lose. */
static void test_hole(void **state)
{
	struct search_options options = options_of(&ndr);

	for (double low = 1e5; low < 8e6; low *= 1.37) {
		struct device device = { .capacity = 8e6, .hole_low = low, .hole_high = low * 1.3 };
		struct search_result result = search_goal_of(&options, &device, 0);
		bool at_hole = result.lower <= low && result.upper > low;

		assert_bracket(&result, &ndr, at_hole ? low : 8e6);
	}
}

/* --- generators ----------------------------------------------------------------------------- */

static void test_generator_is_the_limit(void **state)
{
	struct search_options options[] = { options_of(&ndr), binary_options() };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct device device = { .capacity = 5e6, .generator = 3e6 };
		struct search *search = search_device(&options[i], &device);
		struct search_result result = search_result(search, 0);

		assert_int_equal(result.end, SEARCH_GENERATOR);
		assert_near(result.lower, 3e6);
		assert_near(result.throughput, 3e6);
		assert_true(result.upper <= 0);
		assert_near(search_totals(search).most_sent, 3e6);
		assert_int_equal(search_totals(search).short_sent, 2);
		search_free(search);
	}
}

/* It is not what limits the result, but it is said. */
static void test_generator_above_the_device(void **state)
{
	struct search_options options = options_of(&ndr);
	struct device device = { .capacity = 2e6, .generator = 3e6 };
	struct search *search = search_device(&options, &device);
	struct search_result result = search_result(search, 0);

	assert_bracket(&result, &ndr, 2e6);
	assert_near(search_totals(search).most_sent, 3e6);
	search_free(search);
}

/* A trial that is tried again at once is no proof of what the generator can do. */
static void test_generator_hiccup(void **state)
{
	struct search_options options = options_of(&ndr);

	for (unsigned int every = 2; every <= 25; every++) {
		struct device device = { .capacity = 2.4e6, .hiccup = every };
		struct search *search = search_device(&options, &device);
		struct search_result result = search_result(search, 0);

		assert_bracket(&result, &ndr, 2.4e6);
		assert_int_equal(search_totals(search).short_sent, device.trials / every);
		assert_true(search_totals(search).most_sent <= 0);
		search_free(search);
	}
}

/* What is found was sent, and is told from what was asked for; the search ends as soon as with one
 * that is exact. */
static void test_generator_is_inexact(void **state)
{
	static const double unsent[][2] = {
		{ 0, 0.012 }, { 0, 0.03 }, { 0.009, 0.009 }, { 0, 0.049 }
	};
	struct search_options options = options_of(&ndr);

	options.goals[options.n_goals++] = pdr;
	options.tolerance = 0.05;
	options.most_trials = 600;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		const double *part = unsent[seed % ARRAY_SIZE(unsent)];
		struct device device = { .capacity = 5e6, .seed = seed };
		struct search *search;

		memcpy(device.unsent, part, sizeof(device.unsent));
		search = search_device(&options, &device);
		for (size_t i = 0; i < options.n_goals; i++) {
			struct search_result result = search_result(search, i);
			/* of which so much is lost, at the most, and none or so much was not sent
			 */
			double most = 5e6 / (1 - options.goals[i].loss_ratio) + 1;

			assert_int_equal(result.end, SEARCH_FOUND);
			assert_in(result.lower, most * (1 - part[1] - 0.011), most);
			assert_in(result.unsent, part[0] - 1e-6, part[1]);
		}
		search_free(search);
	}
}

static void test_generator_too_slow(void **state)
{
	struct search_options options = options_of(&ndr);
	struct device device = { .capacity = 2e6, .generator = MIN_RATE / 2 };
	struct search_result result = search_goal_of(&options, &device, 0);

	assert_int_equal(result.end, SEARCH_NO_RATE);
	assert_int_equal(device.trials, 2);
}

/* --- it ends -------------------------------------------------------------------------------- */

/* Devices and generators without rhyme or reason. */
static void test_chaos(void **state)
{
	struct search_options options = options_of(&ndr);

	options.goals[1] = pdr;
	options.goals[2] = (struct search_goal){ 0.1, 0.2, 0.5, 5, 30, 0.02 };
	options.goals[3] = from_short;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct device device = { .capacity = 1e6, .chaos = true, .seed = seed };
		struct search *search;

		options.n_goals = 1 + seed % SEARCH_MOST_GOALS;
		options.phases = 1 + (unsigned int)(seed % 5);
		search = search_device(&options, &device);
		assert_true(device.trials < 10000);
		for (size_t i = 0; i < options.n_goals; i++) {
			struct search_result result = search_result(search, i);

			assert_int_not_equal(result.end, SEARCH_STOPPED);
			assert_true(result.upper <= 0 || result.lower < result.upper);
			assert_true(result.throughput <= result.lower);
		}
		search_free(search);
	}
}

static void test_stopped(void **state)
{
	struct search_options options = options_of(&ndr);
	struct device device = { .capacity = 2.4e6 };
	struct search_result result;

	options.most_trials = 5;
	result = search_goal_of(&options, &device, 0);
	assert_int_equal(device.trials, 5);
	assert_int_equal(result.end, SEARCH_STOPPED);
	assert_string_equal(search_end_text(result.end), "stopped before all trials were run");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_any_capacity),
		cmocka_unit_test(test_short_trials_first),
		cmocka_unit_test(test_beyond_the_limits),
		cmocka_unit_test(test_exceed_ratio),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_constant_loss),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_generator_is_the_limit),
		cmocka_unit_test(test_generator_above_the_device),
		cmocka_unit_test(test_generator_hiccup),
		cmocka_unit_test(test_generator_is_inexact),
		cmocka_unit_test(test_generator_too_slow),
		cmocka_unit_test(test_chaos),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
