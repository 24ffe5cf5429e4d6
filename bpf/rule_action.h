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
 * fib6_rule_suppress(): asked only of routes without an error. What is punted stays punted. The
 * kernel asks a route that it has cached for all those that go by the same next-hop object
 * (rt6_get_pcpu_route), so its answer is about any of these. And an exception under the route is
 * one of 128 bits to it.
 * SIXLANE_PUNT_RULE: XDP cannot tell; SIXLANE_PASS_NO_ROUTE: it suppresses the route.
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

/* A table that was asked has no route to end by, or a verdict. */
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
 * Do what a rule that applies says. SIXLANE_PASS_NO_ROUTE and SIXLANE_PASS_THROW: go on to the
 * next rule.
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
