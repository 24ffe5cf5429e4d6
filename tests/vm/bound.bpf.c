// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of bpf/bound.h on what clang and verifiers disagree about: values that a 32-bit
 * modulo, division or shift by a register leaves, compared before and behind, in a map's value and
 * in a packet. Of no use but to be loaded, by every compiler and kernel.
 */
#include "../../bpf/packet.h"

#define CELLS 16u

struct cells {
	__u32 n;
	__u32 cells[CELLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cells);
} bound_cells SEC(".maps");

static __always_inline struct cells *bound_find(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bound_cells, &zero);
}

/* The cell that a value falls upon; 0: none. */
static __always_inline __u32 bound_cell(const struct cells *cells, __u32 i)
{
	return i < CELLS ? READ_ONCE(cells->cells[bound_index(i, CELLS)]) : 0;
}

SEC("xdp")
int bound_modulo(struct xdp_md *ctx)
{
	const struct cells *cells = bound_find();
	__u32 n = cells ? READ_ONCE(cells->n) : 0;

	return n ? (int)bound_cell(cells, ctx->rx_queue_index % n) : XDP_PASS;
}

SEC("xdp")
int bound_division(struct xdp_md *ctx)
{
	const struct cells *cells = bound_find();
	__u32 n = cells ? READ_ONCE(cells->n) : 0;

	return n ? (int)bound_cell(cells, ctx->rx_queue_index / n) : XDP_PASS;
}

SEC("xdp")
int bound_shift(struct xdp_md *ctx)
{
	const struct cells *cells = bound_find();

	return cells ? (int)bound_cell(cells, ctx->rx_queue_index >> (READ_ONCE(cells->n) & 31))
		     : XDP_PASS;
}

/* In a loop over an index that comes from outside. */
SEC("xdp")
int bound_loop(struct xdp_md *ctx)
{
	const struct cells *cells = bound_find();
	__u32 first = ctx->rx_queue_index, sum = 0;

	if (!cells)
		return XDP_PASS;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CELLS; i++)
		sum += bound_cell(cells, (first + i) % CELLS);
	return (int)sum;
}

/* Behind so many bytes as a map says. */
SEC("xdp")
int bound_packet(struct xdp_md *ctx)
{
	const struct cells *cells = bound_find();
	struct packet pkt = { .ctx = ctx };

	if (!cells || !packet_point(&pkt, READ_ONCE(cells->n) % 12))
		return XDP_PASS;
	return pkt.ip6->next_header;
}

char LICENSE[] SEC("license") = "GPL";
