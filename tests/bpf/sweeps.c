// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a table of rows would be too long for: every length, every padding, every value of a
 * field, every length of a prefix.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests.h"

#define SHORTEST 14 /* BPF_PROG_TEST_RUN takes no frame without an Ethernet header */

/* The default world with one route for FRAME_DST. */
static void install_route(const char *prefix, uint32_t next_hop)
{
	struct world world;

	harness_world(&world);
	world_add_route(&world, prefix, 0, next_hop);
	harness_install(&world);
}

static void build(struct frame *frame, size_t payload, size_t padding)
{
	const struct frame_spec spec = {
		.dst_mac = world_device_mac[DEV_IN],
		.payload = payload,
		.padding = padding,
	};

	frame_build(frame, &spec);
}

static void expect(const struct frame *in, enum sixlane_verdict verdict, enum neighbour via)
{
	harness_expect_via(in, verdict, via, NULL, SWEEP_WORLD);
}

static void expect_all_lengths(const struct frame *whole, size_t packet,
			       enum sixlane_verdict if_short, enum sixlane_verdict if_whole)
{
	struct frame frame = *whole;

	for (frame.len = SHORTEST; frame.len <= whole->len; frame.len++)
		expect(&frame, frame.len < packet ? if_short : if_whole, NEIGH_GATEWAY);
}

/*
 * Cut at every byte: what lies behind the cut stays in the frame's memory, as it does in a
 * driver's buffer, and would be forwarded.
 */
void sweep_test_every_length(void **state)
{
	struct frame frame;

	install_route("2001:db8:2::/48", NH_GATEWAY);
	build(&frame, 0, 0);
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	build(&frame, 300, 50);
	expect_all_lengths(&frame, frame.len - 50, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	build(&frame, 0, 0);
	frame_patch(&frame, AT_HOP_LIMIT, "01");
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_PASS_HOP_LIMIT);
	build(&frame, 0, 6);
	frame_patch(&frame, AT_PAYLOAD_LEN, "0000");
	expect_all_lengths(&frame, AT_PAYLOAD, SIXLANE_PASS_TRUNCATED, SIXLANE_FORWARD);
	build(&frame, 0, 0);
	frame_patch(&frame, AT_ETHERTYPE, "0800");
	expect_all_lengths(&frame, 0, SIXLANE_PASS_NOT_IPV6, SIXLANE_PASS_NOT_IPV6);
	install_route("2001:db8:2::/48", NH_FATE + SIXLANE_DROP_BLACKHOLE);
	build(&frame, 0, 0);
	expect_all_lengths(&frame, frame.len, SIXLANE_PASS_TRUNCATED, SIXLANE_DROP_BLACKHOLE);
}

void sweep_test_every_padding(void **state)
{
	struct frame frame;

	install_route("2001:db8:2::/48", NH_GATEWAY);
	for (size_t padding = 0; padding <= 600; padding++) {
		build(&frame, 1 + padding % 7, padding);
		expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
	}
}

void sweep_test_every_hop_limit(void **state)
{
	struct frame frame;

	install_route("2001:db8:2::/48", NH_GATEWAY);
	build(&frame, 0, 0);
	for (int limit = 0; limit <= 255; limit++) {
		frame.bytes[AT_HOP_LIMIT] = (uint8_t)limit;
		expect(&frame, limit <= 1 ? SIXLANE_PASS_HOP_LIMIT : SIXLANE_FORWARD,
		       NEIGH_GATEWAY);
	}
}

void sweep_test_every_next_header(void **state)
{
	struct frame frame;

	install_route("2001:db8:2::/48", NH_GATEWAY);
	build(&frame, 0, 0);
	for (int next = 0; next <= 255; next++) {
		frame.bytes[AT_NEXT_HEADER] = (uint8_t)next;
		expect(&frame, next ? SIXLANE_FORWARD : SIXLANE_PASS_HOP_BY_HOP, NEIGH_GATEWAY);
	}
}

void sweep_test_every_class_and_flow_bit(void **state)
{
	struct frame frame;

	install_route("2001:db8:2::/48", NH_GATEWAY);
	build(&frame, 0, 0);
	for (int bit = 4; bit < 32; bit++) {
		frame_patch(&frame, AT_VERSION, "60000000");
		frame.bytes[AT_VERSION + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
	}
}

void sweep_test_every_size_around_the_mtu(void **state)
{
	struct frame frame;

	for (int locked = 0; locked <= 1; locked++) {
		size_t mtu = locked ? 1400 : 1500;

		install_route("2001:db8:2::/48", locked ? NH_LOCKED : NH_GATEWAY);
		for (size_t size = mtu - 50; size <= mtu + 50; size++) {
			build(&frame, size - 40, size % 3);
			expect(&frame, size > mtu ? SIXLANE_PASS_TOO_BIG : SIXLANE_FORWARD,
			       NEIGH_GATEWAY);
		}
	}
}

/* FRAME_DST's prefix of len bits. */
static void add_prefix_of(struct world *world, const uint8_t *addr, uint32_t len, uint32_t next_hop)
{
	struct sixlane_route_key *key;

	world_add_route(world, "::/0", 0, next_hop);
	key = &world->routes[world->n_routes - 1].key;
	key->prefix_len = SIXLANE_TABLE_BITS + len;
	for (uint32_t bit = 0; bit < len; bit++)
		key->addr.bytes[bit / 8] |= (uint8_t)(addr[bit / 8] & 0x80 >> bit % 8);
	world->routes[world->n_routes - 1].value = sixlane_route_value(next_hop, len);
}

static void flip(uint8_t *addr, uint32_t bit)
{
	addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

static void expect_no_route(const struct frame *in)
{
	const struct expected expected = {
		.verdict = SIXLANE_PASS_NO_ROUTE,
		.slot = world_port_slot(DEV_IN),
		.out = in,
	};

	harness_expect_once(DEV_IN, in, &expected);
}

/* /0 … /128 each alone: the address hits, and with the prefix's last bit flipped it misses. */
void sweep_test_every_prefix_length_alone(void **state)
{
	struct frame frame;
	struct world world;

	build(&frame, 0, 0);
	for (uint32_t len = 0; len <= 128; len++) {
		harness_world(&world);
		add_prefix_of(&world, frame.bytes + AT_DST, len, NH_GATEWAY);
		harness_install(&world);
		expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
		for (uint32_t bit = 0; bit < len; bit++) {
			flip(frame.bytes + AT_DST, bit);
			expect_no_route(&frame);
			flip(frame.bytes + AT_DST, bit);
		}
	}
}

/* All 129 at once, by turns to two next hops: an address that differs in bit n is the /n's. */
void sweep_test_every_prefix_length_over_the_shorter(void **state)
{
	struct frame frame;
	struct world world;

	build(&frame, 0, 0);
	harness_world(&world);
	for (uint32_t len = 0; len <= 128; len++)
		add_prefix_of(&world, frame.bytes + AT_DST, len, len % 2 ? NH_ALT : NH_GATEWAY);
	harness_install(&world);
	expect(&frame, SIXLANE_FORWARD, NEIGH_GATEWAY);
	for (uint32_t bit = 0; bit < 128; bit++) {
		flip(frame.bytes + AT_DST, bit);
		expect(&frame, SIXLANE_FORWARD, bit % 2 ? NEIGH_ALT : NEIGH_GATEWAY);
		flip(frame.bytes + AT_DST, bit);
	}
}
