// SPDX-License-Identifier: GPL-2.0-only
/* Tagged frames of every length, VID, priority and padding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests.h"

#define SHORTEST 14 /* BPF_PROG_TEST_RUN takes no frame without an Ethernet header */

static void install_route(uint32_t next_hop)
{
	struct world world;

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, next_hop);
	harness_install(&world);
}

static void build(struct frame *frame, size_t padding)
{
	const struct frame_spec spec = {
		.dst_mac = world_device_mac[DEV_IN],
		.padding = padding,
	};

	frame_build(frame, &spec);
}

static void expect_passed(const struct frame *in, enum device as, enum sixlane_verdict verdict)
{
	const struct expected expected = {
		.verdict = verdict,
		.slot = world_port_slot(as),
		.out = in,
	};

	harness_expect_once(DEV_IN, in, &expected);
}

/* untagged: the same frame without its tags. */
static void expect_forwarded(const struct frame *in, const struct frame *untagged, enum device as,
			     enum neighbour via)
{
	enum device egress = world_neigh_device(via);
	struct frame out = *untagged;
	const struct expected expected = {
		.verdict = SIXLANE_FORWARD,
		.slot = world_port_slot(as),
		.egress = harness_ifindex()[world_device_xmit(egress)],
		.out = &out,
	};

	frame_route(&out, world_neigh_mac[via], world_device_mac[egress]);
	frame_push(&out, world_device_tags(egress), WORLD_TAGS);
	harness_expect(PROG_AS_IS, DEV_IN, in, &expected, SWEEP_WORLD);
}

/* --- lengths ---------------------------------------------------------------------------------- */

/* Whose frame it is, and what becomes of it, from this length on. */
struct step {
	size_t from;
	enum device as;
	enum sixlane_verdict verdict;
};

/*
 * Cut at every byte: a tag that is not whole is none, and behind a whole one its device has the
 * frame. whole: the length from which on it is forwarded by the last step's device; 0: never.
 */
static void expect_all_lengths(const uint32_t tags[FRAME_TAGS], const struct step *steps, size_t n,
			       size_t whole)
{
	struct frame frame, untagged;
	size_t len;

	build(&frame, 6);
	untagged = frame;
	frame_push(&frame, tags, FRAME_TAGS);
	len = frame.len;
	for (size_t step = 0, at = SHORTEST; at <= len; at++) {
		while (step + 1 < n && at >= steps[step + 1].from)
			step++;
		frame.len = at;
		if (whole && at >= whole)
			expect_forwarded(&frame, &untagged, steps[step].as, NEIGH_GATEWAY);
		else
			expect_passed(&frame, steps[step].as, steps[step].verdict);
	}
}

#define WHOLE (AT_PAYLOAD + FRAME_PAYLOAD)

void sweep_test_every_length_with_tags(void **state)
{
	static const uint32_t known[FRAME_TAGS] = { 0x8100000a };
	static const uint32_t two_known[FRAME_TAGS] = { 0x8100000a, 0x81000014 };
	static const uint32_t unknown[FRAME_TAGS] = { 0x8100000b };
	static const uint32_t priority[FRAME_TAGS] = { 0x8100e000 };
	static const uint32_t three[FRAME_TAGS] = { 0x8100000a, 0x81000014, 0x8100001e };
	static const struct step steps[] = {
		{ SHORTEST, DEV_IN, SIXLANE_PASS_NOT_IPV6 },
		{ 16, DEV_IN_10, SIXLANE_PASS_TRUNCATED },
	};
	static const struct step two_steps[] = {
		{ SHORTEST, DEV_IN, SIXLANE_PASS_NOT_IPV6 },
		{ 16, DEV_IN_10, SIXLANE_PASS_TRUNCATED },
		{ 18, DEV_IN_10, SIXLANE_PASS_NOT_IPV6 },
		{ 20, DEV_IN_10_20, SIXLANE_PASS_TRUNCATED },
		{ 22, DEV_IN_10_20, SIXLANE_PASS_TRUNCATED },
	};
	static const struct step unknown_steps[] = {
		{ SHORTEST, DEV_IN, SIXLANE_PASS_NOT_IPV6 },
		{ 16, DEV_IN, SIXLANE_PASS_VLAN_UNKNOWN },
	};
	static const struct step priority_steps[] = {
		{ SHORTEST, DEV_IN, SIXLANE_PASS_NOT_IPV6 },
		{ 16, DEV_IN, SIXLANE_PASS_TRUNCATED },
	};
	struct step three_steps[5];

	memcpy(three_steps, two_steps, sizeof(two_steps));
	three_steps[4].verdict = SIXLANE_PUNT_VLAN_DEPTH;
	install_route(NH_GATEWAY);
	expect_all_lengths(known, steps, 2, WHOLE + 4);
	expect_all_lengths(two_known, two_steps, 5, WHOLE + 8);
	expect_all_lengths(unknown, unknown_steps, 2, 0);
	expect_all_lengths(priority, priority_steps, 2, WHOLE + 4);
	expect_all_lengths(three, three_steps, 5, 0);
}

