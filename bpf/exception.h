/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exceptions of single destinations from their routes (rt6_find_cached_rt()): a Path MTU, another
 * next hop, or that packets are passed to the kernel.
 *
 * They are looked for only if the route has SIXLANE_ROUTE_EXCEPTIONS or sl_meta asks for it, and
 * looked up only if the filter has the destination. Expired exceptions of the kernel pass their
 * packets; expired ones of the operator are ignored. User space removes them, never the program.
 *
 * Invariants: a hit writes only to this CPU's value. A destination that the filter has, but
 * sl_exceptions has not, is passed.
 */
#ifndef SIXLANE_EXCEPTION_H
#define SIXLANE_EXCEPTION_H

#include "packet.h"
#include "punt.h"
#include "route.h"
#include "trace.h"

/* The word that shows a concurrent change: see struct sixlane_exception. */
union exception_head {
	__u64 word;
	struct {
		__u32 flags, mtu;
	};
};

/* A consistent copy of an exception. */
struct exception_terms {
	union exception_head head;
	__u32 next_hop, table;
	__u64 expires_ns;
};

#define EXCEPTION_TRACE(verdict, how, terms)                                           \
	TRACE(EXCEPTION, verdict, exception, .outcome = SIXLANE_TRACE_EXCEPTION_##how, \
	      .flags = (terms)->head.flags, .mtu = (terms)->head.mtu,                  \
	      .next_hop = (terms)->next_hop, .table = (terms)->table,                  \
	      .expires_ns = (terms)->expires_ns)

/* False: it is being changed, or its memory belongs to another destination by now. */
static __always_inline int exception_read(const struct sixlane_exception *found, __u32 check,
					  struct exception_terms *terms)
{
	const union exception_head *head = (const void *)&found->flags;

	terms->head.word = READ_ONCE(head->word);
	terms->next_hop = READ_ONCE(found->next_hop);
	terms->table = READ_ONCE(found->table);
	terms->expires_ns = READ_ONCE(found->expires_ns);
	/* one test: fewer paths for the verifier */
	return !((READ_ONCE(found->check) ^ check) | (READ_ONCE(head->word) ^ terms->head.word) |
		 (terms->head.flags & SIXLANE_EXCEPTION_CHANGING));
}

/*
 * CLOCK_MONOTONIC_COARSE, read once a tick: jiffies cost no call. At most two ticks late, since the
 * kernel updates jiffies before the clock.
 */
static __always_inline __u64 exception_now_ns(void)
{
	struct sixlane_cpu *own;
	__u64 tick = bpf_jiffies64();
	__u32 zero = 0;

	own = bpf_map_lookup_elem(&sl_cpu, &zero);
	if (!own)
		return bpf_ktime_get_coarse_ns();
	if (own->tick != tick) {
		own->tick_ns = bpf_ktime_get_coarse_ns();
		own->tick = tick;
	}
	return own->tick_ns;
}

/* Applies an exception: next hop and MTU replace those of the route. */
static __always_inline enum sixlane_verdict
exception_apply_terms(struct packet *pkt, const struct exception_terms *terms)
{
	const __u32 flags = terms->head.flags;
	const struct sixlane_next_hop *next_hop;
	__u32 id = terms->next_hop;

	if (flags & SIXLANE_EXCEPTION_NEXT_HOP) {
		next_hop = bpf_map_lookup_elem(&sl_next_hops, &id);
		if (!id || !next_hop) {
			EXCEPTION_TRACE(SIXLANE_PUNT_EXCEPTION, PUNTED, terms);
			return SIXLANE_PUNT_EXCEPTION;
		}
		pkt->nh_entry.word = READ_ONCE(next_hop->nh_entry.word);
		pkt->egress_port = NULL;
	}
	if (flags & SIXLANE_EXCEPTION_MTU)
		pkt->mtu = terms->head.mtu;
	pkt->exception = flags;
	EXCEPTION_TRACE(SIXLANE_FORWARD, APPLIED, terms);
	return SIXLANE_FORWARD;
}

