/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the trace flavour: what each step left in struct packet. */
#ifndef SIXLANE_TRACE_STEPS_H
#define SIXLANE_TRACE_STEPS_H

#include "trace_record.h"

static __always_inline enum sixlane_verdict trace_meta(const struct packet *pkt,
						       enum sixlane_verdict verdict)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0;

	(void)pkt;
	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (meta)
		TRACE(META, verdict, meta, .abi = meta->abi, .flags = meta->flags);
	return verdict;
}

#define TRACE_PORT(step, pkt, verdict, limit)                                               \
	TRACE(step, verdict, port, .slot = (pkt)->slot, .ifindex = (pkt)->ingress,          \
	      .flags = (pkt)->ingress_flags, .table = (pkt)->port ? (pkt)->port->table : 0, \
	      .iif = (pkt)->port ? (pkt)->port->iif : 0, .generic = (pkt)->generic,         \
	      .hop_limit = (limit))

static __always_inline void trace_begin(void)
{
	struct sixlane_trace *trace = trace_get();

	if (trace)
		trace->n = trace->dropped = trace->decided = trace->selector = 0;
}

static __always_inline void trace_arrival(const struct packet *pkt)
{
	trace_begin();
	TRACE_PORT(ARRIVAL, pkt, SIXLANE_FORWARD, 0);
}

static __always_inline enum sixlane_verdict trace_vlan(const struct packet *pkt,
						       enum sixlane_verdict verdict)
{
	(void)pkt; /* vlan_enter() records each tag */
	return verdict;
}

static __always_inline enum sixlane_verdict trace_port(const struct packet *pkt,
						       enum sixlane_verdict verdict)
{
	TRACE_PORT(PORT, pkt, trace_verdict_of(pkt, verdict), 0);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_frame(const struct packet *pkt,
							enum sixlane_verdict verdict)
{
	TRACE(FRAME, verdict, frame, .bytes = pkt->bytes, .ip_bytes = pkt->ip_bytes,
	      .tag_bytes = pkt->tag_bytes);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_addressee(const struct packet *pkt,
							    enum sixlane_verdict verdict)
{
	union packet_mac dst = { 0 };

	dst.pieces[0] = pkt->eth->dst[0];
	dst.last = *packet_mac_last(pkt->eth->dst);
	TRACE(ADDRESSEE, verdict, addressee, .dst = dst.word, .mac = pkt->port->mac.word,
	      .addressed = pkt->addressed);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_header(const struct packet *pkt,
							 enum sixlane_verdict verdict)
{
	TRACE(HEADER, verdict, header, .next_header = pkt->ip6->next_header,
	      .hop_limit = pkt->ip6->hop_limit);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_member(const struct packet *pkt,
							 enum sixlane_verdict verdict)
{
	TRACE(MEMBER, verdict, member, .nh_entry = pkt->nh_entry);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_forwarding(const struct packet *pkt,
							     enum sixlane_verdict verdict)
{
	TRACE_PORT(FORWARDING, pkt, verdict, pkt->ip6->hop_limit);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_egress(const struct packet *pkt,
							 enum sixlane_verdict verdict)
{
	const struct sixlane_port *port = pkt->egress_port;

	if (port)
		TRACE(EGRESS, trace_verdict_of(pkt, verdict), egress, .slot = pkt->nh_entry.port,
		      .ifindex = port->ifindex, .flags = port->flags,
		      .tx_ifindex = port->tx_ifindex, .mtu = port->mtu);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_guard(const struct packet *pkt,
							enum sixlane_verdict verdict)
{
	const struct sixlane_meta *meta;
	__u32 zero = 0;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (meta)
		TRACE(GUARD, trace_verdict_of(pkt, verdict), guard, .in_flags = pkt->ingress_flags,
		      .meta_flags = meta->flags);
	return verdict;
}

static __always_inline enum sixlane_verdict trace_mtu(const struct packet *pkt,
						      enum sixlane_verdict verdict)
{
	TRACE(MTU, trace_verdict_of(pkt, verdict), mtu, .ip_bytes = pkt->ip_bytes,
	      .device_mtu = pkt->egress_port->mtu, .mtu = pkt->mtu, .exception = pkt->exception);
	return verdict;
}

static __always_inline void trace_rewrite(const struct packet *pkt)
{
	TRACE(REWRITE, SIXLANE_FORWARD, rewrite, .dst_mac = pkt->dst_mac.word,
	      .src_mac = pkt->egress_port->mac.word, .tx_ifindex = pkt->tx_ifindex);
}

static __always_inline enum sixlane_verdict trace_slave(const struct packet *pkt,
							enum sixlane_verdict verdict)
{
	if (pkt->egress_flags & SIXLANE_PORT_SLAVES)
		TRACE(SLAVE, trace_verdict_of(pkt, verdict), slave, .ifindex = pkt->tx_ifindex,
		      .by = pkt->egress_port->slaves_by, .n_slaves = pkt->egress_port->n_slaves);
	return verdict;
}

#endif