/* --- tags ------------------------------------------------------------------------------------- */

static void expect_vid(uint32_t type, uint32_t vid, uint32_t known, enum device dev)
{
	const uint32_t tags[FRAME_TAGS] = { type << 16 | vid };
	struct frame frame, untagged;

	build(&frame, 0);
	untagged = frame;
	frame_push(&frame, tags, FRAME_TAGS);
	if (vid == known)
		expect_forwarded(&frame, &untagged, dev, NEIGH_OUT_10);
	else if (!vid)
		expect_forwarded(&frame, &untagged, DEV_IN, NEIGH_OUT_10);
	else
		expect_passed(&frame, DEV_IN, SIXLANE_PASS_VLAN_UNKNOWN);
}

void sweep_test_every_vid(void **state)
{
	install_route(NH_VIA(NEIGH_OUT_10));
	for (uint32_t vid = 0; vid < 4096; vid++) {
		expect_vid(0x8100, vid, 10, DEV_IN_10);
		expect_vid(0x88a8, vid, 30, DEV_IN_AD30);
	}
}

/* Priority and DEI of both tags: ignored on the way in, none on the way out. */
void sweep_test_every_priority(void **state)
{
	install_route(NH_VIA(NEIGH_OUT_AD30_40));
	for (uint32_t bits = 0; bits < 256; bits++) {
		const uint32_t tags[FRAME_TAGS] = { 0x8100000a | (bits & 0xf) << 12,
						    0x81000014 | bits >> 4 << 12 };
		struct frame frame, untagged;

		build(&frame, 0);
		untagged = frame;
		frame_push(&frame, tags, FRAME_TAGS);
		expect_forwarded(&frame, &untagged, DEV_IN_10_20, NEIGH_OUT_AD30_40);
	}
}

/* Every ethertype in the place of a tag's: only 802.1Q and 802.1ad are tags. */
void sweep_test_every_tag_type(void **state)
{
	install_route(NH_GATEWAY);
	for (uint32_t type = 0; type < 0x10000; type += type & 0xff ? 1 : 2) {
		const uint32_t tags[FRAME_TAGS] = { type << 16 | 99 };
		struct frame frame;

		if (type == 0x86dd)
			continue;
		build(&frame, 0);
		frame_push(&frame, tags, FRAME_TAGS);
		expect_passed(&frame, DEV_IN,
			      type == 0x8100 || type == 0x88a8 ? SIXLANE_PASS_VLAN_UNKNOWN
							       : SIXLANE_PASS_NOT_IPV6);
		if (type < 0x8000 || type > 0x92ff)
			type |= 0xff;
	}
}

/* --- padding ---------------------------------------------------------------------------------- */

void sweep_test_every_padding_with_tags(void **state)
{
	static const struct {
		uint32_t tags[FRAME_TAGS];
		enum device as;
	} ways_in[] = {
		{ { 0 }, DEV_IN },
		{ { 0x8100000a }, DEV_IN_10 },
		{ { 0x88a8001e, 0x81000028 }, DEV_IN_AD30_40 },
		{ { 0x8100e000 }, DEV_IN },
	};
	static const enum neighbour ways_out[] = { NEIGH_GATEWAY, NEIGH_OUT_10, NEIGH_OUT_AD30_40,
						   NEIGH_BOND_10 };
	struct frame frame, untagged;

	for (size_t out = 0; out < 4; out++) {
		install_route(NH_VIA(ways_out[out]));
		for (size_t in = 0; in < 4; in++) {
			for (size_t padding = 0; padding <= 64; padding++) {
				build(&frame, padding);
				untagged = frame;
				frame_push(&frame, ways_in[in].tags, FRAME_TAGS);
				expect_forwarded(&frame, &untagged, ways_in[in].as, ways_out[out]);
			}
		}
	}
}
