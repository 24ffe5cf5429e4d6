/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the packet generator's XDP programs and its user space share. Knows nothing of sixlane:
 * the generator serves whatever forwards.
 *
 * A frame is Ethernet + IPv6 + UDP + zeros. Only destination, source port and checksum differ from
 * packet to packet. Or it is whatever is given, and about another number each time.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include <linux/types.h>

#define FLOOD_DST_OFFSET 38 /* of the destination address in the frame */
#define FLOOD_SRC_PORT_OFFSET 54
#define FLOOD_DST_PORT_OFFSET 56
#define FLOOD_UDP_LEN_OFFSET 58
#define FLOOD_CHECKSUM_OFFSET 60
#define FLOOD_HEADER_BYTES 62

#define FLOOD_DST_PORT 9 /* discard (RFC 863): how the sink knows the flood */
#define FLOOD_SRC_PORT_FIRST 0x8000
#define FLOOD_SRC_PORTS 0x4000 /* a power of 2 */
#define FLOOD_HOP_LIMIT 64

/* Where one packet goes. In an mmapable array, walked from the start again and again. */
struct flood_target {
	__u64 addr[2]; /* network order */
	__u32 sum;     /* of all that the checksum covers but the source port, not folded */
	__u32 zero;
};
_Static_assert(sizeof(struct flood_target) == 24, "an array map rounds elements up to 8 bytes");

/*
 * A frame about a number: where it is said there stand its 32 bits, and then those of its
 * complement. Whatever the number, the one's complement sum of all that is the same, and so a
 * checksum over it.
 */
#define FLOOD_ABOUT_BYTES 256 /* of the frame, at most */
#define FLOOD_ABOUT_PLACES 2
struct flood_about {
	union {
		__u8 bytes[FLOOD_ABOUT_BYTES];
		__u16 pieces[FLOOD_ABOUT_BYTES / 2];
	} frame;
	__u32 frame_bytes; /* an even number */
	__u32 n_places;
	__u32 places[FLOOD_ABOUT_PLACES]; /* offsets in the frame, even ones */
};

/* Set before the programs are loaded. */
struct flood_config {
	union {
		__u8 bytes[64]; /* the first FLOOD_HEADER_BYTES of every frame */
		__u64 words[8];
		__u32 quarters[16];
		__u16 pieces[32];
	} header;
	__u32 target_mask; /* targets - 1; the number of targets is a power of 2 */
	__u32 ifindex;	   /* of flood_send and flood_about: the device to send from */
	struct flood_about about;
};

/* A run's progress; by one CPU at a time. */
struct flood_state {
	__u64 sent;
	__u64 first_ns; /* when packet 0 was made */
	__u64 stamp_ns; /* when packet number stamp_sent was made: every FLOOD_STAMP_EVERY-th */
	__u64 stamp_sent;
};
#define FLOOD_STAMP_EVERY 256

/* What a sink has seen, for each CPU. */
struct flood_sink {
	__u64 packets;
	__u64 bytes;
	__u64 wrong; /* of these, with another hop limit than one router leaves */
};

#endif
