// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random worlds and random frames: the datapath must do exactly what the model says, byte for
 * byte and counter for counter, whoever finds the routes: every fourth world asks the trie. The
 * same seed gives the same run.
 */
#include <stdlib.h>
#include <time.h>

#include "model.h"
#include "tests.h"

#define RUNS 100000
#define FRAMES_PER_WORLD 200

static uint64_t random_state;

void fuzz_seed(uint64_t seed)
{
	random_state = seed;
}

/* splitmix64 */
static uint64_t random_word(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t fuzz_below(uint32_t n)
{
	return (uint32_t)(random_word() % n);
}

bool fuzz_one_in(uint32_t n)
{
	return !fuzz_below(n);
}

void fuzz_bytes(uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)random_word();
}

void fuzz_addr(uint8_t addr[16])
{
	static const uint8_t head[4] = { 0x20, 0x01, 0x0d, 0xb8 };

	memset(addr, 0, 16);
	memcpy(addr, head, sizeof(head));
	addr[5] = (uint8_t)fuzz_below(3);
	addr[7] = (uint8_t)fuzz_below(4);
	addr[8] = fuzz_one_in(4) ? 0x80 : 0;
	addr[15] = (uint8_t)fuzz_below(5);
	if (fuzz_one_in(8))
		addr[fuzz_below(16)] ^= (uint8_t)(1u << fuzz_below(8));
	if (fuzz_one_in(32))
		fuzz_bytes(addr, 16);
}

static size_t random_payload(void)
{
	if (fuzz_one_in(3))
		return 1200 + fuzz_below(400);
	return 1 + fuzz_below(90);
}

static void random_destination(const struct world *world, uint8_t addr[16])
{
	const uint32_t n_punted = (uint32_t)world->n_punted, n_fresh = (uint32_t)world->n_fresh;
	const uint32_t n_exceptions = (uint32_t)world->n_exceptions;

	if (n_punted && fuzz_one_in(6)) {
		memcpy(addr, world->punted[fuzz_below(n_punted)].bytes, 16);
	} else if (n_fresh && fuzz_one_in(6)) {
		memcpy(addr, world->fresh[fuzz_below(n_fresh)].dst.bytes, 16);
	} else if (n_exceptions && fuzz_one_in(2)) {
		memcpy(addr, world->exceptions[fuzz_below(n_exceptions)].dst.bytes, 16);
	} else if (!fuzz_one_in(4)) {
		memcpy(addr, world->routes[fuzz_below((uint32_t)world->n_routes)].key.addr.bytes,
		       16);
		if (fuzz_one_in(2))
			addr[15] ^= (uint8_t)fuzz_below(4);
	} else if (!fuzz_one_in(4)) {
		fuzz_addr(addr);
	}
}

/* What rules and hashes read: ports, an ICMPv6 type, a fragment's or an inner next header. */
static void random_transport(struct frame *frame)
{
	static const uint8_t next_headers[] = { 0,  4,	6,  17, 17, 41, 41, 43,	 44,
						47, 50, 51, 58, 58, 59, 60, 135, 137 };
	static const uint8_t types[] = {
		0, 1, 2, 3, 4, 5, 8, 13, 100, 128, 129, 133, 135, 137, 138
	};

	frame->bytes[AT_NEXT_HEADER] = FUZZ_PICK(next_headers);
	memset(frame->bytes + AT_PAYLOAD, 0, 4);
	frame->bytes[AT_PAYLOAD + 1] = (uint8_t)fuzz_below(8);
	frame->bytes[AT_PAYLOAD + 3] = (uint8_t)fuzz_below(8);
	if (frame->bytes[AT_NEXT_HEADER] == 58)
		frame->bytes[AT_PAYLOAD] = FUZZ_PICK(types);
	frame->bytes[AT_PAYLOAD + 6] = FUZZ_PICK(next_headers);
}

