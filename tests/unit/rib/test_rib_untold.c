// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dumps leave out beside a multipath set, and when the RIB is sure that there is nothing.
 */
#include "../unit.h"
#include "rib_steps.h"

/* What fib6 has at the levels that the RIB asks about, and about how many it did. */
struct fib6 {
	const struct steps_world *world;
	const struct level_entry *entries;
	size_t n, asked;
};

static bool fib6_has(const struct route *level, const struct level_sum *known, void *ctx)
{
	struct level_sum sum = { 0 };
	struct fib6 *fib6 = ctx;

	fib6->asked++;
	assert_int_equal(level->table, RT_TABLE_MAIN);
	assert_int_equal(level->metric, 50);
	assert_int_equal(level->src.len, 0);
	assert_true(prefix_equal(&level->dst, &fib6->world->dst));
	for (size_t i = 0; i < fib6->n; i++)
		level_add(&sum, &fib6->entries[fib6->n - 1 - i]);
	return sum.n == known->n && sum.sum == known->sum;
}

/* Returns how many levels were asked about. */
static size_t settle(struct steps_world *world, const struct level_entry *entries, size_t n)
{
	struct fib6 fib6 = { .world = world, .entries = entries, .n = n };

	rib_compare(world->rib, fib6_has, &fib6);
	rib_settle(world->rib);
	return fib6.asked;
}

static struct level_entry hop_entry(uint8_t gateway, uint32_t ifindex)
{
	union sixlane_addr addr = { .bytes = { 0xfd, [15] = gateway } };
	struct level_entry entry = { .ifindex = ifindex, .type = RTN_UNICAST, .preference = 2 };

	if (gateway)
		memcpy(entry.gateway, &addr, sizeof(addr));
	return entry;
}

static void dump(struct steps_world *world, const struct step *steps, size_t n)
{
	rib_mark(world->rib);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(steps_apply(world, &steps[i]), 0);
	rib_sweep(world->rib);
}

#define A_AND_B .n_hops = 2, .hops = { VIA(0xa, 1), VIA(0xb, 2) }

/* fib6 dumps [via a dev 1, dev 2, via b dev 2] as the set alone. */
static void test_untold(void **state)
{
	const struct level_entry in_fib6[] = { hop_entry(0xa, 1), hop_entry(0xb, 2),
					       hop_entry(0, 2) };
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step device = steps_device(MORE, 2, 0), gone = steps_device(DEL, 2, 0);
	struct steps_world world;

	(void)state;
	steps_open(&world);
	assert_int_equal(steps_apply(&world, &device), 0);
	dump(&world, &set, 1);
	steps_state(&world, "known only before", "50 untold; 50 a1 b2");
	world.changes = 0;
	assert_int_equal(settle(&world, in_fib6, 3), 1);
	steps_state(&world, "one more", "50 untold; 50 a1 b2");
	assert_int_equal(rib_untold(world.rib), 1);
	assert_int_equal(world.changes, 0);
	assert_int_equal(steps_apply(&world, &gone), -EINPROGRESS);
	assert_int_equal(settle(&world, in_fib6, 2), 1);
	steps_state(&world, "none more", "50 a1 b2");
	assert_int_equal(rib_untold(world.rib), 0);
	assert_int_equal(world.changes, 1);
	assert_int_equal(settle(&world, in_fib6, 3), 0);
	rib_free(world.rib);
}

static struct level_entry unlike(struct level_entry entry, uint32_t mtu, uint8_t type,
				 uint8_t preference, uint8_t expires)
{
	entry.mtu = mtu;
	entry.type = type;
	entry.preference = preference;
	entry.expires = expires;
	return entry;
}

static struct level_entry locked(struct level_entry entry)
{
	entry.mtu_locked = 1;
	return entry;
}

