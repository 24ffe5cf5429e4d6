// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random worlds and random frames: the datapath must do exactly what the model says, byte for
 * byte and counter for counter. The same seed gives the same run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "model.h"
#include "tests.h"

#define RUNS 100000
#define FRAMES_PER_WORLD 200

static uint64_t random_state;

/* splitmix64 */
static uint64_t random_word(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_word() % n);
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

static void random_bytes(uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)random_word();
}

static uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* --- worlds ---------------------------------------------------------------------------- */

/* Addresses that share prefixes of many lengths. */
static void random_addr(uint8_t addr[16])
{
	static const uint8_t head[4] = { 0x20, 0x01, 0x0d, 0xb8 };

	memset(addr, 0, 16);
	memcpy(addr, head, sizeof(head));
	addr[5] = (uint8_t)below(3);
	addr[7] = (uint8_t)below(4);
	addr[8] = one_in(4) ? 0x80 : 0;
	addr[15] = (uint8_t)below(5);
	if (one_in(8))
		addr[below(16)] ^= (uint8_t)(1u << below(8));
	if (one_in(32))
		random_bytes(addr, 16);
}

static uint32_t random_next_hop(void)
{
	static const uint32_t forwarding[] = { NH_GATEWAY, NH_GATEWAY, NH_ON_LINK, NH_ALT,
					       NH_LOCKED,  NH_SILENT,  NH_BACK };

	if (one_in(40))
		return below(SIXLANE_ROUTE_ID_MASK + 1);
	if (one_in(3))
		return NH_FATE + below(SIXLANE_MAX_VERDICTS);
	return forwarding[below(sizeof(forwarding) / sizeof(forwarding[0]))];
}

static bool is_double(const struct world *world, const struct sixlane_route_key *key)
{
	for (size_t i = 0; i < world->n_routes; i++)
		if (!memcmp(&world->routes[i].key, key, sizeof(*key)))
			return true;
	return false;
}

static void add_random_route(struct world *world)
{
	static const uint8_t lens[] = { 0,  1,	3,  16, 32, 33,	 47,  48,  49,
					56, 63, 64, 65, 96, 126, 127, 128, 128 };
	struct sixlane_route_key key;
	uint32_t len = lens[below(sizeof(lens))], next_hop = random_next_hop();

	world_add_route(world, "::/0", one_in(8) ? 255 : 0, next_hop);
	key = world->routes[--world->n_routes].key;
	key.prefix_len = SIXLANE_TABLE_BITS + len;
	random_addr(key.addr.bytes);
	for (uint32_t bit = len; bit < 128; bit++)
		key.addr.bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	if (is_double(world, &key))
		return;
	world->routes[world->n_routes].key = key;
	world->routes[world->n_routes++].value = sixlane_route_value(next_hop, len);
}

static void disturb_port(struct sixlane_port *port)
{
	switch (below(5)) {
	case 0:
		port->table = 255;
		break;
	case 1:
		port->mtu = 1280 + below(300);
		break;
	case 2:
		port->ifindex = below(3);
		break;
	default:
		port->flags ^= 1u << below(10);
	}
}

static void disturb_neighbours(struct world *world)
{
	struct sixlane_neigh *neigh = world_neigh(world, (enum neighbour)below(N_NEIGHBOURS));

	switch (below(4)) {
	case 0:
		neigh->mac.flags = (uint16_t)random_word();
		break;
	case 1:
		neigh->key.addr.bytes[below(16)] ^= 1;
		break;
	case 2:
		world->neigh_index[below(N_NEIGHBOURS)].slot = below(WORLD_NEIGHBOURS);
		break;
	default:
		random_bytes(neigh->mac.bytes, 6);
	}
}

static void random_world(struct world *world)
{
	uint32_t routes = 5 + below(60);

	harness_world(world);
	for (uint32_t i = 0; i < routes; i++)
		add_random_route(world);
	if (one_in(2))
		disturb_port(world_port(world, (enum device)below(DEV_STRANGER)));
	if (one_in(3))
		disturb_neighbours(world);
	if (one_in(20))
		world->meta.flags ^= 1u << below(4);
	if (one_in(100))
		world->meta.abi = below(3);
	if (one_in(20))
		world->port_index[below(4)].slot = below(SIXLANE_MAX_PORTS + 2);
	for (size_t i = 0; i < WORLD_NEXT_HOPS; i++)
		if (one_in(200))
			world->next_hops[i].mtu = 1280 + below(300);
	if (one_in(2))
		world_move_ports_home(world);
}

/* --- frames ---------------------------------------------------------------------------- */

