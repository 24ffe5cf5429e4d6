// SPDX-License-Identifier: GPL-2.0-only
/* The fuzzer's frames: nearly good ones, by the prefixes and tags that a world knows. */
#include "fuzz.h"

#include <string.h>

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

/* One that the kernel may learn from, or nearly. */
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
