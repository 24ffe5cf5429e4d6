// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unread input makes packets pass; input that is read in time does not.
 */

#include "../unit.h"

#include <poll.h>

#include "../../../user/daemon/watchdog.h"
#include "../../../user/lib/util.h"

#define BIT 4u
#define OTHERS 3u
#define DEADLINE_NS 5000000000u

static uint32_t word;

static uint32_t load(void)
{
	return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}

struct watched {
	int fds[2];
	struct watchdog *watchdog;
};

static void open_watched(struct watched *watched)
{
	int fds[] = { -1, -1 };

	word = OTHERS | BIT;
	assert_int_equal(pipe(watched->fds), 0);
	fds[1] = watched->fds[0];
	assert_int_equal(watchdog_new(fds, ARRAY_SIZE(fds), &word, BIT, &watched->watchdog), 0);
}

static void close_watched(struct watched *watched)
{
	watchdog_free(watched->watchdog);
	close(watched->fds[0]);
	close(watched->fds[1]);
}

static void put(const struct watched *watched)
{
	assert_int_equal(write(watched->fds[1], "x", 1), 1);
}

static void get(const struct watched *watched)
{
	char byte;

	assert_int_equal(read(watched->fds[0], &byte, 1), 1);
}

static void wait_for(uint32_t wanted)
{
	uint64_t deadline_ns = util_now_ns() + DEADLINE_NS;

	while (load() != wanted && util_now_ns() < deadline_ns)
		poll(NULL, 0, 1);
	assert_int_equal(load(), wanted);
}

static void fires_on_unread_input(void **state)
{
	struct watched watched;

	open_watched(&watched);
	assert_false(watchdog_has_fired(watched.watchdog));
	for (int i = 0; i < 3; i++) {
		put(&watched);
		wait_for(OTHERS);
		assert_true(watchdog_has_fired(watched.watchdog));
		get(&watched);
		assert_true(watchdog_reset(watched.watchdog));
		assert_false(watchdog_has_fired(watched.watchdog));
		assert_false(watchdog_reset(watched.watchdog));
		__atomic_fetch_or(&word, BIT, __ATOMIC_SEQ_CST);
	}
	close_watched(&watched);
}

/* It is freed after it has fired. */
static void does_not_fire_on_read_input(void **state)
{
	struct watched watched;

	open_watched(&watched);
	put(&watched);
	get(&watched);
	assert_false(watchdog_reset(watched.watchdog));
	/* by then it has noticed the input, and that it was read */
	poll(NULL, 0, 2 * WATCHDOG_WAIT_MS);
	assert_int_equal(load(), OTHERS | BIT);
	put(&watched);
	wait_for(OTHERS);
	close_watched(&watched);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires_on_unread_input),
		cmocka_unit_test(does_not_fire_on_read_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
