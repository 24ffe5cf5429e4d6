/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a rule that applies does with a packet (fib6_rule_action(), fib6_rule_suppress()): a lookup
 * in its table, or a verdict of its own.
 */
#ifndef SIXLANE_RULE_ACTION_H
#define SIXLANE_RULE_ACTION_H

#include "exception.h"
#include "route.h"
#include "rule_match.h"

/*
 * fib6_rule_suppress(), for routes without an error; a punted route stays punted. Two cases are
 * beyond XDP:
 * - Routes by a next-hop object share a cached route in the kernel (rt6_get_pcpu_route()), so their
 *   prefix length may be that of another route.
 * - An exception has a prefix length of 128.
 * SIXLANE_PASS_NO_ROUTE: the rule suppresses the route. SIXLANE_PUNT_RULE: XDP cannot tell.
 */
static __always_inline enum sixlane_verdict rule_suppress(const struct rule_query *query,
							  const struct sixlane_rule *rule,
							  const struct route *route)
{
	__u32 kind = route->nh_entry.type;

	if (!(rule->flags & SIXLANE_RULE_SUPPRESS) ||
	    (kind != SIXLANE_FORWARD && kind < SIXLANE_NH_GROUP && kind != SIXLANE_PASS_LOCAL &&
	     kind != SIXLANE_PASS_ANYCAST && kind != SIXLANE_PASS_MULTICAST))
		return SIXLANE_FORWARD;
	if (READ_ONCE(route->next_hop->flags) & SIXLANE_NEXT_HOP_OBJECT) {
		RULE_TRACE(query, SIXLANE_PUNT_RULE, SHARED, query->table);
		return SIXLANE_PUNT_RULE;
	}
	if (sixlane_route_len(route->value) > rule->suppress_len)
		return SIXLANE_FORWARD;
	if (exception_may_be(query->dst.halves[0], query->dst.halves[1], query->table,
			     route->value)) {
		RULE_TRACE(query, SIXLANE_PUNT_RULE, EXCEPTED, query->table);
		return SIXLANE_PUNT_RULE;
	}
	RULE_TRACE(query, SIXLANE_FORWARD, SUPPRESSED, query->table);
	return SIXLANE_PASS_NO_ROUTE;
}

/* Records a lookup that did not end in a forwarding route. */
static __always_inline void rule_trace_end(const struct rule_query *query,
					   enum sixlane_verdict verdict, __u32 table)
{
	if (verdict == SIXLANE_PASS_NO_ROUTE)
		RULE_TRACE(query, SIXLANE_FORWARD, NO_ROUTE, table);
	else if (verdict == SIXLANE_PASS_THROW)
		RULE_TRACE(query, SIXLANE_FORWARD, THROW, table);
	else
		RULE_TRACE(query, verdict, DECIDES, table);
	(void)query;
	(void)verdict;
	(void)table;
}

/*
 * Carries out a rule that applies. gaps: SIXLANE_META_GAPS or 0. SIXLANE_PASS_NO_ROUTE and
 * SIXLANE_PASS_THROW: go on to the next rule.
 */
static __always_inline enum sixlane_verdict rule_apply(struct rule_query *query,
						       const struct sixlane_rule *rule, __u32 gaps)
{
	__u32 table = rule->flags & SIXLANE_RULE_L3MDEV ? query->vrf_table : rule->table;
	enum sixlane_verdict verdict;
	struct route route;

	if (rule->action != SIXLANE_RULE_LOOKUP) {
		verdict = sixlane_is_final(rule->verdict) ? rule->verdict : SIXLANE_PUNT_RULES;
		RULE_TRACE(query, verdict, DECIDES, 0);
		return verdict;
	}
	verdict = route_lookup(table, &query->dst, &query->src, ROUTE_SHARED, &route);
	if (verdict == SIXLANE_PASS_NO_ROUTE && gaps) {
		RULE_TRACE(query, SIXLANE_PUNT_MAP_FULL, DECIDES, table);
		return SIXLANE_PUNT_MAP_FULL;
	}
	if (verdict != SIXLANE_FORWARD) {
		rule_trace_end(query, verdict, table);
		return verdict;
	}
	if (route.nh_entry.type == SIXLANE_PASS_NO_ROUTE ||
	    route.nh_entry.type == SIXLANE_PASS_THROW) {
		rule_trace_end(query, route.nh_entry.type, table);
		return route.nh_entry.type;
	}
	query->table = table;
	query->value = route.value;
	verdict = rule_suppress(query, rule, &route);
	if (verdict == SIXLANE_FORWARD)
		RULE_TRACE(query, SIXLANE_FORWARD, DECIDES, table);
	return verdict;
}

#endif
