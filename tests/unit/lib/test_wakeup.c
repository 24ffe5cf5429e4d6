// SPDX-License-Identifier: GPL-2.0-only
/* The socket by which the CLI wakes the daemon, of a directory of its own. */

#include "../unit.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../user/lib/wakeup.h"

static char dir[] = "/tmp/test_wakeup.XXXXXX";

static int remove_dir(void **state)
{
	rmdir(dir);
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, 0) == 1;
}

static void sent_and_drained(void **state)
{
	int fd;

	assert_int_equal(wakeup_send(dir), -ENOENT);
	assert_int_equal(wakeup_open(dir), -ENOENT);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(wakeup_send(dir), -ECONNREFUSED);
	fd = wakeup_open(dir);
	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	assert_int_equal(wakeup_send(dir), 0);
	assert_int_equal(wakeup_send(dir), 0);
	assert_true(is_readable(fd));
	wakeup_drain(fd);
	assert_false(is_readable(fd));
	/* The sender never waits for a daemon that does not read. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(wakeup_send(dir), 0);
	assert_true(is_readable(fd));
	assert_int_equal(wakeup_open(dir), -EADDRINUSE);
	close(fd);
	assert_int_equal(wakeup_send(dir), -ECONNREFUSED);
	fd = wakeup_open(dir);
	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	close(fd);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sent_and_drained),
	};

	return cmocka_run_group_tests(tests, NULL, remove_dir);
}