/* Each thing that may be otherwise in fib6. */
static void test_what_settles(void **state)
{
	const struct level_entry a = hop_entry(0xa, 1), b = hop_entry(0xb, 2);
	const struct level_entry object = { .next_hop_id = 10, .preference = 2 };
	const struct {
		struct level_entry entries[4];
		size_t n;
		bool settles;
	} cases[] = {
		{ { a, b, object }, 3, true },
		{ { b, object, a }, 3, true },
		{ { a, b }, 2, false },
		{ { a, a, object }, 3, false },
		{ { a, object }, 2, false },
		{ { a }, 0, false },
		{ { a, b, object, hop_entry(0, 3) }, 4, false },
		{ { a, hop_entry(0xb, 1), object }, 3, false },
		{ { a, hop_entry(0xc, 2), object }, 3, false },
		{ { a, unlike(b, 1300, RTN_UNICAST, 2, 0), object }, 3, false },
		{ { a, locked(b), object }, 3, false },
		{ { a, unlike(b, 0, RTN_LOCAL, 2, 0), object }, 3, false },
		{ { a, unlike(b, 0, RTN_UNICAST, 3, 0), object }, 3, false },
		{ { a, unlike(b, 0, RTN_UNICAST, 2, 1), object }, 3, false },
		{ { a, b, { .next_hop_id = 11, .preference = 2 } }, 3, false },
	};
	/* In compatibility mode an object's hops are told, too. */
	const struct step steps[] = {
		{ .flags = DUMP, A_AND_B },
		{ .flags = DUMP, .nhid = 10, .n_hops = 1, .hops = { VIA(0xe, 1) } },
		{ .flags = DUMP, .metric = 60, .n_hops = 1, .hops = { DEV(7) } },
	};
	struct steps_world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		steps_open(&world);
		dump(&world, steps, ARRAY_SIZE(steps));
		assert_int_equal(settle(&world, cases[i].entries, cases[i].n), 1);
		steps_state(&world, "asked",
			    cases[i].settles ? "50 a1 b2; 50 #10 e1; 60 -7"
					     : "50 untold; 50 a1 b2; 50 #10 e1; 60 -7");
		rib_free(world.rib);
	}
}

/* Equal may be what was there before a message that is under way: a replacement of what is hidden.
 */
static void test_messages_under_way(void **state)
{
	const struct level_entry in_fib6[] = { hop_entry(0xa, 1), hop_entry(0xb, 2) };
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step replaced = steps_device(REPLACE, 3, 0), gone = steps_device(DEL, 3, 0);
	struct steps_world world;
	struct fib6 fib6 = { .world = &world, .entries = in_fib6, .n = 2 };

	(void)state;
	steps_open(&world);
	dump(&world, &set, 1);
	rib_compare(world.rib, fib6_has, &fib6);
	assert_int_equal(steps_apply(&world, &replaced), -EINPROGRESS);
	assert_int_equal(steps_apply(&world, &gone), -EINPROGRESS);
	rib_settle(world.rib);
	steps_state(&world, "the set is not taken for the one replaced", "50 untold; 50 a1 b2");
	settle(&world, in_fib6, 2);
	steps_state(&world, "nothing under way", "50 a1 b2");
	rib_free(world.rib);
}

/* A second dump tells the set again: what is beside it may still be. */
static void test_untold_after_two_dumps(void **state)
{
	const struct step set = { .flags = DUMP, A_AND_B };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	for (int i = 0; i < 2; i++) {
		dump(&world, &set, 1);
		steps_state(&world, "dumped", "50 untold; 50 a1 b2");
	}
	rib_free(world.rib);
}

