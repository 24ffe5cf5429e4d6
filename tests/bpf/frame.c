// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames for the tests of the datapath. Whatever is wrong with a table's text aborts at once:
 * these are programming errors of a test, not results.
 */
#include "frame.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const uint8_t default_dst_mac[6] = FRAME_DST_MAC;
static const uint8_t sender_mac[6] = { 0x02, 0, 0, 0, 0xee, 0x01 };

void frame_set16(struct frame *frame, size_t at, uint16_t value)
{
	frame->bytes[at] = (uint8_t)(value >> 8);
	frame->bytes[at + 1] = (uint8_t)value;
}

uint16_t frame_get16(const struct frame *frame, size_t at)
{
	return (uint16_t)(frame->bytes[at] << 8 | frame->bytes[at + 1]);
}

static void set_addr(struct frame *frame, size_t at, const char *addr)
{
	int ok = inet_pton(AF_INET6, addr, frame->bytes + at);

	assert(ok == 1);
}

void frame_build(struct frame *frame, const struct frame_spec *spec)
{
	size_t payload = spec->payload ? spec->payload : FRAME_PAYLOAD;

	assert(AT_PAYLOAD + payload + spec->padding <= FRAME_MAX);
	memset(frame, 0, sizeof(*frame));
	memcpy(frame->bytes + AT_DST_MAC, spec->dst_mac ? spec->dst_mac : default_dst_mac, 6);
	memcpy(frame->bytes + AT_SRC_MAC, sender_mac, 6);
	frame_patch(frame, AT_ETHERTYPE, "86dd");
	frame_patch(frame, AT_VERSION, "6b8fedcb"); /* traffic class b8, flow label fedcb */
	frame_set16(frame, AT_PAYLOAD_LEN, (uint16_t)payload);
	frame_patch(frame, AT_NEXT_HEADER, "1140"); /* UDP, hop limit 64 */
	set_addr(frame, AT_SRC, spec->src ? spec->src : FRAME_SRC);
	set_addr(frame, AT_DST, spec->dst ? spec->dst : FRAME_DST);
	for (size_t i = 0; i < payload; i++)
		frame->bytes[AT_PAYLOAD + i] = (uint8_t)(0x41 + i);
	memset(frame->bytes + AT_PAYLOAD + payload, 0xa5, spec->padding);
	frame->len = AT_PAYLOAD + payload + spec->padding;
}

void frame_plain(struct frame *frame, size_t payload, size_t padding)
{
	frame_build(frame, &(struct frame_spec){ .payload = payload, .padding = padding });
}

static uint8_t hex_digit(char c)
{
	assert(isxdigit((unsigned char)c));
	return (uint8_t)(isdigit((unsigned char)c) ? c - '0'
						   : tolower((unsigned char)c) - 'a' + 10);
}

