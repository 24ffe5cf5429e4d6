/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame that is sent: Ethernet, IPv6, UDP if there is room for it, zeros (flood.h). The
 * generator's program writes it by itself, from the parts that are made here.
 */
#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include "../../rib/object.h"
#include "flood.h"

#define FRAME_BYTES 64
#define FRAME_BYTES_MAX 9018

struct frame {
	uint8_t at[FRAME_BYTES_MAX];
	uint32_t bytes;	       /* without the checksum of Ethernet */
	uint32_t header_bytes; /* up to what UDP carries, or IPv6 if there is no UDP */
};

/* All but the destination. 0, or -EINVAL: no such size. */
int frame_make(uint32_t bytes, const uint8_t dst_mac[6], const uint8_t src_mac[6],
	       const union sixlane_addr *src, struct frame *out);

/* What the checksum to this destination covers but for source port and stamp, not folded. */
uint32_t frame_sum(const struct frame *frame, const union sixlane_addr *dst);

/* The rest of it. stamp_ns: the time of sending, or 0. */
void frame_address(struct frame *frame, const union sixlane_addr *dst, uint16_t src_port,
		   uint64_t stamp_ns);

/*
 * The checksum of what an IPv6 packet carries, which is bytes long: of this protocol, between these
 * two addresses. Of data, which holds 0 in its place, what is beyond n bytes is 0. In network
 * order.
 */
uint16_t frame_checksum(uint8_t protocol, size_t bytes, const union sixlane_addr addresses[2],
			const void *data, size_t n);

/* Parse "02:00:00:00:00:01". */
int frame_parse_mac(const char *text, uint8_t mac[6]);

#endif
