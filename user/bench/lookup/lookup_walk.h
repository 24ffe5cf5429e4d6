/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop around a lookup, the same for every engine: a batch of addresses from the array, and
 * either the address alone says what is looked up next, or the answer before does, too. Each
 * object of BPF programs includes it once, and so has its own dry runs, whose loop does the same
 * and looks nothing up.
 */
#ifndef BENCH_LOOKUP_WALK_H
#define BENCH_LOOKUP_WALK_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* wants the types of the above */

#include "lookup.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* threads in fact */
	__type(key, __u32);
	__type(value, struct bench_addresses);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bench_answers);
} answers SEC(".maps");

/* The answer: a route's value, 0 for none. */
typedef __u32 (*bench_find_fn)(struct xdp_md *ctx, const struct bench_packet *packet,
			       const union sixlane_addr *addr);

static __always_inline struct bench_packet *bench_packet(struct xdp_md *ctx)
{
	struct bench_packet *packet = (void *)(long)ctx->data;

	return (void *)(packet + 1) > (void *)(long)ctx->data_end ? NULL : packet;
}

static __always_inline int bench_walk(struct xdp_md *ctx, int dependent, bench_find_fn find)
{
	struct bench_packet *packet = bench_packet(ctx);
	const struct bench_addresses *list;
	__u32 cursor, sum = 0;

	if (!packet)
		return XDP_ABORTED;
	list = bpf_map_lookup_elem(&addresses, &packet->list);
	if (!list)
		return XDP_ABORTED;
	cursor = packet->cursor;
	/* Unrolled, an empty loop would not be the same as that around a long lookup. */
#pragma clang loop unroll(disable)
	/* i is of 64 bits: a counter of 32 that is spilled the verifier may forget. */
	for (__u64 i = 0; i < BENCH_BATCH; i++) {
		__u32 answer = find(ctx, packet, &list->at[cursor % BENCH_ADDRESSES]);

		cursor++;
		sum += answer;
		/* Nothing in fact, but the next address is not known before the answer. */
		if (dependent)
			cursor += answer & packet->zero;
	}
	packet->cursor = cursor;
	packet->sum += sum;
	return XDP_DROP;
}

/* Not measured: the answer to every address, kept. */
static __always_inline int bench_answer(struct xdp_md *ctx, bench_find_fn find)
{
	struct bench_packet *packet = bench_packet(ctx);
	__u32 key = 0, cursor;
	const struct bench_addresses *list = bpf_map_lookup_elem(&addresses, &key);
	struct bench_answers *kept = bpf_map_lookup_elem(&answers, &key);

	if (!packet || !list || !kept)
		return XDP_ABORTED;
	cursor = packet->cursor % BENCH_ADDRESSES;
	kept->at[cursor] = find(ctx, packet, &list->at[cursor]);
	packet->cursor = cursor + 1;
	return XDP_DROP;
}

/* The three programs of an engine, by its function. */
#define BENCH_ENGINE(name, find)                              \
	SEC("xdp") int name##_independent(struct xdp_md *ctx) \
	{                                                     \
		return bench_walk(ctx, 0, find);              \
	}                                                     \
	SEC("xdp") int name##_dependent(struct xdp_md *ctx)   \
	{                                                     \
		return bench_walk(ctx, 1, find);              \
	}                                                     \
	SEC("xdp") int name##_answers(struct xdp_md *ctx)     \
	{                                                     \
		return bench_answer(ctx, find);               \
	}

static __always_inline __u32 dry_find(struct xdp_md *ctx, const struct bench_packet *packet,
				      const union sixlane_addr *addr)
{
	(void)ctx;
	(void)packet;
	/* both halves, as what looks them up reads them */
	return (__u32)(addr->halves[0] ^ addr->halves[1]);
}
BENCH_ENGINE(dry, dry_find)

char bench_license[] SEC("license") = "GPL";

#endif
