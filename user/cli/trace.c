// SPDX-License-Identifier: GPL-2.0-only
/*
 * See trace.h. Records may be of a program of another build: no number in them is an index before
 * it is checked.
 */
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

/* --- rules and route --------------------------------------------------------------------- */

uint32_t trace_rules(const struct maps *maps, const struct sixlane_trace *trace,
		     struct trace_rule out[SIXLANE_MAX_RULES])
{
	const union sixlane_trace_facts *rules = trace_facts(trace, SIXLANE_TRACE_RULES);
	uint32_t n = 0, index;

	for (uint32_t i = 0; rules && i < count(trace) && n < SIXLANE_MAX_RULES; i++) {
		const union sixlane_trace_facts *facts = &trace->records[i].facts;

		if (trace->records[i].step != SIXLANE_TRACE_RULE)
			continue;
		index = rules->rules.list.first + facts->rule.at;
		out[n] = (struct trace_rule){ .outcome = facts->rule.outcome,
					      .selector = facts->rule.selector };
		if (index < 2 * SIXLANE_MAX_RULES)
			out[n].rule = maps->rules[index];
		n++;
	}
	return n;
}

void trace_route(const struct sixlane_trace *trace, struct trace_route *out)
{
	const union sixlane_trace_facts *rule = trace_facts(trace, SIXLANE_TRACE_RULE);
	const union sixlane_trace_facts *route = trace_facts(trace, SIXLANE_TRACE_ROUTE);
	const union sixlane_trace_facts *source = trace_facts(trace, SIXLANE_TRACE_SOURCE);

	*out = (struct trace_route){ .by_rules = trace_facts(trace, SIXLANE_TRACE_RULES) };
	if (!route ||
	    (rule && !rule->rule.table && rule->rule.outcome != SIXLANE_TRACE_RULE_DIFFERS))
		return;
	out->table = route->route.table;
	/* no route of a rule that did not end the walk counts */
	if (rule && rule->rule.outcome != SIXLANE_TRACE_RULE_DECIDES)
		return;
	out->value = route->route.value;
	out->nh_entry = route->route.nh_entry;
	if (out->nh_entry.type != SIXLANE_NH_SOURCES || !source)
		return;
	out->source_value = source->route.value;
	out->nh_entry = source->route.nh_entry;
}

/* --- the member -------------------------------------------------------------------------- */

static uint32_t member_of(const struct group_view *group, uint32_t id)
{
	for (uint32_t i = 0; id && i < group->n_members; i++) {
		if (group->members[i].hop.id == id)
			return i;
	}
	return TRACE_NO_MEMBER;
}

static uint32_t member_by(const struct group_view *group, union sixlane_nh_entry nh_entry)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].hop.nh_entry.word == nh_entry.word)
			return i;
	}
	return TRACE_NO_MEMBER;
}

void trace_choice(const struct sixlane_trace *trace, const struct group_view *group,
		  struct trace_choice *out)
{
	const union sixlane_trace_facts *member = trace_facts(trace, SIXLANE_TRACE_MEMBER);
	bool found = false;

	*out = (struct trace_choice){ .chosen = TRACE_NO_MEMBER };
	for (uint32_t i = 0; i < count(trace); i++) {
		const struct sixlane_trace_record *record = &trace->records[i];

		if (record->step == SIXLANE_TRACE_BUCKET && out->n_draws < TRACE_MAX_DRAWS)
			out->draws[out->n_draws++] =
				(struct trace_draw){ record->facts.bucket.number,
						     member_of(group, record->facts.bucket.id),
						     true };
		else if (record->step == SIXLANE_TRACE_SCAN)
			out->scanned = true;
		else if (record->step == SIXLANE_TRACE_MEMBER)
			found = record->verdict == SIXLANE_FORWARD;
	}
	if (!found || !member)
		return;
	/* the last draw is the one that was not passed over */
	if (out->n_draws && !out->scanned) {
		out->draws[out->n_draws - 1].skipped = false;
		out->chosen = out->draws[out->n_draws - 1].member;
	} else {
		out->chosen = member_by(group, member->member.nh_entry);
	}
}

/* --- the way out ------------------------------------------------------------------------- */

static void read_exception(const struct sixlane_trace *trace, struct exception_view *out)
{
	const union sixlane_trace_facts *facts = trace_facts(trace, SIXLANE_TRACE_EXCEPTION);

	*out = (struct exception_view){ .asked = facts };
	if (!facts)
		return;
	out->outcome = facts->exception.outcome;
	out->value = (struct sixlane_exception){ .flags = facts->exception.flags,
						 .mtu = facts->exception.mtu,
						 .next_hop = facts->exception.next_hop,
						 .table = facts->exception.table,
						 .expires_ns = facts->exception.expires_ns };
}

/* What the packet goes by: the exception's next hop, a member, or the route's own. */
static union sixlane_nh_entry final_entry(const struct maps *maps, const struct trace *trace)
{
	const union sixlane_trace_facts *member =
		trace_facts(&trace->records, SIXLANE_TRACE_MEMBER);
	const struct exception_view *exception = &trace->view.exception;
	const uint32_t id = exception->value.next_hop;
	union sixlane_nh_entry nh_entry = trace->route.nh_entry;

