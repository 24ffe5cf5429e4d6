/* SPDX-License-Identifier: GPL-2.0-only */
/* How rows write exceptions of FRAME_DST, and answers to packets over an MTU. */
#ifndef TESTS_BPF_ROWS_EXCEPTION_H
#define TESTS_BPF_ROWS_EXCEPTION_H

#include "rows.h"

#define FLAG(flag) SIXLANE_EXCEPTION_##flag
#define VALUE_IN(table_, flags_, ...)                                                           \
	{                                                                                       \
		.dst = FRAME_DST, .value = {.flags = (flags_), .table = (table_), __VA_ARGS__ } \
	}
#define VALUE(flags, ...) VALUE_IN(0, flags, __VA_ARGS__)
#define MTU(mtu_) VALUE(FLAG(MTU) | FLAG(KERNEL), .mtu = (mtu_))
#define LOCKED(mtu_) VALUE(FLAG(MTU) | FLAG(LOCKED) | FLAG(KERNEL), .mtu = (mtu_))
#define OPERATOR(mtu_) VALUE(FLAG(MTU) | FLAG(LOCKED) | FLAG(OPERATOR), .mtu = (mtu_))
#define VIA(next_hop_) VALUE(FLAG(NEXT_HOP) | FLAG(KERNEL), .next_hop = (next_hop_))
#define OPERATOR_VIA(next_hop_) VALUE(FLAG(NEXT_HOP) | FLAG(OPERATOR), .next_hop = (next_hop_))
#define MARKED .marks = SIXLANE_ROUTE_EXCEPTIONS
#define PUNTED_DST .punted = FRAME_DST
#define FRESH .fresh = FRAME_DST
#define LOOK .check_punted = true

/* The first route is marked, and there is an exception, which packets find or not. */
#define HIT(...) MARKED, .exceptions = { __VA_ARGS__ }, .hit = true
#define NOT_HIT(...) MARKED, .exceptions = { __VA_ARGS__ }

/* The packet's length. */
#define SIZE(bytes) .payload = (bytes)-40

/* The return route to the packet's source. */
#define BACK_BY(neighbour) ROUTE("2001:db8:1::/48", NH_VIA(neighbour))
#define PLAIN_BY(next_hop, neighbour) .routes = { TO(next_hop), BACK_BY(neighbour) }
#define PLAIN(next_hop) PLAIN_BY(next_hop, NEIGH_IN)

/* What is sent there by NEIGH_IN; about a packet as it came in, or as it would have left. */
#define ANSWERED_BY(neighbour, mtu_) \
	.verdict = SIXLANE_ANSWER_TOO_BIG, .answer.mtu = (mtu_), .answer.via = (neighbour)
#define ANSWERED(mtu) ANSWERED_BY(NEIGH_IN, mtu)
#define ANSWERED_LATE(mtu) ANSWERED(mtu), .answer.decremented = true
/* To where the frame came from. */
#define TURNED_BACK(mtu) ANSWERED(mtu), .answer.turned = true

#define PASSED PASS(TOO_BIG)
#define DROPPED DROP(TOO_BIG)

/* Packets over a locked exception of 1400, which is the kernel's or the operator's. */
#define OVER SIZE(1401)
#define KERNELS(name_) .name = name_ ", the kernel's", HIT(LOCKED(1400))
#define OPERATORS(name_) .name = name_ ", the operator's", HIT(OPERATOR(1400))

/* Two rows each. The kernel would send the same answer, … */
#define FINE_BY(name_, neighbour, ...)                                      \
	{ KERNELS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400) },      \
	{                                                                   \
		OPERATORS(name_), __VA_ARGS__, ANSWERED_BY(neighbour, 1400) \
	}
#define FINE(name_, ...) FINE_BY(name_, NEIGH_IN, PLAIN(NH_GATEWAY), __VA_ARGS__)
/* … or perhaps another one, … */
#define UNSURE(name_, ...)                                             \
	{ KERNELS(name_), OVER, __VA_ARGS__, PASSED },                 \
	{                                                              \
		OPERATORS(name_), OVER, __VA_ARGS__, TURNED_BACK(1400) \
	}
/* … or perhaps none. */
#define NEVER(name_, ...)                                    \
	{ KERNELS(name_), OVER, __VA_ARGS__, PASSED },       \
	{                                                    \
		OPERATORS(name_), OVER, __VA_ARGS__, DROPPED \
	}
#define NOT_ABOUT(name_, ...) NEVER(name_, PLAIN(NH_GATEWAY), __VA_ARGS__)

#define MARK_BACK FLIP(routes[1].value, SIXLANE_ROUTE_EXCEPTIONS) /* of the return route */

#endif
