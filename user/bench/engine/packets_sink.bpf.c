// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink: counts and drops the frames of its flows, with the latency of stamped ones. Everything
 * else passes. */
#include "xdp.bpf.h"

#include "../../../bpf/bound.h"
#include "packets.h"

#define QUEUES 128 /* more of them count with the last one */
#define FLOWS 2
#define FLOW_QUEUES (FLOWS * QUEUES)
#define STAMP_AT_MASK 2047 /* more than PACKETS_MOST_BYTES */

/* Set at any time. */
__u32 n_flows;
__u64 flow_src[FLOWS][2], flow_src_mask[FLOWS][2]; /* network order */
__u8 flow_next_header[FLOWS];
__be16 flow_dst_port[FLOWS]; /* 0: any */
__u8 flow_hop_limit[FLOWS];  /* any other is wrong */
__u32 flow_stamp_at[FLOWS];  /* offset in the frame; 0: it has no stamp */
/* Set before the object is loaded. */
const volatile bool frags; /* frames may lie in several buffers */

/* For each flow, one for each receive queue. */
struct count {
	__u64 packets, bytes, wrong;
};

MAP(counts, PERCPU_ARRAY, 0, FLOW_QUEUES, __u32, struct count);

/*
 * Latencies in nanoseconds, counted by buckets: up to 32 ns one a bucket, beyond that 32 buckets
 * for each power of 2, so that none is wider than 3 % of what is in it.
 */
#define BUCKET_BITS 5
#define BUCKETS_OF_POWER (1u << BUCKET_BITS)
#define LATENCY_BITS 36 /* 68 s; what took longer is in the last bucket */
#define BUCKETS ((LATENCY_BITS - BUCKET_BITS + 1) * BUCKETS_OF_POWER)
#define STAMP_MASK 0xffffffffffffull

MAP(latencies, PERCPU_ARRAY, 0, BUCKETS, __u32, __u64);

/* BPF has no instruction that counts leading zeros. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 shift = 0;

	if (ns >> LATENCY_BITS)
		return BUCKETS - 1;
	while (shift < LATENCY_BITS - BUCKET_BITS - 1 && ns >> shift >= 2 * BUCKETS_OF_POWER)
		shift++;
	return shift * BUCKETS_OF_POWER + (__u32)(ns >> shift);
}

static __always_inline void count_latency(const __u16 *stamp)
{
	__u64 sent_ns = stamp[0] | (__u64)stamp[1] << 16 | (__u64)stamp[2] << 32, *count;
	__u32 bucket;

	if (!sent_ns)
		return;
	bucket = bucket_of((bpf_ktime_get_ns() - sent_ns) & STAMP_MASK);
	count = bpf_map_lookup_elem(&latencies, &bucket);
	if (count)
		++*count;
}

/* at: with a header of IPv6. */
static __always_inline bool is_of(__u32 i, const struct xdp_md *ctx, const struct headers *at)
{
	const __u64 *src = (const void *)at->src;

	if (at->next_header != flow_next_header[i] ||
	    ((src[0] ^ flow_src[i][0]) & flow_src_mask[i][0]) ||
	    ((src[1] ^ flow_src[i][1]) & flow_src_mask[i][1]))
		return false;
	return !flow_dst_port[i] ||
	       (!is_short(ctx, sizeof(*at)) && at->dst_port == flow_dst_port[i]);
}

static __always_inline int count_frame(struct xdp_md *ctx, const struct headers *at, __u32 i)
{
	const void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *stamp;
	__u32 queue = ctx->rx_queue_index, stamp_at = flow_stamp_at[i], key;
	struct count *count;

	key = i * QUEUES + (queue < QUEUES ? queue : QUEUES - 1);
	count = bpf_map_lookup_elem(&counts, &key);
	if (!count)
		return XDP_PASS;
	stamp = data + bound_mask(stamp_at, STAMP_AT_MASK);
	if (stamp_at && stamp + PACKETS_STAMP_BYTES <= end)
		count_latency(stamp);
	count->packets++;
	count->bytes += frags ? bpf_xdp_get_buff_len(ctx) : end - data;
	count->wrong += at->hop_limit != flow_hop_limit[i];
	return XDP_DROP;
}

SEC("xdp")
int packets_sink(struct xdp_md *ctx)
{
	const struct headers *at = (void *)(long)ctx->data;

	if (is_short(ctx, HEADERS_BYTES) || at->type != bpf_htons(0x86dd))
		return XDP_PASS;
	for (__u32 i = 0; i < FLOWS; i++)
		if (i < n_flows && is_of(i, ctx, at))
			return count_frame(ctx, at, i);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
