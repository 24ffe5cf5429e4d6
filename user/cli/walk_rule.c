// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which table answers, and what it says (bpf/rule.h, bpf/route.h). What a rule asks for and the
 * query does not tell counts as not held, and is noted.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../../bpf/proto.h"
#include "walk.h"

#define RULE_L4 (SIXLANE_RULE_PROTO | SIXLANE_RULE_SPORT | SIXLANE_RULE_DPORT)
#define PORTS_BYTES 4u /* both ports, the first of every header that has some */
#define IP6_BYTES 40u

/* What a packet and its port say to rules. */
struct rule_query {
	const struct walk_query *packet;
	uint32_t iif;	    /* 0: any */
	uint32_t vrf_table; /* 0: none */
	bool flow_seen;	    /* XDP knows protocol and ports */
};

static bool sees_flow(const struct walk_query *packet)
{
	if (packet->proto == IPPROTO_ICMPV6)
		return true;
	return proto_has_ports(packet->proto) && packet->ip_bytes >= IP6_BYTES + PORTS_BYTES;
}

/* --- one table --------------------------------------------------------------------------- */

static enum sixlane_verdict take(const struct maps *maps, struct walk_route *route)
{
	uint32_t id = sixlane_route_next_hop(route->value);

	if (id >= SIXLANE_MAX_NEXT_HOPS)
		return SIXLANE_PUNT_ROUTE;
	route->fate.word = walk_load64(&maps->next_hops[id].fate.word);
	return SIXLANE_FORWARD;
}

static enum sixlane_verdict by_source(const struct maps *maps, const struct walk_query *query,
				      struct walk_route *route)
{
	static const union sixlane_addr none;
	uint32_t marks = route->value & WALK_MARKS;

	route->by_source = true;
	route->set = route->fate.set;
	if (maps_source_lookup(maps, route->set, query->has_src ? &query->src : &none,
			       &route->value))
		return SIXLANE_PUNT_SOURCE_ROUTE;
	route->value = (route->value & ~WALK_MARKS) | marks;
	if (take(maps, route) || route->fate.kind == SIXLANE_KIND_SOURCES)
		return SIXLANE_PUNT_ROUTE;
	return SIXLANE_FORWARD;
}

enum sixlane_verdict walk_take_route(const struct maps *maps, const struct walk_query *query,
				     struct walk_route *route)
{
	if (take(maps, route))
		return SIXLANE_PUNT_ROUTE;
	return route->fate.kind == SIXLANE_KIND_SOURCES ? by_source(maps, query, route)
							: SIXLANE_FORWARD;
}

static enum sixlane_verdict lookup(const struct maps *maps, uint32_t table,
				   const struct walk_query *query, struct walk *walk,
				   struct walk_route *route)
{
	*route = (struct walk_route){ 0 };
	walk->table = table;
	if (maps_route_lookup(maps, table, &query->dst, &route->value))
		return SIXLANE_PASS_NO_ROUTE;
	return walk_take_route(maps, query, route);
}

/* --- one rule ---------------------------------------------------------------------------- */

static bool is_in(const union sixlane_addr *addr, const union sixlane_addr *prefix,
		  const union sixlane_addr *mask)
{
	return !(((addr->halves[0] & mask->halves[0]) ^ prefix->halves[0]) |
		 ((addr->halves[1] & mask->halves[1]) ^ prefix->halves[1]));
}

/* What the rule asks for and the query leaves open. */
static uint32_t left_open(const struct rule_query *query, uint32_t flags)
{
	uint32_t open = 0;

	if (!query->packet->ingress && flags & (SIXLANE_RULE_IIF | SIXLANE_RULE_L3MDEV))
		open |= WALK_ON_PORT;
	if (!query->packet->has_src && flags & SIXLANE_RULE_SOURCE)
		open |= WALK_ON_SOURCE;
	if (!query->packet->has_flow && flags & SIXLANE_RULE_TCLASS)
		open |= WALK_ON_TCLASS;
	if (!query->packet->has_flow && flags & RULE_L4)
		open |= WALK_ON_FLOW;
	return open;
}

static bool flow_holds(const struct walk_query *packet, const struct sixlane_rule *rule)
{
	uint32_t flags = rule->flags;

	if (flags & SIXLANE_RULE_PROTO && packet->proto != rule->proto)
		return false;
	if (flags & SIXLANE_RULE_SPORT &&
	    (packet->sport < rule->sport_low || packet->sport > rule->sport_high))
		return false;
	return !(flags & SIXLANE_RULE_DPORT) ||
	       (packet->dport >= rule->dport_low && packet->dport <= rule->dport_high);
}

