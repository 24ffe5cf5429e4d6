/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the trace flavour of the XDP program records of one packet (sixlane.trace.bpf.c): a record a
 * step, with the verdict that the step returned and the facts that it decided by.
 *
 * Only `sixlane explain` and `sixlane lookup` run this flavour, with a map of its own. No daemon
 * and no pinned map knows these layouts, so they are no part of SIXLANE_ABI.
 */
#ifndef BPF_ABI_TRACE_H
#define BPF_ABI_TRACE_H

#include "sixlane.h"

/*
 * In the order of the packet's walk: X(NAME, member of union sixlane_trace_facts). RULES to RULE
 * repeat for each rule, CELL for each draw.
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
	SIXLANE_TRACE_RULE_DIFFERS,    /* a selector does not hold: which, see selector */
	SIXLANE_TRACE_RULE_UNSEEN,     /* it asks for what XDP cannot see */
	SIXLANE_TRACE_RULE_GOTO,       /* on to its target */
	SIXLANE_TRACE_RULE_NO_ROUTE,   /* its table has none */
	SIXLANE_TRACE_RULE_THROW,      /* its table has a throw route */
	SIXLANE_TRACE_RULE_SUPPRESSED, /* its table's route is too short */
	SIXLANE_TRACE_RULE_SHARED,     /* perhaps too short: the route is by a next-hop object */
	SIXLANE_TRACE_RULE_EXCEPTED,   /* too short, but an exception under it would not be */
	SIXLANE_TRACE_RULE_DECIDES,    /* by its route, or by its own verdict */
	SIXLANE_TRACE_RULE_N_OUTCOMES
};

enum sixlane_trace_exception_outcome {
	SIXLANE_TRACE_EXCEPTION_ABSENT,	   /* the destination has none */
	SIXLANE_TRACE_EXCEPTION_FILTERED,  /* punted by its bits in sl_punted, or its entry … */
	SIXLANE_TRACE_EXCEPTION_FRESH,	   /* … or by its bytes in sl_fresh */
	SIXLANE_TRACE_EXCEPTION_EXPIRED,   /* the route holds */
	SIXLANE_TRACE_EXCEPTION_OBSERVED,  /* counted and not applied */
	SIXLANE_TRACE_EXCEPTION_ELSEWHERE, /* it holds for packets by another table's route */
	SIXLANE_TRACE_EXCEPTION_PUNTED,	   /* it is being changed, or names no next hop */
	SIXLANE_TRACE_EXCEPTION_APPLIED,
	SIXLANE_TRACE_EXCEPTION_N_OUTCOMES
};

/* How the way back of an answer is known: enum icmp6_way of bpf/icmp6.h. */
enum sixlane_trace_way {
	SIXLANE_TRACE_WAY_NONE,
	SIXLANE_TRACE_WAY_EXACT,
	SIXLANE_TRACE_WAY_SENDER,
};

