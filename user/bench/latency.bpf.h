/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An XDP program's counts of latencies (latency.h). */
#ifndef BENCH_LATENCY_BPF_H
#define BENCH_LATENCY_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "latency.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LATENCY_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

static __always_inline void latency_add(__u64 ns)
{
	__u32 bucket = latency_bucket(ns);
	__u64 *count = bpf_map_lookup_elem(&latencies, &bucket);

	if (count)
		++*count;
}

#endif
