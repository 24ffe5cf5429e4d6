// SPDX-License-Identifier: GPL-2.0-only
/* See frame.h. */
#include "frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SRC_OFFSET 22

int frame_parse_mac(const char *text, uint8_t mac[6])
{
	int n = 0;

	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%n", &mac[0], &mac[1], &mac[2], &mac[3],
		   &mac[4], &mac[5], &n) != 6 ||
	    text[n])
		return -EINVAL;
	return 0;
}

static uint16_t load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void store16(uint8_t *at, uint16_t host)
{
	uint16_t value = htons(host);

	memcpy(at, &value, sizeof(value));
}

static void make_udp(struct frame *frame)
{
	frame->header_bytes = FLOOD_HEADER_BYTES;
	frame->at[20] = FLOOD_UDP;
	store16(frame->at + FLOOD_DST_PORT_OFFSET, FLOOD_DST_PORT);
	store16(frame->at + FLOOD_UDP_LEN_OFFSET, (uint16_t)(frame->bytes - FLOOD_IP6_BYTES));
}

int frame_make(uint32_t bytes, const uint8_t dst_mac[6], const uint8_t src_mac[6],
	       const union sixlane_addr *src, struct frame *out)
{
	struct frame frame = { .bytes = bytes, .header_bytes = FLOOD_IP6_BYTES };

	if (bytes < FLOOD_FRAME_BYTES_MIN || bytes > FRAME_BYTES_MAX)
		return -EINVAL;
	memcpy(frame.at, dst_mac, 6);
	memcpy(frame.at + 6, src_mac, 6);
	store16(frame.at + 12, 0x86dd);
	frame.at[14] = 0x60;
	store16(frame.at + 18, (uint16_t)(bytes - FLOOD_IP6_BYTES));
	frame.at[20] = FLOOD_NO_NEXT_HEADER;
	frame.at[21] = FLOOD_HOP_LIMIT;
	memcpy(frame.at + SRC_OFFSET, src, 16);
	if (bytes >= FLOOD_HEADER_BYTES)
		make_udp(&frame);
	*out = frame;
	return 0;
}

/* RFC 8200 section 8.1. Sums of big-endian words stay big-endian. */
uint32_t frame_sum(const struct frame *frame, const union sixlane_addr *dst)
{
	uint32_t sum = htons(FLOOD_UDP);

	for (int i = 0; i < 16; i += 2)
		sum += (uint32_t)load16(frame->at + SRC_OFFSET + i) + load16(dst->bytes + i);
	sum += 2u * load16(frame->at + FLOOD_UDP_LEN_OFFSET);
	return sum + load16(frame->at + FLOOD_DST_PORT_OFFSET);
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	/* 0 says that there is none, which UDP over IPv6 must have (RFC 8200, 8.1) */
	return sum == 0xffff ? 0xffff : (uint16_t)~sum;
}

static uint32_t sum_words(const void *data, size_t n)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += load16(bytes + i);
	return sum;
}

uint16_t frame_checksum(uint8_t protocol, size_t bytes, const union sixlane_addr addresses[2],
			const void *data, size_t n)
{
	return fold(htons(protocol) + (uint32_t)htons((uint16_t)bytes) +
		    sum_words(addresses, 2 * sizeof(*addresses)) + sum_words(data, n));
}

void frame_address(struct frame *frame, const union sixlane_addr *dst, uint16_t src_port,
		   uint64_t stamp_ns)
{
	uint16_t port = htons(src_port), stamp[3] = { 0 }, sum;

	memcpy(frame->at + FLOOD_DST_OFFSET, dst, 16);
	if (frame->bytes >= frame->header_bytes + sizeof(stamp)) {
		for (int i = 0; i < 3; i++)
			stamp[i] = (uint16_t)(stamp_ns >> (16 * i));
		memcpy(frame->at + frame->header_bytes, stamp, sizeof(stamp));
	}
	if (frame->header_bytes != FLOOD_HEADER_BYTES)
		return;
	sum = fold(frame_sum(frame, dst) + port + stamp[0] + stamp[1] + stamp[2]);
	memcpy(frame->at + FLOOD_SRC_PORT_OFFSET, &port, sizeof(port));
	memcpy(frame->at + FLOOD_CHECKSUM_OFFSET, &sum, sizeof(sum));
}
