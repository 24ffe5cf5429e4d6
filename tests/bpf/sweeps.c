// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a table of rows would be too long for: every length, padding, value of a field and prefix
 * length, untagged and tagged.
 */
#include "tests.h"

#define SHORTEST 14 /* BPF_PROG_TEST_RUN takes no frame without an Ethernet header */
#define WHOLE (AT_PAYLOAD + FRAME_PAYLOAD)

static void expect(const struct frame *frame, enum sixlane_verdict verdict, enum neighbour via)
{
	EXPECT(.frame = frame, .verdict = verdict, .via = via);
}

static void expect_all_lengths(const struct frame *whole, size_t packet,
			       enum sixlane_verdict if_short, enum sixlane_verdict if_whole)
{
	struct frame frame = *whole;

	for (frame.len = SHORTEST; frame.len <= whole->len; frame.len++)
		expect(&frame, frame.len < packet ? if_short : if_whole, NEIGH_GATEWAY);
}

/*
 * Cut at every byte. What follows the cut stays in memory, as in a driver's buffer, and would be
 * forwarded.
 */
TEST(test_every_length, "every length")
{
	struct frame frame;

	harness_install_route(NH_GATEWAY);
	frame_plain(&frame, 0, 0);
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	frame_plain(&frame, 300, 50);
	expect_all_lengths(&frame, frame.len - 50, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	frame_plain(&frame, 0, 0);
	frame_patch(&frame, AT_HOP_LIMIT, "01");
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_PASS_HOP_LIMIT);
	frame_plain(&frame, 0, 6);
	frame_patch(&frame, AT_PAYLOAD_LEN, "0000");
	expect_all_lengths(&frame, AT_PAYLOAD, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	frame_plain(&frame, 0, 0);
	frame_patch(&frame, AT_ETHERTYPE, "0800");
	expect_all_lengths(&frame, 0, SIXLANE_PASS_NOT_IPV6, SIXLANE_PASS_NOT_IPV6);
	harness_install_route(NH_ENTRY + SIXLANE_DROP_BLACKHOLE);
	frame_plain(&frame, 0, 0);
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_DROP_BLACKHOLE);
}

/*
 * Tagged frames. A tag that is cut is none; behind a whole one the frame is its VLAN device's. From
 * each step's length on, the frame is counted for a device and ends by a verdict.
 */
struct tagged {
	uint32_t tags[FRAME_TAGS];
	size_t whole; /* the length from which on it is forwarded; 0: never */
	struct {
		size_t from;
		enum device as;
		enum sixlane_verdict verdict;
	} steps[5];
};

#define STEP(from, dev, verdict) ITEM(from, DEV_##dev, SIXLANE_##verdict)
#define TAG_IS_CUT STEP(SHORTEST, IN, PASS_NOT_IPV6)
#define BEHIND_TWO                                                                   \
	TAG_IS_CUT, STEP(16, IN_10, PASS_TRUNCATED), STEP(18, IN_10, PASS_NOT_IPV6), \
		STEP(20, IN_10_20, PASS_TRUNCATED)

static const struct tagged tagged[] = {
	{ { 0x8100000a }, WHOLE + 4, { TAG_IS_CUT, STEP(16, IN_10, PASS_TRUNCATED) } },
	{ { 0x8100000a, 0x81000014 }, WHOLE + 8, { BEHIND_TWO } },
	{ { 0x8100000b }, 0, { TAG_IS_CUT, STEP(16, IN, PASS_VLAN_UNKNOWN) } },
	{ { 0x8100e000 }, WHOLE + 4, { TAG_IS_CUT, STEP(16, IN, PASS_TRUNCATED) } },
	{ { 0x8100000a, 0x81000014, 0x8100001e },
	  0,
	  { BEHIND_TWO, STEP(22, IN_10_20, PUNT_VLAN_DEPTH) } },
};