/* Whether the selectors hold that the query tells something of. */
static bool told_hold(const struct rule_query *query, const struct sixlane_rule *rule)
{
	const struct walk_query *packet = query->packet;
	uint32_t flags = rule->flags;

	if (flags & SIXLANE_RULE_DESTINATION && !is_in(&packet->dst, &rule->dst, &rule->dst_mask))
		return false;
	if (packet->ingress && flags & SIXLANE_RULE_L3MDEV && !query->vrf_table)
		return false;
	if (packet->ingress && flags & SIXLANE_RULE_IIF && rule->iif != query->iif)
		return false;
	if (packet->has_src && flags & SIXLANE_RULE_SOURCE &&
	    !is_in(&packet->src, &rule->src, &rule->src_mask))
		return false;
	if (packet->has_flow && flags & SIXLANE_RULE_TCLASS &&
	    (packet->tclass & rule->tclass_mask) != rule->tclass)
		return false;
	return !query->flow_seen || flow_holds(packet, rule);
}

/* SIXLANE_PUNT_RULE: XDP cannot tell; SIXLANE_PASS_NO_ROUTE: it does not apply. */
static enum sixlane_verdict match(const struct rule_query *query, const struct sixlane_rule *rule,
				  uint32_t *depends)
{
	uint32_t inverted = rule->flags & SIXLANE_RULE_INVERT, open;
	bool holds = told_hold(query, rule);

	open = holds ? left_open(query, rule->flags) : 0;
	*depends |= open;
	if (!holds || open)
		return inverted ? SIXLANE_FORWARD : SIXLANE_PASS_NO_ROUTE;
	if (rule->flags & SIXLANE_RULE_UNKNOWN || (rule->flags & RULE_L4 && !query->flow_seen))
		return SIXLANE_PUNT_RULE;
	return inverted ? SIXLANE_PASS_NO_ROUTE : SIXLANE_FORWARD;
}

static bool may_have_exception(const struct maps *maps, const struct sixlane_exception_key *key,
			       uint32_t route)
{
	struct sixlane_exception value;

	return (route & WALK_MARKS && !maps_exception(maps, key, &value)) ||
	       maps_exception_may_be_missing(maps, &key->dst, route);
}

/* Whether the rule suppresses the route, with WALK_RULE_DECIDES for no. */
static enum walk_rule_outcome suppress(const struct maps *maps, const struct walk_query *packet,
				       const struct walk_rule *step, const struct walk_route *route)
{
	const struct sixlane_exception_key key = { .dst = packet->dst, .table = step->table };
	const struct sixlane_rule *rule = &step->rule;
	const struct sixlane_next_hop *next_hop =
		&maps->next_hops[sixlane_route_next_hop(route->value)];
	uint32_t kind = route->fate.kind;

	if (!(rule->flags & SIXLANE_RULE_SUPPRESS) ||
	    (kind != SIXLANE_FORWARD && kind < SIXLANE_KIND_GROUP && kind != SIXLANE_PASS_LOCAL &&
	     kind != SIXLANE_PASS_ANYCAST && kind != SIXLANE_PASS_MULTICAST))
		return WALK_RULE_DECIDES;
	if (next_hop->flags & SIXLANE_NEXT_HOP_OBJECT)
		return WALK_RULE_SHARED;
	if (sixlane_route_len(route->value) > rule->suppress_len)
		return WALK_RULE_DECIDES;
	return may_have_exception(maps, &key, route->value) ? WALK_RULE_EXCEPTED
							    : WALK_RULE_SUPPRESSED;
}

/* SIXLANE_PASS_NO_ROUTE and SIXLANE_PASS_THROW: go on to the next rule. */
static enum sixlane_verdict apply(const struct maps *maps, const struct rule_query *query,
				  struct walk_rule *step, struct walk *walk,
				  struct walk_route *route)
{
	const struct sixlane_rule *rule = &step->rule;
	bool gaps = walk_load(&maps->meta->flags) & SIXLANE_META_GAPS;
	enum walk_rule_outcome outcome;
	enum sixlane_verdict verdict;

	*route = (struct walk_route){ 0 };
	walk->table = 0;
	if (rule->action != SIXLANE_RULE_LOOKUP)
		return sixlane_is_fate(rule->fate) ? rule->fate : SIXLANE_PUNT_RULES;
	step->table = rule->flags & SIXLANE_RULE_L3MDEV ? query->vrf_table : rule->table;
	verdict = lookup(maps, step->table, query->packet, walk, route);
	if (verdict == SIXLANE_PASS_NO_ROUTE && gaps)
		return SIXLANE_PUNT_MAP_FULL;
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	if (route->fate.kind == SIXLANE_PASS_NO_ROUTE || route->fate.kind == SIXLANE_PASS_THROW)
		return route->fate.kind;
	outcome = suppress(maps, query->packet, step, route);
	if (outcome == WALK_RULE_DECIDES)
		return SIXLANE_FORWARD;
	step->outcome = outcome;
	*route = (struct walk_route){ 0 };
	return outcome == WALK_RULE_SUPPRESSED ? SIXLANE_PASS_NO_ROUTE : SIXLANE_PUNT_RULE;
}

