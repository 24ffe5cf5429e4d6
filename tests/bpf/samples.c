// SPDX-License-Identifier: GPL-2.0-only
/* Samples of forwarded packets: when one is sent, and what it says. */
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests.h"

#define DSCP_46 "6b80" /* version, traffic class, the first bits of the flow label */

static struct frame udp_frame(const uint32_t tags[], size_t n_tags)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN] };
	static struct frame frame;

	frame_build(&frame, &spec);
	frame_patch(&frame, AT_VERSION, DSCP_46);
	frame_patch(&frame, AT_NEXT_HEADER, "11");
	frame_set16(&frame, AT_PAYLOAD, 4321);
	frame_set16(&frame, AT_PAYLOAD + 2, 53);
	frame_push(&frame, tags, n_tags);
	return frame;
}

static void install(uint32_t next_hop, enum neighbour draw)
{
	static struct world world;

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, next_hop);
	harness_install(&world);
	harness_neigh(world_neigh_slot(draw))->sample = 1;
}

static void run(enum harness_prog prog, const struct frame *in, uint32_t action)
{
	static struct frame out;
	uint32_t got;

	assert_int_equal(harness_run(prog, harness_ifindex()[DEV_IN], in, &out, &got), 0);
	assert_int_equal(got, action);
}

static void expect_none(enum neighbour drawn)
{
	struct sixlane_sample sample;

	assert_int_equal(harness_take_samples(&sample, 1), 0);
	assert_int_equal(harness_neigh(world_neigh_slot(drawn))->sample, 1);
}

/* One of the frame above, that came in and left so. */
static void expect_one(enum device in, enum neighbour via)
{
	const struct sixlane_neigh *neigh = harness_neigh(world_neigh_slot(via));
	const struct sixlane_sample wanted = {
		.dst = world_addr(FRAME_DST),
		.src = world_addr(FRAME_SRC),
		.next_hop = neigh->key.addr,
		.ingress = harness_ifindex()[in],
		.iif = harness_port(world_port_slot(in))->iif,
		.table = SIXLANE_TABLE_MAIN,
		.egress = harness_ifindex()[world_neigh_device(via)],
		.src_port = __builtin_bswap16(4321),
		.dst_port = __builtin_bswap16(53),
		.next_header = 17,
		.tclass = 0xb8,
	};
	struct sixlane_sample sample;

	assert_int_equal(harness_take_samples(&sample, 1), 1);
	assert_memory_equal(&sample, &wanted, sizeof(wanted));
	assert_int_equal(neigh->sample, 0);
	assert_int_equal(neigh->used, 1);
}

void sample_test_what_it_says(void **state)
{
	const uint32_t tag = 0x8100000a;
	struct frame in = udp_frame(NULL, 0);

	install(NH_GATEWAY, NEIGH_GATEWAY);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_one(DEV_IN, NEIGH_GATEWAY);
	install(NH_ON_LINK, NEIGH_HOST);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_one(DEV_IN, NEIGH_HOST);
	install(NH_VIA(NEIGH_OUT_10), NEIGH_OUT_10);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_one(DEV_IN, NEIGH_OUT_10);
	install(NH_ALT, NEIGH_ALT);
	in = udp_frame(&tag, 1);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_one(DEV_IN_10, NEIGH_ALT);
}

/* Ports only of a protocol that has some. */
void sample_test_without_ports(void **state)
{
	struct frame in = udp_frame(NULL, 0);
	struct sixlane_sample sample;

	frame_patch(&in, AT_NEXT_HEADER, "3a");
	install(NH_GATEWAY, NEIGH_GATEWAY);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	assert_int_equal(harness_take_samples(&sample, 1), 1);
	assert_int_equal(sample.next_header, 58);
	assert_int_equal(sample.src_port | sample.dst_port, 0);
}

/* Once for each word of the daemon, and only of the first packet of that neighbour since. */
void sample_test_when_it_is_drawn(void **state)
{
	struct frame in = udp_frame(NULL, 0);
	struct sixlane_sample sample;

	install(NH_GATEWAY, NEIGH_ALT);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_none(NEIGH_ALT);
	install(NH_GATEWAY, NEIGH_GATEWAY);
	harness_neigh(world_neigh_slot(NEIGH_GATEWAY))->used = 1;
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_none(NEIGH_GATEWAY);
	harness_neigh(world_neigh_slot(NEIGH_GATEWAY))->used = 0;
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	harness_neigh(world_neigh_slot(NEIGH_GATEWAY))->used = 0;
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	assert_int_equal(harness_take_samples(&sample, 1), 1);
}

void sample_test_none_of_what_is_not_forwarded(void **state)
{
	struct frame in = udp_frame(NULL, 0);

	install(NH_SILENT, NEIGH_SILENT);
	run(PROG_AS_IS, &in, XDP_PASS);
	expect_none(NEIGH_SILENT);
	install(NH_BACK, NEIGH_GATEWAY);
	run(PROG_AS_IS, &in, XDP_PASS);
	expect_none(NEIGH_GATEWAY);
	if (!harness_has(PROG_TRACE))
		return;
	install(NH_GATEWAY, NEIGH_GATEWAY);
	run(PROG_TRACE, &in, XDP_REDIRECT);
	expect_none(NEIGH_GATEWAY);
}

/* What an exception says may rightly differ from what the kernel would do. */
void sample_test_none_of_exceptions(void **state)
{
	const struct sixlane_exception value = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP | SIXLANE_EXCEPTION_OPERATOR,
		.next_hop = NH_ALT,
	};
	struct frame in = udp_frame(NULL, 0);
	static struct world world;

	harness_world(&world);
	world_add_exception_and_ways(&world, &value);
	harness_install(&world);
	harness_neigh(world_neigh_slot(NEIGH_ALT))->sample = 1;
	run(PROG_AS_IS, &in, XDP_REDIRECT);
	expect_none(NEIGH_ALT);
}
