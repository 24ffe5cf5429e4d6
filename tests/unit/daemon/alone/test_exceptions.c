// SPDX-License-Identifier: GPL-2.0-only
/* Which destinations with exceptions are exact, punt or neither, and in which order maps change. */
#include "exceptions_world.h"

#define OBJECT 7

static void run_pass(void)
{
	const uint64_t since_ns = util_now_ns();

	note_all();
	check_store(since_ns);
}

/* --- states by what the kernel has ------------------------------------------------------------ */

struct step {
	const char *what;
	struct found kernel[MAX_FOUND];
	enum exception_state state;
};

static const struct step steps[] = {
	{ "one", { { .mtu = 1300 } }, .state = EXCEPTION_EXACT },
	{ "smaller", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "two", { { .mtu = 1280 }, { .mtu = 1290, .route = SHORTER } }, .state = EXCEPTION_PUNT },
	{ "the other one", { { .mtu = 1290, .route = SHORTER } }, .state = EXCEPTION_PUNT },
	{ "the first one", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "at another hop", { { .mtu = 1280, .hop = 4 } }, .state = EXCEPTION_PUNT },
	{ "a redirect", { { .redirect = true } }, .state = EXCEPTION_EXACT },
	{ "at one of several hops", { { .mtu = 1280, .siblings = 1 } }, .state = EXCEPTION_PUNT },
	{ "alone again", { { .mtu = 1280 } }, .state = EXCEPTION_EXACT },
	{ "by source", { { .mtu = 1280, .src_len = 8 } }, .state = EXCEPTION_PUNT },
	{ "an MTU that no link may have", { { .mtu = 1000 } }, .state = EXCEPTION_PUNT },
	{ "gone", { { .mtu = 0 } }, .state = EXCEPTION_NONE },
	{ "two at once",
	  { { .mtu = 1280 }, { .mtu = 1290, .route = SHORTER } },
	  .state = EXCEPTION_PUNT },
};

/* With the setting `always`. */
static const struct step always[] = {
	{ "at one of several hops", { { .mtu = 1400, .siblings = 1 } }, .state = EXCEPTION_EXACT },
	{ "at another one, too",
	  { { .mtu = 1400, .siblings = 1 }, { .mtu = 1300, .hop = 4, .siblings = 1 } },
	  .state = EXCEPTION_PUNT },
	{ "a redirect", { { .redirect = true, .siblings = 1 } }, .state = EXCEPTION_PUNT },
};

static void read_alone(void)
{
	receive_event();
	run_queue(true);
}

static void pass_alone(void)
{
	run_pass();
	run_queue(true);
}

static void run_steps(const struct step *all, size_t n, void (*find)(void))
{
	start(NULL);
	config.exceptions = all == always ? CONFIG_EXCEPTIONS_ALWAYS : CONFIG_EXCEPTIONS_KERNEL;
	run_pass(); /* the first pass */
	for (size_t i = 0; i < n; i++) {
		const struct found *found = all[i].kernel;
		unsigned long writes = sim->exception_writes;

		print_message("%s\n", all[i].what);
		memcpy(kernel, found, sizeof(kernel));
		find();
		assert_int_equal(state_now(), all[i].state);
		if (all[i].state == EXCEPTION_EXACT) /* the smallest one */
			assert_int_equal(sim_exception(sim, &dst_)->mtu,
					 (found[1].mtu ?: found[0].mtu));
		else /* one deletion at most, and nothing in between */
			assert_true(sim->exception_writes <= writes + 1);
		writes = sim->exception_writes;
		run_pass(); /* finds the same: nothing is written */
		assert_int_equal(state_now(), all[i].state);
		assert_int_equal(sim->exception_writes, writes);
		assert_false(maps_checks_punted(&maps));
	}
	stop(NULL);
}

static void test_steps(void **state)
{
	run_steps(steps, ARRAY_SIZE(steps), read_alone);
	run_steps(steps, ARRAY_SIZE(steps), pass_alone);
	run_steps(always, ARRAY_SIZE(always), read_alone);
	run_steps(always, ARRAY_SIZE(always), pass_alone);
}