	if (member)
		nh_entry = member->member.nh_entry;
	if (exception->asked && exception->outcome == SIXLANE_TRACE_EXCEPTION_APPLIED &&
	    exception->value.flags & SIXLANE_EXCEPTION_NEXT_HOP && id < SIXLANE_MAX_NEXT_HOPS)
		nh_entry.word = route_view_load64(&maps->next_hops[id].nh_entry.word);
	return nh_entry;
}

/* The slave that was chosen, and the neighbour as the program saw it. */
static void take_seen(const struct sixlane_trace *trace, struct hop_view *hop)
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
	const struct exception_view *exception = &trace->view.exception;
	const uint32_t limit = trace->view.hop.limit;
	struct hop_view *hop = &trace->view.hop;

	route_view_entry(maps, final_entry(maps, trace), hop);
	if (!hop->port)
		return;
	if (!hop->has_gateway)
		route_view_on_link(maps, dst, hop);
	take_seen(&trace->records, hop);
	hop->by_exception = exception->asked &&
			    exception->outcome == SIXLANE_TRACE_EXCEPTION_APPLIED &&
			    exception->value.flags & SIXLANE_EXCEPTION_MTU;
	hop->limit = mtu ? mtu->mtu.mtu : hop->by_exception ? exception->value.mtu : limit;
	hop->mtu = mtu ? mtu->mtu.device_mtu : hop->egress.mtu;
	if (hop->limit && hop->limit < hop->mtu)
		hop->mtu = hop->limit;
	hop->verdict = trace->verdict;
}

/* --- all --------------------------------------------------------------------------------- */

static void read_port(const struct maps *maps, uint32_t came_in, struct trace *trace)
{
	static const union sixlane_trace_facts none;
	const union sixlane_trace_facts *port = trace_facts(&trace->records, SIXLANE_TRACE_PORT);
	const union sixlane_trace_facts *arrival =
		trace_facts(&trace->records, SIXLANE_TRACE_ARRIVAL);
	uint32_t slot;

	trace->in = port ?: arrival ?: &none;
	slot = trace->in->port.slot;
	trace->by_slave = arrival && arrival->port.slot && arrival->port.ifindex != came_in;
	trace->port = (struct sixlane_port){ 0 };
	if (!slot || slot >= SIXLANE_MAX_PORTS)
		return;
	trace->port = maps->ports[slot];
	trace->port.flags = trace->in->port.flags;
	trace->port.table = trace->in->port.table;
}

static uint32_t limit_of(const struct maps *maps, uint32_t id)
{
	return id < SIXLANE_MAX_NEXT_HOPS ? maps->next_hops[id].mtu : 0;
}

uint32_t trace_behind_route(const struct sixlane_trace *trace)
{
	for (uint32_t i = 0; i < count(trace); i++) {
		const struct sixlane_trace_record *record = &trace->records[i];

		if (record->step >= SIXLANE_TRACE_MEMBER && record->step < SIXLANE_TRACE_END &&
		    record->verdict)
			return record->verdict;
	}
	return SIXLANE_FORWARD;
}

/* The member that the packet took has the packet's verdict, the others that of any packet. */
static void take_member(struct trace *trace)
{
	struct group_view *group = &trace->view.group;

	if (trace->choice.chosen == TRACE_NO_MEMBER)
		return;
	group->members[trace->choice.chosen].hop.verdict =
		trace->decided ? trace_behind_route(&trace->records) : trace->verdict;
}

void trace_packets(const struct trace *trace, const union sixlane_addr *dst,
		   const union sixlane_addr *src, struct route_packets *out)
{
	*out = (struct route_packets){ .dst = dst,
				       .src = src,
				       .in = trace->port.ifindex ? &trace->port : NULL,
				       .in_slot = trace->in->port.slot,
				       .generic = trace->in->port.generic };
}

void trace_read(const struct maps *maps, uint32_t came_in, const union sixlane_addr *dst,
		const union sixlane_addr *src, struct trace *trace)
{
	const uint32_t n = count(&trace->records);
	const struct sixlane_trace_record *end = n ? &trace->records.records[n - 1] : NULL;
	bool complete = end && end->step == SIXLANE_TRACE_END && end->verdict < SIXLANE_N_VERDICTS;
	struct route_packets packets;

	trace->verdict = complete ? end->verdict : SIXLANE_PASS_NOT_READY;
	trace->slot = complete ? end->facts.end.slot : 0;
	trace->decided = trace->records.decided;
	read_port(maps, came_in, trace);
	trace->n_rules = trace_rules(maps, &trace->records, trace->rules);
	trace_route(&trace->records, &trace->route);
	memset(&trace->view, 0, offsetof(struct route_view, group.members));
	if (trace->route.value)
		route_view_value(maps, trace->route.value, src, &trace->view);
	trace_packets(trace, dst, src, &packets);
	for (uint32_t i = 0; i < trace->view.group.n_members; i++)
		route_view_check(maps, &packets, &trace->view.group.members[i].hop);
	read_exception(&trace->records, &trace->view.exception);
	trace_choice(&trace->records, &trace->view.group, &trace->choice);
	take_member(trace);
	trace->view.hop = (struct hop_view){ .limit = limit_of(maps, trace->view.next_hop) };
	if (trace->route.value &&
	    (!trace->view.group.kind || trace->choice.chosen != TRACE_NO_MEMBER))
		read_hop(maps, dst, trace);
}
