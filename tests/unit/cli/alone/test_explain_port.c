// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ingress port that `sixlane explain` chooses: one that reaches the source by its own table, or
 * with rules by the kernel's answer.
 */
#include "../cmd_world.h"

#include "../../../../user/cli/explain.h"
#include "../../../../user/netlink/socket_query.h"
#include "../cmd_stubs.h"

enum { BY_IN = 5, BY_OUT, BY_OTHER };

static struct explain explain;
static uint32_t kernel_ifindex, kernel_len;

int nl_route_get(const union sixlane_addr *dst, uint32_t *ifindex, uint32_t *len)
{
	if (!kernel_ifindex)
		return -ENETUNREACH;
	*ifindex = kernel_ifindex;
	*len = kernel_len;
	return 0;
}

static void fill(void)
{
	world_clear();
	world_port(SLOT_OUT, OUT, SERVED);
	world_port(SLOT_OTHER, OTHER, SERVED);
	world_hop(BY_IN, SLOT_IN, 0);
	world_hop(BY_OUT, SLOT_OUT, GATEWAY);
	world_hop(BY_OTHER, SLOT_OTHER, GATEWAY);
	explain = (struct explain){ .packet = { .src = address(SOURCE) } };
	explain.view.maps = maps;
	explain.view.ports = (struct ports){ .links = links, .n = 3 };
	kernel_ifindex = kernel_len = 0;
}

static const char *chosen(void)
{
	explain.port = NULL;
	assert_int_equal(explain_find_port(&explain), CMD_OK);
	return explain.port->name;
}

static void by_the_longest_prefix(void **state)
{
	fill();
	assert_string_equal(chosen(), "in0");
	assert_non_null(strstr(explain.port_reason, "first"));
	world_add(&routes, SIXLANE_TABLE_MAIN, "::", 0, BY_OTHER);
	assert_string_equal(chosen(), "other0");
	assert_non_null(strstr(explain.port_reason, "reached by it"));
	world_add(&routes, SIXLANE_TABLE_MAIN, "2001:db8:a::", 64, BY_OUT);
	assert_string_equal(chosen(), "out0");
}

static void in_the_table_of_its_vrf(void **state)
{
	fill();
	ports[SLOT_OUT].flags |= SIXLANE_PORT_VRF | SIXLANE_PORT_RULES;
	ports[SLOT_OUT].table = 10;
	world_add(&routes, 10, "2001:db8:a::", 64, BY_OUT);
	assert_string_equal(chosen(), "out0");
	assert_non_null(strstr(explain.port_reason, "reached by it"));
	/* table main has a shorter prefix */
	world_add(&routes, SIXLANE_TABLE_MAIN, "::", 0, BY_OTHER);
	assert_string_equal(chosen(), "out0");
	/* the VRF's route leaves by a port outside the VRF: it does not count */
	world_add(&routes, 10, "2001:db8:a::1", 128, BY_IN);
	assert_string_equal(chosen(), "other0");
}

static void with_rules_by_the_kernels_answer(void **state)
{
	fill();
	for (uint32_t slot = SLOT_IN; slot <= SLOT_OTHER; slot++)
		ports[slot].flags |= SIXLANE_PORT_RULES;
	world_add(&routes, SIXLANE_TABLE_MAIN, "2001:db8:a::", 64, BY_OUT);
	assert_non_null(strstr((chosen(), explain.port_reason), "first"));
	kernel_ifindex = OTHER;
	kernel_len = 64;
	assert_string_equal(chosen(), "other0");
	kernel_ifindex = 100; /* not served */
	assert_non_null(strstr((chosen(), explain.port_reason), "first"));
	ports[SLOT_OUT].flags = ports[SLOT_OTHER].flags = LIVE;
	assert_non_null(strstr((chosen(), explain.port_reason), "the only port"));
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_longest_prefix),
		cmocka_unit_test(in_the_table_of_its_vrf),
		cmocka_unit_test(with_rules_by_the_kernels_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