/* One of the two walks of a reading may miss an exception of an object. */
static void test_at_an_object(void **state)
{
	const struct next_hop object = { .id = OBJECT };

	nexthops_set(sync_.stores.nexthops, &object);
	kernel[0] = (struct found){ .mtu = 1280, .object = OBJECT };
	for (uint32_t mtu = 0; mtu <= 1400; mtu += 1400) { /* alone, and beside another one */
		kernel[1].mtu = mtu;
		walk_misses = true;
		read_alone();
		assert_int_equal(state_now(), EXCEPTION_PUNT);
		assert_true(maps_checks_punted(&maps));
	}
	kernel[0].mtu = 0;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	kernel[1].mtu = 0;
	pass_alone();
	assert_int_equal(state_now(), EXCEPTION_NONE);
	assert_false(maps_checks_punted(&maps));
}

/* The exception may go with a neighbour that fails, or is unresolved and may fail. */
static void test_its_neighbour_fails(void **state)
{
	const union sixlane_addr other = world_prefix("2001:db8::2").addr;

	kernel[0].mtu = 1300;
	read_alone();
	exceptions_neigh_changed(&sync_, 3, &other);
	exceptions_neigh_changed(&sync_, 5, &dst_);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	exceptions_neigh_changed(&sync_, 3, &dst_);
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	resolve(false);
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	resolve(true);
	run_pass();
	run_queue(true);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
}

/* Nothing is read for ns. */
static void age(uint64_t ns)
{
	dest_now()->found.seen_ns -= ns;
	dest_now()->since_ns -= ns;
	check_store(0);
}

/* A redirect never expires, but its entry does: only readings renew it. */
static void test_lease(void **state)
{
	const uint64_t half_ns = EXCEPTIONS_LEASE_NS / 2;
	struct fib_exception entry;

	kernel[0].redirect = true;
	pass_alone();
	entry = *fib_exception(sync_.fib, &dst_);
	entry.expires_ns = util_now_ns() + SECOND_NS;
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &entry), 0);
	age(half_ns + SECOND_NS);
	assert_in_range(sim_exception(sim, &dst_)->expires_ns, entry.expires_ns + SECOND_NS,
			util_now_ns() + half_ns);
	run_queue(true);
	assert_true(sim_exception(sim, &dst_)->expires_ns > util_now_ns() + half_ns);
	age(EXCEPTIONS_LEASE_NS);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &entry), 0);
	check_store(0);
	assert_int_equal(state_now(), EXCEPTION_PUNT);
}

/* --- failures --------------------------------------------------------------------------------- */

/* Punt until the first pass is complete, and while it cannot be read. */
static void test_not_known(void **state)
{
	kernel[0].mtu = 1300;
	sync_.exceptions->start_ns = util_now_ns();
	check_store(sync_.exceptions->start_ns);
	assert_true(exceptions_need_pass(&sync_));
	note_all();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	run_pass();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_false(exceptions_need_pass(&sync_));
	kernel[0].mtu = 0;
	sync_.schedule.backlog = true; /* the RIB may be outdated, too */
	read_alone();
	assert_int_equal(sync_.exceptions->n_queued, 1);
	sync_.schedule.backlog = false;
	read_error = -EIO;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	assert_true(exceptions_need_pass(&sync_));
	run_pass();
	assert_null(dest_now());
	check_store(util_now_ns() + SECOND_NS);
	assert_false(exceptions_need_pass(&sync_));
	read_error = 0;
	cut = true;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_PUNT);
	run_pass();
	assert_null(dest_now());
	assert_false(maps_punted_has(maps.punted, &dst_));
}

static void assert_overflow(uint64_t n)
{
	exceptions_write_meta(&sync_, &meta);
	assert_int_equal(meta.exceptions_overflow, n);
}

