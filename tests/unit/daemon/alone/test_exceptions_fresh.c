// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long sl_fresh punts the destination of an ICMPv6 event: until it was read after the kernel
 * had acted, or until everything was.
 */
#include "exceptions_world.h"

static void set_fresh(void)
{
	uint8_t *bytes = (uint8_t *)fresh;

	for (uint32_t i = 0; i < SIXLANE_FRESH_NUMBERS; i++)
		bytes[sixlane_fresh_byte(sixlane_exception_sum(&dst_), i) + meta.fresh] = 1;
	((uint32_t *)&fresh[SIXLANE_FRESH_COUNTS])[meta.fresh] = 1;
	maps_check_punted(&maps);
}

static void test_fresh_until_it_is_read(void **state)
{
	kernel[0].mtu = 1300;
	set_fresh();
	receive_event();
	dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
	exceptions_run(&sync_);
	assert_true(sync_.exceptions->fresh.draining);
	/* another event: its bytes are in the other half, and it is read again */
	dest_now()->event_ns = util_now_ns();
	run_queue(false);
	assert_int_equal(sync_.exceptions->n_queued, 1);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	assert_true(maps_fresh_has(&maps, &dst_)); /* other events may have come */
	sync_.icmp_events.until_ns = UINT64_MAX;
	dest_now()->due_ns = UINT64_MAX;
	note_all();
	check_store(dest_now()->since_ns + 1); /* it may have been before the kernel acted */
	assert_true(maps_fresh_has(&maps, &dst_));
	exceptions_note_event(sync_.exceptions, dest_now()); /* a change, which sets no byte */
	dest_now()->due_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	run_queue(false); /* the event of the second reading came later */
	assert_int_equal(sync_.exceptions->n_queued, 1);
	assert_false(maps_fresh_has(&maps, &dst_));
	assert_false(maps_checks_punted(&maps));
}

/* The halves turn after the program has set the bytes, and before the event is read. */
static void test_fresh_before_it_is_heard(void **state)
{
	kernel[0].mtu = 1300;
	for (int i = 0; i < 2; i++) {
		sync_.exceptions->fresh.next_turn_ns = 0;
		set_fresh();
		exceptions_run(&sync_);
		assert_true(sync_.exceptions->fresh.draining);
		receive_event();
		dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
		exceptions_run(&sync_);
		assert_true(maps_fresh_has(&maps, &dst_));
		run_queue(true);
		assert_int_equal(state_now(), EXCEPTION_EXACT);
		assert_false(maps_fresh_has(&maps, &dst_));
	}
}

/* Two events before the halves turn: the first reading may be too early for the second one. */
static void test_fresh_heard_twice(void **state)
{
	kernel[0].mtu = 1300;
	set_fresh();
	receive_event();
	receive_event();
	dest_now()->due_ns = UINT64_MAX; /* however slow all this is */
	sync_.icmp_events.until_ns = UINT64_MAX;
	exceptions_run(&sync_);
	run_queue(false);
	assert_int_equal(state_now(), EXCEPTION_EXACT);
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	run_queue(true);
	assert_false(maps_fresh_has(&maps, &dst_));
}

static void test_fresh_until_a_pass(void **state)
{
	sync_.icmp_events.until_ns = UINT64_MAX;
	lost = 1;
	set_fresh();
	exceptions_run(&sync_);
	read_since_ns = sync_.exceptions->fresh.turned_ns + 1; /* may be too early */
	exceptions_run(&sync_);
	assert_true(maps_fresh_has(&maps, &dst_));
	read_since_ns = UINT64_MAX;
	exceptions_run(&sync_);
	assert_false(maps_fresh_has(&maps, &dst_));
	assert_false(maps_checks_punted(&maps));
}

/* An earlier daemon may have ended before it cleared a half. That needs a pass, before the next
 * turn. */
static void test_fresh_of_an_earlier_daemon(void **state)
{
	set_fresh();
	meta.fresh = 1;
	exceptions_start(&sync_);
	exceptions_check(&sync_);
	set_fresh();
	exceptions_run(&sync_);
	assert_int_equal(meta.fresh, 1);
	assert_true(exceptions_need_pass(&sync_));
	read_since_ns = UINT64_MAX;
	exceptions_fresh_run(&sync_, 0);
	assert_int_equal(maps_fresh_count(&maps, 0), 0);
	assert_int_equal(maps_fresh_count(&maps, 1), 1);
	assert_true(maps_fresh_has(&maps, &dst_) && maps_checks_punted(&maps));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fresh_until_it_is_read, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_before_it_is_heard, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_heard_twice, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_until_a_pass, start, stop),
		cmocka_unit_test_setup_teardown(test_fresh_of_an_earlier_daemon, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
