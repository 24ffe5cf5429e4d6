// SPDX-License-Identifier: GPL-2.0-only
/* See route_view.h. */
#include "route_view.h"

#include <errno.h>
#include <string.h>

/* --- the exception ----------------------------------------------------------------------- */

uint32_t route_view_punted(const struct maps *maps, const union sixlane_addr *dst,
			   const struct sixlane_exception *entry)
{
	if (!entry && maps_punted_has(maps->punted, dst))
		return SIXLANE_TRACE_EXCEPTION_FILTERED;
	if (maps_checks_punted(maps) && maps_fresh_has(maps, dst))
		return SIXLANE_TRACE_EXCEPTION_FRESH;
	return SIXLANE_TRACE_EXCEPTION_ABSENT;
}

static uint32_t outcome_of(uint32_t table, const struct sixlane_exception *value)
{
	if (value->table != table)
		return SIXLANE_TRACE_EXCEPTION_ELSEWHERE;
	if (value->expires_ns && util_now_ns() >= value->expires_ns)
		return value->flags & (SIXLANE_EXCEPTION_OPERATOR | SIXLANE_EXCEPTION_OBSERVE)
			       ? SIXLANE_TRACE_EXCEPTION_EXPIRED
			       : SIXLANE_TRACE_EXCEPTION_FILTERED;
	if (value->flags & SIXLANE_EXCEPTION_OBSERVE)
		return SIXLANE_TRACE_EXCEPTION_OBSERVED;
	return value->flags & SIXLANE_EXCEPTION_CHANGING ? SIXLANE_TRACE_EXCEPTION_PUNTED
							 : SIXLANE_TRACE_EXCEPTION_APPLIED;
}

static void find_exception(const struct maps *maps, uint32_t table, const union sixlane_addr *dst,
			   struct route_view *view)
{
	struct exception_view *found = &view->exception;
	bool has_entry;

	found->applies = view->has_exceptions || maps_checks_punted(maps);
	if (!found->applies)
		return;
	has_entry = !maps_exception(maps, dst, &found->value);
	found->outcome = route_view_punted(maps, dst, has_entry ? &found->value : NULL);
	if (has_entry && found->outcome == SIXLANE_TRACE_EXCEPTION_ABSENT)
		found->outcome = outcome_of(table, &found->value);
}

/* Changes a hop that leads out as the exception demands. */
static void apply_exception(const struct maps *maps, const struct exception_view *exception,
			    struct hop_view *hop)
{
	const struct sixlane_exception *value = &exception->value;
	uint32_t limit = hop->limit;

	switch (exception->outcome) {
	case SIXLANE_TRACE_EXCEPTION_FILTERED:
	case SIXLANE_TRACE_EXCEPTION_FRESH:
	case SIXLANE_TRACE_EXCEPTION_PUNTED:
		hop->verdict = SIXLANE_PUNT_EXCEPTION;
		return;
	case SIXLANE_TRACE_EXCEPTION_APPLIED:
		break;
	default:
		return;
	}
	if (value->flags & SIXLANE_EXCEPTION_MTU)
		limit = value->mtu;
	if (value->flags & SIXLANE_EXCEPTION_NEXT_HOP)
		hop_view_read(maps, value->next_hop, hop);
	hop_view_set_limit(hop, limit);
	hop->by_exception = value->flags & SIXLANE_EXCEPTION_MTU;
}

/* --- the route --------------------------------------------------------------------------- */

/* Of several members, the best verdict of those in use. packets NULL: without exceptions. */
static void set_best_verdict(const struct maps *maps, const struct packet_filter *packets,
			     struct route_view *view)
{
	const struct group_view *group = &view->group;
	struct hop_view hop;
	bool any = false;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].skipped)
			continue;
		hop = group->members[i].hop;
		if (packets && view->exception.applies && hop.port) {
			apply_exception(maps, &view->exception, &hop);
			hop_view_check(maps, packets, &hop);
		}
		if (!any || (view->verdict && !hop.verdict))
			view->verdict = hop.verdict;
		any = true;
	}
	if (!any)
		view->verdict = SIXLANE_PASS_EGRESS_DOWN;
}

static void set_verdict(const struct maps *maps, const struct packet_filter *packets,
			struct route_view *view)
{
	const struct group_view *group = &view->group;
	bool first = group->type == SIXLANE_NH_EQUAL_METRIC;

	if (first && !group->n_members) {
		view->verdict = SIXLANE_PUNT_EQUAL_METRIC;
	} else if (first || (group->n_members == 1 && !group->members[0].skipped)) {
		view->hop = group->members[0].hop;
		view->verdict = view->hop.verdict;
	} else {
		set_best_verdict(maps, packets, view);
	}
	if (view->expires_ns && util_now_ns() >= view->expires_ns)
		view->verdict = SIXLANE_PUNT_EXPIRES;
}

static void read_next_hop(const struct maps *maps, struct route_view *view)
{
	const union sixlane_nh_entry entry = hop_view_entry(maps, view->next_hop);
	const struct sixlane_next_hop *next_hop = &maps->next_hops[view->next_hop];

	if (view->next_hop >= SIXLANE_MAX_NEXT_HOPS)
		return;
	view->flags = next_hop->flags;
	if (entry.type == SIXLANE_NH_GROUP || entry.type == SIXLANE_NH_EQUAL_METRIC) {
		view->expires_ns = next_hop->expires_ns;
		group_view_read(maps, entry, view->flags, next_hop->mtu, &view->group);
		set_verdict(maps, NULL, view);
		return;
	}
	hop_view_read(maps, view->next_hop, &view->hop);
	if (view->hop.verdict == SIXLANE_FORWARD)
		hop_view_set_limit(&view->hop, next_hop->mtu);
	view->verdict = view->hop.verdict;
}

void route_view_read(const struct maps *maps, uint32_t value, const union sixlane_addr *src,
		     struct route_view *out)
{
	static const union sixlane_addr none;

	/* the members are many, and valid only up to n_members */
	memset(out, 0, offsetof(struct route_view, group.members));
	out->value = value;
	out->prefix_len = sixlane_route_len(value);
	out->has_exceptions = value & SIXLANE_ROUTE_EXCEPTIONS;
	out->next_hop = sixlane_route_next_hop(value);
	out->verdict = SIXLANE_PUNT_ROUTE;
	if (hop_view_entry(maps, out->next_hop).type == SIXLANE_NH_SOURCES) {
		out->by_source = true;
		out->set = maps->next_hops[out->next_hop].nh_entry.source_table;
		if (maps_source_lookup(maps, out->set, src ?: &none, &value)) {
			out->verdict = SIXLANE_PUNT_SOURCE_ROUTE;
			return;
		}
		out->next_hop = sixlane_route_next_hop(value);
	}
	read_next_hop(maps, out);
}

void route_view_check(const struct maps *maps, uint32_t table, const struct packet_filter *packets,
		      struct route_view *view)
{
	struct group_view *group = &view->group;

	if (!view->hop.port && !group->n_members)
		return;
	find_exception(maps, table, packets->dst, view);
	for (uint32_t i = 0; i < group->n_members; i++)
		hop_view_check(maps, packets, &group->members[i].hop);
	if (group->n_members > 1 && group->type == SIXLANE_NH_GROUP) {
		set_verdict(maps, packets, view);
		return;
	}
	if (view->exception.applies && view->hop.port)
		apply_exception(maps, &view->exception, &view->hop);
	hop_view_check(maps, packets, &view->hop);
	if (view->verdict != SIXLANE_PUNT_EXPIRES)
		view->verdict = view->hop.verdict;
}