/* An ICMPv6 message that the kernel may learn an exception from, or nearly such a message. */
static void make_message(struct frame *frame)
{
	static const uint8_t types[] = { 2, 2, 134, 137, 137, 1, 136 };
	static const uint8_t scoped[] = { 0xfe, 0x80 };

	frame->bytes[AT_NEXT_HEADER] = 58;
	frame->bytes[AT_PAYLOAD] = FUZZ_PICK(types);
	if (!fuzz_one_in(4))
		frame->bytes[AT_HOP_LIMIT] = 255;
	frame_set16(frame, AT_PAYLOAD + 4, (uint16_t)fuzz_one_in(4));
	frame_set16(frame, AT_PAYLOAD + 6, (uint16_t)(1279 + fuzz_below(3)));
	if (fuzz_one_in(2))
		memcpy(frame->bytes + AT_SRC, scoped, sizeof(scoped));
	if (fuzz_one_in(4))
		memcpy(frame->bytes + AT_DST, scoped, sizeof(scoped));
}

static void mutate(struct frame *frame)
{
	if (fuzz_one_in(6))
		frame->bytes[AT_HOP_LIMIT] =
			(uint8_t)(fuzz_one_in(2) ? fuzz_below(4) : fuzz_below(256));
	if (fuzz_one_in(2))
		random_transport(frame);
	if (fuzz_one_in(3))
		fuzz_addr(frame->bytes + AT_SRC);
	if (fuzz_one_in(20))
		for (uint32_t n = 1 + fuzz_below(3); n; n--)
			frame->bytes[fuzz_below(AT_PAYLOAD)] ^= (uint8_t)(1u << fuzz_below(8));
	if (fuzz_one_in(100))
		fuzz_bytes(frame->bytes + fuzz_below(AT_PAYLOAD), 1 + fuzz_below(32));
	if (fuzz_one_in(200))
		fuzz_bytes(frame->bytes, frame->len);
}

static uint32_t random_tag(void)
{
	static const uint16_t tpids[] = { 0x8100, 0x8100, 0x88a8, 0x9100 };
	static const uint16_t vids[] = { 10, 20, 30, 40, 0, 0 };

	return (uint32_t)FUZZ_PICK(tpids) << 16 |
	       (fuzz_one_in(10) ? fuzz_below(4096) : FUZZ_PICK(vids));
}

/* The tags of some device, or any, with a priority; the MAC of one of the devices. */
static void random_tags(struct frame *frame, enum device dev)
{
	enum device vlan = (enum device)(DEV_BOND + fuzz_below(N_DEVICES - DEV_BOND));
	uint32_t tags[FRAME_TAGS] = { 0 };

	if (dev == DEV_IN && !fuzz_one_in(4))
		vlan = (enum device)(DEV_IN_10 + fuzz_below(4));
	if (fuzz_one_in(4)) {
		for (uint32_t i = 0, n = 1 + fuzz_below(3); i < n; i++)
			tags[i] = random_tag();
	} else {
		memcpy(tags, world_device_tags(vlan), WORLD_TAGS * sizeof(tags[0]));
		if (fuzz_one_in(8))
			tags[fuzz_below(FRAME_TAGS)] = random_tag();
	}
	for (int i = 0; i < FRAME_TAGS; i++)
		if (tags[i])
			tags[i] |= fuzz_below(16) << 12;
	if (fuzz_one_in(4))
		memcpy(frame->bytes + AT_DST_MAC, world_device_mac[vlan], 6);
	frame_push(frame, tags, FRAME_TAGS);
}

void fuzz_frame(const struct world *world, enum device dev, struct frame *frame)
{
	frame_plain(frame, random_payload(), fuzz_one_in(3) ? fuzz_below(50) : 0);
	memcpy(frame->bytes + AT_DST_MAC, world_device_mac[dev], 6);
	fuzz_bytes(frame->bytes + AT_VERSION + 1, 3);
	random_destination(world, frame->bytes + AT_DST);
	mutate(frame);
	if (fuzz_one_in(10))
		make_message(frame);
	if (fuzz_one_in(3))
		random_tags(frame, dev);
	if (fuzz_one_in(30))
		frame->len = AT_IP6 + fuzz_below((uint32_t)frame->len - AT_IP6 + 1);
}

uint64_t fuzz_env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

struct tally {
	uint64_t verdicts[SIXLANE_N_VERDICTS], answers, hits, icmp_events;
};

