// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of bpf/bound.h on what clang and verifiers disagree about: values that a 32-bit
 * modulo, division or shift by a register leaves, compared before and behind, in a map's value and
 * in a packet. Of no use but to be loaded, by every compiler and kernel.
 */
#include "../../bpf/packet.h"

#define BUCKETS 16u

struct buckets {
	__u32 n;
	__u32 buckets[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct buckets);
} bound_buckets SEC(".maps");

static __always_inline struct buckets *bound_find(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bound_buckets, &zero);
}

/* The bucket that a value falls upon; 0: none. */
static __always_inline __u32 bound_bucket(const struct buckets *buckets, __u32 i)
{
	return i < BUCKETS ? READ_ONCE(buckets->buckets[bound_index(i, BUCKETS)]) : 0;
}

SEC("xdp")
int bound_modulo(struct xdp_md *ctx)
{
	const struct buckets *buckets = bound_find();
	__u32 n = buckets ? READ_ONCE(buckets->n) : 0;

	return n ? (int)bound_bucket(buckets, ctx->rx_queue_index % n) : XDP_PASS;
}

SEC("xdp")
int bound_division(struct xdp_md *ctx)
{
	const struct buckets *buckets = bound_find();
	__u32 n = buckets ? READ_ONCE(buckets->n) : 0;

	return n ? (int)bound_bucket(buckets, ctx->rx_queue_index / n) : XDP_PASS;
}

SEC("xdp")
int bound_shift(struct xdp_md *ctx)
{
	const struct buckets *buckets = bound_find();

	return buckets ? (int)bound_bucket(buckets,
					   ctx->rx_queue_index >> (READ_ONCE(buckets->n) & 31))
		       : XDP_PASS;
}

/* The same in a loop, with an index that the verifier does not know. */
SEC("xdp")
int bound_loop(struct xdp_md *ctx)
{
	const struct buckets *buckets = bound_find();
	__u32 first = ctx->rx_queue_index, sum = 0;

	if (!buckets)
		return XDP_PASS;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BUCKETS; i++)
		sum += bound_bucket(buckets, (first + i) % BUCKETS);
	return (int)sum;
}

/* Behind so many bytes as a map says. */
SEC("xdp")
int bound_packet(struct xdp_md *ctx)
{
	const struct buckets *buckets = bound_find();
	struct packet pkt = { .ctx = ctx };

	if (!buckets || !packet_point(&pkt, READ_ONCE(buckets->n) % 12))
		return XDP_PASS;
	return pkt.ip6->next_header;
}

char LICENSE[] SEC("license") = "GPL";
