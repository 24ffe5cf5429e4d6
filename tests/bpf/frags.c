// SPDX-License-Identifier: GPL-2.0-only
/*
 * The xdp.frags flavour: frames that lie in several buffers. BPF_PROG_TEST_RUN puts what
 * is more than a page holds into fragments.
 */
#include <errno.h>
#include <linux/bpf.h>

#include "tests.h"

#define JUMBO 9000
#define ONE_BUFFER 3400 /* of 4096 bytes, 256 and struct skb_shared_info are not for the frame */

/* All ports. */
static void set_ports(uint32_t mtu, uint32_t flags_off)
{
	for (uint32_t slot = 1; slot < WORLD_PORTS; slot++) {
		harness_maps.ports[slot].mtu = mtu;
		harness_maps.ports[slot].flags &= ~flags_off;
	}
}

static void install(uint32_t next_hop)
{
	harness_install_route(next_hop);
	set_ports(JUMBO, 0);
}

/* A frame by DEV_IN as port (whose tags it has); forwarded means: to a neighbour. */
static void expect(size_t payload, size_t padding, const uint32_t *tags, enum device as,
		   enum sixlane_verdict verdict, enum neighbour via)
{
	static struct frame frame;

	frame_plain(&frame, payload, padding);
	EXPECT(.prog = PROG_FRAGS, .frame = &frame, .tags = tags, .as = as, .verdict = verdict,
	       .via = via);
}

static void expect_untagged(size_t payload, size_t padding, enum sixlane_verdict verdict)
{
	expect(payload, padding, NULL, DEV_IN, verdict, NEIGH_GATEWAY);
}

TEST(test_jumbo_frames, "jumbo frames")
{
	install(NH_GATEWAY);
	expect_untagged(ONE_BUFFER - 54, 0, SIXLANE_FORWARD);
	for (size_t payload = ONE_BUFFER - 54; payload < ONE_BUFFER + 200; payload++)
		expect_untagged(payload, 0, SIXLANE_FORWARD);
	expect_untagged(2 * 4096, 0, SIXLANE_FORWARD);
	expect_untagged(JUMBO - 40, 0, SIXLANE_FORWARD);
	expect_untagged(JUMBO - 40 + 1, 0, SIXLANE_PASS_TOO_BIG);
	set_ports(1500, 0);
	expect_untagged(JUMBO - 40, 0, SIXLANE_PASS_TOO_BIG);
	install(NH_ENTRY + SIXLANE_DROP_BLACKHOLE);
	expect_untagged(JUMBO - 40, 0, SIXLANE_DROP_BLACKHOLE);
}

TEST(test_padding_of_jumbo_frames, "padding of jumbo frames")
{
	install(NH_GATEWAY);
	expect_untagged(5000, 1, SIXLANE_FORWARD);
	expect_untagged(5000, 500, SIXLANE_FORWARD);
	expect_untagged(8000, 1000, SIXLANE_FORWARD);
	expect_untagged(100, 5000, SIXLANE_FORWARD); /* all of it lies in fragments */
	expect_untagged(1, 9000, SIXLANE_FORWARD);
	for (size_t padding = 0; padding < 300; padding++)
		expect_untagged(ONE_BUFFER - 54 - 100, padding, SIXLANE_FORWARD);
}

/* The frame ends in its last fragment, before the payload length. */
TEST(test_truncated_jumbo_frames, "truncated jumbo frames")
{
	static struct frame frame;

	install(NH_GATEWAY);
	frame_plain(&frame, 6000, 0);
	for (frame.len = AT_PAYLOAD + 5950; frame.len < AT_PAYLOAD + 6000; frame.len++)
		EXPECT(.prog = PROG_FRAGS, .frame = &frame, .verdict = SIXLANE_PASS_TRUNCATED);
	frame_patch(&frame, AT_ETHERTYPE, "0800");
	EXPECT(.prog = PROG_FRAGS, .frame = &frame, .verdict = SIXLANE_PASS_NOT_IPV6);
}

