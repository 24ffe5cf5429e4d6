// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers (Packet Too Big) that a table of rows would be too long for: known bytes, every size,
 * type and headroom, the flow label, the rate.
 */
#include <linux/bpf.h>

#include "../../user/lib/util.h"
#include "tests.h"

static void expect_from(const struct frame *in, enum sixlane_verdict verdict, uint32_t mtu,
			bool once)
{
	const union sixlane_addr dst = world_addr(FRAME_DST);

	EXPECT(.frame = in, .verdict = verdict, .answer = { .mtu = mtu, .via = NEIGH_IN },
	       .hit = &dst, .once = once);
}

static void expect(const struct frame *in, enum sixlane_verdict verdict, uint32_t mtu)
{
	expect_from(in, verdict, mtu, false);
}

/*
 * The answer's headers and what it quotes are written down by hand. The checksum was computed by
 * another program.
 */
TEST(test_known_bytes, "known bytes of an answer")
{
	static const char in_hex[] =
		"021121314151 02000000ee01 86dd 6b8fedcb051a1140"
		"20010db8000100000000000000000001 20010db8000200000000000000000001 4142434445464748";
	static const char out_hex[] =
		"b24d81a1adcd 021121314151 86dd 6000000004d83a64"
		"20010db800ff00000000000000000001 20010db8000100000000000000000001 0200ca4600000500"
		"6b8fedcb051a1140"
		"20010db8000100000000000000000001 20010db8000200000000000000000001 4142434445464748";
	static struct frame in, out, want;

	harness_install_locked_mtu(1280);
	frame_from_hex(&in, in_hex);
	in.len = AT_PAYLOAD + 0x51a;
	memset(in.bytes + AT_PAYLOAD + 8, 0x5a, 0x51a - 8);
	frame_from_hex(&want, out_hex);
	want.len = 14 + 1280;
	memset(want.bytes + 62 + 48, 0x5a, 1232 - 48);
	assert_int_equal(harness_send(PROG_AS_IS, &in, &out), XDP_REDIRECT);
	if (out.len != want.len || memcmp(out.bytes, want.bytes, want.len)) {
		frame_dump("came out", &out);
		frame_dump("expected", &want);
		fail();
	}
}

TEST(test_every_size, "answers to every size")
{
	static struct frame frame;

	harness_install_locked_mtu(1400);
	for (size_t size = 1300; size <= 1600; size++) {
		frame_plain(&frame, size - 40, size % 3);
		expect(&frame, size > 1400 ? SIXLANE_ANSWER_TOO_BIG : SIXLANE_FORWARD, 1400);
	}
	harness_install_locked_mtu(1280);
	for (size_t size = 1275; size <= 1290; size++) {
		frame_plain(&frame, size - 40, size % 3);
		expect(&frame, size > 1280 ? SIXLANE_ANSWER_TOO_BIG : SIXLANE_FORWARD, 1280);
	}
}

/* All sums that the two bytes which differ can make, so that every carry comes about. */
TEST(test_every_checksum, "answers with every checksum")
{
	static struct frame frame;

	harness_install_locked_mtu(1400);
	frame_plain(&frame, 1361, 0);
	for (uint32_t word = 0; word <= 0xffff; word += 37) {
		frame_set16(&frame, AT_PAYLOAD + 100, (uint16_t)word);
		expect(&frame, SIXLANE_ANSWER_TOO_BIG, 1400);
	}
	memset(frame.bytes + AT_PAYLOAD, 0xff, 1361);
	expect(&frame, SIXLANE_ANSWER_TOO_BIG, 1400);
	memset(frame.bytes + AT_PAYLOAD, 0, 1361);
	expect(&frame, SIXLANE_ANSWER_TOO_BIG, 1400);
}

/* Only behind next header 58 is the first byte an ICMPv6 type: errors are not answered. */
TEST(test_every_type, "answers about every ICMPv6 type and next header")
{
	static struct frame frame;

	harness_install_locked_mtu(1400);
	frame_plain(&frame, 1361, 0);
	frame.bytes[AT_NEXT_HEADER] = 58;
	for (int type = 0; type <= 255; type++) {
		frame.bytes[AT_PAYLOAD] = (uint8_t)type;
		expect(&frame, type < 128 ? SIXLANE_PASS_TOO_BIG : SIXLANE_ANSWER_TOO_BIG, 1400);
	}
	frame_patch(&frame, AT_PAYLOAD, "1100ffffffffffff");
	for (int next = 1; next <= 255; next++) {
		frame.bytes[AT_NEXT_HEADER] = (uint8_t)next;
		expect(&frame, next == 58 ? SIXLANE_PASS_TOO_BIG : SIXLANE_ANSWER_TOO_BIG, 1400);
	}
}

