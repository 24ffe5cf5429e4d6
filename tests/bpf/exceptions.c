// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filters of exceptions: every bit and byte counts. And what ICMPv6 messages leave behind as
 * long as there is room: events, and destinations that are punted from then on.
 */
#include <linux/bpf.h>

#include "tests.h"

static void expect(const char *dst, enum sixlane_verdict verdict, enum neighbour via,
		   const union sixlane_addr *hit)
{
	static struct frame frame;

	frame_build(&frame, &(struct frame_spec){ .dst = dst });
	EXPECT(.frame = &frame, .verdict = verdict, .via = via, .hit = hit);
}

#define QUOTED "2001:db8:6::1"
#define OURS "2001:db8:7::1"

/* Send the router a Packet Too Big about a packet to 2001:db8:6::n. The message passes. */
static void send_too_big(uint16_t n)
{
	static struct frame in;

	frame_build(&in, &(struct frame_spec){ .dst = OURS, .payload = 48 });
	frame_patch(&in, AT_NEXT_HEADER, "3aff");
	frame_patch(&in, AT_PAYLOAD, "0200000000000514");
	frame_patch(&in, AT_PAYLOAD + 32, "20010db8000600000000000000000000");
	frame_set16(&in, AT_PAYLOAD + 46, n);
	assert_int_equal(harness_send(PROG_AS_IS, &in, NULL), XDP_PASS);
}

/* Messages are to the router; packets are forwarded, those to FRAME_DST by an exception. */
static const union sixlane_addr *install(uint32_t half)
{
	const struct sixlane_exception via_alt = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP,
		.next_hop = NH_ALT,
	};
	static struct world world;

	world_init(&world);
	world_add_exception_and_ways(&world, &via_alt);
	world_add_route(&world, OURS "/128", 0, NH_ENTRY + SIXLANE_PASS_LOCAL);
	world_add_route(&world, "2001:db8:6::/48", 0, NH_GATEWAY);
	world.meta.fresh = half;
	harness_install(&world);
	harness_take(RING_ICMP_EVENTS, NULL, 0);
	return &world.exceptions[0].dst;
}

/* Nobody reads for a while: what found room is reported in order, the rest is counted. */
TEST(test_full_ring_of_icmp_events, "full ring of ICMP events")
{
	const uint64_t each = sizeof(struct sixlane_icmp_event) + 8; /* and the ring's own header */
	const uint64_t room = SIXLANE_ICMP_EVENTS_BYTES / each;
	static struct sixlane_icmp_event
		icmp_events[SIXLANE_ICMP_EVENTS_BYTES / sizeof(struct sixlane_icmp_event)];
	const uint16_t sent = (uint16_t)(room + 100);
	size_t n;

	install(0);
	harness_maps.meta->flags |= SIXLANE_META_OBSERVE; /* nothing is for sl_fresh */
	for (uint16_t i = 0; i < sent; i++)
		send_too_big(i);
	n = harness_take(RING_ICMP_EVENTS, icmp_events,
			 sizeof(icmp_events) / sizeof(icmp_events[0]));
	/* a ring is never full to the last byte */
	assert_in_range(n, room - 1, room);
	assert_int_equal(harness_icmp_events_lost(), sent - n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(icmp_events[i].dst.bytes[14] << 8 | icmp_events[i].dst.bytes[15],
				 i);
	send_too_big(5);
	assert_int_equal(harness_take(RING_ICMP_EVENTS, icmp_events, 10), 1);
	assert_int_equal(harness_icmp_events_lost(), sent - n);
}

/* Without one bit or byte the entry is not looked up, or the destination is not punted. */
static void expect_all_to_count(uint32_t half, uint32_t number)
{
	const union sixlane_addr quoted = world_addr(QUOTED), *dst = install(half);

	expect(FRAME_DST, SIXLANE_FORWARD, NEIGH_ALT, dst);
	expect(QUOTED, SIXLANE_FORWARD, NEIGH_GATEWAY, NULL);
	send_too_big(1);
	expect(FRAME_DST, SIXLANE_FORWARD, NEIGH_ALT, dst);
	expect(QUOTED, SIXLANE_PUNT_EXCEPTION, NEIGH_GATEWAY, NULL);
	harness_hide_punt(dst, number);
	expect(FRAME_DST, SIXLANE_FORWARD, NEIGH_GATEWAY, NULL);
	harness_hide_punt(&quoted, number);
	expect(QUOTED, SIXLANE_FORWARD, NEIGH_GATEWAY, NULL);
}

TEST(test_every_bit_and_byte_counts, "every bit and byte of a punt destination")
{
	_Static_assert(SIXLANE_PUNTED_NUMBERS == SIXLANE_FRESH_NUMBERS, "numbers of either");
	for (uint32_t half = 0; half < SIXLANE_FRESH_HALVES; half++)
		for (uint32_t number = 0; number < SIXLANE_FRESH_NUMBERS; number++)
			expect_all_to_count(half, number);
}

/*
 * A message that finds no room passes, is reported and counted, and punts nothing. One about a
 * destination that is there already needs no room, and the other half has room of its own.
 */
TEST(test_sl_fresh_is_full, "sl_fresh is full")
{
	char dst[32];
	uint16_t n = 0;

	install(1);
	while (!harness_icmp_events_lost() && n < 2 * SIXLANE_FRESH_MOST) {
		send_too_big(++n);
		assert_int_equal(harness_take(RING_ICMP_EVENTS, NULL, 0), 1);
	}
	/* some have all their bytes of others */
	assert_in_range(n, SIXLANE_FRESH_MOST + 1, SIXLANE_FRESH_MOST + 10);
	snprintf(dst, sizeof(dst), "2001:db8:6::%x", n);
	expect(dst, SIXLANE_FORWARD, NEIGH_GATEWAY, NULL);
	send_too_big(1);
	assert_int_equal(harness_icmp_events_lost(), 1);
	assert_int_equal(harness_fresh_count(0), 0);
	assert_int_equal(harness_fresh_count(1), SIXLANE_FRESH_MOST);
	harness_maps.meta->fresh = 0;
	send_too_big(n);
	assert_int_equal(harness_icmp_events_lost(), 1);
	expect(dst, SIXLANE_PUNT_EXCEPTION, NEIGH_GATEWAY, NULL);
}
