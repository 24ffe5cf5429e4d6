/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the receiving side of the generator counts, for both its sides: the program on the device
 * (generator_sink.bpf.c) and the process that reads it (generator_sink.c). Only packets of the
 * source that was named count, and end there; all others pass.
 */
#ifndef BENCH_GENERATOR_SINK_H
#define BENCH_GENERATOR_SINK_H

#include <linux/types.h>

/* More queues than these are counted with the last one. */
#define SINK_QUEUES 128u
/* Of a probe: its payload begins with this, and the time at which it was sent. */
#define SINK_MAGIC 0x73697870726f6265ull

struct sink_config {
	__u8 src[16];
	__u8 hop_limit; /* of what must arrive */
	__u8 any_host;	/* the first 64 bits of src count */
	__u8 zero[6];
};

struct sink_count {
	__u64 packets;
	__u64 bytes; /* of frames, without FCS */
	__u64 wrong_hop_limit;
	__u64 probes; /* not among the packets */
};

/* CLOCK_MONOTONIC, of the machine that receives it, too. In its own byte order. */
struct sink_probe {
	__u64 magic;
	__u64 sent_ns;
};

#endif
