// SPDX-License-Identifier: GPL-2.0-only
#include "answer.h"

#include <assert.h>
#include <string.h>

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

struct answer answer_by(enum device dev, const uint8_t *dst_mac, uint32_t mtu)
{
	return (struct answer){
		.mtu = mtu,
		.dst_mac = dst_mac,
		.src_mac = world_device_mac[dev],
		.src = world_source(dev)->bytes,
		.hop_limit = WORLD_HOP_LIMIT(dev),
	};
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

void answer_by_ingress(struct frame *out, const struct frame *packet, uint32_t mtu)
{
	const struct answer answer = answer_by(DEV_IN, world_neigh_mac[NEIGH_IN], mtu);

	answer_build(out, packet, &answer);
}
