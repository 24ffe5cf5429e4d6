/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What holds for one destination instead of what its route says: a Path MTU, another next hop
 * (rt6_find_cached_rt), or that its packets are the kernel's. Looked for only where the route's
 * prefix is marked to have any, or where sl_meta says to look, so that other traffic pays for a
 * test of two words; and looked up only where the filter says that there is something. From its end
 * on, what the kernel learnt is the kernel's, and what the operator said is as if it were not
 * there, until user space removes it; nothing is ever removed here.
 *
 * Invariants: a hit writes to this CPU's value and to nothing that another CPU reads; of what the
 * filter says that there is something, but has no entry, packets are the kernel's.
 */
#ifndef SIXLANE_EXCEPTION_H
#define SIXLANE_EXCEPTION_H

#include "packet.h"
#include "punt.h"
#include "route.h"
#include "trace.h"

/* The word that tells whether the others belong together: see struct sixlane_exception. */
union exception_head {
	__u64 word;
	struct {
		__u32 flags, mtu;
	};
};

/* What an exception says, as it was at one time. */
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

/* False: it is being changed, or was taken away and is another's now. */
static __always_inline int exception_read(const struct sixlane_exception *found, __u32 check,
					  struct exception_terms *terms)
{
	const union exception_head *head = (const void *)&found->flags;

	terms->head.word = READ_ONCE(head->word);
	terms->next_hop = READ_ONCE(found->next_hop);
	terms->table = READ_ONCE(found->table);
	terms->expires_ns = READ_ONCE(found->expires_ns);
	/* one test of both: fewer ways for the verifier to go */
	return !((READ_ONCE(found->check) ^ check) | (READ_ONCE(head->word) ^ terms->head.word) |
		 (terms->head.flags & SIXLANE_EXCEPTION_CHANGING));
}

/*
 * CLOCK_MONOTONIC_COARSE moves on with jiffies, which programs read without a call: asked once a
 * tick, it is at most two ticks late (jiffies are moved before the clock is).
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

/* Put what it says in the place of what the route says. */
static __always_inline enum sixlane_verdict exception_impose(struct packet *pkt,
							     const struct exception_terms *terms)
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
	}
	if (flags & SIXLANE_EXCEPTION_MTU)
		pkt->mtu = terms->head.mtu;
	pkt->exception = flags;
	EXCEPTION_TRACE(SIXLANE_FORWARD, APPLIED, terms);
	return SIXLANE_FORWARD;
}

/* No entry is applied. */
static __always_inline enum sixlane_verdict exception_end(__u32 punt)
{
	if (likely(!punt))
		return SIXLANE_FORWARD;
	TRACE(EXCEPTION, SIXLANE_PUNT_EXCEPTION, exception,
	      .outcome = punt & PUNT_FRESH ? SIXLANE_TRACE_EXCEPTION_FRESH
					   : SIXLANE_TRACE_EXCEPTION_FILTERED);
	return SIXLANE_PUNT_EXCEPTION;
}

/* An entry is there. punt: PUNT_FRESH or 0. */
static __always_inline enum sixlane_verdict
exception_meet(struct packet *pkt, struct sixlane_exception *found, __u32 check, __u32 punt)
{
	/* first: what is read then does not have to be kept beside a call */
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
	if (terms.expires_ns - 1 < now_ns) { /* 0, which is never, wraps */
		EXCEPTION_TRACE(SIXLANE_FORWARD, EXPIRED, &terms);
		/* what the kernel learnt may hold longer by now */
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
		return exception_impose(pkt, &terms);
	return exception_end(punt);
}

/*
 * Whether there may be one for an address, whose route in this table has this value in the trie.
 * Not static: the verifier goes through it once, and its key is on no caller's stack.
 */
__attribute__((noinline)) int exception_may_be(__be64 high, __be64 low, __u32 table, __u32 route)
{
	const union sixlane_addr dst = { .halves = { high, low } };
	const __u32 marks = route & ROUTE_FLAGS, look = punt_look();
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

/* Sets mtu, exception and next-hop entry to the exception's. */
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
		return exception_meet(pkt, found, sixlane_exception_check(&dst), punt & PUNT_FRESH);
	TRACE(EXCEPTION, SIXLANE_FORWARD, exception, .outcome = SIXLANE_TRACE_EXCEPTION_ABSENT);
	return exception_end(punt);
}

#endif
