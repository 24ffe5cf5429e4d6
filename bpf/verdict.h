/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of every walk: the verdict is counted, once, and becomes an XDP action. The only
 * place that knows XDP_* codes; they come from the ACTION column of SIXLANE_VERDICTS.
 */
#ifndef SIXLANE_VERDICT_H
#define SIXLANE_VERDICT_H

#include "bound.h"
#include "packet.h"
#include "trace.h"

_Static_assert(!SIXLANE_FORWARD, "a step says 'go on' by 0");

/* One bit a verdict: constants, where a switch over the list may become a table in .rodata. */
#define VERDICT_BIT(name, action, which) | (__u64)(XDP_##action == XDP_##which) << SIXLANE_##name
#define VERDICT_BIT_REDIRECT(name, action, string, text) VERDICT_BIT(name, action, REDIRECT)
#define VERDICT_BIT_DROP(name, action, string, text) VERDICT_BIT(name, action, DROP)

static const __u64 verdict_redirect_bits = 0 SIXLANE_VERDICTS(VERDICT_BIT_REDIRECT);
static const __u64 verdict_drop_bits = 0 SIXLANE_VERDICTS(VERDICT_BIT_DROP);
_Static_assert((0 SIXLANE_VERDICTS(VERDICT_BIT_REDIRECT)) ==
		       (1ull << SIXLANE_FORWARD | 1ull << SIXLANE_ANSWER_TOO_BIG),
	       "what leaves and is not forwarded is an answer, which turns back");

/* Plain additions: a CPU's own counters are touched by one packet at a time. */
static __always_inline void verdict_count(const struct packet *pkt, enum sixlane_verdict verdict)
{
	struct sixlane_counters *counters;
	struct sixlane_counter *counter;
	__u32 slot = pkt->slot;

	TRACE(END, verdict, end, .slot = slot, .bytes = pkt->bytes);
	counters = bpf_map_lookup_elem(&sl_counters, &slot);
	if (!counters)
		return;
	counter = &counters->verdicts[bound_index((__u32)verdict, SIXLANE_MAX_VERDICTS)];
	counter->packets++;
	counter->bytes += pkt->bytes;
}

/* Whether the frame leaves. */
static __always_inline int verdict_redirects(enum sixlane_verdict verdict)
{
	return verdict_redirect_bits >> verdict & 1;
}

/*
 * bpf_redirect() by ifindex only notes the target and says XDP_REDIRECT; the one thing it refuses
 * are flags, and there are none.
 */
static __always_inline int verdict_redirect(__u32 ifindex)
{
	return (int)bpf_redirect(ifindex, 0);
}

static __always_inline int verdict_drops(enum sixlane_verdict verdict)
{
	return verdict_drop_bits >> verdict & 1;
}

/* The XDP action of what does not leave. */
static __always_inline int verdict_act(enum sixlane_verdict verdict)
{
	return verdict_drops(verdict) ? XDP_DROP : XDP_PASS;
}

#endif
