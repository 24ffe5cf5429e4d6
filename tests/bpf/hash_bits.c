// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which flows share a member: bit by bit of the packet under every hash policy, as the kernel's
 * rt6_multipath_hash() is over fields.
 */
#include "tests.h"

#define TRIALS 8 /* packets that a bit is flipped in: of 16 members one is hit again */
#define FLIP_FROM AT_VERSION
#define FLIP_BYTES 104 /* IPv6 header and 64 bytes behind it */

struct span {
	uint8_t at; /* from the IPv6 header on */
	uint8_t len;
	uint8_t first_mask; /* of its first byte; 0: all of it */
};

struct influence {
	const char *name;
	union sixlane_hash_policy hash;
	uint8_t next_header;
	uint8_t first_byte;   /* of the payload: an ICMPv6 type */
	size_t payload;	      /* 0: 64 */
	struct span spans[6]; /* what counts beside the next header; all else does not */
	bool next_counts;
};

/* Offsets in the IPv6 header, and of a second one 40 or 48 bytes on. */
#define LABEL_AT(at) ITEM((at) + 1, 3, 0x0f)
#define ADDRS_AT(at) ITEM((at) + 8, 32, 0)
#define BYTES(at, len) ITEM((at), (len), 0)
#define OUTER .spans = { LABEL_AT(0), ADDRS_AT(0) }
#define QUOTED .spans = { LABEL_AT(48), ADDRS_AT(48), BYTES(54, 1) }
#define FIELDS(fields_) .hash = { .policy = SIXLANE_HASH_FIELDS, .fields = (fields_) }
#define L3 .hash = { .policy = SIXLANE_HASH_L3 }
#define L4 .hash = { .policy = SIXLANE_HASH_L4 }
#define INNER .hash = { .policy = SIXLANE_HASH_INNER }

