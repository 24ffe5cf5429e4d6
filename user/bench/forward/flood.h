/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the packet generator's XDP programs and its user space share. Knows nothing of sixlane:
 * the generator serves whatever forwards.
 *
 * A frame is Ethernet + IPv6 + UDP + zeros, or, where there is no room for UDP, Ethernet + IPv6 +
 * zeros with "no next header" (RFC 8200 section 4.7). Only destination, source port, checksum and,
 * if it is asked for, the time of sending differ from packet to packet. Or it is whatever is given,
 * and about another number each time.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include <linux/types.h>

#define FLOOD_DST_OFFSET 38 /* of the destination address in the frame */
#define FLOOD_SRC_PORT_OFFSET 54
#define FLOOD_DST_PORT_OFFSET 56
#define FLOOD_UDP_LEN_OFFSET 58
#define FLOOD_CHECKSUM_OFFSET 60
#define FLOOD_IP6_BYTES 54    /* of the frame, before what IPv6 carries */
#define FLOOD_HEADER_BYTES 62 /* the same with UDP's header */

/*
 * The time of sending: 48 bits of the nanoseconds of CLOCK_MONOTONIC, the first of what the last
 * header carries; 0: none. Frames without room for UDP have room for it, a few with UDP have not.
 */
#define FLOOD_STAMP_BYTES 6
#define FLOOD_STAMP_MASK 0xffffffffffffull
#define FLOOD_UDP_BYTES_MIN (FLOOD_HEADER_BYTES + FLOOD_STAMP_BYTES)
#define FLOOD_FRAME_BYTES_MIN (FLOOD_IP6_BYTES + FLOOD_STAMP_BYTES)
#define FLOOD_FRAME_BYTES_MAX 1514

#define FLOOD_DST_PORT 9 /* discard (RFC 863): how the sink knows the flood */
#define FLOOD_SRC_PORT_FIRST 0x8000
#define FLOOD_SRC_PORTS 0x4000 /* a power of 2 */
#define FLOOD_HOP_LIMIT 64
#define FLOOD_UDP 17
#define FLOOD_NO_NEXT_HEADER 59

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
		__u8 bytes[64]; /* the first header_bytes of every frame */
		__u64 words[8];
		__u32 quarters[16];
		__u16 pieces[32];
	} header;
	__u32 header_bytes;  /* FLOOD_HEADER_BYTES or FLOOD_IP6_BYTES */
	__u32 payload_bytes; /* behind them */
	__u32 target_mask;   /* targets - 1; a power of 2 of them for each CPU that makes frames */
	__u32 ifindex;	     /* of flood_send and flood_about: the device to send from */
	struct flood_about about;
	__u8 payload[FLOOD_FRAME_BYTES_MAX]; /* what the frame ends with */
};

/* One run, of one CPU or of several at once. */
struct flood_run {
	__u64 count;	 /* what each is to make while all others do so as well */
	__u32 cpus;	 /* how many make frames */
	__u32 port_mask; /* source ports - 1 */
	__u32 started, done;
};

/* A CPU's progress in a run. */
struct flood_state {
	__u64 sent;
	__u64 first_ns, first_sent; /* when this packet was made all CPUs were at work */
	__u64 stamp_ns, stamp_sent; /* the same of every FLOOD_STAMP_EVERY-th, until it is done */
	__u32 first_target;
	__u8 done, over; /* it has made its count; all have */
	__u8 reserved[2];
};
#define FLOOD_STAMP_EVERY 256

/* What a sink has seen, for each CPU. */
struct flood_sink {
	__u64 packets;
	__u64 bytes; /* of the frames' first buffers */
	__u64 wrong; /* of these, with another hop limit than one router leaves */
};

#endif
