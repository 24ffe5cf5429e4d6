/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends one forwarded packet's headers to the daemon, which compares its next hop with the kernel's
 * choice. The daemon asks for a sample by a word of the neighbour (struct sixlane_neigh), a few
 * times a second, so no rate limit is needed here. A sample is lost if the ring is full.
 */
#ifndef SIXLANE_SAMPLE_H
#define SIXLANE_SAMPLE_H

#include <bpf/bpf_endian.h>

#include "flow.h"

/* Two numbers in one argument: a BPF function takes at most five. */
static __always_inline __u64 sample_pair(__u32 low, __u32 high)
{
	return low | (__u64)high << 32;
}

static __always_inline void sample_fill(struct sixlane_sample *sample, const struct packet *pkt)
{
	const struct packet_ip6 *ip6 = pkt->ip6;
	struct flow_ports ports = { 0 };

	if (proto_has_ports(ip6->next_header))
		flow_read_ports(pkt, 0, &ports);
	sample->dst = ip6->dst;
	sample->src = ip6->src;
	sample->src_port = ports.src;
	sample->dst_port = ports.dst;
	sample->next_header = ip6->next_header;
	sample->tclass = (__u8)(ip6->version_class << 4) | ip6->class_flow[0] >> 4;
	sample->zero[0] = sample->zero[1] = 0;
}

/*
 * in: slot of the ingress port, bytes of VLAN tags. out: slots of the egress port and of the
 * gateway (0: on-link). Returns whether a sample was sent. Not inlined: see multipath_hash_rare().
 */
__attribute__((noinline)) int sample_send(struct xdp_md *ctx, __u64 in, __u64 out, __u32 table)
{
	const __u32 in_slot = (__u32)in, out_slot = (__u32)out, gateway = out >> 32;
	const struct sixlane_port *ingress = bpf_map_lookup_elem(&sl_ports, &in_slot);
	const struct sixlane_port *egress = bpf_map_lookup_elem(&sl_ports, &out_slot);
	const struct sixlane_neigh *neigh = bpf_map_lookup_elem(&sl_neighbours, &gateway);
	struct sixlane_sample *sample;
	struct packet pkt = { .ctx = ctx };

	if (!ingress || !egress || !neigh || !packet_point(&pkt, in >> 32))
		return 0;
	sample = bpf_ringbuf_reserve(&sl_samples, sizeof(*sample), 0);
	if (!sample)
		return 0;
	pkt.ip_bytes = sizeof(*pkt.ip6) + bpf_ntohs(pkt.ip6->payload_len);
	sample_fill(sample, &pkt);
	sample->next_hop = gateway ? neigh->key.addr : pkt.ip6->dst;
	sample->ingress = READ_ONCE(ingress->ifindex);
	sample->iif = READ_ONCE(ingress->iif);
	sample->table = table;
	sample->egress = READ_ONCE(egress->ifindex);
	bpf_ringbuf_submit(sample, 0);
	return 1;
}

#endif
