// SPDX-License-Identifier: GPL-2.0-only
/* Unknown attributes of netlink messages are logged, each once. */
#include "../unit.h"

#include <string.h>

#include "../../../user/daemon/apply.h"
#include "../../../user/daemon/audit.h"
#include "../../../user/daemon/daemon.h"
#include "../../../user/lib/log.h"
#include "../netlink/netlink_build.h"

static int real_stderr, pipe_fds[2];

static int setup(void **state)
{
	log_init("prog", LOG_INFO);
	real_stderr = dup(STDERR_FILENO);
	return real_stderr < 0 || pipe(pipe_fds) || dup2(pipe_fds[1], STDERR_FILENO) < 0 ? -1 : 0;
}

static int teardown(void **state)
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
	static char text[4096];
	ssize_t n;

	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	n = read(pipe_fds[0], text, sizeof(text));
	assert_true(n > 0 && !text[n - 1]);
	return text;
}

/* Applies a message with an unknown attribute, as one of the first dump. */
static void apply(struct sync *sync, struct nlmsghdr *nlh, uint16_t unknown_type)
{
	mnl_attr_put_u32(nlh, unknown_type, 1);
	sockets_apply(nlh, sync);
}

/* For each kind of object and each attribute, however often the kernel sends it. */
static void unknown_attributes_are_logged_once(void **state)
{
	static const struct sockets_handler handlers[SOCKETS_N_TYPES] = {
		[RTM_NEWROUTE] = { apply_route, "route" },
		[RTM_NEWRULE] = { apply_rule, "rule" },
	};
	struct audit audit = { 0 };
	struct sync sync = {
		.sockets.handlers = handlers,
		.stores.rib = rib_new(NULL, NULL),
		.audit = &audit,
		.schedule = { .dumping = true, .quiet = true },
	};
	const struct prefix all = { .len = 0 };

	for (int i = 0; i < 3; i++)
		apply(&sync, build_route(), 77);
	assert_string_equal(
		logged(),
		"prog: warning: a route has an unsupported attribute (number 77, or one nested in it): packets that depend on it pass to the kernel\n");
	assert_true(rib_find(sync.stores.rib, RT_TABLE_UNSPEC, &all)->routes->unknown);
	for (int i = 0; i < 3; i++)
		apply(&sync, build_rule(), 77);
	assert_non_null(strstr(logged(), "a rule has an unsupported attribute (number 77"));
	assert_int_equal(sync.stores.rules.n, 3);
	apply(&sync, build_rule(), 40);
	assert_non_null(strstr(logged(), "a rule has an unsupported attribute (number 40"));
	apply(&sync, build_rule(), 40);
	assert_string_equal(logged(), "");
	assert_int_equal(sync.statistics.malformed, 0);
	rules_clear(&sync.stores.rules);
	rib_free(sync.stores.rib);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(unknown_attributes_are_logged_once, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
