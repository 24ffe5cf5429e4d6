/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop around a lookup, the same for every engine. It takes a batch of addresses from the list;
 * in the dependent form the next address is not known before the last answer. An object of engines
 * includes this once and so has its own dry runs, whose loop is the same and looks nothing up.
 */
#ifndef BENCH_ENGINE_WALK_BPF_H
#define BENCH_ENGINE_WALK_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* needs the types of the above */

#include "walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the driver sets the number of threads */
	__type(key, __u32);
	__type(value, struct walk_addresses);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_answers);
} answers SEC(".maps");

/* Returns a route's value, 0 for none. */
typedef __u32 (*walk_find_fn)(struct xdp_md *ctx, const struct walk_packet *packet,
			      const union sixlane_addr *addr);

static __always_inline struct walk_packet *walk_packet(struct xdp_md *ctx)
{
	struct walk_packet *packet = (void *)(long)ctx->data;

	return (void *)(packet + 1) > (void *)(long)ctx->data_end ? NULL : packet;
}

static __always_inline int walk(struct xdp_md *ctx, int dependent, walk_find_fn find)
{
	struct walk_packet *packet = walk_packet(ctx);
	const struct walk_addresses *list;
	__u32 cursor, sum = 0;

	if (!packet)
		return XDP_ABORTED;
	list = bpf_map_lookup_elem(&addresses, &packet->list);
	if (!list)
		return XDP_ABORTED;
	cursor = packet->cursor;
	/* Not unrolled, or the empty loop would differ from that around a long lookup. */
#pragma clang loop unroll(disable)
	/* i has 64 bits: the verifier may forget the bounds of a spilled counter of 32. */
	for (__u64 i = 0; i < WALK_BATCH; i++) {
		__u32 answer = find(ctx, packet, &list->at[cursor % WALK_ADDRESSES]);

		cursor++;
		sum += answer;
		/* Adds 0, but only when the answer is there. */
		if (dependent)
			cursor += answer & packet->zero;
	}
	packet->cursor = cursor;
	packet->sum += sum;
	return XDP_DROP;
}

/* Keep the answer to one address. Not measured. */
static __always_inline int walk_answer(struct xdp_md *ctx, walk_find_fn find)
{
	struct walk_packet *packet = walk_packet(ctx);
	__u32 key = 0, cursor;
	const struct walk_addresses *list = bpf_map_lookup_elem(&addresses, &key);
	struct walk_answers *kept = bpf_map_lookup_elem(&answers, &key);

	if (!packet || !list || !kept)
		return XDP_ABORTED;
	cursor = packet->cursor % WALK_ADDRESSES;
	kept->at[cursor] = find(ctx, packet, &list->at[cursor]);
	packet->cursor = cursor + 1;
	return XDP_DROP;
}

/* The three programs of an engine. */
#define WALK_ENGINE(name, find)                               \
	SEC("xdp") int name##_independent(struct xdp_md *ctx) \
	{                                                     \
		return walk(ctx, 0, find);                    \
	}                                                     \
	SEC("xdp") int name##_dependent(struct xdp_md *ctx)   \
	{                                                     \
		return walk(ctx, 1, find);                    \
	}                                                     \
	SEC("xdp") int name##_answers(struct xdp_md *ctx)     \
	{                                                     \
		return walk_answer(ctx, find);                \
	}

/* Reads both halves, as a lookup does. */
static __always_inline __u32 dry_find(struct xdp_md *ctx, const struct walk_packet *packet,
				      const union sixlane_addr *addr)
{
	(void)ctx;
	(void)packet;
	return (__u32)(addr->halves[0] ^ addr->halves[1]);
}
WALK_ENGINE(dry, dry_find)

char walk_license[] SEC("license") = "GPL";

#endif
