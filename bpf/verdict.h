/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end for every packet: its verdict is counted once, and becomes an XDP action. The only place
 * with XDP_* codes; they come from the ACTION column of SIXLANE_VERDICTS.
 */
#ifndef SIXLANE_VERDICT_H
#define SIXLANE_VERDICT_H

#include "bound.h"
#include "packet.h"
#include "trace.h"

_Static_assert(!SIXLANE_FORWARD, "0 continues the list of steps");

/* One bit a verdict. Constants: a switch may become a table in .rodata, which needs a map. */
#define VERDICT_BIT(name, action, which) | (__u64)(XDP_##action == XDP_##which) << SIXLANE_##name
#define VERDICT_BIT_REDIRECT(name, action, string, text) VERDICT_BIT(name, action, REDIRECT)
#define VERDICT_BIT_DROP(name, action, string, text) VERDICT_BIT(name, action, DROP)

static const __u64 verdict_redirect_bits = 0 SIXLANE_VERDICTS(VERDICT_BIT_REDIRECT);
static const __u64 verdict_drop_bits = 0 SIXLANE_VERDICTS(VERDICT_BIT_DROP);
_Static_assert((0 SIXLANE_VERDICTS(VERDICT_BIT_REDIRECT)) ==
		       (1ull << SIXLANE_FORWARD | 1ull << SIXLANE_ANSWER_TOO_BIG),
	       "all other verdicts that redirect are answers, which leave by the ingress port");

/* Plain additions: only one packet at a time changes the counters of a CPU. */
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

/* Whether the frame is sent. */
static __always_inline int verdict_redirects(enum sixlane_verdict verdict)
{
	return verdict_redirect_bits >> verdict & 1;
}

/* bpf_redirect() by ifindex returns XDP_REDIRECT; it fails only for flags, and there are none. */
static __always_inline int verdict_redirect(__u32 ifindex)
{
	return (int)bpf_redirect(ifindex, 0);
}

static __always_inline int verdict_drops(enum sixlane_verdict verdict)
{
	return verdict_drop_bits >> verdict & 1;
}

/* The XDP action of a packet that is not sent. */
static __always_inline int verdict_act(enum sixlane_verdict verdict)
{
	return verdict_drops(verdict) ? XDP_DROP : XDP_PASS;
}

#endif
