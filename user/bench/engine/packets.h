/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the generator (packets.bpf.c) shares with bench-packets. A frame is Ethernet, IPv6 and UDP,
 * TCP or no next header (RFC 8200, 4.7), then zeros. Only destination, source port and checksum
 * differ from frame to frame. Knows nothing of who forwards.
 */
#ifndef BENCH_ENGINE_PACKETS_H
#define BENCH_ENGINE_PACKETS_H

#include <linux/types.h>

/* Offsets in a frame, and sizes. */
#define PACKETS_SRC_HOST 30 /* the second half of the source */
#define PACKETS_DST 38
#define PACKETS_IP6_BYTES 54 /* with Ethernet's header */
#define PACKETS_UDP_BYTES 8
#define PACKETS_TCP_BYTES 20
#define PACKETS_MOST_BYTES 1514 /* of a frame without FCS: a test run has one page for it */

/* A stamp for the sink is 48 bits of CLOCK_MONOTONIC in nanoseconds; 0: none. */
#define PACKETS_STAMP_BYTES 6

#define PACKETS_PORT_FIRST 0x8000
#define PACKETS_LOOK_EVERY 256 /* frames; a power of 2 */

/* A destination, as in the plan's files. */
struct packets_target {
	__u64 addr[2]; /* network order */
	__u32 sum;     /* of what the checksum covers but the port, not folded, in wire order */
	__u32 zero;
};

#define PACKETS_GIVEN_BYTES 256 /* for a whole frame of packets_given */

/* The checksum of such a sum. 0 would say that there is none (RFC 8200, 8.1). */
static inline __u16 packets_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? 0xffff : (__u16)~sum;
}

/* What the lanes of a run have in common. A lane is one CPU that makes frames by one generator. */
struct packets_run {
	__u64 count;	 /* if together: frames of each lane while all others run */
	__u64 length_ns; /* of the run; 0: no limit */
	__u64 delay_ns;	 /* of a lane, from frame to frame; 0: none */
	__u32 lanes;
	__u32 port_mask; /* source ports - 1 */
	__u32 together;	 /* timed from when all lanes run until all are done */
	__u32 started, done;
	__u32 over; /* by user space: no more frames */
};

/* The progress of a lane: one for each CPU, on cache lines of its own. */
#define PACKETS_MOST_CPUS 1024
struct packets_state {
	__u64 most; /* frames to send; refused ones are replaced */
	__u64 made;
	__u64 refused;		    /* by the device, of those that were made */
	__u64 first_ns, first_made; /* what is timed: from here … */
	__u64 last_ns, last_made;   /* … to here */
	__u64 next_ns;		    /* of a paced lane */
	__u64 until;		    /* look around again when so many are made */
	__u32 first_target;
	__u8 done, over;
} __attribute__((aligned(128)));

#endif