static const struct influence influences[] = {
	{ "L3, UDP", L3, 17, OUTER, .next_counts = true },
	{ "L3, TCP", L3, 6, OUTER, .next_counts = true },
	{ "L3, fragment", L3, 44, OUTER, .next_counts = true },
	{ "L3, IPv6 in IPv6", L3, 41, OUTER, .next_counts = true },
	{ "L3, ICMPv6 echo", L3, 58, 128, OUTER },
	{ "L3, ICMPv6 unreachable", L3, 58, 1, QUOTED },
	{ "L3, ICMPv6 too big", L3, 58, 2, QUOTED },
	{ "L3, ICMPv6 time exceeded", L3, 58, 3, QUOTED },
	{ "L3, ICMPv6 parameter problem", L3, 58, 4, QUOTED },
	{ "L3, ICMPv6 of type 0", L3, 58, 0, OUTER },
	{ "L3, ICMPv6 of type 5", L3, 58, 5, OUTER },
	{ "L3, ICMPv6 of type 100", L3, 58, 100, OUTER },
	{ "L3, ICMPv6 error about less than a header", L3, 58, 1, 47, OUTER },
	{ "L3, ICMPv6 error about a header", L3, 58, 1, 48, QUOTED },

	{ "L4, UDP", L4, 17, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, TCP", L4, 6, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, SCTP", L4, 132, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, DCCP", L4, 33, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, UDP-Lite", L4, 136, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, ESP", L4, 50, .spans = { ADDRS_AT(0), BYTES(40, 4) } },
	{ "L4, AH", L4, 51, .spans = { ADDRS_AT(0), BYTES(44, 4) } },
	{ "L4, ICMPv6", L4, 58, 128, .spans = { ADDRS_AT(0) } },
	{ "L4, ICMPv6 error", L4, 58, 1, .spans = { ADDRS_AT(0) } },
	{ "L4, fragment", L4, 44, .spans = { ADDRS_AT(0), BYTES(40, 1) } },
	{ "L4, IPv6 in IPv6", L4, 41, .spans = { ADDRS_AT(0) } },
	{ "L4, GRE", L4, 47, .spans = { ADDRS_AT(0) } },
	{ "L4, OSPF", L4, 89, .spans = { ADDRS_AT(0) } },

	{ "inner, UDP", INNER, 17, OUTER },
	{ "inner, ICMPv6 error", INNER, 58, 1, OUTER },
	{ "inner, fragment", INNER, 44, .spans = { LABEL_AT(0), ADDRS_AT(0), BYTES(40, 1) } },
	{ "inner, IPv6 in IPv6", INNER, 41, .spans = { LABEL_AT(40), ADDRS_AT(40), BYTES(46, 1) } },

	{ "fields, none", FIELDS(0), 17, .next_counts = false },
	{ "fields, source", FIELDS(0x001), 17, .spans = { BYTES(8, 16) } },
	{ "fields, destination", FIELDS(0x002), 17, .spans = { BYTES(24, 16) } },
	{ "fields, protocol", FIELDS(0x004), 17, .next_counts = true },
	{ "fields, protocol, fragment", FIELDS(0x004), 44, .spans = { BYTES(40, 1) } },
	{ "fields, label", FIELDS(0x008), 17, .spans = { LABEL_AT(0) } },
	{ "fields, source port", FIELDS(0x010), 17, .spans = { BYTES(40, 2) } },
	{ "fields, destination port", FIELDS(0x020), 17, .spans = { BYTES(42, 2) } },
	{ "fields, source port, AH", FIELDS(0x010), 51, .spans = { BYTES(44, 2) } },
	{ "fields, ports, fragment", FIELDS(0x030), 44, .spans = { { 0 } } },
	{ "fields, inner, UDP", FIELDS(0xfc0), 17, .spans = { { 0 } } },
	{ "fields, inner source", FIELDS(0x040), 41, .spans = { BYTES(48, 16) } },
	{ "fields, inner destination", FIELDS(0x080), 41, .spans = { BYTES(64, 16) } },
	{ "fields, inner protocol", FIELDS(0x100), 41, .spans = { BYTES(46, 1) } },
	{ "fields, inner label", FIELDS(0x200), 41, .spans = { LABEL_AT(40) } },
	{ "fields, source and inner destination", FIELDS(0x081), 41,
	  .spans = { BYTES(8, 16), BYTES(64, 16) } },
	{ "fields, label and source port", FIELDS(0x018), 17,
	  .spans = { LABEL_AT(0), BYTES(40, 2) } },
	{ "fields of tomorrow", FIELDS(0x7000), 17, .spans = { { 0 } } },
};

static bool counts(const struct influence *influence, size_t byte, uint8_t bit)
{
	for (size_t i = 0; i < sizeof(influence->spans) / sizeof(influence->spans[0]); i++) {
		const struct span *span = &influence->spans[i];

		if (byte < span->at || byte >= (size_t)span->at + span->len)
			continue;
		if (byte > span->at || !span->first_mask || span->first_mask & bit)
			return true;
	}
	return false;
}

/* Flipping it would make another packet of it: version, length, next headers, ICMPv6 type. */
static bool is_fixed(const struct influence *influence, size_t byte)
{
	return byte == 4 || byte == 5 || byte == 6 || (byte == 40 && influence->next_header == 58);
}

/* A random packet of this protocol, whose addresses are forwarded whichever bit is flipped. */
static void random_packet(const struct influence *influence, struct frame *frame)
{
	const struct frame_spec spec = {
		.dst_mac = world_device_mac[DEV_IN],
		.payload = influence->payload ? influence->payload : 64,
	};

	frame_build(frame, &spec);
	fuzz_bytes(frame->bytes + AT_VERSION + 1, 3);
	fuzz_bytes(frame->bytes + AT_SRC + 2, 30);
	memcpy(frame->bytes + AT_DST, frame->bytes + AT_SRC, 2);
	fuzz_bytes(frame->bytes + AT_PAYLOAD, spec.payload);
	frame->bytes[AT_NEXT_HEADER] = influence->next_header;
	frame->bytes[AT_HOP_LIMIT] = 0x7f;
	if (influence->next_header == 58)
		frame->bytes[AT_PAYLOAD] = influence->first_byte;
	/* No flipped bit makes it a header that the hash does not look behind. */
	frame->bytes[AT_PAYLOAD + 6] = 0x5d;
}

/* How often of TRIALS packets a flipped bit moves the flow. */
static int moves(const struct influence *influence, size_t byte, uint8_t bit)
{
	struct frame frame;
	int moved = 0;

	for (int i = 0; i < TRIALS; i++) {
		int before;

		random_packet(influence, &frame);
		fuzz_bytes((uint8_t *)&harness_maps.meta->hash_seed, 8);
		before = group_member_of(PROG_AS_IS, &frame);
		frame.bytes[FLIP_FROM + byte] ^= bit;
		moved += group_member_of(PROG_AS_IS, &frame) != before;
		assert_int_not_equal(before, GROUP_NOBODY);
	}
	return moved;
}

static size_t check_bits(const struct influence *influence)
{
	size_t wrong = 0;

	for (size_t byte = 0; byte < FLIP_BYTES; byte++) {
		if (is_fixed(influence, byte) ||
		    byte >= 40 + (influence->payload ? influence->payload : 64))
			continue;
		for (uint8_t bit = byte ? 0x80 : 0x08; bit; bit >>= 1) {
			int moved = moves(influence, byte, bit);

			/* A bit that the hash uses moves 15 of 16 flows. */
			if (counts(influence, byte, bit) ? moved >= TRIALS / 4 : !moved)
				continue;
			fprintf(stderr, "%s: byte %zu, bit %02x moves %d of %d flows\n",
				influence->name, byte, bit, moved, TRIALS);
			wrong++;
		}
	}
	return wrong;
}

/* Next headers without ports, since others would be looked at in other places. */
static size_t check_next_header(const struct influence *influence)
{
	static const uint8_t others[] = { 89, 103, 112, 115, 253, 254, 99, 88 };
	struct frame frame;
	size_t moved = 0;
	int before;

	random_packet(influence, &frame);
	before = group_member_of(PROG_AS_IS, &frame);
	for (size_t i = 0; i < sizeof(others); i++) {
		frame.bytes[AT_NEXT_HEADER] = others[i];
		moved += group_member_of(PROG_AS_IS, &frame) != before;
	}
	if (influence->next_counts ? moved >= sizeof(others) / 2 : !moved)
		return 0;
	fprintf(stderr, "%s: the next header moves %zu of %zu flows\n", influence->name, moved,
		sizeof(others));
	return 1;
}

TEST(test_every_bit_of_the_packet, "every bit of the packet, under every hash policy")
{
	size_t wrong = 0;

	fuzz_seed(1);
	group_install();
	for (size_t i = 0; i < sizeof(influences) / sizeof(influences[0]); i++) {
		const struct influence *influence = &influences[i];

		harness_maps.meta->hash_policy = influence->hash;
		wrong += check_bits(influence);
		/* with ports or inner headers in the hash another protocol is another packet */
		if (influence->next_counts || influence->hash.fields == 0x001)
			wrong += check_next_header(influence);
	}
	assert_int_equal(wrong, 0);
}