/* What counts is whether there are fragments when the frame comes in. */
TEST(test_egress_without_fragments, "jumbo frames to an egress without fragments")
{
	install(NH_GATEWAY);
	set_ports(JUMBO, SIXLANE_PORT_XMIT_FRAGS);
	expect_untagged(1400, 0, SIXLANE_FORWARD);
	expect_untagged(ONE_BUFFER - 54, 0, SIXLANE_FORWARD);
	expect_untagged(4096, 0, SIXLANE_PASS_EGRESS_DEVICE);
	expect_untagged(JUMBO - 40, 0, SIXLANE_PASS_EGRESS_DEVICE);
	harness_maps.ports[world_port_slot(DEV_IN)].flags |= SIXLANE_PORT_GENERIC;
	expect_untagged(JUMBO - 40, 0, SIXLANE_FORWARD);
}

TEST(test_tags_of_jumbo_frames, "tags of jumbo frames")
{
	static const uint32_t two[FRAME_TAGS] = { 0x8100e00a, 0x81000014 };

	install(NH_VIA(NEIGH_OUT_AD30_40));
	expect(JUMBO - 40, 7, NULL, DEV_IN, SIXLANE_FORWARD, NEIGH_OUT_AD30_40);
	expect(JUMBO - 40, 7, two, DEV_IN_10_20, SIXLANE_FORWARD, NEIGH_OUT_AD30_40);
	install(NH_GATEWAY);
	expect(JUMBO - 40, 7, two, DEV_IN_10_20, SIXLANE_FORWARD, NEIGH_GATEWAY);
	expect(4000, 0, two, DEV_IN_10_20, SIXLANE_FORWARD, NEIGH_GATEWAY);
	expect(4000, 5000, two, DEV_IN_10_20, SIXLANE_FORWARD, NEIGH_GATEWAY);
}

#define MTU 1400

/* A locked MTU of FRAME_DST. */
static void install_exception(void)
{
	harness_install_locked_mtu(MTU);
	set_ports(JUMBO, 0);
	harness_maps.ports[world_port_slot(DEV_IN)].flags &= ~SIXLANE_PORT_XMIT_FRAGS;
}

/* The answer lies in one buffer, however many the packet had. */
TEST(test_answers_to_jumbo_frames, "answers to jumbo frames")
{
	static const size_t payloads[] = { 1361,     ONE_BUFFER - 54, ONE_BUFFER, 4096,
					   2 * 4096, 2 * 4096 + 54,   JUMBO - 41, JUMBO - 40 };
	const union sixlane_addr dst = world_addr(FRAME_DST);
	static struct frame frame;

	install_exception();
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		frame_plain(&frame, payloads[i], i % 2 ? 500 : 0);
		EXPECT(.prog = PROG_FRAGS, .frame = &frame, .verdict = SIXLANE_ANSWER_TOO_BIG,
		       .answer = { .mtu = MTU, .via = NEIGH_IN }, .hit = &dst);
	}
}

static int run_with_linear(const struct frame *in, size_t linear, struct frame *out,
			   uint32_t *action)
{
	return harness_run_linear(PROG_FRAGS, WORLD_IFINDEX(DEV_IN), in, linear, out, action);
}

TEST(test_answers_need_the_first_buffer, "answers to frames whose first buffer is short")
{
	static struct frame in, out, answer;
	uint32_t action;

	install_exception();
	frame_plain(&in, 2000, 0);
	harness_build_answer(&answer, &in, MTU);
	if (run_with_linear(&in, 100, &out, &action) == -EINVAL) {
		fprintf(stderr, "SKIP: this kernel's test runs fill the first buffer\n");
		skip();
	}
	for (size_t linear = AT_PAYLOAD; linear <= in.len; linear += linear < 1300 ? 1 : 100) {
		bool enough = linear >= AT_IP6 + ANSWER_QUOTED;

		assert_int_equal(run_with_linear(&in, linear, &out, &action), 0);
		assert_int_equal(action, enough ? XDP_REDIRECT : XDP_PASS);
		assert_int_equal(out.len, enough ? answer.len : in.len);
		assert_memory_equal(out.bytes, enough ? answer.bytes : in.bytes, out.len);
	}
}
