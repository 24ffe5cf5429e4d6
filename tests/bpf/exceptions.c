// SPDX-License-Identifier: GPL-2.0-only
/* What exceptions leave behind: figures, CPU by CPU, and hints in a ring that may be full. */
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests.h"

#define N_HITS 3

static void install(void)
{
	const struct sixlane_exception via_alt = {
		.flags = SIXLANE_EXCEPTION_NEXT_HOP,
		.next_hop = NH_ALT,
		.expires_ns = UINT64_MAX,
		.added_ns = 77,
	};
	static struct world world;

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, NH_GATEWAY);
	world_mark_routes(&world, SIXLANE_ROUTE_EXCEPTIONS);
	world_add_exception(&world, "2001:db8:2::2", &via_alt);
	world_add_exception(&world, FRAME_DST, &via_alt);
	harness_install(&world);
}

static void hit(const struct frame *in)
{
	const union sixlane_addr dst = world_addr(FRAME_DST);
	static struct frame out;
	const struct expected expected = {
		.verdict = SIXLANE_FORWARD,
		.slot = world_port_slot(DEV_IN),
		.egress = harness_ifindex()[DEV_ALT],
		.out = &out,
		.hit = &dst,
	};

	out = *in;
	frame_route(&out, world_neigh_mac[NEIGH_ALT], world_device_mac[DEV_ALT]);
	harness_expect_once(DEV_IN, in, &expected);
}

/* An entry is not looked for where no bit says that there may be one: what the bits are for. */
void exception_test_bit_comes_before_entry(void **state)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN] };
	const struct world_exception own = { .dst = world_addr(FRAME_DST) };
	static struct frame frame, out;
	const struct expected by_route = {
		.verdict = SIXLANE_FORWARD,
		.slot = world_port_slot(DEV_IN),
		.egress = harness_ifindex()[DEV_OUT],
		.out = &out,
	};

	(void)state;
	frame_build(&frame, &spec);
	out = frame;
	frame_route(&out, world_neigh_mac[NEIGH_GATEWAY], world_device_mac[DEV_OUT]);
	for (int few = 0; few < 2; few++) {
		install();
		harness_meta()->few_exceptions = (uint32_t)few;
		harness_hide_exception(&own, !few);
		hit(&frame);
		harness_hide_exception(&own, few);
		harness_expect_once(DEV_IN, &frame, &by_route);
	}
	install();
	hit(&frame);
}

/* Each hit is checked to change one CPU's figures; here, whose. */
void exception_test_figures_by_cpu(void **state)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN], .padding = 3 };
	static struct frame frame;

	(void)state;
	install();
	frame_build(&frame, &spec);
	for (int cpu = 0; harness_pin(cpu); cpu++) {
		for (int i = 0; i < N_HITS + cpu; i++)
			hit(&frame);
		for (int other = 0; harness_exception(1, other); other++) {
			const struct sixlane_exception *value = harness_exception(1, other);
			uint64_t hits = other <= cpu ? (uint64_t)(N_HITS + other) : 0;

			assert_int_equal(value->hits, hits);
			assert_int_equal(value->bytes, hits * frame.len);
			assert_int_equal(value->used_ns != 0, hits != 0);
			assert_int_equal(value->added_ns, 77);
			assert_int_equal(harness_exception(0, other)->hits, 0);
		}
	}
	harness_unpin();
}

/* --- hints --------------------------------------------------------------------------------- */

/* Packet Too Big of 1300 to the router, about a packet to 2001:db8:6::n. */
static void build_message(struct frame *frame, uint16_t n)
{
	const struct frame_spec spec = { .dst_mac = world_device_mac[DEV_IN], .payload = 48 };

	frame_build(frame, &spec);
	frame_patch(frame, AT_NEXT_HEADER, "3aff");
	frame_patch(frame, AT_PAYLOAD, "0200000000000514");
	frame_patch(frame, AT_PAYLOAD + 8 + 24, "20010db8000600000000000000000000");
	frame_set16(frame, AT_PAYLOAD + 8 + 24 + 14, n);
}

