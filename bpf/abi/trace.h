/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the trace flavour (sixlane.trace.bpf.c) about one packet: a record for each step, with
 * the step's verdict and the facts that it was based on.
 *
 * Only `sixlane explain` and `sixlane lookup` run this flavour, with a map of their own. These
 * layouts are not part of SIXLANE_ABI.
 */
#ifndef BPF_ABI_TRACE_H
#define BPF_ABI_TRACE_H

#include "trace_facts.h"

/*
 * X(NAME, member of union sixlane_trace_facts), in the order of the steps. RULE and ROUTE repeat
 * for each rule, BUCKET for each draw.
 */
#define SIXLANE_TRACE_STEPS(X)  \
	X(META, meta)           \
	X(ARRIVAL, port)        \
	X(TAG, tag)             \
	X(PORT, port)           \
	X(FRAME, frame)         \
	X(ADDRESSEE, addressee) \
	X(HEADER, header)       \
	X(RULES, rules)         \
	X(RULE, rule)           \
	X(ROUTE, route)         \
	X(SOURCE, route)        \
	X(GROUP, group)         \
	X(HASH, hash)           \
	X(BUCKET, bucket)       \
	X(SCAN, none)           \
	X(MEMBER, member)       \
	X(EXCEPTION, exception) \
	X(FORWARDING, port)     \
	X(EGRESS, egress)       \
	X(GUARD, guard)         \
	X(PAIR, pair)           \
	X(MTU, mtu)             \
	X(ANSWER, answer)       \
	X(NEIGHBOUR, neighbour) \
	X(SLAVE, slave)         \
	X(REWRITE, rewrite)     \
	X(END, end)

enum sixlane_trace_step {
#define X(name, member) SIXLANE_TRACE_##name,
	SIXLANE_TRACE_STEPS(X)
#undef X
		SIXLANE_TRACE_N_STEPS
};

enum sixlane_trace_rule_outcome {
	SIXLANE_TRACE_RULE_DIFFERS,    /* a selector does not match: see selector */
	SIXLANE_TRACE_RULE_UNSEEN,     /* a selector that XDP cannot read */
	SIXLANE_TRACE_RULE_GOTO,       /* go on at its target */
	SIXLANE_TRACE_RULE_NO_ROUTE,   /* its table has none */
	SIXLANE_TRACE_RULE_THROW,      /* its table has a throw route */
	SIXLANE_TRACE_RULE_SUPPRESSED, /* its table's route is too short */
	SIXLANE_TRACE_RULE_SHARED,     /* may be too short: the route is by a next-hop object */
	SIXLANE_TRACE_RULE_EXCEPTED,   /* too short, but an exception would not be */
	SIXLANE_TRACE_RULE_DECIDES,    /* the route or the verdict of the rule */
	SIXLANE_TRACE_RULE_N_OUTCOMES
};

enum sixlane_trace_exception_outcome {
	SIXLANE_TRACE_EXCEPTION_ABSENT,	   /* the destination has none */
	SIXLANE_TRACE_EXCEPTION_FILTERED,  /* punted by sl_punted */
	SIXLANE_TRACE_EXCEPTION_FRESH,	   /* punted by sl_fresh */
	SIXLANE_TRACE_EXCEPTION_EXPIRED,   /* ignored or punted */
	SIXLANE_TRACE_EXCEPTION_OBSERVED,  /* counted and not applied */
	SIXLANE_TRACE_EXCEPTION_ELSEWHERE, /* for another table */
	SIXLANE_TRACE_EXCEPTION_PUNTED,	   /* being changed, or its next hop is missing */
	SIXLANE_TRACE_EXCEPTION_APPLIED,
	SIXLANE_TRACE_EXCEPTION_N_OUTCOMES
};

/* The route of an answer: enum icmp6_way of bpf/icmp6_route.h. */
enum sixlane_trace_way {
	SIXLANE_TRACE_WAY_NONE,
	SIXLANE_TRACE_WAY_EXACT,
	SIXLANE_TRACE_WAY_SENDER,
};

struct sixlane_trace_record {
	__u32 step;    /* enum sixlane_trace_step */
	__u32 verdict; /* enum sixlane_verdict; SIXLANE_FORWARD: go on */
	union sixlane_trace_facts facts;
};
_Static_assert(sizeof(struct sixlane_trace_record) == 40, "two words of 32 bits and the facts");

/* Enough for the longest list of rules with a route for each. */
#define SIXLANE_TRACE_RECORDS 256u
_Static_assert(SIXLANE_TRACE_RECORDS >= 3 * SIXLANE_MAX_RULES, "no rule is lost");

/* sl_trace: ARRAY[1], not pinned; of the last packet. */
struct sixlane_trace {
	__u32 n;       /* records */
	__u32 dropped; /* records that did not fit */
	/*
	 * The verdict of a step before the route lookup, with which the other flavours end; the
	 * trace goes on, and ends with it after all checks. 0: none. decided_slot: the slot that
	 * the packet is counted in then.
	 */
	__u16 decided, decided_slot;
	__u32 selector; /* of the current rule that did not match */
	struct sixlane_trace_record records[SIXLANE_TRACE_RECORDS];
};
_Static_assert(sizeof(struct sixlane_trace) == 16 + 40 * SIXLANE_TRACE_RECORDS, "no padding");

#endif
