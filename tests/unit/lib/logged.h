/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test logs, in place of standard error. Include it after unit.h. */
#ifndef TESTS_UNIT_LIB_LOGGED_H
#define TESTS_UNIT_LIB_LOGGED_H

#include "../../../user/lib/log.h"

static int real_stderr, pipe_fds[2];

static int logged_setup(void **state)
{
	real_stderr = dup(STDERR_FILENO);
	if (real_stderr < 0 || pipe(pipe_fds) < 0 || dup2(pipe_fds[1], STDERR_FILENO) < 0)
		return -1;
	log_init("prog", LOG_INFO);
	return 0;
}

static int logged_teardown(void **state)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* All that was logged since the last call. A byte behind it, so that read() never waits. */
static const char *logged(void)
{
	static char text[65536];
	ssize_t n;

	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	n = read(pipe_fds[0], text, sizeof(text));
	assert_true(n > 0);
	assert_int_equal(text[n - 1], '\0');
	return text;
}

#endif
