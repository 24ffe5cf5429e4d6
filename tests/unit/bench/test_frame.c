// SPDX-License-Identifier: GPL-2.0-only
/* Frames of every size: lengths, what they carry, checksums, stamps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/bench/forward/frame.h"
#include "../unit.h"

#define STAMP 0x123456789abcull

static const uint8_t dst_mac[] = { 2, 0, 0, 0, 0, 1 }, src_mac[] = { 2, 0, 0, 0, 0, 2 };
static const union sixlane_addr src = { .bytes = { 0x20, 1, 0, 2, 0xff, [15] = 1 } };
static const union sixlane_addr dst = { .bytes = { 0x2a, 0xff, 0xff, [9] = 0x80, [15] = 0xfe } };

static unsigned int at16(const struct frame *frame, unsigned int at)
{
	return (unsigned int)frame->at[at] << 8 | frame->at[at + 1];
}

/* RFC 8200 section 8.1, over all of it: right if the sum is all ones. */
static unsigned int sum_udp(const struct frame *frame)
{
	unsigned int len = frame->bytes - FLOOD_IP6_BYTES, sum = 17 + len;

	for (unsigned int i = 22; i < frame->bytes; i += 2)
		sum += i + 1 < frame->bytes ? at16(frame, i) : (unsigned int)frame->at[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void check_stamp(const struct frame *frame, uint64_t wanted)
{
	uint64_t stamp = 0;

	memcpy(&stamp, frame->at + frame->header_bytes, FLOOD_STAMP_BYTES);
	assert_int_equal(stamp, wanted);
}

/* The same by frame_checksum(), of all of it and of what is not zero. */
static void check_checksum(const struct frame *frame)
{
	const union sixlane_addr addresses[] = { src, dst };
	const uint32_t bytes = frame->bytes - FLOOD_IP6_BYTES;
	uint8_t data[FRAME_BYTES_MAX] = { 0 };
	uint16_t is;

	memcpy(&is, frame->at + 60, sizeof(is));
	memcpy(data, frame->at + FLOOD_IP6_BYTES, bytes);
	memset(data + 6, 0, sizeof(is));
	assert_int_equal(frame_checksum(17, bytes, addresses, data, bytes + bytes % 2), is);
	assert_int_equal(frame_checksum(17, bytes, addresses, data, 14), is);
}

static void check_size(uint32_t bytes)
{
	struct frame frame;

	assert_int_equal(frame_make(bytes, dst_mac, src_mac, &src, &frame), 0);
	frame_address(&frame, &dst, 0x8001, STAMP);
	assert_memory_equal(frame.at, dst_mac, 6);
	assert_memory_equal(frame.at + 6, src_mac, 6);
	assert_int_equal(at16(&frame, 12), 0x86dd);
	assert_int_equal(at16(&frame, 18), bytes - FLOOD_IP6_BYTES);
	assert_int_equal(frame.at[21], FLOOD_HOP_LIMIT);
	assert_memory_equal(frame.at + 22, &src, 16);
	assert_memory_equal(frame.at + 38, &dst, 16);
	if (bytes < FLOOD_HEADER_BYTES) {
		assert_int_equal(frame.at[20], 59);
		check_stamp(&frame, STAMP);
		return;
	}
	assert_int_equal(frame.at[20], 17);
	assert_int_equal(at16(&frame, 54), 0x8001);
	assert_int_equal(at16(&frame, 56), 9);
	assert_int_equal(at16(&frame, 58), bytes - FLOOD_IP6_BYTES);
	assert_int_equal(sum_udp(&frame), 0xffff);
	check_checksum(&frame);
	if (bytes >= FLOOD_UDP_BYTES_MIN)
		check_stamp(&frame, STAMP);
}

static void test_sizes(void **state)
{
	for (uint32_t bytes = FLOOD_FRAME_BYTES_MIN; bytes <= FRAME_BYTES_MAX; bytes++)
		check_size(bytes);
}

/* 0 would say that there is none: one source port in 65,535 comes to it. */
static void test_checksum_is_never_0(void **state)
{
	struct frame frame;

	assert_int_equal(frame_make(128, dst_mac, src_mac, &src, &frame), 0);
	for (uint32_t port = 0; port <= UINT16_MAX; port++) {
		frame_address(&frame, &dst, (uint16_t)port, STAMP);
		assert_int_not_equal(at16(&frame, FLOOD_CHECKSUM_OFFSET), 0);
		assert_int_equal(sum_udp(&frame), 0xffff);
	}
}

/* Again, to another destination and without the stamp that was there. */
static void test_again(void **state)
{
	struct frame frame, once;

	assert_int_equal(frame_make(128, dst_mac, src_mac, &src, &frame), 0);
	once = frame;
	frame_address(&once, &src, 0x9999, 0);
	frame_address(&frame, &dst, 0x8001, STAMP);
	frame_address(&frame, &src, 0x9999, 0);
	assert_memory_equal(frame.at, once.at, 128);
	assert_int_equal(sum_udp(&frame), 0xffff);
}

static void test_bad_sizes(void **state)
{
	struct frame frame = { .bytes = 7 };

	assert_int_equal(frame_make(FLOOD_FRAME_BYTES_MIN - 1, dst_mac, src_mac, &src, &frame),
			 -EINVAL);
	assert_int_equal(frame_make(FRAME_BYTES_MAX + 1, dst_mac, src_mac, &src, &frame), -EINVAL);
	assert_int_equal(frame.bytes, 7);
}

static void test_macs(void **state)
{
	static const char *const bad[] = { "", "02:00:00:00:00", "02:00:00:00:00:01x",
					   "02:00:00:00:00:0g" };
	uint8_t mac[6];

	assert_int_equal(frame_parse_mac("02:00:00:00:00:01", mac), 0);
	assert_memory_equal(mac, dst_mac, 6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(frame_parse_mac(bad[i], mac), -EINVAL);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_checksum_is_never_0),
		cmocka_unit_test(test_again), cmocka_unit_test(test_bad_sizes),
		cmocka_unit_test(test_macs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