/* Flags are those of the map's entry, MACs the words of union sixlane_mac. */
union sixlane_trace_facts {
	__u64 words[4];
	struct {
		__u64 words[4];
	} none;
	struct {
		__u32 abi, flags; /* of sl_meta */
	} meta;
	struct {
		__u32 slot; /* in sl_ports; 0: unknown */
		__u32 ifindex;
		__u32 flags; /* SIXLANE_PORT_* */
		__u32 table;
		__u32 iif;
		__u32 generic;	 /* the program runs in generic mode */
		__u32 hop_limit; /* of the packet; with FORWARDING */
	} port;
	struct {
		union sixlane_tag tag;
		__u32 slot;  /* of the VLAN device; 0: none that is up */
		__u32 taken; /* there is a device of this tag */
	} tag;
	struct {
		__u32 bytes, ip_bytes, tag_bytes;
	} frame;
	struct {
		__u64 dst;	 /* MAC of the frame */
		__u64 mac;	 /* of the port */
		__u32 addressed; /* to the MAC of a device below the VLAN's */
	} addressee;
	struct {
		__u32 next_header, hop_limit;
	} header;
	struct {
		union sixlane_rules list;
		__u32 iif;
		__u32 vrf_table;
		__u32 ports_known;
	} rules;
	struct {
		__u32 at; /* number in the list */
		__u32 outcome;
		__u32 selector; /* SIXLANE_RULE_*, of DIFFERS; _INVERT: all held */
		__u32 table;	/* 0: the rule asks none */
	} rule;
	struct {
		__u32 table; /* of SOURCE the set's id */
		__u32 value; /* 0: no route */
		union sixlane_nh_entry nh_entry;
	} route;
	struct {
		union sixlane_nh_entry nh_entry;
		__u64 expires_ns; /* 0: never */
		__u32 flags;	  /* SIXLANE_NEXT_HOP_* */
	} group;
	struct {
		__u64 hash; /* 0: over headers that XDP does not reach */
	} hash;
	struct {
		__u32 number; /* in the group */
		__u32 id;     /* of the member; 0: none */
	} bucket;
	struct {
		union sixlane_nh_entry nh_entry;
	} member;
	struct {
		__u32 outcome;
		__u32 flags; /* SIXLANE_EXCEPTION_* */
		__u32 mtu;
		__u32 next_hop;
		__u32 table; /* for whose routes it holds */
		__u64 expires_ns;
	} exception;
	struct {
		__u32 slot; /* 0: none */
		__u32 ifindex;
		__u32 flags; /* SIXLANE_PORT_* */
		__u32 tx_ifindex;
		__u32 mtu;
	} egress;
	struct {
		__u32 in_flags;	  /* SIXLANE_PORT_* of the ingress port */
		__u32 meta_flags; /* 0: not asked for */
	} guard;
	struct {
		__u64 value; /* of the word in sl_guard */
		__u32 word, bit;
	} pair;
	struct {
		__u32 ip_bytes;
		__u32 device_mtu;
		__u32 mtu;	 /* the route's or the exception's; 0: none */
		__u32 exception; /* SIXLANE_EXCEPTION_* of the one that was applied */
	} mtu;
	struct {
		__u32 mtu;
		__u32 way; /* enum sixlane_trace_way */
		__u64 dst_mac;
		union sixlane_addr source;
	} answer;
	struct {
		__u32 gateway; /* slot in sl_neighbours; 0: the destination itself */
		__u32 found;
		__u64 mac; /* its flags tell whether it may be used */
		union sixlane_addr addr;
	} neighbour;
	struct {
		__u32 ifindex; /* 0: none */
		__u32 by;      /* SIXLANE_SLAVES_BY_* */
		__u32 n_slaves;
	} slave;
	struct {
		__u64 dst_mac, src_mac;
		__u32 tx_ifindex;
	} rewrite;
	struct {
		__u32 slot; /* that the packet was counted for */
		__u32 bytes;
	} end;
};
_Static_assert(sizeof(union sixlane_trace_facts) == 32, "facts are handed over as four words");

struct sixlane_trace_record {
	__u32 step;    /* enum sixlane_trace_step */
	__u32 verdict; /* enum sixlane_verdict; SIXLANE_FORWARD: the walk goes on */
	union sixlane_trace_facts facts;
};
_Static_assert(sizeof(struct sixlane_trace_record) == 40, "two words of 32 bits and the facts");

/* All rules of the longest list, with a route each, and three times as much as the rest takes. */
#define SIXLANE_TRACE_RECORDS 256u
_Static_assert(SIXLANE_TRACE_RECORDS >= 3 * SIXLANE_MAX_RULES, "no rule is lost");

/* sl_trace: ARRAY[1], not pinned; of the last packet. */
struct sixlane_trace {
	__u32 n;       /* records */
	__u32 dropped; /* records that found no room */
	/*
	 * The verdict of a step before the route, by which the ordinary program ends; the trace
	 * goes on, and ends by it after all checks. 0: none, and decided_slot says nothing; else
	 * END has that slot.
	 */
	__u16 decided, decided_slot;
	__u32 selector; /* of the rule at hand */
	struct sixlane_trace_record records[SIXLANE_TRACE_RECORDS];
};
_Static_assert(sizeof(struct sixlane_trace) == 16 + 40 * SIXLANE_TRACE_RECORDS, "no padding");

#endif
