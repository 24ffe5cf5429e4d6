// SPDX-License-Identifier: GPL-2.0-only
/* The packet that `sixlane explain` sends through the program: byte for byte, there and back. */
#include "../unit.h"

#include <arpa/inet.h>
#include <string.h>

#include "../../../user/cli/packet.h"
#include "../../../user/lib/util.h"

static struct packet example(uint8_t proto)
{
	struct packet packet = { .dst_mac = { 2, 0, 0, 0, 0, 1 },
				 .src_mac = { 2, 0, 0, 0, 0, 2 },
				 .proto = proto,
				 .tclass = 0x12,
				 .label = 0x34567,
				 .hop_limit = 64,
				 .sport = 0x1234,
				 .dport = 0x0035 };

	inet_pton(AF_INET6, "2001:db8::1", &packet.src);
	inet_pton(AF_INET6, "2001:db8::2", &packet.dst);
	return packet;
}

static void udp_byte_for_byte(void **state)
{
	static const uint8_t wanted[] = {
		2,    0,    0,	  0,	0,    1,    2,	0,  0, 0, 0, 2, 0x86, 0xdd, /* Ethernet */
		0x61, 0x23, 0x45, 0x67, 0,    10,   17, 64,			    /* IPv6 */
		0x20, 0x01, 0x0d, 0xb8, 0,    0,    0,	0,  0, 0, 0, 0, 0,    0,    0,
		1,    0x20, 0x01, 0x0d, 0xb8, 0,    0,	0,  0, 0, 0, 0, 0,    0,    0,
		0,    2,    0x12, 0x34, 0,    0x35, 0,	10, 0, 0, 0, 0, /* UDP and two bytes */
	};
	struct packet packet = example(17);
	uint8_t frame[128];

	packet.ip_bytes = 50;
	memset(frame, 0xff, sizeof(frame));
	assert_int_equal(packet_build(&packet, frame, sizeof(frame)), sizeof(wanted));
	assert_memory_equal(frame, wanted, sizeof(wanted));
	assert_int_equal(frame[sizeof(wanted)], 0xff);
	assert_int_equal(packet_build(&packet, frame, sizeof(wanted) - 1), 0);
}

static void headers_are_whole(void **state)
{
	static const struct {
		uint8_t proto;
		uint32_t bytes;
	} rows[] = { { 17, 48 }, { 6, 60 }, { 58, 48 }, { 132, 48 }, { 44, 48 }, { 50, 48 } };
	uint8_t frame[128];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct packet packet = example(rows[i].proto);

		assert_int_equal(packet_min_bytes(rows[i].proto), rows[i].bytes);
		assert_int_equal(packet_build(&packet, frame, sizeof(frame)), 14 + rows[i].bytes);
		assert_int_equal(packet.ip_bytes, rows[i].bytes);
		assert_int_equal(frame[14 + 6], rows[i].proto);
		assert_int_equal(frame[14 + 5], rows[i].bytes - 40);
	}
}

static void what_is_built_is_read(void **state)
{
	struct packet packet = example(6), back;
	uint8_t frame[256];
	size_t len;

	for (int n_tags = 0; n_tags <= 2; n_tags++) {
		memset(packet.tags, 0, sizeof(packet.tags));
		if (n_tags)
			packet.tags[n_tags - 1].tpid = htons(0x8100);
		if (n_tags)
			packet.tags[n_tags - 1].tci = htons(10);
		if (n_tags == 2)
			packet.tags[0] =
				(union sixlane_tag){ .tpid = htons(0x88a8), .tci = htons(5) };
		len = packet_build(&packet, frame, sizeof(frame));
		assert_int_equal(len, 14 + 60 + 4 * n_tags);
		assert_true(packet_parse(frame, len, &back));
		assert_memory_equal(&back.dst_mac, &packet.dst_mac, 6);
		assert_memory_equal(&back.src_mac, &packet.src_mac, 6);
		assert_memory_equal(back.tags, packet.tags, sizeof(packet.tags));
		assert_memory_equal(&back.src, &packet.src, 16);
		assert_memory_equal(&back.dst, &packet.dst, 16);
		assert_int_equal(back.hop_limit, 64);
		assert_int_equal(back.ip_bytes, 60);
		for (size_t cut = 0; cut < len; cut++)
			assert_false(packet_parse(frame, cut, &back));
	}
	frame[13] = 0;
	assert_false(packet_parse(frame, len, &back));
}

static void protocols_have_names(void **state)
{
	uint8_t proto = 99;
	char buf[16];

	assert_true(packet_parse_proto("UDP", &proto) && proto == 17);
	assert_true(packet_parse_proto("tcp", &proto) && proto == 6);
	assert_true(packet_parse_proto("icmp6", &proto) && proto == 58);
	assert_true(packet_parse_proto("ipv6-icmp", &proto) && proto == 58);
	assert_true(packet_parse_proto("255", &proto) && proto == 255);
	assert_true(packet_parse_proto("0", &proto) && proto == 0);
	assert_false(packet_parse_proto("256", &proto));
	assert_false(packet_parse_proto("-1", &proto));
	assert_false(packet_parse_proto("", &proto));
	assert_false(packet_parse_proto("udpx", &proto));
	assert_string_equal(packet_proto_name(17, buf), "UDP");
	assert_string_equal(packet_proto_name(58, buf), "ICMPv6");
	assert_string_equal(packet_proto_name(132, buf), "protocol 132");
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_byte_for_byte),
		cmocka_unit_test(headers_are_whole),
		cmocka_unit_test(what_is_built_is_read),
		cmocka_unit_test(protocols_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