static size_t random_payload(void)
{
	if (one_in(10))
		return 1200 + below(400);
	return 1 + below(64);
}

static void random_destination(const struct world *world, uint8_t addr[16])
{
	if (world->n_routes && !one_in(4)) {
		memcpy(addr, world->routes[below((uint32_t)world->n_routes)].key.addr.bytes, 16);
		if (one_in(2))
			addr[15] ^= (uint8_t)below(4);
	} else if (!one_in(4)) {
		random_addr(addr);
	}
}

static void mutate(struct frame *frame)
{
	static const uint8_t next_headers[] = { 0, 6, 17, 43, 44, 50, 51, 58, 59, 60, 135 };

	if (one_in(6))
		frame->bytes[AT_HOP_LIMIT] = (uint8_t)(one_in(2) ? below(4) : random_word());
	if (one_in(4))
		frame->bytes[AT_NEXT_HEADER] = next_headers[below(sizeof(next_headers))];
	if (one_in(20))
		random_addr(frame->bytes + AT_SRC);
	if (one_in(8))
		for (uint32_t n = 1 + below(3); n; n--)
			frame->bytes[below(AT_PAYLOAD)] ^= (uint8_t)(1u << below(8));
	if (one_in(20))
		frame->len = AT_IP6 + below((uint32_t)frame->len - AT_IP6 + 1);
	if (one_in(50))
		random_bytes(frame->bytes + below(AT_PAYLOAD), 1 + below(32));
	if (one_in(100))
		random_bytes(frame->bytes, frame->len);
}

static void random_frame(const struct world *world, enum device dev, struct frame *frame)
{
	const struct frame_spec spec = {
		.dst_mac = world_device_mac[dev],
		.payload = random_payload(),
		.padding = one_in(3) ? below(50) : 0,
	};

	frame_build(frame, &spec);
	random_bytes(frame->bytes + AT_VERSION + 1, 3);
	random_destination(world, frame->bytes + AT_DST);
	mutate(frame);
}

/* --- the run --------------------------------------------------------------------------- */

static bool agrees(const struct world *world, enum device dev, const struct frame *frame,
		   enum harness_sweep sweep, uint64_t *tally)
{
	uint32_t ingress = harness_ifindex()[dev];
	struct model_result model;
	struct expected expected;
	bool agree;

	model_run(world, ingress, frame, &model);
	expected = (struct expected){ model.verdict, model.slot, model.egress, &model.out };
	agree = harness_check(PROG_AS_IS, ingress, frame, &expected, sweep);
	if (model.verdict == SIXLANE_FORWARD)
		agree = harness_check(PROG_SHOWS_EGRESS, ingress, frame, &expected, sweep) && agree;
	tally[model.verdict]++;
	return agree;
}

/* A fuzzer that reaches little proves little. */
static void expect_spread(const uint64_t *tally, uint64_t runs)
{
	size_t reached = 0;

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		if (tally[v])
			printf("  %-22s %llu\n", harness_verdict_name(v),
			       (unsigned long long)tally[v]);
		reached += tally[v] != 0;
	}
	if (runs < RUNS)
		return;
	assert_true(tally[SIXLANE_FORWARD] > runs / 10);
	assert_true(reached >= SIXLANE_N_VERDICTS - 1); /* all but the trim that cannot fail */
}

void fuzz_test_against_model(void **state)
{
	uint64_t seed = env_number("SIXLANE_FUZZ_SEED", (uint64_t)time(NULL));
	uint64_t runs = env_number("SIXLANE_FUZZ_RUNS", RUNS);
	uint64_t tally[SIXLANE_N_VERDICTS] = { 0 };
	struct world world;
	struct frame frame;

	(void)state;
	random_state = seed;
	printf("SIXLANE_FUZZ_SEED=%llu SIXLANE_FUZZ_RUNS=%llu\n", (unsigned long long)seed,
	       (unsigned long long)runs);
	for (uint64_t i = 0; i < runs; i++) {
		enum device dev = one_in(3) ? (enum device)below(N_DEVICES) : DEV_IN;

		if (i % FRAMES_PER_WORLD == 0) {
			random_world(&world);
			harness_install(&world);
		}
		random_frame(&world, dev, &frame);
		if (agrees(&world, dev, &frame, i % FRAMES_PER_WORLD ? SWEEP_WORLD : SWEEP_ALL,
			   tally))
			continue;
		fprintf(stderr, "frame %llu of seed %llu\n", (unsigned long long)i,
			(unsigned long long)seed);
		fail();
	}
	expect_spread(tally, runs);
}
