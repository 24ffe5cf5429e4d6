/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether one rule of `ip -6 rule` applies to a packet (fib_rule_match()). A rule sees a copy of
 * what rules may ask for, not the packet. Knows no routes.
 */
#ifndef SIXLANE_RULE_MATCH_H
#define SIXLANE_RULE_MATCH_H

#include <bpf/bpf_endian.h>

#include "flow.h"
#include "trace.h"

/* What rules match: fields of a packet and of its port. */
struct rule_query {
	union sixlane_addr src, dst;
	__u32 iif;
	__u32 vrf_table; /* 0: the port belongs to no VRF */
	__u32 ports_known;
	struct flow_ports ports;
	__u8 tclass;
	__u8 proto;
	__u8 zero[2];
	__u32 at;	    /* number of the next rule */
	__u32 table, value; /* out: of the route */
};

static __always_inline int rule_addr_is_in(const union sixlane_addr *addr,
					   const union sixlane_addr *prefix,
					   const union sixlane_addr *mask)
{
	return !(((addr->halves[0] & mask->halves[0]) ^ prefix->halves[0]) |
		 ((addr->halves[1] & mask->halves[1]) ^ prefix->halves[1]));
}

static __always_inline int rule_port_is_in(__be16 port, __u32 low, __u32 high)
{
	return bpf_ntohs(port) >= low && bpf_ntohs(port) <= high;
}

/* Whether all selectors match that XDP can read. */
static __always_inline int rule_holds(const struct rule_query *query,
				      const struct sixlane_rule *rule)
{
	__u32 flags = rule->flags;

	if (flags & SIXLANE_RULE_L3MDEV && !query->vrf_table)
		return trace_differs(SIXLANE_RULE_L3MDEV);
	if (flags & SIXLANE_RULE_IIF && rule->iif != query->iif)
		return trace_differs(SIXLANE_RULE_IIF);
	if (flags & SIXLANE_RULE_SOURCE &&
	    !rule_addr_is_in(&query->src, &rule->src, &rule->src_mask))
		return trace_differs(SIXLANE_RULE_SOURCE);
	if (flags & SIXLANE_RULE_DESTINATION &&
	    !rule_addr_is_in(&query->dst, &rule->dst, &rule->dst_mask))
		return trace_differs(SIXLANE_RULE_DESTINATION);
	if (flags & SIXLANE_RULE_TCLASS && (query->tclass & rule->tclass_mask) != rule->tclass)
		return trace_differs(SIXLANE_RULE_TCLASS);
	if (!query->ports_known)
		return 1;
	if (flags & SIXLANE_RULE_PROTO && query->proto != rule->proto)
		return trace_differs(SIXLANE_RULE_PROTO);
	if (flags & SIXLANE_RULE_SPORT &&
	    !rule_port_is_in(query->ports.src, rule->sport_low, rule->sport_high))
		return trace_differs(SIXLANE_RULE_SPORT);
	if (flags & SIXLANE_RULE_DPORT &&
	    !rule_port_is_in(query->ports.dst, rule->dport_low, rule->dport_high))
		return trace_differs(SIXLANE_RULE_DPORT);
	return 1;
}

/* query->at has moved on already. */
#define RULE_TRACE(query, verdict, how, asked)                                                 \
	TRACE(RULE, verdict, rule, .at = (query)->at - 1, .outcome = SIXLANE_TRACE_RULE_##how, \
	      .selector = trace_selector(), .table = asked)

#define RULE_L4 (SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT)

/*
 * fib_rule_match(). One selector that does not match decides, whatever those that XDP cannot read.
 * SIXLANE_FORWARD: the rule applies. SIXLANE_PASS_NO_ROUTE: it does not. SIXLANE_PUNT_RULE: XDP
 * cannot tell.
 */
static __always_inline enum sixlane_verdict rule_match(const struct rule_query *query,
						       const struct sixlane_rule *rule)
{
	__u32 flags = rule->flags;
	__u32 inverted = flags & SIXLANE_RULE_INVERT;

	trace_differs(SIXLANE_RULE_INVERT);
	if (!rule_holds(query, rule)) {
		if (inverted)
			return SIXLANE_FORWARD;
		RULE_TRACE(query, SIXLANE_FORWARD, DIFFERS, 0);
		return SIXLANE_PASS_NO_ROUTE;
	}
	if (flags & SIXLANE_RULE_UNKNOWN || (flags & RULE_L4 && !query->ports_known)) {
		RULE_TRACE(query, SIXLANE_PUNT_RULE, UNSEEN, 0);
		return SIXLANE_PUNT_RULE;
	}
	if (!inverted)
		return SIXLANE_FORWARD;
	RULE_TRACE(query, SIXLANE_FORWARD, DIFFERS, 0);
	return SIXLANE_PASS_NO_ROUTE;
}

#endif
