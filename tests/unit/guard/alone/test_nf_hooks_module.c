// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel without nfnetlink_hook is not asked again, until the module is loaded. Sockets, and the
 * folder of modules in sysfs, are replaced.
 */
#include "../../unit.h"

#include <errno.h>
#include <string.h>

#include "../../../../user/guard/nf_hooks.h"
#include "../../../../user/netlink/socket.h"

static bool loaded;
static int requests;

int access(const char *path, int mode)
{
	assert_string_equal(path, "/sys/module/nfnetlink_hook");
	return loaded ? 0 : -1;
}

int nl_socket_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out)
{
	return 0;
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_module_is_loaded) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
