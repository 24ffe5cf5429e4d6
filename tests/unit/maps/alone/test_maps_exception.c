// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions in their map: what each CPU has counted, what is told of failures, walks; and the
 * operator's.
 */
#include "../../unit.h"
#include "../maps_exception_world.h"

static void each_cpu_keeps_what_it_has_counted(void **state)
{
	const struct sixlane_exception first = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };
	struct sixlane_exception second = first, is;
	uint64_t begin_ns = util_now_ns(), added_ns;

	(void)state;
	assert_int_equal(set(&first), 0);
	added_ns = kernel.values[0][N_CPUS - 1].added_ns;
	assert_in_range(added_ns, begin_ns, util_now_ns());
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		kernel.values[0][cpu].hits = 1u << cpu;
		kernel.values[0][cpu].bytes = 10u << cpu;
		kernel.values[0][cpu].used_ns = 100 - cpu;
	}
	kernel.values[0][1].used_ns = 200;
	second.mtu = 1400;
	second.hits = second.bytes = second.used_ns = 9999; /* nobody's business */
	assert_int_equal(set(&second), 0);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		assert_int_equal(kernel.values[0][cpu].mtu, 1400);
		assert_int_equal(kernel.values[0][cpu].hits, 1u << cpu);
		assert_int_equal(kernel.values[0][cpu].bytes, 10u << cpu);
	}
	assert_int_equal(maps_exception(&maps, &key, &is), 0);
	second.added_ns = added_ns;
	second.hits = 7;
	second.bytes = 70;
	second.used_ns = 200;
	assert_memory_equal(&is, &second, sizeof(is));
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(maps_exception(&maps, &key, &is), -ENOENT);
	assert_int_equal(maps_write_exception_del(&maps, &key), -ENOENT);
}

/* Soon there is some again; if not, no time is lost with the next ones. */
static void memory_is_waited_for_once(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };

	(void)state;
	naps = 0;
	kernel.fail = ENOMEM;
	kernel.fail_first = 3;
	assert_int_equal(set(&value), 0);
	assert_int_equal(naps, 3);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	kernel.fail_first = 1000;
	assert_int_equal(set(&value), -ENOMEM);
	assert_int_equal(naps, 3 + REFILL_STEPS);
	assert_int_equal(set(&value), -ENOMEM);
	assert_int_equal(naps, 3 + REFILL_STEPS);
	kernel.fail_first = 0;
	assert_int_equal(set(&value), 0);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	kernel.fail_first = 1;
	assert_int_equal(set(&value), 0);
	assert_int_equal(naps, 4 + REFILL_STEPS);
}

static void errors_are_told(void **state)
{
	static const struct {
		int error, told;
	} cases[] = { { E2BIG, -ENOSPC }, { ENOMEM, -ENOMEM }, { EPERM, -EPERM } };
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		maps.no_memory = true; /* as it was a moment ago */
		kernel.fail = cases[i].error;
		kernel.fail_update = kernel.updates + 1;
		assert_int_equal(set(&value), cases[i].told);
		assert_int_equal(kernel.n, 0);
	}
}

static void memory_of_another_entry_is_told_by_its_check(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU, .mtu = 1300 };
	union sixlane_addr other = key;

	(void)state;
	assert_int_equal(set(&value), 0);
	assert_int_equal(kernel.values[0][N_CPUS - 1].check, sixlane_exception_check(&key));
	other.words[3]++;
	assert_int_not_equal(sixlane_exception_check(&other), sixlane_exception_check(&key));
}

/* --- walks -------------------------------------------------------------------------------- */

static uint8_t seen[ROOM];

static int see(void *ctx, const union sixlane_addr *at, const struct sixlane_exception *value)
{
	const uint32_t number = at->words[0];

	(void)ctx;
	assert_int_equal(value->mtu, 1300 + number);
	assert_int_equal(value->hits, N_CPUS * number);
	assert_int_equal(value->flags, SIXLANE_EXCEPTION_MTU);
	assert_int_equal(value->check, 0);
	seen[number]++;
	return 0;
}

static union sixlane_addr numbered(uint32_t number)
{
	union sixlane_addr other = key;

