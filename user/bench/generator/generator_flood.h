/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source of frames by XDP, for both its sides: the program that writes them, each anew
 * (generator_flood.bpf.c), and the process that has it run (generator_flood.c).
 */
#ifndef BENCH_GENERATOR_FLOOD_H
#define BENCH_GENERATOR_FLOOD_H

#include <linux/types.h>

#define FLOOD_RANGES 8192u
#define FLOOD_IP6_BYTES 54u /* with Ethernet's header */
#define FLOOD_UDP_BYTES 8u
#define FLOOD_TCP_BYTES 20u
#define FLOOD_HEADER_BYTES (FLOOD_IP6_BYTES + FLOOD_TCP_BYTES)
#define FLOOD_MOST_BYTES 1514u

/* As struct generator_range: the bits in which the two differ are at random. */
struct flood_range {
	__u64 low[2], high[2];
};

/* Set before the program is loaded. Numbers in the machine's order, the header in the wire's. */
struct flood_settings {
	__u64 delay_ns; /* from a frame of a CPU to the next; 0: none */
	/* The process that has it run, by its number in its own PID namespace, and that. */
	__u64 pid_ns_dev, pid_ns_ino;
	__u32 tgid;
	__u32 ifindex;
	__u32 frame_bytes; /* without FCS */
	__u32 n_ranges;
	__u32 header_bytes;
	__u8 is_tcp;
	__u8 is_flow;	 /* always the same ports */
	__u8 random_src; /* the last 64 bits of it */
	__u8 zero[1];
	/* all but addresses and source port, the checksum field holding 0 */
	__u8 header[FLOOD_HEADER_BYTES];
	__u8 payload[FLOOD_MOST_BYTES]; /* zeros */
	__u8 padding[4];
};
_Static_assert(sizeof(struct flood_settings) == 48 + 74 + 1514 + 4, "no holes");

/* Of a CPU. */
struct flood_progress {
	__u64 random;
	__u64 frames; /* made */
	__u64 most;   /* to leave, 0: no end; what was refused is made up for */
	__u64 first_ns, last_ns, next_ns;
	__u64 length_ns; /* from the first frame on; 0: no end */
	__u64 refused;	 /* by the driver, of those that were made */
};

#endif