static void expect_tagged_lengths(const struct tagged *t)
{
	struct frame bare, cut;
	size_t step = 0;

	frame_plain(&bare, 0, 6);
	cut = bare;
	frame_push(&cut, t->tags, FRAME_TAGS);
	for (size_t most = cut.len, padding = 6, at = SHORTEST; at <= most; at++) {
		while (step < 4 && t->steps[step + 1].from && at >= t->steps[step + 1].from)
			step++;
		cut.len = at;
		bare.len = WHOLE + padding - (most - at);
		if (t->whole && at >= t->whole)
			EXPECT(.frame = &bare, .tags = t->tags, .as = t->steps[step].as);
		else
			EXPECT(.frame = &cut, .as = t->steps[step].as,
			       .verdict = t->steps[step].verdict, .once = true);
	}
}

TEST(test_every_length_with_tags, "every length with tags")
{
	harness_install_route(NH_GATEWAY);
	for (size_t i = 0; i < sizeof(tagged) / sizeof(tagged[0]); i++)
		expect_tagged_lengths(&tagged[i]);
}

TEST(test_every_size_around_the_mtu, "every size around the MTU")
{
	struct frame frame;

	for (int locked = 0; locked <= 1; locked++) {
		size_t mtu = locked ? 1400 : 1500;

		harness_install_route(locked ? NH_LOCKED : NH_GATEWAY);
		for (size_t size = mtu - 50; size <= mtu + 50; size++) {
			frame_plain(&frame, size - 40, size % 3);
			expect(&frame, size > mtu ? SIXLANE_PASS_TOO_BIG : SIXLANE_FORWARD,
			       NEIGH_GATEWAY);
		}
	}
}

TEST(test_every_padding, "every padding")
{
	static const struct {
		uint32_t tags[FRAME_TAGS];
		enum device as;
	} in[] = {
		{ { 0 }, DEV_IN },
		{ { 0x8100000a }, DEV_IN_10 },
		{ { 0x88a8001e, 0x81000028 }, DEV_IN_AD30_40 },
		{ { 0x8100e000 }, DEV_IN },
	};
	static const enum neighbour out[] = { NEIGH_GATEWAY, NEIGH_OUT_10, NEIGH_OUT_AD30_40,
					      NEIGH_BOND_10 };
	struct frame frame;

	for (size_t i = 0; i < 16; i++) {
		harness_install_route(NH_VIA(out[i / 4]));
		for (size_t padding = 0; padding <= (i ? 64 : 600); padding++) {
			frame_plain(&frame, 1 + padding % 7, padding);
			EXPECT(.frame = &frame, .tags = in[i % 4].tags, .as = in[i % 4].as,
			       .via = out[i / 4]);
		}
	}
}

