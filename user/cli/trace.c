// SPDX-License-Identifier: GPL-2.0-only
/* See trace.h. Records may come from a program of another build: every index in them is checked. */
#include "trace.h"

#include <string.h>

static uint32_t count(const struct sixlane_trace *trace)
{
	return trace->n < SIXLANE_TRACE_RECORDS ? trace->n : SIXLANE_TRACE_RECORDS;
}

const union sixlane_trace_facts *trace_facts(const struct sixlane_trace *trace,
					     enum sixlane_trace_step step)
{
	for (uint32_t i = count(trace); i-- > 0;) {
		if (trace->records[i].step == step)
			return &trace->records[i].facts;
	}
	return NULL;
}

const char *trace_step_name(uint32_t step)
{
	static const char *const names[] = {
#define X(name, member) #name,
		SIXLANE_TRACE_STEPS(X)
#undef X
	};

	return step < SIXLANE_TRACE_N_STEPS ? names[step] : "unknown";
}

uint32_t trace_late_verdict(const struct sixlane_trace *trace)
{
	for (uint32_t i = 0; i < count(trace); i++) {
		const struct sixlane_trace_record *record = &trace->records[i];

		if (record->step >= SIXLANE_TRACE_MEMBER && record->step < SIXLANE_TRACE_END &&
		    record->verdict)
			return record->verdict;
	}
	return SIXLANE_FORWARD;
}

/* --- ingress, rules and route ------------------------------------------------------------ */

static void read_port(const struct maps *maps, uint32_t ifindex, struct trace *trace)
{
	static const union sixlane_trace_facts none;
	const union sixlane_trace_facts *port = trace_facts(&trace->records, SIXLANE_TRACE_PORT);
	const union sixlane_trace_facts *arrival =
		trace_facts(&trace->records, SIXLANE_TRACE_ARRIVAL);
	uint32_t slot;

	trace->in = port ?: arrival ?: &none;
	slot = trace->in->port.slot;
	trace->by_slave = arrival && arrival->port.slot && arrival->port.ifindex != ifindex;
	trace->port = (struct sixlane_port){ 0 };
	if (!slot || slot >= SIXLANE_MAX_PORTS)
		return;
	trace->port = maps->ports[slot];
	trace->port.flags = trace->in->port.flags;
	trace->port.table = trace->in->port.table;
}

static void read_rules(const struct maps *maps, struct trace *trace)
{
	const union sixlane_trace_facts *list = trace_facts(&trace->records, SIXLANE_TRACE_RULES);

	trace->by_rules = list;
	trace->n_rules = 0;
	for (uint32_t i = 0; list && i < count(&trace->records); i++) {
		const struct sixlane_trace_record *record = &trace->records.records[i];
		struct trace_rule *rule = &trace->rules[trace->n_rules];
		uint32_t index = list->rules.list.first + record->facts.rule.at;

		if (record->step != SIXLANE_TRACE_RULE || trace->n_rules == SIXLANE_MAX_RULES)
			continue;
		*rule = (struct trace_rule){ .outcome = record->facts.rule.outcome,
					     .selector = record->facts.rule.selector };
		if (index < 2 * SIXLANE_MAX_RULES)
			rule->rule = maps->rules[index];
		trace->n_rules++;
	}
}

/* Sets table and entry. Returns the route's value in sl_routes; 0: no route. */
static uint32_t read_route(struct trace *trace)
{
	const union sixlane_trace_facts *rule = trace_facts(&trace->records, SIXLANE_TRACE_RULE);
	const union sixlane_trace_facts *route = trace_facts(&trace->records, SIXLANE_TRACE_ROUTE);
	const union sixlane_trace_facts *source =
		trace_facts(&trace->records, SIXLANE_TRACE_SOURCE);

	trace->table = 0;
	trace->entry.word = 0;
	if (!route ||
	    (rule && !rule->rule.table && rule->rule.outcome != SIXLANE_TRACE_RULE_DIFFERS))
		return 0;
	trace->table = route->route.table;
	/* the route of a rule that did not decide does not count */
	if (rule && rule->rule.outcome != SIXLANE_TRACE_RULE_DECIDES)
		return 0;
	trace->entry = route->route.nh_entry;
	if (trace->entry.type == SIXLANE_NH_SOURCES && source)
		trace->entry = source->route.nh_entry;
	return route->route.value;
}

