/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what each step saw and decided, for `sixlane explain`. In all flavours but
 * sixlane.trace.bpf.c nothing is recorded, and no instruction is left of what stands here.
 *
 * TRACE() records facts that only the place knows. trace_STEP() records what a step noted in struct
 * packet, and returns the step's verdict. A step before the route does not end the walk of the
 * trace flavour: its verdict is kept (trace_decided()) and overrides that of the end.
 */
#ifndef SIXLANE_TRACE_H
#define SIXLANE_TRACE_H

#include "packet.h"

#ifndef SIXLANE_TRACE

/* Arguments are not evaluated. */
#define TRACE(step, outcome, member, ...) ((void)0)
#define TRACE_STEP(name, pkt, verdict) (verdict)
#define TRACE_EARLY(name, pkt, verdict) (verdict)

static __always_inline int trace_is_traffic(void)
{
	return 1;
}

static __always_inline int trace_differs(__u32 selector)
{
	(void)selector;
	return 0;
}

static __always_inline int trace_decided(void)
{
	return SIXLANE_FORWARD;
}

static __always_inline enum sixlane_verdict trace_stop(const struct packet *pkt)
{
	(void)pkt;
	return SIXLANE_FORWARD;
}

static __always_inline enum sixlane_verdict trace_override(struct packet *pkt,
							   enum sixlane_verdict verdict)
{
	(void)pkt;
	return verdict;
}

static __always_inline void trace_arrival(const struct packet *pkt)
{
	(void)pkt;
}

static __always_inline void trace_rewrite(const struct packet *pkt)
{
	(void)pkt;
}

#else

#include "abi/trace.h"

/* Whether the packet uses its neighbour and its exception, and may be an ICMP event. */
static __always_inline int trace_is_traffic(void)
{
	return 0;
}

/* Not pinned: one process runs the program, and reads what it has recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sixlane_trace);
} sl_trace SEC(".maps");

static __always_inline struct sixlane_trace *trace_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sl_trace, &zero);
}

/* head: the step, and the verdict above it. Not static: the verifier goes through it once. */
__attribute__((noinline)) int trace_write(__u64 head, __u64 a, __u64 b, __u64 c, __u64 d)
{
	struct sixlane_trace *trace = trace_get();
	struct sixlane_trace_record *record;
	__u32 n;

	if (!trace)
		return 0;
	n = trace->n;
	if (n >= SIXLANE_TRACE_RECORDS) {
		trace->dropped++;
		return 0;
	}
	trace->n = n + 1;
	record = &trace->records[bound_index(n, SIXLANE_TRACE_RECORDS)];
	record->step = (__u32)head;
	record->verdict = head >> 32;
	record->facts.words[0] = a;
	record->facts.words[1] = b;
	record->facts.words[2] = c;
	record->facts.words[3] = d;
	return 0;
}

/* What is not named is 0, also behind a member that is shorter than the union. */
#define TRACE(step, outcome, member, ...)                                                  \
	({                                                                                 \
		union sixlane_trace_facts facts = { .words = { 0 } };                      \
                                                                                           \
		facts.member = (typeof(facts.member)){ __VA_ARGS__ };                      \
		trace_write(SIXLANE_TRACE_##step | (__u64)(outcome) << 32, facts.words[0], \
			    facts.words[1], facts.words[2], facts.words[3]);               \
	})

#define TRACE_STEP(name, pkt, verdict) trace_##name(pkt, verdict)
#define TRACE_EARLY(name, pkt, verdict) trace_early(pkt, trace_##name(pkt, verdict))

/* A rule does not apply since this selector of it does not hold. Returns 0. */
__attribute__((noinline)) int trace_differs(__u32 selector)
{
	struct sixlane_trace *trace = trace_get();

	if (trace)
		trace->selector = selector;
	return 0;
}

static __always_inline __u32 trace_selector(void)
{
	const struct sixlane_trace *trace = trace_get();

	return trace ? trace->selector : 0;
}

/* slot: that the packet is counted for. */
__attribute__((noinline)) int trace_decide(__u32 verdict, __u32 slot)
{
	struct sixlane_trace *trace = trace_get();

	if (trace && !trace->decided) {
		trace->decided = verdict;
		trace->decided_slot = slot;
	}
	return 0;
}

/* What a step before the route decided; SIXLANE_FORWARD: nothing. */
__attribute__((noinline)) int trace_decided(void)
{
	const struct sixlane_trace *trace = trace_get();

	return trace ? (int)trace->decided : SIXLANE_FORWARD;
}

/* A step after all checks and before the first write: ends a walk that was decided early. */
static __always_inline enum sixlane_verdict trace_stop(struct packet *pkt)
{
	const __u32 decided = trace_decided();

	return decided ? packet_decide(pkt, decided) : SIXLANE_FORWARD;
}

/* Counted for the port that decided, not for a VLAN device that was found after that. */
static __always_inline enum sixlane_verdict trace_override(struct packet *pkt,
							   enum sixlane_verdict verdict)
{
	const struct sixlane_trace *trace = trace_get();

	if (!trace || !trace->decided)
		return verdict;
	pkt->slot = trace->decided_slot;
	return trace->decided;
}

static __always_inline __u32 trace_verdict_of(const struct packet *pkt,
					      enum sixlane_verdict verdict)
{
	return verdict == PACKET_DECIDED ? pkt->decided : verdict;
}

/* The walk goes on as if there had been no verdict, as long as there is a port. */
static __always_inline enum sixlane_verdict trace_early(const struct packet *pkt,
							enum sixlane_verdict verdict)
{
	if (verdict == SIXLANE_FORWARD || !pkt->port)
		return verdict;
	trace_decide(trace_verdict_of(pkt, verdict), pkt->slot);
	return SIXLANE_FORWARD;
}

/* --- the steps ---------------------------------------------------------------------------- */

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
#endif
