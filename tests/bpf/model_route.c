// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model's routes: tables, sources and rules, as `ip -6 rule` and the kernel's fib6 order them.
 */
#include <string.h>

#include "model.h"

static bool prefix_covers(const uint8_t *prefix, uint32_t len, const uint8_t *addr)
{
	for (uint32_t bit = 0; bit < len; bit++)
		if ((prefix[bit / 8] ^ addr[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

static uint32_t table_of(const struct sixlane_route_key *key)
{
	const uint8_t *b = (const uint8_t *)&key->table;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

bool model_longest(const struct world_route *entries, size_t n, uint32_t table, const uint8_t *addr,
		   uint32_t *value)
{
	uint32_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sixlane_route_key *key = &entries[i].key;

		if (table_of(key) != table || key->prefix_len < longest ||
		    !prefix_covers(key->addr.bytes, key->prefix_len - 32, addr))
			continue;
		longest = key->prefix_len;
		*value = entries[i].value;
	}
	return longest != 0;
}

/* False: the value names no next hop. */
static bool set_next_hop(struct packet *w, uint32_t value)
{
	uint32_t id = sixlane_route_next_hop(value);

	if (id >= SIXLANE_MAX_NEXT_HOPS)
		return false;
	w->value = value;
	w->next_hop = model_next_hop(w->world, id);
	return true;
}

enum sixlane_verdict model_look_up(struct packet *w, uint32_t table)
{
	const struct world *world = w->world;
	const uint32_t flags = 0xf0000000u;
	uint32_t value, source;

	if (!model_longest(world->routes, world->n_routes, table, w->bare.bytes + AT_DST, &value))
		return SIXLANE_PASS_NO_ROUTE;
	w->table = table;
	if (!set_next_hop(w, value))
		return SIXLANE_PUNT_ROUTE;
	if (w->next_hop->nh_entry.type != SIXLANE_NH_SOURCES)
		return SIXLANE_FORWARD;
	if (!model_longest(world->sources, world->n_sources, w->next_hop->nh_entry.source_table,
			   w->bare.bytes + AT_SRC, &source))
		return SIXLANE_PUNT_SOURCE_ROUTE;
	if (!set_next_hop(w, (source & ~flags) | (value & flags)) ||
	    w->next_hop->nh_entry.type == SIXLANE_NH_SOURCES)
		return SIXLANE_PUNT_ROUTE;
	return SIXLANE_FORWARD;
}

enum truth { NO, YES, UNKNOWN };

static enum truth truth_of(bool matches)
{
	return matches ? YES : NO;
}

/* All selectors together: one that does not match outweighs what is unknown. */
static enum truth both(enum truth a, enum truth b)
{
	if (a == NO || b == NO)
		return NO;
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : YES;
}

static enum truth addr_matches(const uint8_t *addr, const union sixlane_addr *prefix,
			       const union sixlane_addr *mask)
{
	for (int i = 0; i < 16; i++)
		if ((addr[i] & mask->bytes[i]) != prefix->bytes[i])
			return NO;
	return YES;
}

/* The dissector finds the ports, or there are none, as of ICMPv6. */
static bool l4_is_plain(const struct packet *w)
{
	uint8_t next = w->bare.bytes[AT_NEXT_HEADER];

	return next == 58 || (model_has_ports(next) && frame_get16(&w->bare, AT_PAYLOAD_LEN) >= 4);
}

static enum truth port_matches(const struct packet *w, size_t at, uint16_t low, uint16_t high)
{
	uint16_t port = 0;

	if (!l4_is_plain(w))
		return UNKNOWN;
	if (w->bare.bytes[AT_NEXT_HEADER] != 58)
		port = frame_get16(&w->bare, at);
	return truth_of(port >= low && port <= high);
}

static enum truth proto_matches(const struct packet *w, uint8_t proto)
{
	if (!l4_is_plain(w))
		return UNKNOWN;
	return truth_of(w->bare.bytes[AT_NEXT_HEADER] == proto);
}

static enum truth rule_applies(const struct packet *w, const struct sixlane_rule *rule)
{
	const uint8_t *bytes = w->bare.bytes;
	uint8_t tclass = (uint8_t)(bytes[AT_VERSION] << 4 | bytes[AT_VERSION + 1] >> 4);
	enum truth all = YES;

	if (rule->flags & SIXLANE_RULE_L3MDEV)
		all = both(all, truth_of(model_has(w->port, SIXLANE_PORT_VRF)));
	if (rule->flags & SIXLANE_RULE_IIF)
		all = both(all, truth_of(rule->iif == w->port->iif));
	if (rule->flags & SIXLANE_RULE_SOURCE)
		all = both(all, addr_matches(bytes + AT_SRC, &rule->src, &rule->src_mask));
	if (rule->flags & SIXLANE_RULE_DESTINATION)
		all = both(all, addr_matches(bytes + AT_DST, &rule->dst, &rule->dst_mask));
	if (rule->flags & SIXLANE_RULE_TCLASS)
		all = both(all, truth_of((tclass & rule->tclass_mask) == rule->tclass));
	if (rule->flags & SIXLANE_RULE_PROTO)
		all = both(all, proto_matches(w, rule->proto));
	if (rule->flags & SIXLANE_RULE_SPORT)
		all = both(all, port_matches(w, AT_PAYLOAD, rule->sport_low, rule->sport_high));
	if (rule->flags & SIXLANE_RULE_DPORT)
		all = both(all, port_matches(w, AT_PAYLOAD + 2, rule->dport_low, rule->dport_high));
	if (rule->flags & SIXLANE_RULE_UNKNOWN)
		all = both(all, UNKNOWN);
	if (all == UNKNOWN || !(rule->flags & SIXLANE_RULE_INVERT))
		return all;
	return all == YES ? NO : YES;
}

/* An error or a punt, which suppress_prefixlength does not concern. */
static bool is_error(uint32_t type)
{
	return type != SIXLANE_FORWARD && type != SIXLANE_PASS_LOCAL &&
	       type != SIXLANE_PASS_ANYCAST && type != SIXLANE_PASS_MULTICAST &&
	       type < SIXLANE_NH_GROUP;
}

static enum sixlane_verdict apply_rule(struct packet *w, const struct sixlane_rule *rule)
{
	uint32_t table = rule->table;
	enum sixlane_verdict verdict;
	uint32_t type;

	if (rule->action != SIXLANE_RULE_LOOKUP)
		return model_is_entry(rule->verdict) ? (enum sixlane_verdict)rule->verdict
						     : SIXLANE_PUNT_RULES;
	if (rule->flags & SIXLANE_RULE_L3MDEV)
		table = model_has(w->port, SIXLANE_PORT_VRF) ? w->port->table : 0;
	verdict = model_look_up(w, table);
	if (verdict == SIXLANE_PASS_NO_ROUTE && w->world->meta.flags & SIXLANE_META_GAPS)
		return SIXLANE_PUNT_MAP_FULL;
	if (verdict != SIXLANE_FORWARD)
		return verdict;
	type = w->next_hop->nh_entry.type;
	if (type == SIXLANE_PASS_NO_ROUTE || type == SIXLANE_PASS_THROW)
		return (enum sixlane_verdict)type;
	if (!(rule->flags & SIXLANE_RULE_SUPPRESS) || is_error(type))
		return SIXLANE_FORWARD;
	if (w->next_hop->flags & SIXLANE_NEXT_HOP_OBJECT)
		return SIXLANE_PUNT_RULE;
	if (sixlane_route_len(w->value) > rule->suppress_len)
		return SIXLANE_FORWARD;
	return model_may_have_exception(w, w->bare.bytes + AT_DST, w->table,
					w->value & SIXLANE_ROUTE_EXCEPTIONS)
		       ? SIXLANE_PUNT_RULE
		       : SIXLANE_PASS_NO_ROUTE;
}

/* Rules see the VRF as the ingress of its ports' packets, except for neighbour discovery. */
static bool ingress_is_unsure(const struct packet *w)
{
	const uint8_t *bytes = w->bare.bytes;

	if (!model_has(w->port, SIXLANE_PORT_VRF) || bytes[AT_NEXT_HEADER] != 58)
		return false;
	if (w->bare.len <= AT_PAYLOAD)
		return true;
	return bytes[AT_PAYLOAD] >= 133 && bytes[AT_PAYLOAD] <= 137;
}

static enum sixlane_verdict ask_rules(struct packet *w)
{
	const union sixlane_rules list = w->world->meta.rules;
	enum sixlane_verdict verdict = SIXLANE_PASS_NO_ROUTE;
	uint32_t at = 0;

	if (ingress_is_unsure(w))
		return SIXLANE_PUNT_RULE;
	for (uint32_t steps = 0; steps < SIXLANE_MAX_RULES && at < list.n; steps++) {
		static const struct sixlane_rule none;
		uint32_t index = list.first + at++;
		const struct sixlane_rule *rule =
			index < WORLD_RULES ? &w->world->rules[index] : &none;
		enum truth applies;

		if (index >= WORLD_RULES)
			return SIXLANE_PUNT_RULES;
		applies = rule_applies(w, rule);
		if (applies == UNKNOWN)
			return SIXLANE_PUNT_RULE;
		verdict = SIXLANE_PASS_NO_ROUTE;
		if (applies == NO)
			continue;
		if (rule->action == SIXLANE_RULE_GOTO) {
			at = rule->target;
			continue;
		}
		verdict = apply_rule(w, rule);
		if (verdict != SIXLANE_PASS_NO_ROUTE && verdict != SIXLANE_PASS_THROW)
			return verdict;
	}
	return verdict;
}

enum sixlane_verdict model_find_route(struct packet *w)
{
	return model_has(w->port, SIXLANE_PORT_RULES) ? ask_rules(w)
						      : model_look_up(w, w->port->table);
}