static size_t put_hex(uint8_t *to, size_t room, const char *hex)
{
	size_t n = 0;

	while (*hex) {
		if (isspace((unsigned char)*hex)) {
			hex++;
			continue;
		}
		assert(n < room);
		to[n++] = (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
		hex += 2;
	}
	return n;
}

void frame_patch(struct frame *frame, size_t at, const char *hex)
{
	put_hex(frame->bytes + at, FRAME_MAX - at, hex);
}

void frame_from_hex(struct frame *frame, const char *hex)
{
	memset(frame, 0, sizeof(*frame));
	frame->len = put_hex(frame->bytes, FRAME_MAX, hex);
}

void frame_push(struct frame *frame, const uint32_t tags[], size_t n)
{
	size_t bytes = 0;

	while (bytes / 4 < n && tags[bytes / 4])
		bytes += 4;
	assert(frame->len + bytes <= FRAME_MAX);
	memmove(frame->bytes + AT_ETHERTYPE + bytes, frame->bytes + AT_ETHERTYPE,
		frame->len - AT_ETHERTYPE);
	for (size_t at = 0; at < bytes; at += 4) {
		frame_set16(frame, AT_ETHERTYPE + at, (uint16_t)(tags[at / 4] >> 16));
		frame_set16(frame, AT_ETHERTYPE + at + 2, (uint16_t)tags[at / 4]);
	}
	frame->len += bytes;
}

void frame_pop(struct frame *frame, size_t bytes)
{
	assert(frame->len >= AT_ETHERTYPE + bytes);
	frame->len -= bytes;
	memmove(frame->bytes + AT_ETHERTYPE, frame->bytes + AT_ETHERTYPE + bytes,
		frame->len - AT_ETHERTYPE);
}

void frame_route(struct frame *frame, const uint8_t dst_mac[6], const uint8_t src_mac[6])
{
	memcpy(frame->bytes + AT_DST_MAC, dst_mac, 6);
	memcpy(frame->bytes + AT_SRC_MAC, src_mac, 6);
	frame->bytes[AT_HOP_LIMIT]--;
	frame->len = AT_PAYLOAD + (size_t)frame_get16(frame, AT_PAYLOAD_LEN);
}

#define AT_TYPE 54
#define AT_CHECKSUM 56
#define AT_MTU 58
#define AT_QUOTED 62

/* Pairs of bytes, summed up with the carry brought round (RFC 1071). */
static uint32_t add_bytes(uint32_t sum, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

/* Over the pseudo-header of RFC 8200, section 8.1, and the message. */
static uint16_t checksum(const struct frame *frame)
{
	size_t length = frame->len - AT_TYPE;
	const uint8_t tail[8] = { [2] = (uint8_t)(length >> 8), [3] = (uint8_t)length, [7] = 58 };
	uint32_t sum = add_bytes(0, frame->bytes + AT_SRC, 16);

	sum = add_bytes(sum, frame->bytes + AT_DST, 16);
	sum = add_bytes(sum, tail, sizeof(tail));
	return (uint16_t)~add_bytes(sum, frame->bytes + AT_TYPE, length);
}

void answer_build(struct frame *out, const struct frame *packet, const struct answer *answer)
{
	uint8_t *bytes = out->bytes;

	assert(packet->len >= AT_IP6 + ANSWER_QUOTED);
	memset(out, 0, sizeof(*out));
	out->meta = packet->meta;
	out->len = AT_QUOTED + ANSWER_QUOTED;
	memcpy(bytes + AT_DST_MAC, answer->dst_mac, 6);
	memcpy(bytes + AT_SRC_MAC, answer->src_mac, 6);
	frame_set16(out, AT_ETHERTYPE, 0x86dd);
	bytes[AT_VERSION] = 0x60;
	frame_set16(out, AT_PAYLOAD_LEN, 8 + ANSWER_QUOTED);
	bytes[AT_NEXT_HEADER] = 58;
	bytes[AT_HOP_LIMIT] = answer->hop_limit;
	memcpy(bytes + AT_SRC, answer->src, 16);
	memcpy(bytes + AT_DST, packet->bytes + AT_SRC, 16);
	bytes[AT_TYPE] = 2;
	frame_set16(out, AT_MTU, (uint16_t)(answer->mtu >> 16));
	frame_set16(out, AT_MTU + 2, (uint16_t)answer->mtu);
	memcpy(bytes + AT_QUOTED, packet->bytes + AT_IP6, ANSWER_QUOTED);
	if (answer->decremented)
		bytes[AT_QUOTED + AT_HOP_LIMIT - AT_IP6]--;
	frame_set16(out, AT_CHECKSUM, checksum(out));
}

void frame_dump(const char *title, const struct frame *frame)
{
	fprintf(stderr, "%s, %zu bytes:", title, frame->len);
	for (size_t i = 0; i < frame->len; i++)
		fprintf(stderr, "%s%02x", i % 32 ? "" : "\n  ", frame->bytes[i]);
	fprintf(stderr, "\n");
}