/* Metadata takes headroom, four bytes at a time. */
TEST(test_every_room, "answers with every room in front")
{
	size_t most = harness_meta_max();
	static struct frame frame;

	if (!most) {
		fprintf(stderr, "SKIP: this kernel has little room for metadata\n");
		skip();
	}
	harness_install_locked_mtu(1400);
	frame_plain(&frame, 1361, 1);
	for (frame.meta = 0; frame.meta <= most; frame.meta += 4)
		expect(&frame,
		       frame.meta + 48 + 40 <= 256 ? SIXLANE_ANSWER_TOO_BIG
						   : SIXLANE_PASS_NO_HEADROOM,
		       1400);
}

/* The label is random; the rest, with the checksum, is as without one. */
TEST(test_flow_label, "flow label of answers")
{
	static struct frame in, out, want;
	uint32_t labels = 0, first = 0;

	harness_install_locked_mtu(1400);
	harness_maps.meta->flags |= SIXLANE_META_FLOW_LABEL;
	frame_plain(&in, 1361, 0);
	harness_build_answer(&want, &in, 1400);
	for (int i = 0; i < 64; i++) {
		uint32_t label;

		harness_send(PROG_AS_IS, &in, &out);
		assert_int_equal(out.bytes[AT_VERSION], 0x60);
		assert_int_equal(out.bytes[AT_VERSION + 1] & 0xf0, 0);
		label = (uint32_t)out.bytes[AT_VERSION + 1] << 16 | frame_get16(&out, AT_FLOW);
		labels |= label;
		first = i ? first & label : label;
		memset(out.bytes + AT_VERSION + 1, 0, 3);
		assert_int_equal(out.len, want.len);
		assert_memory_equal(out.bytes, want.bytes, want.len);
	}
	/* each of 19 bits is set in some and clear in others, but for one time in 10^14; the first
	 * one is set in all, as in those of net.ipv6.flowlabel_state_ranges */
	assert_int_equal(labels, 0xfffff);
	assert_int_equal(first, 0x80000);
}

#define HOUR_NS 3600000000000u
#define DEADLINE_NS 60000000000u

static void expect_once(const struct frame *in, enum sixlane_verdict verdict)
{
	expect_from(in, verdict, 1400, true);
}

static void install_rate(uint64_t ns, uint64_t burst, uint64_t filled_ns)
{
	harness_install_locked_mtu(1400);
	harness_maps.meta->answer_ns = ns;
	harness_maps.meta->answer_burst = burst;
	harness_fill_buckets(filled_ns);
}

static void expect_answers(const struct frame *in, int answers)
{
	for (int i = 0; i < answers; i++)
		expect_once(in, SIXLANE_ANSWER_TOO_BIG);
	for (int i = 0; i < 3; i++)
		expect_once(in, SIXLANE_DROP_TOO_BIG_RATE);
}

/* The tests take less than an hour, in which no answer more is allowed. */
TEST(test_rate, "rate of answers")
{
	static struct frame frame;

	static const struct {
		uint64_t burst, hours; /* since the bucket was empty */
		int answers;
	} rates[] = {
		{ 5, 5, 5 }, { 5, 100, 5 }, { 5, 2, 2 }, { 5, 0, 0 }, { 1, 100, 1 }, { 0, 100, 0 },
	};

	harness_pin(0);
	frame_plain(&frame, 1361, 0);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		install_rate(HOUR_NS, rates[i].burst, util_now_ns() - rates[i].hours * HOUR_NS);
		expect_answers(&frame, rates[i].answers);
	}
	install_rate(0, 0, util_now_ns()); /* no bound */
	for (int i = 0; i < 10; i++)
		expect_once(&frame, SIXLANE_ANSWER_TOO_BIG);
	harness_unpin();
}

/* The bucket fills again. */
TEST(test_rate_in_time, "rate of answers in time")
{
	const uint64_t each_ns = 2000000;
	static struct frame in;
	uint64_t start_ns, spent_ns;
	uint32_t answers = 0;

	harness_pin(0);
	frame_plain(&in, 1361, 0);
	install_rate(each_ns, 1, util_now_ns());
	start_ns = util_now_ns();
	do {
		answers += harness_send(PROG_AS_IS, &in, NULL) == XDP_REDIRECT;
		spent_ns = util_now_ns() - start_ns;
	} while (answers < 20 && spent_ns < DEADLINE_NS);
	assert_int_equal(answers, 20);
	/* never sooner, and not much later unless this process had to wait */
	assert_true(spent_ns >= 19 * each_ns);
	harness_unpin();
}

/* Each CPU has its own. */
TEST(test_rate_by_cpu, "rate of answers, CPU by CPU")
{
	static struct frame frame;

	frame_plain(&frame, 1361, 0);
	install_rate(HOUR_NS, 2, util_now_ns() - 2 * HOUR_NS);
	for (int cpu = 0; harness_pin(cpu); cpu++)
		expect_answers(&frame, 2);
	harness_unpin();
}
