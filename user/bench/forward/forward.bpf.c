// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What sixlane is measured against. Each program is one side and is entered by the generator's
 * tail call, with the same frames:
 *   floor   rewrites and redirects: the harness, the veth and nothing else
 *   load    floor behind one load, from where in memory the destination says
 *   least   load, and the checks, the next hop and the counter that a router has at the least
 *   bare    floor behind one longest-prefix match: the least an LPM trie can cost
 *   fib     asks the kernel's own table by bpf_fib_lookup(), as xdp-forward does
 *   kernel  passes the frame to the stack, which forwards it
 *
 * What bare and fib find no route for they pass to the stack, and count, since the stack would
 * deliver what they were to.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../lookup/lookup.h"
#include "forward_config.h"

#define AF_INET6 10
#define ETHERNET_BYTES 14
#define HOP_LIMIT_OFFSET 21
#define SRC_OFFSET 22
#define DST_OFFSET 38
#define HEADERS_BYTES 54

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SIXLANE_MAX_ROUTES);
	__type(key, struct sixlane_route_key);
	__type(value, __u32);
} bare_routes SEC(".maps");

/* Zeros. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct forward_memory);
} memory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct forward_hop);
} hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct forward_count);
} counts SEC(".maps");

/* Packets that bare and fib have passed. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} passed SEC(".maps");

const volatile struct forward_config config;

/* egress: an ifindex */
static __always_inline int redirect_to_next_hop(void *data, __u32 egress)
{
	__u16 *words = data;

	words[0] = config.dst_mac[0];
	words[1] = config.dst_mac[1];
	words[2] = config.dst_mac[2];
	words[3] = config.src_mac[0];
	words[4] = config.src_mac[1];
	words[5] = config.src_mac[2];
	((__u8 *)data)[HOP_LIMIT_OFFSET]--;
	return bpf_redirect(egress, 0);
}

SEC("xdp")
int side_floor(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return redirect_to_next_hop(data, config.egress);
}

/* 0, by one load. data: with all headers. The map is there: its lookup fails for no key of 0. */
static __always_inline __u32 load_at_random(const void *data)
{
	const struct forward_memory *at;
	union sixlane_addr dst;
	__u32 zero = 0, word;

	dst.halves[0] = *(const __u64 *)(data + DST_OFFSET);
	dst.halves[1] = *(const __u64 *)(data + DST_OFFSET + 8);
	word = bench_offset(&dst, config.load_bytes) / sizeof(at->words[0]);
	at = bpf_map_lookup_elem(&memory, &zero);
	return at ? *(const volatile __u32 *)&at->words[word % FORWARD_MEMORY_WORDS] : 0;
}

SEC("xdp")
int side_load(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return redirect_to_next_hop(data, config.egress ^ load_at_random(data));
}

/* Neither fe00::/7, of which multicast and link-local are, nor ::/8, by one comparison. */
static __always_inline int is_global(const void *addr)
{
	return *(const __u8 *)addr - 1u < 0xfd;
}

/* A whole IPv6 packet which may be forwarded. */
static __always_inline int may_be_forwarded(const void *data, __u32 bytes)
{
	const __u8 *ip6 = data + ETHERNET_BYTES;

	return *(const __u16 *)(data + 12) == bpf_htons(0x86dd) && ip6[0] >> 4 == 6 &&
	       HEADERS_BYTES + bpf_ntohs(*(const __u16 *)(ip6 + 4)) <= bytes &&
	       *(const __u8 *)(data + HOP_LIMIT_OFFSET) > 1 && is_global(data + SRC_OFFSET) &&
	       is_global(data + DST_OFFSET);
}

/* No port, no neighbour, no rule, no VLAN, no exception and no MTU. */
SEC("xdp")
int side_least(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct forward_hop *hop;
	struct forward_count *count;
	__u32 key, bytes = config.large ? (__u32)bpf_xdp_get_buff_len(ctx) : (__u32)(end - data);

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

static __always_inline int pass(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&passed, &zero);

	if (count)
		++*count;
	return XDP_PASS;
}

SEC("xdp")
int side_bare(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct sixlane_route_key key = { .prefix_len = SIXLANE_TABLE_BITS + 128,
					 .table = config.table };

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	key.addr.halves[0] = *(__u64 *)(data + DST_OFFSET);
	key.addr.halves[1] = *(__u64 *)(data + DST_OFFSET + 8);
	if (!bpf_map_lookup_elem(&bare_routes, &key))
		return pass();
	return redirect_to_next_hop(data, config.egress);
}

SEC("xdp")
int side_fib(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	struct bpf_fib_lookup fib = { .family = AF_INET6, .ifindex = ctx->ingress_ifindex };

	if (data + HEADERS_BYTES > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	fib.tot_len = bpf_ntohs(*(__u16 *)(data + 18));
	__builtin_memcpy(fib.ipv6_src, data + SRC_OFFSET, 16);
	__builtin_memcpy(fib.ipv6_dst, data + DST_OFFSET, 16);
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return pass();
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
