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
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET6 10
#define ETHERNET_BYTES 14
#define HOP_LIMIT_OFFSET 21
#define SRC_OFFSET 22
#define DST_OFFSET 38
#define HEADERS_BYTES 54
#define MOST_ROUTES 4194304 /* as many as sixlane has */
/* Linux 5.15 allows no array to have larger values. */
#define MEMORY_WORDS (1u << 20)

/* Set before the object is loaded. */
const volatile __u32 egress;	 /* ifindex */
const volatile __u32 load_bytes; /* of memory, to load from */
const volatile __u16 dst_mac[3]; /* of the next hop */
const volatile __u16 src_mac[3]; /* of the egress device */
const volatile bool frags;	 /* frames may lie in several buffers (Linux 5.18) */

/* As large as sixlane's key. */
struct route_key {
	__u32 prefix_len;
	__be32 table;
	__u64 addr[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_ROUTES);
	__type(key, struct route_key);
	__type(value, __u32);
} bare_routes SEC(".maps");

struct memory {
	__u32 words[MEMORY_WORDS];
};

/* Zeros. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memory);
} memory SEC(".maps");

/* A next hop. */
struct hop {
	__u32 egress; /* ifindex */
	__u8 dst_mac[6];
	__u8 src_mac[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hop);
} hops SEC(".maps");

struct count {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

static __always_inline int redirect_to_next_hop(void *data, __u32 ifindex)
{
	__u16 *words = data;

	words[0] = dst_mac[0];
	words[1] = dst_mac[1];
	words[2] = dst_mac[2];
	words[3] = src_mac[0];
	words[4] = src_mac[1];
	words[5] = src_mac[2];
	((__u8 *)data)[HOP_LIMIT_OFFSET]--;
	return bpf_redirect(ifindex, 0);
}

SEC("xdp")
int side_floor(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return redirect_to_next_hop(data, egress);
}

/* One load, of a 0. data: Ethernet and IPv6 header. */
static __always_inline __u32 load_at_random(const void *data)
{
	const __u64 *dst = data + DST_OFFSET;
	__u64 hash = (dst[0] ^ dst[1]) * 0x9e3779b97f4a7c15ull;
	__u32 zero = 0, word = ((hash >> 32) * load_bytes >> 32) / sizeof(__u32);
	const struct memory *at = bpf_map_lookup_elem(&memory, &zero);

	return at ? *(const volatile __u32 *)&at->words[word % MEMORY_WORDS] : 0;
}

SEC("xdp")
int side_load(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return redirect_to_next_hop(data, egress ^ load_at_random(data));
}

/* Neither fe00::/7, of which multicast and link-local are, nor ::/8, by one comparison. */
static __always_inline bool is_global(const void *addr)
{
	return *(const __u8 *)addr - 1u < 0xfd;
}

/* Whether this is a whole IPv6 packet that may be forwarded. */
static __always_inline bool may_be_forwarded(const void *data, __u32 bytes)
{
	const __u8 *ip6 = data + ETHERNET_BYTES;

	return *(const __be16 *)(data + 12) == bpf_htons(0x86dd) && ip6[0] >> 4 == 6 &&
	       HEADERS_BYTES + bpf_ntohs(*(const __be16 *)(ip6 + 4)) <= bytes &&
	       *(const __u8 *)(data + HOP_LIMIT_OFFSET) > 1 && is_global(data + SRC_OFFSET) &&
	       is_global(data + DST_OFFSET);
}

/* No port, no neighbour, no rule, no VLAN, no exception and no MTU. */
SEC("xdp")
int side_least(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct hop *hop;
	struct count *count;
	__u32 key, bytes = frags ? (__u32)bpf_xdp_get_buff_len(ctx) : (__u32)(end - data);

	if (data + HEADERS_BYTES > end || !may_be_forwarded(data, bytes))
		return XDP_ABORTED;
	key = load_at_random(data);
	hop = bpf_map_lookup_elem(&hops, &key);
	count = bpf_map_lookup_elem(&counts, &key);
	if (!hop || !count)
		return XDP_ABORTED;
	count->packets++;
	count->bytes += bytes;
	__builtin_memcpy(data, hop->dst_mac, 6);
	__builtin_memcpy(data + 6, hop->src_mac, 6);
	((__u8 *)data)[HOP_LIMIT_OFFSET]--;
	return bpf_redirect(hop->egress, 0);
}

SEC("xdp")
int side_bare(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct route_key key = { .prefix_len = 32 + 128, .table = bpf_htonl(254) };

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	key.addr[0] = *(__u64 *)(data + DST_OFFSET);
	key.addr[1] = *(__u64 *)(data + DST_OFFSET + 8);
	if (!bpf_map_lookup_elem(&bare_routes, &key))
		return XDP_PASS;
	return redirect_to_next_hop(data, egress);
}

SEC("xdp")
int side_fib(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct bpf_fib_lookup fib = { .family = AF_INET6, .ifindex = ctx->ingress_ifindex };

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	fib.tot_len = bpf_ntohs(*(__be16 *)(data + 18));
	__builtin_memcpy(fib.ipv6_src, data + SRC_OFFSET, 16);
	__builtin_memcpy(fib.ipv6_dst, data + DST_OFFSET, 16);
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	__builtin_memcpy(data, fib.dmac, 6);
	__builtin_memcpy(data + 6, fib.smac, 6);
	((__u8 *)data)[HOP_LIMIT_OFFSET]--;
	return bpf_redirect(fib.ifindex, 0);
}

SEC("xdp")
int side_kernel(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