static void install_ours(void)
{
	static struct world world;

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, NH_FATE + SIXLANE_PASS_LOCAL);
	harness_install(&world);
}

static void send_messages(uint16_t n)
{
	static struct frame in, out;
	uint32_t action;

	for (uint16_t i = 0; i < n; i++) {
		build_message(&in, i);
		assert_int_equal(
			harness_run(PROG_AS_IS, harness_ifindex()[DEV_IN], &in, &out, &action), 0);
		assert_int_equal(action, XDP_PASS);
		assert_int_equal(out.len, in.len);
		assert_memory_equal(out.bytes, in.bytes, in.len);
	}
}

/* Nobody reads for a while: the messages pass, what found room is told in order, the rest counted.
 */
void exception_test_full_ring_of_hints(void **state)
{
	const uint64_t each = sizeof(struct sixlane_hint) + 8; /* and the ring's own header */
	const uint64_t room = SIXLANE_HINTS_BYTES / each;
	static struct sixlane_hint hints[SIXLANE_HINTS_BYTES / sizeof(struct sixlane_hint)];
	const uint16_t sent = (uint16_t)(room + 100);
	size_t n;

	(void)state;
	install_ours();
	harness_take_hints(NULL, 0);
	send_messages(sent);
	n = harness_take_hints(hints, sizeof(hints) / sizeof(hints[0]));
	/* a ring is never full to the last byte */
	assert_in_range(n, room - 1, room);
	assert_int_equal(harness_hints_lost(), sent - n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(hints[i].dst.bytes[14] << 8 | hints[i].dst.bytes[15], i);
		assert_int_equal(hints[i].type, SIXLANE_HINT_TOO_BIG);
	}
	send_messages(5);
	assert_int_equal(harness_take_hints(hints, 10), 5);
	assert_int_equal(harness_hints_lost(), sent - n);
}

/* --- punt from the message on ---------------------------------------------------------------- */

#define QUOTED "2001:db8:6::1"

/* A packet to where the message was about is forwarded, or punted. */
static void expect_packet(enum sixlane_verdict verdict)
{
	const struct frame_spec spec = { .dst = QUOTED, .dst_mac = world_device_mac[DEV_IN] };
	static struct frame in, out;
	const struct expected expected = {
		.verdict = verdict,
		.slot = world_port_slot(DEV_IN),
		.egress = harness_ifindex()[DEV_OUT],
		.out = &out,
	};

	frame_build(&in, &spec);
	out = in;
	if (verdict == SIXLANE_FORWARD)
		frame_route(&out, world_neigh_mac[NEIGH_GATEWAY], world_device_mac[DEV_OUT]);
	harness_expect(PROG_AS_IS, DEV_IN, &in, &expected, SWEEP_ALL);
}

static void arrange_to_look(struct world *world)
{
	harness_world(world);
	world_add_route(world, "2001:db8:6::/48", 0, NH_GATEWAY);
	world->meta.flags |= SIXLANE_META_LOOK;
}

static void install_punted(void)
{
	static struct world world;

	arrange_to_look(&world);
	world_add_punted(&world, QUOTED);
	harness_install(&world);
}

/* In this half, but for one byte, which is in that one. */
static void install_fresh(uint32_t half, uint32_t number, uint32_t its_half)
{
	static struct world world;

	arrange_to_look(&world);
	world_add_fresh(&world, QUOTED, half, half);
	world.fresh[0].halves[number] = its_half;
	harness_install(&world);
}

void exception_test_every_bit_of_sl_punted_counts(void **state)
{
	const union sixlane_addr quoted = world_addr(QUOTED);

	(void)state;
	for (uint32_t number = 0; number < SIXLANE_PUNTED_NUMBERS; number++) {
		install_punted();
		expect_packet(SIXLANE_PUNT_EXCEPTION);
		harness_hide_punt(&quoted, number);
		expect_packet(SIXLANE_FORWARD);
	}
}

