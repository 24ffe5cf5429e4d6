/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop around a lookup, the same for every engine. It takes a batch of addresses from the list;
 * in the dependent form the next address is not known before the last answer. An object of engines
 * includes this once and so has its own dry runs, whose loop is the same and looks nothing up.
 */
#ifndef BENCH_ENGINE_WALK_BPF_H
#define BENCH_ENGINE_WALK_BPF_H

#include "walk.h"
#include "xdp.bpf.h"

MAP(addresses, ARRAY, 0, 1, __u32, struct walk_addresses);

/* Values of routes to the first list; 0: none. */
MAP(answers, ARRAY, 0, 1, __u32, __u32[WALK_ADDRESSES]);

typedef __u32 (*walk_find_fn)(struct xdp_md *ctx, const struct walk_packet *packet,
			      const union sixlane_addr *addr);

/* keep: look up one address and store the answer; not measured. */
static __always_inline int walk(struct xdp_md *ctx, int dependent, int keep, walk_find_fn find)
{
	struct walk_packet *packet = (void *)(long)ctx->data;
	const struct walk_addresses *list;
	__u32 cursor, sum = 0, first = 0, *kept;

	if ((void *)(packet + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	list = bpf_map_lookup_elem(&addresses, &packet->list);
	if (!list)
		return XDP_ABORTED;
	cursor = packet->cursor;
	if (keep) {
		kept = bpf_map_lookup_elem(&answers, &first);
		if (!kept)
			return XDP_ABORTED;
		cursor %= WALK_ADDRESSES;
		kept[cursor] = find(ctx, packet, &list->at[cursor]);
		packet->cursor = cursor + 1;
		return XDP_DROP;
	}
	/* Not unrolled, or the empty loop would differ from that around a long lookup. */
#pragma clang loop unroll(disable)
	/* i has 64 bits: the verifier may forget the bounds of a spilled counter of 32. */
	for (__u64 i = 0; i < WALK_BATCH; i++) {
		__u32 answer = find(ctx, packet, &list->at[cursor % WALK_ADDRESSES]);

		cursor++;
		sum += answer;
		/* Adds 0, but makes the next address depend on the answer. */
		if (dependent)
			cursor += answer & packet->zero;
	}
	packet->cursor = cursor;
	packet->sum += sum;
	return XDP_DROP;
}

/* Stands before the body of an engine's lookup, which returns a route's value, or 0 for none.
 * Declares that function and defines the three programs. */
#define WALK_ENGINE(name)                                                                    \
	static __always_inline __u32 find_##name(struct xdp_md *ctx,                         \
						 const struct walk_packet *packet,           \
						 const union sixlane_addr *addr);            \
	SEC("xdp") int name##_independent(struct xdp_md *ctx)                                \
	{                                                                                    \
		return walk(ctx, 0, 0, find_##name);                                         \
	}                                                                                    \
	SEC("xdp") int name##_dependent(struct xdp_md *ctx)                                  \
	{                                                                                    \
		return walk(ctx, 1, 0, find_##name);                                         \
	}                                                                                    \
	SEC("xdp") int name##_answers(struct xdp_md *ctx)                                    \
	{                                                                                    \
		return walk(ctx, 0, 1, find_##name);                                         \
	}                                                                                    \
	static __always_inline __u32 find_##name(__attribute__((unused)) struct xdp_md *ctx, \
						 __attribute__((unused))                     \
						 const struct walk_packet *packet,           \
						 const union sixlane_addr *addr)

/* Reads both halves, as a lookup does. */
WALK_ENGINE(dry)
{
	return (__u32)(addr->halves[0] ^ addr->halves[1]);
}

char walk_license[] SEC("license") = "GPL";

#endif
