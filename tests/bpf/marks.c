// SPDX-License-Identifier: GPL-2.0-only
/* The neighbour's mark of use, the only thing that the datapath writes beside its counters. */
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests.h"

static void expect(uint32_t next_hop, size_t payload, enum sixlane_verdict verdict,
		   enum neighbour via)
{
	const uint32_t silent = NH_SILENT;
	struct world world;
	struct frame in;
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN], .payload = payload };

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, next_hop);
	world_set_buckets(&world, NH_GROUP, 0, &silent, 1);
	world_set_buckets(&world, NH_GROUP + 1, 1, &silent, 1);
	world.next_hops[NH_GROUP + 1].nh_entry.type = SIXLANE_NH_EQUAL_METRIC;
	harness_install(&world);
	frame_build(&in, &spec);
	harness_expect_via(&in, verdict, via, NULL, SWEEP_ALL);
}

static void expect_used(enum neighbour used)
{
	for (int i = 0; i < N_NEIGHBOURS; i++)
		assert_int_equal(harness_neigh(world_neigh_slot((enum neighbour)i))->used,
				 i == (int)used);
}

void mark_test_used_is_set_by_traffic(void **state)
{
	expect(NH_GATEWAY, 0, SIXLANE_FORWARD, NEIGH_GATEWAY);
	expect_used(NEIGH_GATEWAY);
	expect(NH_ON_LINK, 0, SIXLANE_FORWARD, NEIGH_HOST);
	expect_used(NEIGH_HOST);
	expect(NH_ALT, 0, SIXLANE_FORWARD, NEIGH_ALT);
	expect_used(NEIGH_ALT);
}

void mark_test_used_is_not_set_by_the_trace(void **state)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN] };
	static struct frame in, out;
	static struct world world;
	uint32_t action;

	if (!harness_has(PROG_TRACE))
		skip();
	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, NH_GATEWAY);
	harness_install(&world);
	frame_build(&in, &spec);
	assert_int_equal(harness_run(PROG_TRACE, harness_ifindex()[DEV_IN], &in, &out, &action), 0);
	assert_int_equal(action, XDP_REDIRECT);
	expect_used(N_NEIGHBOURS);
}

/* The kernel may send the packet to another member, and never ask for this one. */
void mark_test_used_is_set_of_silent_members(void **state)
{
	expect(NH_GROUP, 0, SIXLANE_PASS_UNRESOLVED, NEIGH_GATEWAY);
	expect_used(NEIGH_SILENT);
	expect(NH_GROUP + 1, 0, SIXLANE_PASS_UNRESOLVED, NEIGH_GATEWAY);
	expect_used(NEIGH_SILENT);
}

static void install_exception(const struct sixlane_exception *value)
{
	static struct world world;

	harness_world(&world);
	world_add_exception_and_ways(&world, value);
	harness_install(&world);
}

static void run(size_t payload, uint32_t action)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN], .payload = payload };
	static struct frame in, out;
	uint32_t got;

	frame_build(&in, &spec);
	assert_int_equal(harness_run(PROG_AS_IS, harness_ifindex()[DEV_IN], &in, &out, &got), 0);
	assert_int_equal(got, action);
}

/* The kernel may know nothing of it and send the packet by the route. */
void mark_test_used_is_set_of_silent_exceptions(void **state)
{
	const struct sixlane_exception silent = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_OPERATOR,
		.next_hop = NH_SILENT,
	};
	const struct sixlane_exception alt = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_KERNEL,
		.next_hop = NH_ALT,
	};

	install_exception(&silent);
	run(100, XDP_PASS);
	expect_used(NEIGH_SILENT);
	install_exception(&alt);
	run(100, XDP_REDIRECT);
	expect_used(NEIGH_ALT);
}

/* The sender may have no other traffic that keeps it. */
void mark_test_used_is_set_by_answers(void **state)
{
	const struct sixlane_exception value = {
		.flags = SIXLANE_EXCEPTION_MTU | SIXLANE_EXCEPTION_KERNEL,
		.mtu = 1400,
	};

	install_exception(&value);
	run(1400, XDP_REDIRECT);
	expect_used(NEIGH_IN);
	install_exception(&value);
	run(1360, XDP_REDIRECT);
	expect_used(NEIGH_GATEWAY);
}

/* The daemon must not keep a neighbour alive that no forwarded packet needs. */
void mark_test_used_is_not_set_by_passed_packets(void **state)
{
	expect(NH_GATEWAY, 2000, SIXLANE_PASS_TOO_BIG, NEIGH_GATEWAY);
	expect_used(N_NEIGHBOURS);
	expect(NH_SILENT, 0, SIXLANE_PASS_UNRESOLVED, NEIGH_GATEWAY);
	expect_used(N_NEIGHBOURS);
	expect(NH_FATE + SIXLANE_PASS_LOCAL, 0, SIXLANE_PASS_LOCAL, NEIGH_GATEWAY);
	expect_used(N_NEIGHBOURS);
}