/* All of the same half: those of two halves may be other destinations'. */
void exception_test_every_byte_of_sl_fresh_counts(void **state)
{
	const union sixlane_addr quoted = world_addr(QUOTED);

	(void)state;
	for (uint32_t half = 0; half < SIXLANE_FRESH_HALVES; half++) {
		for (uint32_t number = 0; number < SIXLANE_FRESH_NUMBERS; number++) {
			install_fresh(half, number, half);
			expect_packet(SIXLANE_PUNT_EXCEPTION);
			harness_hide_punt(&quoted, number);
			expect_packet(SIXLANE_FORWARD);
			install_fresh(half, number, !half);
			expect_packet(SIXLANE_FORWARD);
		}
	}
}

static void send_message_to(enum harness_prog prog)
{
	static struct frame in, out;
	uint32_t action;

	build_message(&in, 1);
	assert_int_equal(harness_run(prog, harness_ifindex()[DEV_IN], &in, &out, &action), 0);
	assert_int_equal(action, XDP_PASS);
}

static void install_ours_and_theirs(uint32_t flags, uint32_t half)
{
	static struct world world;

	harness_world(&world);
	world_add_route(&world, "2001:db8:2::/48", 0, NH_FATE + SIXLANE_PASS_LOCAL);
	world_add_route(&world, "2001:db8:6::/48", 0, NH_GATEWAY);
	world.meta.flags |= flags;
	world.meta.fresh = half;
	harness_install(&world);
}

/* In either half, by either flavour that carries packets; nothing has told the daemon yet. */
void exception_test_no_window_behind_a_message(void **state)
{
	static const enum harness_prog progs[] = { PROG_AS_IS, PROG_FRAGS };

	(void)state;
	for (uint32_t half = 0; half < SIXLANE_FRESH_HALVES; half++) {
		for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
			install_ours_and_theirs(0, half);
			expect_packet(SIXLANE_FORWARD);
			send_message_to(progs[i]);
			expect_packet(SIXLANE_PUNT_EXCEPTION);
		}
	}
}

void exception_test_observed_and_traced_messages_punt_nothing(void **state)
{
	(void)state;
	install_ours_and_theirs(SIXLANE_META_OBSERVE, 0);
	send_message_to(PROG_AS_IS);
	expect_packet(SIXLANE_FORWARD);
	if (!harness_has(PROG_TRACE))
		return;
	install_ours_and_theirs(0, 0);
	send_message_to(PROG_TRACE);
	expect_packet(SIXLANE_FORWARD);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A token comes after 100 us: false if a message always takes longer here. */
static bool send_message_without_token(void)
{
	for (int i = 0; i < 1000; i++) {
		install_ours_and_theirs(0, 0);
		harness_take_hints(NULL, 0);
		harness_fill_buckets(0, now_ns());
		send_message_to(PROG_AS_IS);
		if (harness_hints_lost())
			return true;
	}
	return false;
}

/* The bucket is empty: the message passes, is told, is counted as lost, and punts nothing. */
void exception_test_rate_of_messages(void **state)
{
	(void)state;
	if (!send_message_without_token()) {
		fprintf(stderr, "SKIP: this machine is too slow to empty a bucket\n");
		skip();
	}
	assert_int_equal(harness_take_hints(NULL, 0), 1);
	assert_int_equal(harness_hints_lost(), 1);
	expect_packet(SIXLANE_FORWARD);
	harness_fill_buckets(0, 0);
	send_message_to(PROG_AS_IS);
	assert_int_equal(harness_hints_lost(), 1);
	expect_packet(SIXLANE_PUNT_EXCEPTION);
}

/* Without pause: as many as the bucket holds are punt, and what has flowed in meanwhile. */
void exception_test_burst_of_messages(void **state)
{
	const uint64_t sent = 30000, burst = 10000, each_ns = 100000;
	uint64_t from_ns, ns;

	(void)state;
	install_ours_and_theirs(0, 0);
	assert_true(harness_pin(0));
	from_ns = now_ns();
	for (uint64_t i = 0; i < sent; i++) {
		send_message_to(PROG_AS_IS);
		if (i % 1000 == 0)
			harness_take_hints(NULL, 0);
	}
	ns = now_ns() - from_ns;
	harness_unpin();
	harness_take_hints(NULL, 0);
	assert_in_range(sent - harness_hints_lost(), burst, burst + ns / each_ns + 1);
}
