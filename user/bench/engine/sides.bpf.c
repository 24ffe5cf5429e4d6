// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sides that sixlane is compared with. The generator's tail call enters each with the same
 * frames:
 *   floor   rewrites and redirects: the cost of generator, veth and sink
 *   bare    floor after one longest-prefix match: the least that an LPM trie costs
 *   fib     bpf_fib_lookup() and a redirect, as xdp-forward does
 *   kernel  passes the frame to the stack, which forwards it
 * bare and fib pass packets without a route to the stack.
 */
#include "xdp.bpf.h"

#define AF_INET6 10
#define MOST_ROUTES 4194304 /* as many as sixlane has */

/* Set before the object is loaded. */
const volatile __u32 egress;	 /* ifindex */
const volatile __u16 dst_mac[3]; /* of the next hop */
const volatile __u16 src_mac[3]; /* of the egress device */

/* As large as sixlane's key. */
struct route_key {
	__u32 prefix_len;
	__be32 table;
	__u64 addr[2];
};

MAP(bare_routes, LPM_TRIE, BPF_F_NO_PREALLOC, MOST_ROUTES, struct route_key, __u32);

static __always_inline int redirect(struct headers *at)
{
	for (int i = 0; i < 3; i++) {
		at->dst_mac[i] = dst_mac[i];
		at->src_mac[i] = src_mac[i];
	}
	at->hop_limit--;
	return bpf_redirect(egress, 0);
}

SEC("xdp")
int side_floor(struct xdp_md *ctx)
{
	struct headers *at = (void *)(long)ctx->data;

	return is_short(ctx, HEADERS_BYTES) ? XDP_ABORTED : redirect(at);
}

SEC("xdp")
int side_bare(struct xdp_md *ctx)
{
	struct route_key key = { .prefix_len = 32 + 128, .table = bpf_htonl(254) };
	struct headers *at = (void *)(long)ctx->data;
	const __u64 *dst = (const void *)at->dst;

	if (is_short(ctx, HEADERS_BYTES))
		return XDP_ABORTED;
	key.addr[0] = dst[0];
	key.addr[1] = dst[1];
	return bpf_map_lookup_elem(&bare_routes, &key) ? redirect(at) : XDP_PASS;
}

SEC("xdp")
int side_fib(struct xdp_md *ctx)
{
	struct bpf_fib_lookup fib = { .family = AF_INET6, .ifindex = ctx->ingress_ifindex };
	struct headers *at = (void *)(long)ctx->data;

	if (is_short(ctx, HEADERS_BYTES))
		return XDP_ABORTED;
	fib.tot_len = bpf_ntohs(at->payload_bytes);
	__builtin_memcpy(fib.ipv6_src, at->src, 16);
	__builtin_memcpy(fib.ipv6_dst, at->dst, 16);
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	__builtin_memcpy(at->dst_mac, fib.dmac, 6);
	__builtin_memcpy(at->src_mac, fib.smac, 6);
	at->hop_limit--;
	return bpf_redirect(fib.ifindex, 0);
}

SEC("xdp")
int side_kernel(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
