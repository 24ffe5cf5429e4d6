/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The route lookup by policy rules (fib_rules_lookup()). Most ports have only the rules for local
 * and main, which are one table in the trie; their packets do not come here. If a rule depends on
 * what XDP cannot see, the packet is passed.
 */
#ifndef SIXLANE_RULE_H
#define SIXLANE_RULE_H

#include "flow.h"
#include "rule_action.h"
#include "scratch.h"
#include "trace.h"

/*
 * Applies the rule at query->at, and moves that to the next one. SIXLANE_FORWARD: the route is
 * found. SIXLANE_PASS_NO_ROUTE and SIXLANE_PASS_THROW: go on. Not inlined: the verifier checks it
 * once, whatever the length of the list.
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

/* vrf_ip6_rcv() does not move neighbour discovery into the VRF, so rules see the port as iif. */
static __always_inline int rule_may_be_ndisc(const struct packet *pkt)
{
	const __u8 *type = (const void *)(pkt->ip6 + 1);

	if (pkt->ip6->next_header != IPPROTO_ICMPV6)
		return 0;
	return (void *)(type + 1) > packet_end(pkt->ctx) || (*type >= 133 && *type <= 137);
}

/*
 * Fills the query from the packet, and walks the rules. Protocol and ports are known only where the
 * flow dissector's result is certain: not for fragments, tunnels and extension headers. slot: of
 * the ingress port. enum sixlane_verdict; SIXLANE_FORWARD: the query's table and value are set. Not
 * inlined: see multipath_hash_rare().
 */
__attribute__((noinline)) int rule_lookup(struct xdp_md *ctx, __u32 tag_bytes, __u32 ip_bytes,
					  __u32 slot, struct rule_query *query)
{
	const struct sixlane_port *port = bpf_map_lookup_elem(&sl_ports, &slot);
	struct packet pkt = { .ctx = ctx, .ip_bytes = ip_bytes };

	if (!port || !query || !packet_point(&pkt, tag_bytes))
		return SIXLANE_PUNT_RULES;
	/* Field by field: a compound literal would be built on the stack. */
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
	struct scratch *scratch = scratch_get();
	struct rule_query *query;
	int verdict;

	if (!scratch)
		return SIXLANE_PUNT_RULES;
	query = (void *)scratch->words;
	verdict = rule_lookup(pkt->ctx, pkt->tag_bytes, pkt->ip_bytes, pkt->slot, query);
	pkt->table = query->table;
	route->value = query->value;
	scratch_put(scratch);
	if (verdict != SIXLANE_FORWARD)
		return packet_decide(pkt, verdict);
	return route_set_next_hop(route) ? SIXLANE_FORWARD : SIXLANE_PUNT_ROUTE;
}

/* Whether the ingress port has more rules than those for local and main. */
static __always_inline int rule_applies(const struct packet *pkt)
{
	return unlikely(pkt->ingress_flags & SIXLANE_PORT_RULES);
}

/*
 * Sets the packet's route by its rules. The next hop is looked up again: it may have been replaced
 * since the rules were walked.
 */
static __always_inline enum sixlane_verdict rule_find_route(struct packet *pkt)
{
	/* clang would otherwise spill what it has not set, which the verifier takes for a read. */
	struct route route = { .next_hop = 0 };
	enum sixlane_verdict verdict = rule_find_by_rules(pkt, &route);

	if (verdict == SIXLANE_FORWARD)
		route_set(pkt, &route);
	return verdict;
}

#endif
