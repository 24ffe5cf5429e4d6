/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of trace.h for the flavours that record nothing. They compile to nothing. */
#ifndef SIXLANE_TRACE_OFF_H
#define SIXLANE_TRACE_OFF_H

#include "packet.h"

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

#endif