/* While messages were lost the first went and came again: a dump tells the order of now. */
static void test_order_of_a_dump(void **state)
{
	const struct step one = steps_device(DUMP, 1, 0), two = steps_device(DUMP, 2, 0);
	const struct step before[] = { one, two }, after[] = { two, one };
	const struct step set = { .flags = DUMP, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	const struct step set_first[] = { set, one }, set_last[] = { one, set };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	dump(&world, before, 2);
	steps_state(&world, "before", "50 -1; 50 -2");
	dump(&world, after, 2);
	steps_state(&world, "after", "50 -2; 50 -1");
	dump(&world, set_first, 2);
	steps_state(&world, "a set first", "50 a1; 50 -1");
	dump(&world, set_last, 2);
	steps_state(&world, "a set last", "50 -1; 50 a1");
	dump(&world, before, 2);
	rib_mark(world.rib);
	assert_int_equal(steps_apply(&world, &one), 0);
	steps_state(&world, "a dump that ends early", "50 -1; 50 -2");
	rib_free(world.rib);
}

/* Each change of the routes beside which something is untold, and what becomes of that. */
static void test_changes_beside_untold(void **state)
{
	static const struct {
		struct step step;
		const char *then;
		int ret;
	} changes[] = {
		{ { .flags = APPEND,
		    .n_hops = 3,
		    .hops = { VIA(0xc, 3), VIA(0xa, 1), VIA(0xb, 2) } },
		  "50 untold; 50 a1 b2 c3",
		  -EINPROGRESS },
		{ { .flags = REPLACE, .n_hops = 2, .hops = { VIA(0xc, 3), VIA(0xd, 3) } },
		  "50 untold; 50 c3 d3",
		  -EINPROGRESS },
		{ { .flags = DEL, A_AND_B }, "50 untold", -EINPROGRESS },
		{ { .flags = DEL, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2",
		  -EINPROGRESS },
		{ { .flags = MORE, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 50 -7",
		  -EINPROGRESS },
		/* of which it is not known whether it replaced the one beside */
		{ { .flags = REPLACE, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 50 -7",
		  -EINPROGRESS },
		{ { .flags = MORE, .metric = 60, .n_hops = 1, .hops = { DEV(7) } },
		  "50 untold; 50 a1 b2; 60 -7",
		  0 },
	};
	const struct step set = { .flags = DUMP, A_AND_B };
	struct steps_world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		steps_open(&world);
		dump(&world, &set, 1);
		assert_int_equal(steps_apply(&world, &changes[i].step), changes[i].ret);
		steps_state(&world, "a change", changes[i].then);
		dump(&world, NULL, 0);
		steps_state(&world, "swept", "");
		assert_int_equal(rib_untold(world.rib), 0);
		rib_free(world.rib);
	}
}

/* What is left when a set goes may be nothing, or what stood beside it. */
static void test_untold_alone(void **state)
{
	const struct level_entry other = hop_entry(0, 3);
	const struct step set = { .flags = DUMP, A_AND_B }, gone = { .flags = DEL, A_AND_B };
	struct steps_world world;

	(void)state;
	for (size_t left = 0; left < 2; left++) {
		steps_open(&world);
		dump(&world, &set, 1);
		assert_int_equal(steps_apply(&world, &gone), -EINPROGRESS);
		assert_int_equal(settle(&world, &other, left), 1);
		steps_state(&world, "the set is gone", left ? "50 untold" : "");
		rib_free(world.rib);
	}
}

/* One hop is left, whose own attributes nobody told: it is not known, though it looks alike. */
static void test_truncated_does_not_settle(void **state)
{
	const struct level_entry b = hop_entry(0xb, 2);
	const struct step set = { .flags = DUMP, A_AND_B };
	const struct step gone = { .flags = DEL, .n_hops = 1, .hops = { VIA(0xa, 1) } };
	struct steps_world world;

	(void)state;
	steps_open(&world);
	dump(&world, &set, 1);
	assert_int_equal(steps_apply(&world, &gone), -EINPROGRESS);
	settle(&world, &b, 1);
	steps_state(&world, "asked", "50 untold; 50 b2 truncated");
	rib_free(world.rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_untold),
		cmocka_unit_test(test_what_settles),
		cmocka_unit_test(test_messages_under_way),
		cmocka_unit_test(test_untold_after_two_dumps),
		cmocka_unit_test(test_order_of_a_dump),
		cmocka_unit_test(test_changes_beside_untold),
		cmocka_unit_test(test_untold_alone),
		cmocka_unit_test(test_truncated_does_not_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