	other.words[3] = htobe32(number);
	return other;
}

static size_t bits_set(void)
{
	size_t n = 0;

	for (size_t i = 0; i < SIXLANE_EXCEPTED_WORDS; i++)
		n += (size_t)__builtin_popcountll(excepted[i]);
	return n;
}

/* The kernel asserts that the bit is there before an entry comes, and as long as it is. */
static void bits_come_and_go_with_entries(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU };
	union sixlane_addr other = numbered(0);
	uint32_t number = 0;

	(void)state;
	assert_int_equal(set(&value), 0);
	assert_int_equal(set(&value), 0);
	assert_int_equal(bits_set(), 2);
	/* another one of the same bits, of which those of few are the first of those of many */
	do
		other = numbered(++number);
	while (bit_of(&other, false) != bit_of(&key, false));
	assert_int_equal(maps_write_exception(&maps, &other, &value), 0);
	assert_int_equal(bits_set(), 2);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(is_excepted(&other), 1);
	assert_int_equal(maps_write_exception_del(&maps, &key), -ENOENT);
	assert_int_equal(is_excepted(&other), 1);
	assert_int_equal(maps_write_exception_del(&maps, &other), 0);
	assert_int_equal(bits_set(), 0);
}

static void bits_of_few_stand_for_others_too(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU };
	union sixlane_addr other;
	uint32_t number = 0;

	(void)state;
	do
		other = numbered(++number);
	while (bit_of(&other, true) != bit_of(&key, true) ||
	       bit_of(&other, false) == bit_of(&key, false));
	assert_int_equal(set(&value), 0);
	assert_int_equal(maps_write_exception(&maps, &other, &value), 0);
	assert_int_equal(bits_set(), 3);
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(bits_set(), 2);
	assert_int_equal(is_excepted(&other), 1);
}

static void an_entry_that_does_not_come_leaves_no_bit(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU };

	(void)state;
	kernel.fail_update = 1;
	kernel.fail = E2BIG;
	assert_int_equal(set(&value), -ENOSPC);
	assert_int_equal(bits_set(), 0);
}

/* Those that no entry has any more are cleared, unless entries may be there that were not seen. */
static void bits_of_an_earlier_daemon(void **state)
{
	const union sixlane_addr known = numbered(1), stale = numbered(2);

	(void)state;
	for (int all = 0; all <= 1; all++) {
		memset(n_excepted, 0, sizeof(n_excepted));
		maps_except(&maps, &stale);
		memset(n_excepted, 0, sizeof(n_excepted));
		maps_except(&maps, &known);
		maps_excepted_adopted(&maps, all);
		assert_int_equal(is_excepted(&known), 1);
		assert_int_equal(is_excepted(&stale), !all);
		maps_unexcept(&maps, &known);
		assert_int_equal(is_excepted(&known), !all);
	}
}

/* More of one bit than can be counted: it stays. */
static void a_bit_of_too_many_stays(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < UINT8_MAX; i++)
		maps_except(&maps, &key);
	for (uint32_t i = 0; i < UINT8_MAX; i++)
		maps_unexcept(&maps, &key);
	assert_int_equal(is_excepted(&key), 1);
}

/* An entry's bit of either kind is looked at as long as it is there. */
static void the_bits_of_few_are_looked_at_while_there_are_few(void **state)
{
	union sixlane_addr at;

	(void)state;
	for (uint32_t n = 1; n <= FEW + 1; n++) {
		at = numbered(n);
		maps_except(&maps, &at);
		assert_int_equal(meta.few_exceptions, n <= FEW);
	}
	for (uint32_t n = FEW + 1; n > 1; n--) {
		at = numbered(n);
		maps_unexcept(&maps, &at);
		assert_int_equal(meta.few_exceptions, 1);
		at = numbered(1);
		assert_int_equal(is_excepted(&at), 1);
	}
}

