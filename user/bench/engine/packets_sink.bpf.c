// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sink counts and drops the frames of its flows, with the latency of stamped ones. All others
 * pass. */
#include "xdp.bpf.h"

#include "../../../bpf/bound.h"
#include "packets.h"

#define FLOWS 2
#define STAMP_AT_MASK 2047 /* more than PACKETS_MOST_BYTES */

/* Set at any time, as packets.py's Sink packs it. */
struct {
	__u64 src[2], src_mask[2]; /* network order */
	__u32 stamp_at;		   /* offset in the frame; 0: it has no stamp */
	__be16 dst_port;	   /* 0: any */
	__u8 next_header;	   /* 0: there is no such flow */
	__u8 hop_limit;		   /* any other is wrong */
} flows[FLOWS];

/* Of each flow. */
struct count {
	__u64 packets, wrong;
};

MAP(counts, PERCPU_ARRAY, 0, FLOWS, __u32, struct count);

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

	if (!flows[i].next_header || at->next_header != flows[i].next_header ||
	    ((src[0] ^ flows[i].src[0]) & flows[i].src_mask[0]) ||
	    ((src[1] ^ flows[i].src[1]) & flows[i].src_mask[1]))
		return false;
	return !flows[i].dst_port ||
	       (!is_short(ctx, sizeof(*at)) && at->dst_port == flows[i].dst_port);
}

static __always_inline int count_frame(struct xdp_md *ctx, const struct headers *at, __u32 i)
{
	const void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *stamp;
	__u32 stamp_at = flows[i].stamp_at, key = i;
	struct count *count = bpf_map_lookup_elem(&counts, &key);

	if (!count)
		return XDP_PASS;
	stamp = data + bound_mask(stamp_at, STAMP_AT_MASK);
	if (stamp_at && stamp + PACKETS_STAMP_BYTES <= end)
		count_latency(stamp);
	count->packets++;
	count->wrong += at->hop_limit != flows[i].hop_limit;
	return XDP_DROP;
}

SEC("xdp")
int packets_sink(struct xdp_md *ctx)
{
	const struct headers *at = (void *)(long)ctx->data;

	if (is_short(ctx, HEADERS_BYTES) || at->type != bpf_htons(0x86dd))
		return XDP_PASS;
	for (__u32 i = 0; i < FLOWS; i++)
		if (is_of(i, ctx, at))
			return count_frame(ctx, at, i);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
