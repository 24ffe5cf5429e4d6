// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel answers, and what it drops. Sockets, and the folder of modules in sysfs, are
 * replaced.
 */
#include "../../unit.h"

#include <errno.h>

#include "../../../../user/guard/nf_hooks.h"
#include "../../../../user/guard/notifications.h"

static bool loaded;
static int requests;

int access(const char *path, int mode)
{
	assert_string_equal(path, "/sys/module/nfnetlink_hook");
	return loaded ? 0 : -1;
}

static int error; /* of nl_socket_new() */

int nl_socket_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out)
{
	static int any;

	if (!error)
		*out = (void *)&any;
	return error;
}

void nl_socket_freep(struct nl_socket **socket)
{
}

int nl_socket_dump(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		   void (*idle)(void *idle_ctx), void *idle_ctx, int timeout_ms, bool *filtered)
{
	requests++;
	return loaded ? 0 : -EINVAL;
}

/* Results of nl_socket_read(), of which 0 ends them; each reads one message. */
static const int *results;

int nl_socket_read(struct nl_socket *socket, nl_msg_fn fn, void *ctx)
{
	assert_int_equal(fn(NULL, ctx), 0);
	return *results++;
}

int nl_socket_join(struct nl_socket *socket, unsigned int group)
{
	return group == 7 ? 0 : -EINVAL;
}

static bool is_change(const struct nlmsghdr *nlh, const void *ctx)
{
	return --*(int *)ctx == 0;
}

static void test_notifications(void **state)
{
	static const struct {
		int results[3], change; /* the number of the message that is one */
		bool expected;
	} rows[] = {
		{ { 1 }, 0, false },
		{ { 1 }, 1, true },
		{ { NL_SOCKET_READ_MAX, 1 }, 2, true },
		{ { NL_SOCKET_READ_MAX, 1 }, 1, true },
		{ { NL_SOCKET_READ_MAX, NL_SOCKET_READ_MAX, 1 }, 4, false },
		{ { -ENOBUFS }, 0, true },
		{ { NL_SOCKET_READ_MAX, -EBADMSG }, 0, true },
	};
	struct notifications what = { .groups = { 7 }, .is_change = is_change };
	struct nl_socket *socket = (void *)&what;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int change = rows[i].change;

		results = rows[i].results;
		assert_int_equal(notifications_read(&what, socket, &change), rows[i].expected);
	}
	assert_false(notifications_read(&what, NULL, NULL));
	assert_int_equal(notifications_open(&what, 0, &socket), 0);
	what.groups[1] = 8;
	assert_int_equal(notifications_open(&what, 0, &socket), -EINVAL);
	error = -EPROTONOSUPPORT;
	assert_int_equal(notifications_open(&what, 0, &socket), 0);
	assert_null(socket);
	error = -EPERM;
	assert_int_equal(notifications_open(&what, 0, &socket), -EPERM);
	error = 0;
}

/* A kernel without nfnetlink_hook is not asked again, until the module is loaded. */
static void test_module_is_loaded(void **state)
{
	static const struct {
		bool loaded, known, requested;
	} turns[] = { { false, false, true },
		      { false, false, false },
		      { true, true, true },
		      { false, false, true },
		      { false, false, false } };

	for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
		struct nf_hooks hooks;

		loaded = turns[i].loaded;
		requests = 0;
		assert_int_equal(nf_hooks_read(&hooks), 0);
		assert_int_equal(hooks.known, turns[i].known);
		assert_int_equal(requests > 0, turns[i].requested);
		assert_int_equal(nf_hooks_read_device(1, "lo", &hooks), 0);
		assert_int_equal(hooks.known, turns[i].known);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_notifications),
					    cmocka_unit_test(test_module_is_loaded) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
