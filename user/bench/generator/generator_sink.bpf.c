// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See generator_sink.h. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../latency.bpf.h"
#include "generator_sink.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sink_config);
} sink_config SEC(".maps");

/* Frames may lie in several buffers. */
const volatile bool sink_frags;

/* By the queue that received. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SINK_QUEUES);
	__type(key, __u32);
	__type(value, struct sink_count);
} sink_counts SEC(".maps");

static __always_inline int same_source(const struct ipv6hdr *ip6, const struct sink_config *config)
{
	__u32 differ = 0;

	for (int i = 0; i < 4; i++) {
		__u32 word;

		__builtin_memcpy(&word, config->src + 4 * i, sizeof(word));
		if (i < 2 || !config->any_host)
			differ |= word ^ ip6->saddr.in6_u.u6_addr32[i];
	}
	return !differ;
}

static __always_inline void count_probe(const struct sink_probe *probe)
{
	__u64 now = bpf_ktime_get_ns();

	latency_add(now > probe->sent_ns ? now - probe->sent_ns : 0);
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	const struct ethhdr *eth = (void *)(long)ctx->data;
	const struct ipv6hdr *ip6 = (const void *)(eth + 1);
	const void *end = (void *)(long)ctx->data_end;
	__u32 zero = 0, queue = ctx->rx_queue_index;
	const struct sink_config *config = bpf_map_lookup_elem(&sink_config, &zero);
	const struct sink_probe *probe;
	struct sink_count *count;

	if (!config || (const void *)(ip6 + 1) > end || eth->h_proto != bpf_htons(ETH_P_IPV6) ||
	    !same_source(ip6, config))
		return XDP_PASS;
	if (queue >= SINK_QUEUES)
		queue = SINK_QUEUES - 1;
	count = bpf_map_lookup_elem(&sink_counts, &queue);
	if (!count)
		return XDP_PASS;
	probe = (const void *)(ip6 + 1) + sizeof(struct udphdr);
	if (ip6->nexthdr == IPPROTO_UDP && (const void *)(probe + 1) <= end &&
	    probe->magic == SINK_MAGIC) {
		count->probes++;
		count_probe(probe);
		return XDP_DROP;
	}
	count->packets++;
	count->bytes += sink_frags ? bpf_xdp_get_buff_len(ctx) : ctx->data_end - ctx->data;
	if (ip6->hop_limit != config->hop_limit)
		count->wrong_hop_limit++;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
