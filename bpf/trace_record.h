/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the trace flavour: how they are written, and the verdict that a step decided early. */
#ifndef SIXLANE_TRACE_RECORD_H
#define SIXLANE_TRACE_RECORD_H

#include "abi/trace.h"
#include "packet.h"

/* Whether the packet is real: it marks its neighbour and exception as used. */
static __always_inline int trace_is_traffic(void)
{
	return 0;
}

/* Not pinned: the process that runs the program reads the records. */
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

/* head: step and, in the upper half, verdict. Not inlined: see multipath_hash_rare(). */
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

/* All that is not named is 0, also after a member that is shorter than the union. */
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

/* Notes the selector that made a rule not apply. Returns 0. */
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

/* Notes the first early verdict. slot: that the packet is counted in. */
__attribute__((noinline)) int trace_decide(__u32 verdict, __u32 slot)
{
	struct sixlane_trace *trace = trace_get();

	if (trace && !trace->decided) {
		trace->decided = verdict;
		trace->decided_slot = slot;
	}
	return 0;
}

/* The early verdict; SIXLANE_FORWARD: none. */
__attribute__((noinline)) int trace_decided(void)
{
	const struct sixlane_trace *trace = trace_get();

	return trace ? (int)trace->decided : SIXLANE_FORWARD;
}

/* The step after all checks and before the first write: ends with the early verdict, if any. */
static __always_inline enum sixlane_verdict trace_stop(struct packet *pkt)
{
	const __u32 decided = trace_decided();

	return decided ? packet_decide(pkt, decided) : SIXLANE_FORWARD;
}

/* Also sets the slot to the one of the early verdict, not that of a VLAN device found later. */
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

/* Goes on as if there were no verdict, if there is a port. */
static __always_inline enum sixlane_verdict trace_early(const struct packet *pkt,
							enum sixlane_verdict verdict)
{
	if (verdict == SIXLANE_FORWARD || !pkt->port)
		return verdict;
	trace_decide(trace_verdict_of(pkt, verdict), pkt->slot);
	return SIXLANE_FORWARD;
}

#endif