/* Nor are addresses alike that are numbered alike: prefix 1, host 2 is not prefix 2, host 1. */
static void checks_of_a_plan_differ(void **state)
{
	static uint32_t checks[64 * 64];
	union sixlane_addr other = key;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t j = 0; j < 64; j++) {
			other.words[1] = htobe32(i);
			other.words[3] = htobe32(j);
			checks[n] = sixlane_exception_check(&other);
			for (size_t k = 0; k < n; k++)
				assert_int_not_equal(checks[k], checks[n]);
			n++;
		}
	}
}

/* A packet that was held up since before the first went takes nothing of it for the second's. */
static void an_entry_that_comes_again_is_another(void **state)
{
	const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
						 .next_hop = 1 };
	uint32_t first;

	(void)state;
	assert_int_equal(set(&value), 0);
	first = kernel.values[0][0].flags;
	assert_int_equal(maps_write_exception_del(&maps, &key), 0);
	assert_int_equal(set(&value), 0);
	assert_int_not_equal(kernel.values[0][0].flags, first);
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
}

static void walks_see_every_entry(void **state)
{
	union sixlane_addr at = { 0 };

	for (int batches = 0; batches < 2; batches++) {
		setup(state);
		kernel.batches = batches;
		memset(seen, 0, sizeof(seen));
		for (at.words[0] = 0; at.words[0] < ROOM; at.words[0]++) {
			const struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_MTU,
								 .mtu = 1300 + at.words[0] };

			assert_int_equal(maps_write_exception(&maps, &at, &value), 0);
			for (int cpu = 0; cpu < N_CPUS; cpu++)
				kernel.values[at.words[0]][cpu].hits = at.words[0];
		}
		assert_int_equal(maps_exception_each(&maps, see, NULL), 0);
		for (size_t i = 0; i < ROOM; i++)
			assert_int_equal(seen[i], 1);
	}
}

/* --- the operator's ----------------------------------------------------------------------- */

static int see_operator(void *ctx, const union sixlane_addr *at,
			const struct sixlane_operator *value)
{
	*(uint32_t *)ctx += value->mtu;
	assert_memory_equal(at, &key, sizeof(key));
	return maps_operator_del(&maps, at);
}

static void the_operators_are_set_read_and_deleted(void **state)
{
	const struct sixlane_operator value = { .mtu = 1300, .device = "eth0" };
	struct sixlane_operator is;
	uint32_t sum = 0;

	(void)state;
	kernel.keys[0] = key;
	assert_int_equal(maps_operator(&maps, &key, &is), -ENOENT);
	assert_int_equal(maps_operator_set(&maps, &key, &value), 0);
	kernel.n = 1;
	assert_int_equal(maps_operator(&maps, &key, &is), 0);
	assert_memory_equal(&is, &value, sizeof(is));
	assert_int_equal(maps_operator_each(&maps, see_operator, &sum), 0);
	assert_int_equal(sum, 1300);
	assert_int_equal(kernel.n_operators, 0);
	kernel.fail_update = kernel.updates + 1;
	kernel.fail = E2BIG;
	assert_int_equal(maps_operator_set(&maps, &key, &value), -E2BIG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_cpu_keeps_what_it_has_counted, setup),
		cmocka_unit_test_setup(memory_is_waited_for_once, setup),
		cmocka_unit_test_setup(errors_are_told, setup),
		cmocka_unit_test_setup(memory_of_another_entry_is_told_by_its_check, setup),
		cmocka_unit_test_setup(checks_of_a_plan_differ, setup),
		cmocka_unit_test_setup(bits_come_and_go_with_entries, setup),
		cmocka_unit_test_setup(bits_of_few_stand_for_others_too, setup),
		cmocka_unit_test_setup(an_entry_that_does_not_come_leaves_no_bit, setup),
		cmocka_unit_test_setup(bits_of_an_earlier_daemon, setup),
		cmocka_unit_test_setup(a_bit_of_too_many_stays, setup),
		cmocka_unit_test_setup(the_bits_of_few_are_looked_at_while_there_are_few, setup),
		cmocka_unit_test_setup(an_entry_that_comes_again_is_another, setup),
		cmocka_unit_test_setup(walks_see_every_entry, setup),
		cmocka_unit_test_setup(the_operators_are_set_read_and_deleted, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
