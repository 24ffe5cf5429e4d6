// SPDX-License-Identifier: GPL-2.0-only
#include "latency.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bench.h"

int latency_read(int map_fd, uint64_t counts[LATENCY_BUCKETS])
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *each = calloc((size_t)n_cpus, sizeof(*each));

	if (!each)
		return bench_fail(-ENOMEM, "latencies");
	for (uint32_t bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
		if (bpf_map_lookup_elem(map_fd, &bucket, each))
			return bench_fail(-errno, "latencies");
		for (int cpu = 0; cpu < n_cpus; cpu++)
			counts[bucket] += each[cpu];
	}
	return 0;
}

uint64_t latency_count(const uint64_t counts[LATENCY_BUCKETS])
{
	uint64_t n = 0;

	for (uint32_t bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
		n += counts[bucket];
	return n;
}

double latency_percentile(const uint64_t counts[LATENCY_BUCKETS], unsigned int percent)
{
	uint64_t n = latency_count(counts), seen = 0;

	for (uint32_t bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
		seen += counts[bucket];
		if (seen && seen * 100 >= n * percent)
			return (double)(latency_bucket_ns(bucket) + latency_bucket_ns(bucket + 1) -
					1) /
			       2;
	}
	return 0;
}