/* A destination without room in the store is punt until a pass does not find it. */
static void test_overflow(void **state)
{
	struct radix *store = &sync_.exceptions->store;

	kernel[0].mtu = 1300;
	store->entries += SIXLANE_MAX_EXCEPTIONS;
	run_pass();
	store->entries -= SIXLANE_MAX_EXCEPTIONS;
	assert_null(dest_now());
	assert_true(maps_punted_has(maps.punted, &dst_) && maps_checks_punted(&maps));
	assert_overflow(1);
	kernel[0].mtu = 0;
	run_pass(); /* it may have been before the kernel acted */
	assert_true(maps_punted_has(maps.punted, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_false(maps_punted_has(maps.punted, &dst_) || maps_checks_punted(&maps));
	assert_overflow(0);
}

/* A destination over max_exceptions is punt until another one goes. */
static void test_bound(void **state)
{
	kernel[0].mtu = 1300;
	sync_.exceptions->n[EXCEPTION_EXACT] = config.max_exceptions;
	pass_alone();
	assert_int_equal(state_now(), EXCEPTION_NO_ROOM);
	assert_overflow(1);
	sync_.exceptions->n[EXCEPTION_EXACT]--;
	run_pass();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_overflow(0);
}

/* What the kernel has, or may have, overrides the operator's exception. */
static void test_before_the_operators(void **state)
{
	struct fib_exception oper = { FIB_OPERATOR, .table = RT_TABLE_MAIN, .mtu = 1400 };

	/* bits of an earlier daemon count until everything was read */
	maps_punted_add(maps.punted, &dst_);
	assert_false(exceptions_override(&sync_, &dst_)); /* not started: these bits are its own */
	exceptions_start(&sync_);
	exceptions_check(&sync_);
	assert_true(exceptions_override(&sync_, &dst_));
	restored = 0;
	run_pass();
	assert_false(exceptions_override(&sync_, &dst_));
	assert_int_equal(restored, 1);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	sync_.exceptions->dirty = true;
	run_pass();
	assert_true(maps_punted_has(maps.punted, &dst_));
	/* an exception of the kernel takes its place, ... */
	kernel[0].mtu = 1300;
	read_alone();
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_int_equal(sim_exception(sim, &dst_)->mtu, 1300);
	assert_true(exceptions_override(&sync_, &dst_));
	/* ... goes, ... */
	kernel[0].mtu = 0;
	restored = 0;
	run_pass();
	assert_int_equal(restored, 1);
	assert_false(exceptions_override(&sync_, &dst_));
	/* ... has no room, ... */
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	exceptions_punt_untracked(&sync_, &dst_);
	assert_null(sim_exception(sim, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_true(exceptions_override(&sync_, &dst_));
	check_store(util_now_ns() + SECOND_NS);
	assert_false(exceptions_override(&sync_, &dst_));
	assert_int_equal(restored, 2);
	/* ... or is only observed */
	config.exceptions = CONFIG_EXCEPTIONS_OBSERVE;
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	kernel[0].mtu = 1300;
	pass_alone();
	assert_int_equal(sim_exception(sim, &dst_)->mtu, 1400);
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, NULL), 0);
	pass_alone();
	assert_true(sim_exception(sim, &dst_)->flags & SIXLANE_EXCEPTION_OBSERVE);
	/* ... also after the operator's in its place is gone */
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, &oper), 0);
	pass_alone();
	assert_int_equal(fib_set_exception(sync_.fib, &dst_, NULL), 0);
	pass_alone();
	assert_true(sim_exception(sim, &dst_)->flags & SIXLANE_EXCEPTION_OBSERVE);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test_setup_teardown(test_at_an_object, start, stop),
		cmocka_unit_test_setup_teardown(test_its_neighbour_fails, start, stop),
		cmocka_unit_test_setup_teardown(test_lease, start, stop),
		cmocka_unit_test_setup_teardown(test_not_known, start, stop),
		cmocka_unit_test_setup_teardown(test_before_the_operators, start, stop),
		cmocka_unit_test_setup_teardown(test_bound, start, stop),
		cmocka_unit_test_setup_teardown(test_overflow, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