/* --- the member -------------------------------------------------------------------------- */

static uint32_t find_member_id(const struct group_view *group, uint32_t id)
{
	for (uint32_t i = 0; id && i < group->n_members; i++) {
		if (group->members[i].hop.id == id)
			return i;
	}
	return TRACE_NO_MEMBER;
}

static uint32_t find_member(const struct group_view *group, union sixlane_nh_entry entry)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].hop.nh_entry.word == entry.word)
			return i;
	}
	return TRACE_NO_MEMBER;
}

static void read_choice(struct trace *trace)
{
	const union sixlane_trace_facts *member =
		trace_facts(&trace->records, SIXLANE_TRACE_MEMBER);
	const struct group_view *group = &trace->view.group;
	bool found = false;

	trace->n_draws = 0;
	trace->scanned = false;
	trace->chosen = TRACE_NO_MEMBER;
	for (uint32_t i = 0; i < count(&trace->records); i++) {
		const struct sixlane_trace_record *record = &trace->records.records[i];

		if (record->step == SIXLANE_TRACE_BUCKET && trace->n_draws < TRACE_MAX_DRAWS)
			trace->draws[trace->n_draws++] =
				(struct trace_draw){ record->facts.bucket.number,
						     find_member_id(group, record->facts.bucket.id),
						     true };
		else if (record->step == SIXLANE_TRACE_SCAN)
			trace->scanned = true;
		else if (record->step == SIXLANE_TRACE_MEMBER)
			found = record->verdict == SIXLANE_FORWARD;
	}
	if (!found)
		return;
	if (trace->n_draws && !trace->scanned) {
		/* the hash is mixed again until a draw is not skipped */
		trace->draws[trace->n_draws - 1].skipped = false;
		trace->chosen = trace->draws[trace->n_draws - 1].member;
	} else {
		trace->chosen = find_member(group, member->member.nh_entry);
	}
}

/* The chosen member gets the packet's verdict; the others have that of any packet. */
static void set_member_verdict(struct trace *trace)
{
	if (trace->chosen != TRACE_NO_MEMBER)
		trace->view.group.members[trace->chosen].hop.verdict =
			trace->decided ? trace_late_verdict(&trace->records) : trace->verdict;
}

/* --- the next hop ------------------------------------------------------------------------ */

static void read_exception(struct trace *trace)
{
	const union sixlane_trace_facts *facts =
		trace_facts(&trace->records, SIXLANE_TRACE_EXCEPTION);
	struct exception_view *out = &trace->view.exception;

	*out = (struct exception_view){ .applies = facts };
	if (!facts)
		return;
	out->outcome = facts->exception.outcome;
	out->value = (struct sixlane_exception){ .flags = facts->exception.flags,
						 .mtu = facts->exception.mtu,
						 .next_hop = facts->exception.next_hop,
						 .table = facts->exception.table,
						 .expires_ns = facts->exception.expires_ns };
}

/* Whether an exception that applies has one of SIXLANE_EXCEPTION_*. */
static bool has_exception(const struct trace *trace, uint32_t flag)
{
	const struct exception_view *exception = &trace->view.exception;

	return exception->applies && exception->outcome == SIXLANE_TRACE_EXCEPTION_APPLIED &&
	       exception->value.flags & flag;
}

/* The entry that the packet takes: the exception's, the member's or the route's own. */
static union sixlane_nh_entry final_entry(const struct maps *maps, const struct trace *trace)
{
	const union sixlane_trace_facts *member =
		trace_facts(&trace->records, SIXLANE_TRACE_MEMBER);
	const uint32_t id = trace->view.exception.value.next_hop;