TEST(test_every_field, "every hop limit, next header, class and flow bit")
{
	struct frame frame;

	harness_install_route(NH_GATEWAY);
	for (int value = 0; value <= 255; value++) {
		frame_plain(&frame, 0, 0);
		frame.bytes[AT_HOP_LIMIT] = (uint8_t)value;
		expect(&frame, value <= 1 ? SIXLANE_PASS_HOP_LIMIT : SIXLANE_FORWARD,
		       NEIGH_GATEWAY);
		frame_plain(&frame, 0, 0);
		frame.bytes[AT_NEXT_HEADER] = (uint8_t)value;
		expect(&frame, value ? SIXLANE_FORWARD : SIXLANE_PASS_HOP_BY_HOP, NEIGH_GATEWAY);
	}
	frame_plain(&frame, 0, 0);
	for (int bit = 4; bit < 32; bit++) { /* of traffic class and flow label */
		frame_patch(&frame, AT_VERSION, "60000000");
		frame.bytes[AT_VERSION + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
	}
}

static void expect_vid(uint32_t type, uint32_t vid, uint32_t known, enum device dev)
{
	const uint32_t tags[FRAME_TAGS] = { type << 16 | vid };
	struct frame frame;

	frame_plain(&frame, 0, 0);
	if (vid == known || !vid)
		EXPECT(.frame = &frame, .tags = tags, .as = vid ? dev : DEV_IN,
		       .via = NEIGH_OUT_10);
	else
		EXPECT(.frame = &frame, .tags = tags, .verdict = SIXLANE_PASS_VLAN_UNKNOWN,
		       .once = true);
}

TEST(test_every_vid, "every VID")
{
	harness_install_route(NH_VIA(NEIGH_OUT_10));
	for (uint32_t vid = 0; vid < 4096; vid++) {
		expect_vid(0x8100, vid, 10, DEV_IN_10);
		expect_vid(0x88a8, vid, 30, DEV_IN_AD30);
	}
}

/* Priority and DEI of both tags: ignored on the way in, none on the way out. */
TEST(test_every_priority, "every priority of a tag")
{
	struct frame frame;

	harness_install_route(NH_VIA(NEIGH_OUT_AD30_40));
	frame_plain(&frame, 0, 0);
	for (uint32_t bits = 0; bits < 256; bits++) {
		const uint32_t tags[FRAME_TAGS] = { 0x8100000a | (bits & 0xf) << 12,
						    0x81000014 | bits >> 4 << 12 };

		EXPECT(.frame = &frame, .tags = tags, .as = DEV_IN_10_20, .via = NEIGH_OUT_AD30_40);
	}
}

/* Every ethertype in the place of a tag's: only 802.1Q and 802.1ad are tags. */
TEST(test_every_tag_type, "every type in the place of a tag's")
{
	struct frame frame;

	harness_install_route(NH_GATEWAY);
	frame_plain(&frame, 0, 0);
	for (uint32_t type = 0; type < 0x10000; type += type & 0xff ? 1 : 2) {
		const uint32_t tags[FRAME_TAGS] = { type << 16 | 99 };
		const bool is_tag = type == 0x8100 || type == 0x88a8;

		if (type == 0x86dd)
			continue;
		EXPECT(.frame = &frame, .tags = tags, .once = true,
		       .verdict = is_tag ? SIXLANE_PASS_VLAN_UNKNOWN : SIXLANE_PASS_NOT_IPV6);
		if (type < 0x8000 || type > 0x92ff)
			type |= 0xff;
	}
}

/* FRAME_DST's prefix of len bits. */
static void add_prefix_of(struct world *world, const uint8_t *addr, uint32_t len, uint32_t next_hop)
{
	struct world_route *route = &world->routes[world->n_routes];

	world_add_route(world, "::/0", 0, next_hop);
	route->key.prefix_len = SIXLANE_TABLE_BITS + len;
	for (uint32_t bit = 0; bit < len; bit++)
		route->key.addr.bytes[bit / 8] |= (uint8_t)(addr[bit / 8] & 0x80 >> bit % 8);
	route->value = sixlane_route_value(next_hop, len);
}

static void flip(uint8_t *addr, uint32_t bit)
{
	addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

static void expect_last_of(const struct frame *frame, uint32_t len)
{
	struct frame last = *frame;

	for (uint32_t bit = len ? len : 3; bit < 128; bit++) /* ff00::/8 is multicast */
		last.bytes[AT_DST + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	expect(&last, SIXLANE_FORWARD, NEIGH_GATEWAY);
}

/* /0 … /128 each alone: the address and the last one hit, and with any of the prefix's bits flipped
 * it misses. */
TEST(test_every_prefix_length_alone, "every prefix length alone")
{
	struct frame frame;
	struct world world;

	frame_plain(&frame, 0, 0);
	for (uint32_t len = 0; len <= 128; len++) {
		world_init(&world);
		add_prefix_of(&world, frame.bytes + AT_DST, len, NH_GATEWAY);
		harness_install(&world);
		expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
		expect_last_of(&frame, len);
		for (uint32_t bit = 0; bit < len; bit++) {
			flip(frame.bytes + AT_DST, bit);
			EXPECT(.frame = &frame, .verdict = SIXLANE_PASS_NO_ROUTE, .once = true);
			flip(frame.bytes + AT_DST, bit);
		}
	}
}
