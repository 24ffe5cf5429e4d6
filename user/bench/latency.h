/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latencies in nanoseconds, counted by buckets: up to 32 ns one a bucket, beyond that 32 buckets
 * for each power of 2, so that a bucket is never wider than 3 % of what is in it. XDP programs
 * count (latency.bpf.h), user space reads.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <linux/types.h>

#define LATENCY_BUCKET_BITS 5
#define LATENCY_BUCKETS_OF_POWER (1u << LATENCY_BUCKET_BITS)
#define LATENCY_BITS 36 /* 68 s; what took longer is in the last bucket */
#define LATENCY_BUCKETS ((LATENCY_BITS - LATENCY_BUCKET_BITS + 1) * LATENCY_BUCKETS_OF_POWER)

static inline __u32 latency_bucket(__u64 ns)
{
	__u32 shift = 0;

	if (ns >> LATENCY_BITS)
		return LATENCY_BUCKETS - 1;
	/* There is no instruction for it in BPF. */
	if (ns >> (LATENCY_BUCKET_BITS + 16))
		shift += 16;
	if (ns >> (LATENCY_BUCKET_BITS + shift + 8))
		shift += 8;
	if (ns >> (LATENCY_BUCKET_BITS + shift + 4))
		shift += 4;
	if (ns >> (LATENCY_BUCKET_BITS + shift + 2))
		shift += 2;
	if (ns >> (LATENCY_BUCKET_BITS + shift + 1))
		shift += 1;
	if (ns >> (LATENCY_BUCKET_BITS + shift))
		shift += 1;
	return shift * LATENCY_BUCKETS_OF_POWER + (__u32)(ns >> (shift ? shift - 1 : 0)) -
	       (shift ? LATENCY_BUCKETS_OF_POWER : 0);
}

/* The least that is in it. */
static inline __u64 latency_bucket_ns(__u32 bucket)
{
	__u32 power = bucket / LATENCY_BUCKETS_OF_POWER, at = bucket % LATENCY_BUCKETS_OF_POWER;

	return power ? (__u64)(LATENCY_BUCKETS_OF_POWER + at) << (power - 1) : at;
}

#ifndef __bpf__
#include <stdint.h>

/* Adds what all CPUs have counted, by the descriptor of the program's map. 0 or -errno (said). */
int latency_read(int map_fd, uint64_t counts[LATENCY_BUCKETS]);
/* How many were counted. */
uint64_t latency_count(const uint64_t counts[LATENCY_BUCKETS]);
/* That which so many of a hundred do not exceed (nearest rank), 0 being the least of all: the
 * middle of its bucket, in ns. 0 where nothing was counted. */
double latency_percentile(const uint64_t counts[LATENCY_BUCKETS], unsigned int percent);
#endif

#endif