/* No exception is applied. punt: PUNT_* */
static __always_inline enum sixlane_verdict exception_end(__u32 punt)
{
	if (likely(!punt))
		return SIXLANE_FORWARD;
	TRACE(EXCEPTION, SIXLANE_PUNT_EXCEPTION, exception,
	      .outcome = punt & PUNT_FRESH ? SIXLANE_TRACE_EXCEPTION_FRESH
					   : SIXLANE_TRACE_EXCEPTION_FILTERED);
	return SIXLANE_PUNT_EXCEPTION;
}

/* The destination has an entry. punt: PUNT_FRESH or 0 */
static __always_inline enum sixlane_verdict
exception_check_entry(struct packet *pkt, struct sixlane_exception *found, __u32 check, __u32 punt)
{
	/* before the reads: a call would spill what they return */
	const __u64 now_ns = exception_now_ns();
	struct exception_terms terms;

	if (!exception_read(found, check, &terms)) {
		TRACE(EXCEPTION, SIXLANE_PUNT_EXCEPTION, exception,
		      .outcome = SIXLANE_TRACE_EXCEPTION_PUNTED);
		return SIXLANE_PUNT_EXCEPTION;
	}
	if (terms.table != pkt->table) {
		EXCEPTION_TRACE(SIXLANE_FORWARD, ELSEWHERE, &terms);
		return exception_end(punt);
	}
	if (terms.expires_ns - 1 < now_ns) { /* 0 means never, and wraps around */
		EXCEPTION_TRACE(SIXLANE_FORWARD, EXPIRED, &terms);
		/* the kernel may have renewed it */
		if (!(terms.head.flags & (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_OBSERVE)))
			punt |= PUNT_FILTERED;
		return exception_end(punt);
	}
	if (trace_is_traffic()) {
		found->hits++;
		found->bytes += pkt->bytes;
		found->used_ns = now_ns;
	}
	if (terms.head.flags & SIXLANE_EXCEPTION_OBSERVE)
		EXCEPTION_TRACE(SIXLANE_FORWARD, OBSERVED, &terms);
	else if (!punt)
		return exception_apply_terms(pkt, &terms);
	return exception_end(punt);
}

/*
 * Whether an address may have an exception. table, route: table and trie value of its route. Not
 * inlined: the verifier checks it once, and its key takes none of the callers' stack.
 */
__attribute__((noinline)) int exception_may_be(__be64 high, __be64 low, __u32 table, __u32 route)
{
	const union sixlane_addr dst = { .halves = { high, low } };
	const __u32 marks = route & ROUTE_FLAGS, look = punt_check_flag();
	const struct sixlane_exception *found;
	struct exception_terms terms;
	__u32 punt;

	if (likely(!(marks | look)))
		return 0;
	punt = (__u32)punt_find(high, low, look);
	if (punt != PUNT_FILTERED)
		return punt != 0;
	found = bpf_map_lookup_elem(&sl_exceptions, &dst);
	return !found || !exception_read(found, sixlane_exception_check(&dst), &terms) ||
	       terms.table == table;
}

/* Sets mtu, exception and nh_entry to those of the destination's exception, if it has one. */
static __always_inline enum sixlane_verdict exception_apply(struct packet *pkt)
{
	struct sixlane_exception *found;
	union sixlane_addr dst;
	__u32 punt;

	if (likely(!((pkt->route & ROUTE_FLAGS) | pkt->check_punted)) ||
	    pkt->nh_entry.type != SIXLANE_FORWARD)
		return SIXLANE_FORWARD;
	dst = pkt->ip6->dst;
	punt = (__u32)punt_find(dst.halves[0], dst.halves[1], pkt->check_punted);
	found = punt & PUNT_FILTERED ? bpf_map_lookup_elem(&sl_exceptions, &dst) : NULL;
	if (unlikely(found))
		return exception_check_entry(pkt, found, sixlane_exception_check(&dst),
					     punt & PUNT_FRESH);
	TRACE(EXCEPTION, SIXLANE_FORWARD, exception, .outcome = SIXLANE_TRACE_EXCEPTION_ABSENT);
	return exception_end(punt);
}

#endif