/* --- all of them ------------------------------------------------------------------------- */

static bool goes_on(enum sixlane_verdict verdict)
{
	return verdict == SIXLANE_PASS_NO_ROUTE || verdict == SIXLANE_PASS_THROW;
}

/* One rule of the list; *at may move on. *decided: the walk ends with what is returned. */
static enum sixlane_verdict try_rule(const struct maps *maps, const struct rule_query *query,
				     struct walk *walk, struct walk_route *route, uint32_t *at,
				     bool *decided)
{
	struct walk_rule *step = &walk->rules[walk->n_rules - 1];
	enum sixlane_verdict verdict = match(query, &step->rule, &walk->depends);

	*decided = verdict == SIXLANE_PUNT_RULE;
	if (verdict != SIXLANE_FORWARD) {
		step->outcome = *decided ? WALK_RULE_UNSEEN : WALK_RULE_DIFFERS;
		*route = (struct walk_route){ 0 };
		if (*decided)
			walk->table = 0;
		return verdict;
	}
	if (step->rule.action == SIXLANE_RULE_GOTO) {
		step->outcome = WALK_RULE_GOTO;
		*route = (struct walk_route){ 0 };
		*at = step->rule.target;
		return SIXLANE_PASS_NO_ROUTE;
	}
	step->outcome = WALK_RULE_DECIDES;
	verdict = apply(maps, query, step, walk, route);
	*decided = !goes_on(verdict);
	if (verdict == SIXLANE_PASS_THROW)
		step->outcome = WALK_RULE_THROW;
	else if (verdict == SIXLANE_PASS_NO_ROUTE && step->outcome != WALK_RULE_SUPPRESSED)
		step->outcome = WALK_RULE_NO_ROUTE;
	return verdict;
}

static enum sixlane_verdict walk_rules(const struct maps *maps, const struct rule_query *query,
				       struct walk *walk, struct walk_route *route)
{
	union sixlane_rules list = { .word = walk_load64(&maps->meta->rules.word) };
	enum sixlane_verdict verdict = SIXLANE_PASS_NO_ROUTE;
	bool decided = false;
	uint32_t at = 0;

	walk->by_rules = true;
	while (!decided && walk->n_rules < SIXLANE_MAX_RULES && at < list.n) {
		if (list.first + at >= 2 * SIXLANE_MAX_RULES)
			return SIXLANE_PUNT_RULES;
		walk->rules[walk->n_rules++] =
			(struct walk_rule){ .rule = maps->rules[list.first + at++] };
		verdict = try_rule(maps, query, walk, route, &at, &decided);
	}
	return verdict;
}

/*
 * Without a port: as for a served port that asks local and main alone, if there is one. That the
 * served ports differ is noted.
 */
static bool any_port_walks_rules(const struct maps *maps, struct walk *walk)
{
	uint32_t n = 0, n_rules = 0, n_others = 0;

	for (uint32_t slot = 1; slot < SIXLANE_MAX_PORTS; slot++) {
		const struct sixlane_port *port = &maps->ports[slot];

		if (!port->ifindex || !(port->flags & SIXLANE_PORT_INGRESS))
			continue;
		n++;
		n_rules += (port->flags & SIXLANE_PORT_RULES) != 0;
		n_others += (port->flags & SIXLANE_PORT_VRF) != 0;
	}
	if (n_others || (n_rules && n_rules < n))
		walk->depends |= WALK_ON_PORT;
	return n && n_rules == n;
}

enum sixlane_verdict walk_find_route(const struct maps *maps, const struct walk_query *query,
				     struct walk *walk, struct walk_route *route)
{
	struct rule_query rules = { .packet = query, .iif = walk->in.iif };
	bool by_rules = walk->in.flags & SIXLANE_PORT_RULES;
	uint32_t table = SIXLANE_TABLE_MAIN;

	if (query->table)
		return lookup(maps, query->table, query, walk, route);
	if (walk->in_slot)
		table = walk->in.table;
	else
		by_rules = any_port_walks_rules(maps, walk);
	if (!by_rules)
		return lookup(maps, table, query, walk, route);
	if (walk->in.flags & SIXLANE_PORT_VRF)
		rules.vrf_table = walk->in.table;
	rules.flow_seen = query->has_flow && sees_flow(query);
	return walk_rules(maps, &rules, walk, route);
}
