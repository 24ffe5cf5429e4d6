// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names in the settings move from one device to another, come late, or go, in any order of
 * messages.
 */

#include "../unit.h"

#include <errno.h>

#include "../../../user/daemon/port_names.h"
#include "../netlink/netlink_build.h"

#define LONGEST                                                            \
	"l234567890123456789012345678901234567890123456789012345678901234" \
	"567890123456789012345678901234567890123456789012345678901234567"

/* Names of a device, its own name first. */
struct step {
	uint32_t ifindex;
	const char *names[3];
	bool changed;
	uint32_t ports, pass_ports; /* devices that have the names then; 0: none */
};

/* ports = uplink, pass_ports = LONGEST */
static const struct step steps[] = {
	{ 1, { "eth0" }, false, 0, 0 },
	{ 2, { "eth1", "uplink" }, true, 2, 0 },
	{ 2, { "eth1", "uplink" }, false, 2, 0 },
	{ 1, { "eth0", "enp1s0", LONGEST }, true, 2, 1 },
	{ 2, { "eth1", "lan" }, true, 0, 1 },
	{ 1, { "uplink", LONGEST }, true, 1, 1 },
	/* the message about the new device comes before that about the old one */
	{ 3, { "eth3", LONGEST }, true, 1, 3 },
	{ 1, { "uplink" }, false, 1, 3 },
	{ 1, { "uplin" }, true, 0, 3 },
	{ 3, { "uplinks" }, true, 0, 0 },
	{ 2, { "eth1", "uplink", LONGEST }, true, 2, 2 },
};

static struct nlmsghdr *build(const struct step *step)
{
	struct nlmsghdr *nlh = message_start();
	struct ifinfomsg *ifi;
	struct nlattr *list;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = header_put(nlh, sizeof(*ifi), AF_UNSPEC);
	ifi->ifi_index = (int)step->ifindex;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, step->names[0]);
	mnl_attr_put_u32(nlh, IFLA_MTU, 1500);
	list = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
	for (size_t i = 1; i < ARRAY_SIZE(step->names) && step->names[i]; i++)
		mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, step->names[i]);
	mnl_attr_nest_end(nlh, list);
	return nlh;
}

static void names_move(void **state)
{
	const struct config config = {
		.ports = { { "uplink" }, 1 },
		.pass_ports = { { LONGEST }, 1 },
	};
	struct port_names *names;
	struct nlmsghdr *nlh;
	bool changed;

	names = port_names_new(&config);
	assert_non_null(names);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct step *step = &steps[i];

		print_message("step %zu\n", i);
		assert_int_equal(port_names_update(names, build(step), step->ifindex, &changed), 0);
		assert_int_equal(changed, step->changed);
		for (uint32_t ifindex = 1; ifindex <= 3; ifindex++) {
			assert_int_equal(port_names_has(names, PORT_NAMES_PORTS, ifindex),
					 ifindex == step->ports);
			assert_int_equal(port_names_has(names, PORT_NAMES_PASS_PORTS, ifindex),
					 ifindex == step->pass_ports);
			assert_false(port_names_has(names, PORT_NAMES_ASSUME_XMIT, ifindex));
		}
	}
	/* a damaged list of names must not be taken for a complete one */
	nlh = build(&(struct step){ 2, { "eth1", "uplink" }, false, 0, 0 });
	mnl_attr_put(nlh, IFLA_PROP_LIST, 3, "\1\2\3");
	assert_int_equal(port_names_update(names, nlh, 2, &changed), -EBADMSG);
	assert_false(changed);
	assert_true(port_names_has(names, PORT_NAMES_PORTS, 2));
	assert_true(port_names_has(names, PORT_NAMES_PASS_PORTS, 2));
	port_names_free(names);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
