// SPDX-License-Identifier: GPL-2.0-only
/* Packets while an exception changes in its map: what they may read between any two words. */
#include "../../unit.h"
#include "../maps_exception_world.h"

/* The words that a packet of the datapath acts by, in the order of their positions. */
struct acted {
	uint64_t first, second, table, expires;
};

static struct acted acted_of(const struct sixlane_exception *value)
{
	struct acted acted;

	memcpy(&acted, value, sizeof(acted));
	return acted;
}

static struct {
	struct acted moments[N_CPUS][32]; /* what one CPU's packets may read, one after another */
	size_t n[N_CPUS];
	unsigned int punted, applied;
} race;

static void note_moment(const struct sixlane_exception *value)
{
	size_t cpu = (size_t)(value - kernel.values[0]);

	assert_true(race.n[cpu] < ARRAY_SIZE(race.moments[cpu]));
	race.moments[cpu][race.n[cpu]++] = acted_of(value);
}

static bool acts_like(const struct acted *acted, const struct sixlane_exception *value)
{
	const struct acted as = acted_of(value);

	return !((acted->first ^ as.first) & ~(uint64_t)SIXLANE_EXCEPTION_VERSION) &&
	       !((acted->second ^ as.second) & UINT32_MAX) &&
	       (uint32_t)acted->table == (uint32_t)as.table && acted->expires == as.expires;
}

/* A packet that read the first word in the moment [0], and the first one again in [4]. */
static void packet_reads(const struct acted *moments, const size_t at[5],
			 const struct sixlane_exception *before,
			 const struct sixlane_exception *after)
{
	const struct acted acted = { moments[at[0]].first, moments[at[1]].second,
				     moments[at[2]].table, moments[at[3]].expires };

	if (acted.first != moments[at[4]].first || acted.first & SIXLANE_EXCEPTION_CHANGING) {
		race.punted++;
		return;
	}
	race.applied++;
	if (!acts_like(&acted, before) && !acts_like(&acted, after))
		fail_msg("a packet took half of each");
}

/* However a packet's reads fall among the moments. */
static void packets_read(const struct acted *moments, size_t n,
			 const struct sixlane_exception *before,
			 const struct sixlane_exception *after)
{
	size_t at[5] = { 0 };
	int i;

	for (;;) {
		packet_reads(moments, at, before, after);
		for (i = 4; i >= 0 && at[i] == n - 1; i--)
			;
		if (i < 0)
			return;
		at[i]++;
		for (; i < 4; i++)
			at[i + 1] = at[i];
	}
}

static void race_from(const struct sixlane_exception *before, const struct sixlane_exception *after)
{
	setup(NULL);
	assert_int_equal(set(before), 0);
	memset(&race, 0, sizeof(race));
	kernel.packet = note_moment;
	assert_int_equal(set(after), 0);
	kernel.packet = NULL;
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		packets_read(race.moments[cpu], race.n[cpu], before, after);
}

static void packets_never_take_half_of_each(void **state)
{
	const struct sixlane_exception hop = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
					       .next_hop = 7,
					       .expires_ns = 10 };
	struct sixlane_exception other = hop, both = hop, elsewhere = hop;

	(void)state;
	other.next_hop = 8;
	other.expires_ns = 20;
	both.flags |= SIXLANE_EXCEPTION_MTU;
	both.mtu = 1300;
	both.next_hop = 9;
	both.table = 55;
	elsewhere.flags = SIXLANE_EXCEPTION_MTU;
	elsewhere.mtu = 1280;
	elsewhere.next_hop = 0;
	elsewhere.table = 66;
	race_from(&hop, &other);
	assert_true(race.punted && race.applied);
	race_from(&other, &both);
	race_from(&both, &elsewhere);
	race_from(&elsewhere, &hop);
	/* Observed and back, which changes but one word at a time. */
	other = both;
	other.flags |= SIXLANE_EXCEPTION_OBSERVE;
	race_from(&both, &other);
	assert_int_equal(kernel.updates, 2);
	race_from(&other, &both);
	assert_int_equal(kernel.updates, 2);
	/* Refreshed, as most are. */
	other = both;
	other.expires_ns = 99;
	race_from(&both, &other);
	assert_int_equal(kernel.updates, 2);
	assert_int_equal(race.punted, 0);
}

/* The same first word as long ago is not taken for that of a moment ago. */
static void versions_tell_one_state_from_the_next(void **state)
{
	struct sixlane_exception value = { .flags = SIXLANE_EXCEPTION_NEXT_HOP, .next_hop = 1 };
	uint32_t first;

	(void)state;
	assert_int_equal(set(&value), 0);
	first = kernel.values[0][0].flags;
	value.next_hop = 2;
	assert_int_equal(set(&value), 0);
	assert_int_not_equal(kernel.values[0][0].flags, first);
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
	for (uint32_t i = 0; i < 0x10000; i++) {
		value.next_hop = 3 + i;
		assert_int_equal(set(&value), 0);
	}
	assert_int_equal(kernel.values[0][0].flags & ~SIXLANE_EXCEPTION_VERSION, value.flags);
}

/* Whichever step fails: what was there, or the kernel's. */
static void a_change_that_fails_half_way_punts(void **state)
{
	const struct sixlane_exception before = { .flags = SIXLANE_EXCEPTION_NEXT_HOP,
						  .next_hop = 1 };
	struct sixlane_exception after = before, is;

	after.next_hop = 2;
	for (unsigned int step = 1; step <= 3; step++) {
		setup(state);
		assert_int_equal(set(&before), 0);
		kernel.fail_update = kernel.updates + step;
		kernel.fail = ENOMEM;
		assert_int_equal(set(&after), -ENOMEM);
		assert_int_equal(maps_exception(&maps, &key, &is), 0);
		assert_int_equal(is.flags & SIXLANE_EXCEPTION_CHANGING,
				 step > 1 ? SIXLANE_EXCEPTION_CHANGING : 0);
		if (step == 1)
			assert_int_equal(is.next_hop, before.next_hop);
		assert_int_equal(set(&after), 0);
		assert_int_equal(maps_exception(&maps, &key, &is), 0);
		assert_int_equal(is.flags, after.flags);
		assert_int_equal(is.next_hop, after.next_hop);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(packets_never_take_half_of_each, setup),
		cmocka_unit_test_setup(versions_tell_one_state_from_the_next, setup),
		cmocka_unit_test_setup(a_change_that_fails_half_way_punts, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
