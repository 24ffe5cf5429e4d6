/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which table answers, as fib_rules_lookup() and fib6_rule_action() decide it. Most ports ask local
 * and main, which stand in the trie as one: those walk no rules. What a rule asks for and XDP
 * cannot see makes the packet the kernel's.
 *
 * A rule sees a copy of what rules ask for, not the packet.
 */
#ifndef SIXLANE_RULE_H
#define SIXLANE_RULE_H

#include "exception.h"
#include "flow.h"
#include "scratch.h"
#include "trace.h"

/* What a packet and its port say to rules. */
struct rule_query {
	union sixlane_addr src, dst;
	__u32 iif;
	__u32 vrf_table; /* 0: the port belongs to no VRF */
	__u32 ports_known;
	struct flow_ports ports;
	__u8 tclass;
	__u8 proto;
	__u8 zero[2];
	__u32 at;	    /* in the list */
	__u32 table, value; /* out: where a route is, and what the trie says */
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

/* Whether all selectors hold, as far as the packet tells. */
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

/* Of the rule before query->at. */
#define RULE_TRACE(query, verdict, how, asked)                                                 \
	TRACE(RULE, verdict, rule, .at = (query)->at - 1, .outcome = SIXLANE_TRACE_RULE_##how, \
	      .selector = trace_selector(), .table = asked)

#define RULE_L4 (SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT)

/*
 * fib_rule_match(). A selector that does not hold decides, whatever the unknown ones would say.
 * SIXLANE_PUNT_RULE: XDP cannot tell; SIXLANE_PASS_NO_ROUTE: it does not apply.
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

/*
 * One rule of the list, and where to go on, in query->at. SIXLANE_FORWARD: the route is there;
 * SIXLANE_PASS_NO_ROUTE and SIXLANE_PASS_THROW: go on. Not static, nor inlined: the verifier
 * goes through it once, whatever the length of the list.
 */
__attribute__((noinline)) int rule_step(struct rule_query *query, __u32 first, __u32 gaps)
{
	const struct sixlane_rule *rule;
	enum sixlane_verdict match;
	__u32 index;

	if (!query)
		return SIXLANE_PUNT_RULES;
	index = first + query->at++;
	rule = bpf_map_lookup_elem(&sl_rules, &index);
	if (!rule)
		return SIXLANE_PUNT_RULES;
	match = rule_match(query, rule);
	if (match != SIXLANE_FORWARD)
		return match;
	if (rule->action != SIXLANE_RULE_GOTO)
		return rule_apply(query, rule, gaps);
	RULE_TRACE(query, SIXLANE_FORWARD, GOTO, 0);
	query->at = rule->target;
	return SIXLANE_PASS_NO_ROUTE;
}

/* enum sixlane_verdict; SIXLANE_FORWARD: query->table and value are set. */
static __always_inline int rule_walk(struct rule_query *query)
{
	enum sixlane_verdict verdict = SIXLANE_PASS_NO_ROUTE;
	const struct sixlane_meta *meta;
	union sixlane_rules list;
	__u32 zero = 0, gaps;

	meta = bpf_map_lookup_elem(&sl_meta, &zero);
	if (!meta)
		return SIXLANE_PASS_NOT_READY;
	gaps = READ_ONCE(meta->flags) & SIXLANE_META_GAPS;
	list.word = READ_ONCE(meta->rules.word);
	TRACE(RULES, SIXLANE_FORWARD, rules, .list = list, .iif = query->iif,
	      .vrf_table = query->vrf_table, .ports_known = query->ports_known);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SIXLANE_MAX_RULES && query->at < list.n; i++) {
		verdict = rule_step(query, list.first, gaps);
		if (verdict != SIXLANE_PASS_NO_ROUTE && verdict != SIXLANE_PASS_THROW)
			break;
	}
	return verdict;
}

/* vrf_ip6_rcv() leaves neighbour discovery with its port: rules see that one as the ingress. */
static __always_inline int rule_may_be_ndisc(const struct packet *pkt)
{
	const __u8 *type = (const void *)(pkt->ip6 + 1);

	if (pkt->ip6->next_header != IPPROTO_ICMPV6)
		return 0;
	return (void *)(type + 1) > packet_end(pkt->ctx) || (*type >= 133 && *type <= 137);
}

/*
 * Protocol and ports count as known for the protocols of which it is certain what the flow
 * dissector makes: fragments, tunnels and extension headers are the kernel's. slot: of the ingress
 * port. enum sixlane_verdict; SIXLANE_FORWARD: the query's table and value are set. A function of
 * its own: see group_hash_rare().
 */
__attribute__((noinline)) int rule_ask(struct xdp_md *ctx, __u32 tag_bytes, __u32 ip_bytes,
				       __u32 slot, struct rule_query *query)
{
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	struct packet pkt = { .ctx = ctx, .ip_bytes = ip_bytes };

	if (!port || !query || !packet_point(&pkt, tag_bytes))
		return SIXLANE_PUNT_RULES;
	/* Each for itself: a compound literal stands on the stack first. */
	query->src = pkt.ip6->src;
	query->dst = pkt.ip6->dst;
	query->iif = READ_ONCE(port->iif);
	query->tclass = (__u8)(pkt.ip6->version_class << 4) | pkt.ip6->class_flow[0] >> 4;
	query->proto = pkt.ip6->next_header;
	query->vrf_table = query->ports_known = query->at = 0;
	if (READ_ONCE(port->flags) & SIXLANE_PORT_VRF) {
		if (rule_may_be_ndisc(&pkt))
			return SIXLANE_PUNT_RULE;
		query->vrf_table = READ_ONCE(port->table);
	}
	if (proto_has_ports(query->proto) || query->proto == IPPROTO_ICMPV6)
		query->ports_known = flow_get_ports(&pkt, &query->ports);
	return rule_walk(query);
}

_Static_assert(sizeof(struct rule_query) <= sizeof(((struct scratch *)0)->words), "it fits");

static __always_inline enum sixlane_verdict rule_find_by_rules(struct packet *pkt,
							       struct route *route)
{
	struct scratch *scratch = scratch_take();
	struct rule_query *query;
	int verdict;

	if (!scratch)
		return SIXLANE_PUNT_RULES;
	query = (void *)scratch->words;
	verdict = rule_ask(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes, pkt->slot, query);
	pkt->table = query->table;
	route->value = query->value;
	scratch_give(scratch);
	if (verdict != SIXLANE_FORWARD)
		return packet_decide(pkt, verdict);
	return route_take(route) ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

/*
 * Sets table, route, next_hop and next-hop entry. A next-hop entry that a rule leads to has no next
 * hop, and needs none. A source set may have been replaced since the rules were walked.
 */
static __always_inline enum sixlane_verdict rule_find_route(struct packet *pkt)
{
	/* clang would otherwise spill what it has not set, which the verifier takes for a read. */
	struct route route = { .next_hop = 0 };
	enum sixlane_verdict verdict;

	pkt->table = READ_ONCE(pkt->port->table);
	if (unlikely(pkt->ingress_flags & SIXLANE_PORT_RULES))
		verdict = rule_find_by_rules(pkt, &route);
	else
		verdict = route_lookup(pkt->table, &pkt->ip6->dst, &pkt->ip6->src, ROUTE_HERE,
				       &route);
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	pkt->route = route.value;
	pkt->next_hop = route.next_hop;
	pkt->nh_entry = route.nh_entry;
	return SIXLANE_FORWARD;
}

#endif