	if (has_exception(trace, SIXLANE_EXCEPTION_NEXT_HOP) && id < SIXLANE_MAX_NEXT_HOPS)
		return hop_view_entry(maps, id);
	return member ? member->member.nh_entry : trace->entry;
}

/* Replaces what the maps hold now by what the program saw. */
static void apply_facts(const struct sixlane_trace *trace, struct hop_view *hop)
{
	const union sixlane_trace_facts *seen = trace_facts(trace, SIXLANE_TRACE_NEIGHBOUR);

	if (seen) {
		hop->neigh.mac.word = seen->neighbour.mac;
		hop->neigh.key.addr = seen->neighbour.addr;
		hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
	seen = trace_facts(trace, SIXLANE_TRACE_EGRESS);
	if (seen) {
		hop->egress.flags = seen->egress.flags;
		hop->egress.tx_ifindex = seen->egress.tx_ifindex;
		hop->egress.mtu = seen->egress.mtu;
	}
	seen = trace_facts(trace, SIXLANE_TRACE_SLAVE);
	if (seen)
		hop->slave = seen->slave.ifindex;
}

static void read_hop(const struct maps *maps, const union sixlane_addr *dst, struct trace *trace)
{
	const union sixlane_trace_facts *mtu = trace_facts(&trace->records, SIXLANE_TRACE_MTU);
	const uint32_t id = trace->view.next_hop;
	struct hop_view *hop = &trace->view.hop;
	uint32_t limit = id < SIXLANE_MAX_NEXT_HOPS ? maps->next_hops[id].mtu : 0;

	hop_view_read_entry(maps, final_entry(maps, trace), hop);
	if (!hop->port)
		return;
	if (!hop->has_gateway)
		hop_view_set_on_link(maps, dst, hop);
	apply_facts(&trace->records, hop);
	hop->by_exception = has_exception(trace, SIXLANE_EXCEPTION_MTU);
	if (mtu || hop->by_exception)
		limit = mtu ? mtu->mtu.mtu : trace->view.exception.value.mtu;
	hop->mtu = mtu ? mtu->mtu.device_mtu : hop->egress.mtu;
	hop->limit = limit;
	if (limit && limit < hop->mtu)
		hop->mtu = limit;
	hop->verdict = trace->verdict;
}

/* --- everything -------------------------------------------------------------------------- */

struct packet_filter trace_filter(const struct trace *trace, const union sixlane_addr *dst,
				  const union sixlane_addr *src)
{
	return (struct packet_filter){ .dst = dst,
				       .src = src,
				       .in = trace->port.ifindex ? &trace->port : NULL,
				       .in_slot = trace->in->port.slot,
				       .generic = trace->in->port.generic };
}

void trace_read(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *dst,
		const union sixlane_addr *src, struct trace *trace)
{
	const uint32_t n = count(&trace->records);
	const struct sixlane_trace_record *end = n ? &trace->records.records[n - 1] : NULL;
	bool complete = end && end->step == SIXLANE_TRACE_END && end->verdict < SIXLANE_N_VERDICTS;
	struct packet_filter packets;
	uint32_t value;

	trace->verdict = complete ? end->verdict : SIXLANE_PASS_NOT_READY;
	trace->slot = complete ? end->facts.end.slot : 0;
	trace->decided = trace->records.decided;
	read_port(maps, ifindex, trace);
	read_rules(maps, trace);
	value = read_route(trace);
	memset(&trace->view, 0, offsetof(struct route_view, group.members));
	if (value)
		route_view_read(maps, value, src, &trace->view);
	packets = trace_filter(trace, dst, src);
	for (uint32_t i = 0; i < trace->view.group.n_members; i++)
		hop_view_check(maps, &packets, &trace->view.group.members[i].hop);
	read_exception(trace);
	read_choice(trace);
	set_member_verdict(trace);
	trace->view.hop = (struct hop_view){ 0 };
	if (value && (!trace->view.group.type || trace->chosen != TRACE_NO_MEMBER))
		read_hop(maps, dst, trace);
}
