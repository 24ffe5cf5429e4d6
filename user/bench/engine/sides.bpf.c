// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sides that sixlane is compared with. The generator's tail call enters each with the same
 * frames:
 *   floor   rewrites and redirects: the cost of generator, veth and sink
 *   load    floor after one load from a memory address that the destination selects
 *   least   load, and the checks, the next hop and the counter that any router needs
 *   bare    floor after one longest-prefix match: the least that an LPM trie costs
 *   fib     bpf_fib_lookup() and a redirect, as xdp-forward does
 *   kernel  passes the frame to the stack, which forwards it
 * bare and fib pass packets without a route to the stack.
 */
#include "xdp.bpf.h"

#define AF_INET6 10
#define MOST_ROUTES 4194304 /* as many as sixlane has */
/* Linux 5.15 allows no array to have larger values. */
#define MEMORY_WORDS (1u << 20)

/* Set before the object is loaded. */
const volatile __u32 egress;	 /* ifindex */
const volatile __u32 load_bytes; /* of memory, to load from */
const volatile __u16 dst_mac[3]; /* of the next hop */
const volatile __u16 src_mac[3]; /* of the egress device */

/* As large as sixlane's key. */
struct route_key {
	__u32 prefix_len;
	__be32 table;
	__u64 addr[2];
};

MAP(bare_routes, LPM_TRIE, BPF_F_NO_PREALLOC, MOST_ROUTES, struct route_key, __u32);

/* Zeros. */
MAP(memory, ARRAY, 0, 1, __u32, __u32[MEMORY_WORDS]);

/* A next hop. */
struct hop {
	__u32 egress; /* ifindex */
	__u16 dst_mac[3], src_mac[3];
};

MAP(hops, ARRAY, 0, 1, __u32, struct hop);

struct count {
	__u64 packets, bytes;
};

MAP(counts, PERCPU_ARRAY, 0, 1, __u32, struct count);

static __always_inline int redirect(struct headers *at, __u32 ifindex)
{
	for (int i = 0; i < 3; i++) {
		at->dst_mac[i] = dst_mac[i];
		at->src_mac[i] = src_mac[i];
	}
	at->hop_limit--;
	return bpf_redirect(ifindex, 0);
}

SEC("xdp")
int side_floor(struct xdp_md *ctx)
{
	struct headers *at = (void *)(long)ctx->data;

	return is_short(ctx, HEADERS_BYTES) ? XDP_ABORTED : redirect(at, egress);
}

/* One load, of a 0. */
static __always_inline __u32 load_at_random(const struct headers *at)
{
	const __u64 *dst = (const void *)at->dst;
	__u64 hash = (dst[0] ^ dst[1]) * 0x9e3779b97f4a7c15ull;
	__u32 zero = 0, word = ((hash >> 32) * load_bytes >> 32) / sizeof(__u32);
	const __u32 *words = bpf_map_lookup_elem(&memory, &zero);

	return words ? *(const volatile __u32 *)&words[word % MEMORY_WORDS] : 0;
}

SEC("xdp")
int side_load(struct xdp_md *ctx)
{
	struct headers *at = (void *)(long)ctx->data;

	if (is_short(ctx, HEADERS_BYTES))
		return XDP_ABORTED;
	return redirect(at, egress ^ load_at_random(at));
}

/* Neither fe00::/7, of which multicast and link-local are, nor ::/8, by one comparison. */
static __always_inline bool is_global(const __u8 *addr)
{
	return addr[0] - 1u < 0xfd;
}

/* If it is a whole IPv6 packet that may be forwarded. No port, no neighbour, no rule, no VLAN, no
 * exception and no MTU. */
SEC("xdp")
int side_least(struct xdp_md *ctx)
{
	__u32 key, bytes = ctx->data_end - ctx->data;
	struct headers *at = (void *)(long)ctx->data;
	const struct hop *hop;
	struct count *count;

	if (is_short(ctx, HEADERS_BYTES) || at->type != bpf_htons(0x86dd) ||
	    at->version >> 4 != 6 || HEADERS_BYTES + bpf_ntohs(at->payload_bytes) > bytes ||
	    at->hop_limit <= 1 || !is_global(at->src) || !is_global(at->dst))
		return XDP_ABORTED;
	key = load_at_random(at);
	hop = bpf_map_lookup_elem(&hops, &key);
	count = bpf_map_lookup_elem(&counts, &key);
	if (!hop || !count)
		return XDP_ABORTED;
	count->packets++;
	count->bytes += bytes;
	__builtin_memcpy(at->dst_mac, hop->dst_mac, 12);
	at->hop_limit--;
	return bpf_redirect(hop->egress, 0);
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
	return bpf_map_lookup_elem(&bare_routes, &key) ? redirect(at, egress) : XDP_PASS;
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