/* The programs by turns: what was compiled, where it redirects to, and the other flavours. */
static bool agrees(const struct world *world, enum device dev, const struct frame *frame,
		   uint64_t turn, struct tally *tally)
{
	static const enum harness_prog progs[] = { PROG_AS_IS, PROG_SHOWS_EGRESS, PROG_FRAGS,
						   PROG_TRACE };
	const uint64_t n_progs = harness_has(PROG_TRACE) ? 4 : 3;
	static struct model_result results[MODEL_ENTRIES];
	struct expected expected[MODEL_ENTRIES];
	uint32_t ingress = WORLD_IFINDEX(dev);
	size_t n = model_run(world, ingress, frame, results);

	for (size_t i = 0; i < n; i++)
		expected[i] = (struct expected){
			.verdict = results[i].verdict,
			.slot = results[i].slot,
			.egress = results[i].egress,
			.out = &results[i].out,
			.hit = results[i].hit,
			.icmp_event = results[i].has_icmp_event ? &results[i].icmp_event : NULL,
		};
	tally->verdicts[results[0].verdict]++;
	tally->answers +=
		results[0].verdict == SIXLANE_ANSWER_TOO_BIG &&
		results[0].out.bytes[AT_NEXT_HEADER] == 58; /* not just a route's next-hop entry */
	tally->hits += results[0].hit != NULL;
	tally->icmp_events += results[0].has_icmp_event;
	return harness_check(progs[(turn + turn / FRAMES_PER_WORLD) % n_progs], ingress, frame,
			     expected, n, turn % FRAMES_PER_WORLD ? SWEEP_WORLD : SWEEP_ALL);
}

/* A fuzzer that reaches little proves little. */
static void expect_spread(const struct tally *tally, uint64_t runs)
{
	size_t reached = 0;

	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		if (tally->verdicts[v])
			printf("  %-22s %llu\n", harness_verdict_name(v),
			       (unsigned long long)tally->verdicts[v]);
		reached += tally->verdicts[v] != 0;
	}
	printf("  exceptions hit %llu, answers made %llu, ICMP events %llu\n",
	       (unsigned long long)tally->hits, (unsigned long long)tally->answers,
	       (unsigned long long)tally->icmp_events);
	if (runs < RUNS)
		return;
	assert_true(tally->verdicts[SIXLANE_FORWARD] > runs / 10);
	assert_true(reached == SIXLANE_N_VERDICTS);
	assert_true(tally->hits > runs / 200 && tally->icmp_events > runs / 2000);
	assert_true(tally->answers > runs / 5000);
}

TEST(test_against_model, "random frames against the model")
{
	uint64_t seed = fuzz_env_number("SIXLANE_FUZZ_SEED", (uint64_t)time(NULL));
	uint64_t runs = fuzz_env_number("SIXLANE_FUZZ_RUNS", RUNS);
	struct tally tally = { 0 };
	static struct world world;
	static struct frame frame;
	size_t meta = harness_meta_max();

	fuzz_seed(seed);
	printf("SIXLANE_FUZZ_SEED=%llu SIXLANE_FUZZ_RUNS=%llu\n", (unsigned long long)seed,
	       (unsigned long long)runs);
	for (uint64_t i = 0; i < runs; i++) {
		enum device dev = fuzz_one_in(2) ? (enum device)fuzz_below(N_REAL_DEVICES) : DEV_IN;

		if (i % FRAMES_PER_WORLD == 0) {
			fuzz_world(&world);
			harness_answer_by(i / FRAMES_PER_WORLD % 4 ? SIXLANE_ENGINE_COMPILED
								   : SIXLANE_ENGINE_TRIE,
					  SIXLANE_DROP_BLACKHOLE);
			harness_install(&world);
		}
		fuzz_frame(&world, dev, &frame);
		frame.meta = fuzz_one_in(20) ? meta : 0;
		if (agrees(&world, dev, &frame, i, &tally))
			continue;
		fprintf(stderr, "frame %llu of seed %llu\n", (unsigned long long)i,
			(unsigned long long)seed);
		fail();
	}
	expect_spread(&tally, runs);
}
