// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket by which the CLI wakes the daemon, in a pin directory of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../user/lib/poke.h"
#include "../../../user/loader/loader.h"
#include "../unit.h"

static char root[] = "/tmp/test_poke.XXXXXX";
static char above[sizeof(root) + 16];

static int make_root(void **state)
{
	if (!mkdtemp(root) || setenv("TC_BPF_MNT", root, 1))
		return -1;
	snprintf(above, sizeof(above), "%s/tc", root);
	return mkdir(above, 0700);
}

static int remove_root(void **state)
{
	rmdir(loader_pin_dir());
	rmdir(above);
	rmdir(root);
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, 0) == 1;
}

static void a_poke_is_heard_once(void **state)
{
	int fd;

	assert_int_equal(poke_send(), -ENOENT);
	assert_int_equal(poke_open(), -ENOENT);
	assert_int_equal(mkdir(loader_pin_dir(), 0700), 0);
	assert_int_equal(poke_send(), -ECONNREFUSED);
	fd = poke_open();
	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	assert_int_equal(poke_send(), 0);
	assert_int_equal(poke_send(), 0);
	assert_true(is_readable(fd));
	poke_drain(fd);
	assert_false(is_readable(fd));
	/* Nobody waits for a daemon that does not read. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(poke_send(), 0);
	assert_true(is_readable(fd));
	assert_int_equal(poke_open(), -EADDRINUSE);
	close(fd);
	assert_int_equal(poke_send(), -ECONNREFUSED);
	fd = poke_open();
	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	close(fd);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poke_is_heard_once),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
