/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How rows write exceptions and answers. Unless a row says otherwise FRAME_DST's route is marked,
 * BACK leads to the packets' source, and a packet of TOO_BIG is over 1400.
 */
#ifndef TESTS_BPF_ROWS_EXCEPTION_H
#define TESTS_BPF_ROWS_EXCEPTION_H

#include <stdbool.h>

#include "rows.h"

#define MARKED .marks = SIXLANE_ROUTE_EXCEPTIONS
#define FLAG(flag) SIXLANE_EXCEPTION_##flag

/* An exception of FRAME_DST … */
#define FOR_DST(flags_, ...)                                                 \
	{                                                                    \
		.dst = FRAME_DST, .value = {.flags = (flags_), __VA_ARGS__ } \
	}
#define MTU(mtu_) FOR_DST(FLAG(MTU) | FLAG(KERNEL), .mtu = (mtu_))
#define LOCKED(mtu_) FOR_DST(FLAG(MTU) | FLAG(LOCKED) | FLAG(KERNEL), .mtu = (mtu_))
#define OPERATOR(mtu_) FOR_DST(FLAG(MTU) | FLAG(LOCKED) | FLAG(OPERATOR), .mtu = (mtu_))
#define VIA(next_hop_) FOR_DST(FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
/* … which packets hit. */
#define HIT(exception) MARKED, .exceptions = { exception }, .hit = 1

#define BACK_BY(neighbour) ROUTE("2001:db8:1::/48", NH_VIA(neighbour))
#define BACK BACK_BY(NEIGH_IN)
#define ANSWERED(mtu_) \
	.verdict = SIXLANE_ANSWER_TOO_BIG, .answer.mtu = (mtu_), .answer.via = NEIGH_IN

#define SIZE(bytes) .payload = (bytes)-40

#endif
