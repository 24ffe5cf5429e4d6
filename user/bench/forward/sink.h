/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The far end of the generator: an XDP program that counts and drops what it made, and takes the
 * latencies of what is stamped. Goes with the descriptor of its program, or with the device.
 *
 * Functions return 0 or -errno and say on stderr what failed.
 */
#ifndef BENCH_SINK_H
#define BENCH_SINK_H

#include "../bench.h"
#include "../latency.h"
#include "flood.h"

struct sink {
	struct bpf_object *object;
	uint32_t ifindex;
	int sunk_fd, n_cpus;
	int latencies_fd; /* of a map, for latency_read() */
	void *values;	  /* room for those of all CPUs */
};

/* On a device of the caller's network namespace. large: frames may lie in several buffers. */
int sink_open(uint32_t ifindex, bool large, struct sink *out);
/* In the namespace of its device, or when that is gone. */
void sink_close(struct sink *sink);

/* Of all CPUs since it was opened. From any namespace. */
int sink_read(const struct sink *sink, struct flood_sink *sum);

#endif
