/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ethernet frames with an IPv6 packet: built, patched, tagged, compared. Knows no map and no
 * verdict. Offsets are from the first byte of the destination MAC, in a frame without tags.
 */
#ifndef TESTS_BPF_FRAME_H
#define TESTS_BPF_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 9600
#define FRAME_TAGS 3

enum frame_offset {
	AT_DST_MAC = 0,
	AT_SRC_MAC = 6,
	AT_ETHERTYPE = 12,
	AT_IP6 = 14,
	AT_VERSION = 14,
	AT_FLOW = 16,
	AT_PAYLOAD_LEN = 18,
	AT_NEXT_HEADER = 20,
	AT_HOP_LIMIT = 21,
	AT_SRC = 22,
	AT_DST = 38,
	AT_PAYLOAD = 54,
};

struct frame {
	size_t len;
	size_t meta; /* bytes of XDP metadata in front of it, which take room from the head */
	uint8_t bytes[FRAME_MAX];
};

/* What a frame is built from; 0 and NULL give a plain UDP-like packet with 26 bytes of payload. */
struct frame_spec {
	const char *src, *dst; /* addresses */
	const uint8_t *dst_mac;
	size_t payload; /* bytes behind the IPv6 header */
	size_t padding; /* bytes behind the payload */
};

#define FRAME_SRC "2001:db8:1::1"
#define FRAME_DST "2001:db8:2::1"
#define FRAME_PAYLOAD 26
/* The MAC of the port that plain frames come in by. */
#define FRAME_DST_MAC                              \
	{                                          \
		0x02, 0x11, 0x21, 0x31, 0x41, 0x51 \
	}

void frame_build(struct frame *frame, const struct frame_spec *spec);

/* Nothing but these lengths differs from the defaults. */
void frame_plain(struct frame *frame, size_t payload, size_t padding);

/* Overwrite the bytes from offset at by hex digits ("86dd"). */
void frame_patch(struct frame *frame, size_t at, const char *hex);

/* The whole frame from hex digits; blanks are skipped. */
void frame_from_hex(struct frame *frame, const char *hex);

/*
 * VLAN tags behind the MACs, the outer first, each the ethertype in the upper half and priority and
 * VID in the lower; the first 0 ends them.
 */
void frame_push(struct frame *frame, const uint32_t tags[], size_t n);

/* Take so many bytes out again. */
void frame_pop(struct frame *frame, size_t bytes);

/* What a router makes of one without tags: new MACs, hop limit less one, no padding; nothing else.
 */
void frame_route(struct frame *frame, const uint8_t dst_mac[6], const uint8_t src_mac[6]);

void frame_set16(struct frame *frame, size_t at, uint16_t value);
uint16_t frame_get16(const struct frame *frame, size_t at);

/*
 * ICMPv6 Packet Too Big as RFC 4443 has it and icmp6_send() makes it, byte by byte. Shares nothing
 * with the datapath, the checksum least of all.
 */
#define ANSWER_QUOTED 1232 /* so that all of it makes 1280 */
struct answer {
	uint32_t mtu;
	_Bool decremented; /* the quoted packet's hop limit is one less than it was */
	const uint8_t *dst_mac, *src_mac;
	const uint8_t *src; /* address */
	uint8_t hop_limit;
};
/* The answer to a packet without tags; it has none either. */
void answer_build(struct frame *out, const struct frame *packet, const struct answer *answer);

/* On stderr, for a person who looks for the difference. */
void frame_dump(const char *title, const struct frame *frame);

#endif
