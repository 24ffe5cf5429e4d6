// SPDX-License-Identifier: GPL-2.0-only
/* Unknown attributes of netlink messages are logged, each once. */
#include "../unit.h"

#include <string.h>

#include "../../../user/daemon/apply.h"
#include "../../../user/daemon/audit.h"
#include "../../../user/daemon/daemon.h"
#include "../lib/logged.h"
#include "../netlink/netlink_build.h"

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
		cmocka_unit_test_setup_teardown(unknown_attributes_are_logged_once, logged_setup,
						logged_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
