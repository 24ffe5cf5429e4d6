// SPDX-License-Identifier: GPL-2.0-only
/*
 * See route_view.h. Members and weights of groups are in route_group.c.
 */
#include "route_view.h"

#include <errno.h>
#include <string.h>

/* --- one next hop ------------------------------------------------------------------------ */

static void set_limit(struct hop_view *hop, uint32_t limit)
{
	hop->limit = limit;
	hop->mtu = hop->egress.mtu;
	if (limit && limit < hop->mtu)
		hop->mtu = limit;
}

void route_view_entry(const struct maps *maps, union sixlane_nh_entry nh_entry,
		      struct hop_view *hop)
{
	*hop = (struct hop_view){ .verdict = SIXLANE_PUNT_ROUTE, .nh_entry = nh_entry };
	if (nh_entry.type != SIXLANE_FORWARD && !sixlane_is_final(nh_entry.type))
		return;
	hop->verdict = nh_entry.type;
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (nh_entry.port < SIXLANE_MAX_PORTS) {
		hop->port = nh_entry.port;
		hop->egress = maps->ports[nh_entry.port];
	}
	set_limit(hop, 0);
	if (nh_entry.neighbour && nh_entry.neighbour < SIXLANE_MAX_NEIGHBOURS) {
		hop->has_gateway = true;
		hop->neigh = maps->neighbours[nh_entry.neighbour];
		hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
}

void route_view_hop(const struct maps *maps, uint32_t id, struct hop_view *hop)
{
	union sixlane_nh_entry nh_entry = { .type = SIXLANE_PUNT_ROUTE };

	if (id < SIXLANE_MAX_NEXT_HOPS)
		nh_entry.word = route_view_load64(&maps->next_hops[id].nh_entry.word);
	route_view_entry(maps, nh_entry, hop);
	hop->id = id;
}

void route_view_on_link(const struct maps *maps, const union sixlane_addr *dst,
			struct hop_view *hop)
{
	uint32_t slot = maps_neigh_slot(maps, hop->egress.ifindex, dst);

	if (!slot)
		return;
	hop->neigh = maps->neighbours[slot];
	hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
}

static enum sixlane_verdict check_device(const struct route_packets *packets, uint32_t flags)
{
	if (flags & SIXLANE_PORT_BRIDGE)
		return SIXLANE_PUNT_BRIDGE;
	if (flags & SIXLANE_PORT_MACVLAN)
		return SIXLANE_PUNT_MACVLAN;
	if (flags & SIXLANE_PORT_TUNNEL)
		return SIXLANE_PUNT_TUNNEL;
	return flags & SIXLANE_PORT_STRANGE || (!packets->generic && !(flags & SIXLANE_PORT_XMIT))
		       ? SIXLANE_PASS_EGRESS_DEVICE
		       : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_egress(const struct route_packets *packets,
					 const struct sixlane_port *egress)
{
	const uint32_t alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;

	if (packets->in && packets->in->ifindex == egress->ifindex)
		return SIXLANE_PASS_SAME_PORT;
	if (!egress->ifindex || (egress->flags & alive) != alive)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (egress->flags & SIXLANE_PORT_OUT_HELD)
		return egress->flags & SIXLANE_PORT_OUT_FIREWALL ? SIXLANE_PASS_FIREWALL
								 : SIXLANE_PASS_TC;
	return check_device(packets, egress->flags);
}

/* Of packets of any protocol. */
static enum sixlane_verdict check_guard(const struct maps *maps,
					const struct route_packets *packets, uint32_t out_slot)
{
	static const union sixlane_addr none;
	const uint32_t flags = route_view_load(&maps->meta->flags);

	if (!packets->in || !(packets->in->flags & SIXLANE_PORT_GUARD))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC &&
	     maps_has_policy(maps, packets->src ?: &none, packets->dst)))
		return SIXLANE_PASS_IPSEC;
	return maps_pair_is_free(maps, packets->in_slot, out_slot) ? SIXLANE_FORWARD
								   : SIXLANE_PASS_FIREWALL;
}

void route_view_check(const struct maps *maps, const struct route_packets *packets,
		      struct hop_view *hop)
{
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (!hop->has_gateway)
		route_view_on_link(maps, packets->dst, hop);
	if (packets->in && !(packets->in->flags & SIXLANE_PORT_FORWARDING))
		hop->verdict = SIXLANE_PASS_NO_FORWARDING;
	else
		hop->verdict = check_egress(packets, &hop->egress)
				       ?: check_guard(maps, packets, hop->port);
	if (!hop->verdict && !hop->has_mac)
		hop->verdict = SIXLANE_PASS_UNRESOLVED;
	/* a bond that uses none */
	if (!hop->verdict && hop->egress.flags & SIXLANE_PORT_SLAVES && !hop->egress.n_slaves)
		hop->verdict = SIXLANE_PASS_EGRESS_DOWN;
}

/* --- the exception ----------------------------------------------------------------------- */

uint32_t route_view_punt(const struct maps *maps, const union sixlane_addr *dst,
			 const struct sixlane_exception *entry)
{
	if (!entry && maps_punted_has(maps->punted, dst))
		return SIXLANE_TRACE_EXCEPTION_FILTERED;
	if (maps_looks(maps) && maps_fresh_has(maps, dst))
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

	found->asked = view->marks || maps_looks(maps);
	if (!found->asked)
		return;
	has_entry = !maps_exception(maps, dst, &found->value);
	found->outcome = route_view_punt(maps, dst, has_entry ? &found->value : NULL);
	if (has_entry && found->outcome == SIXLANE_TRACE_EXCEPTION_ABSENT)
		found->outcome = outcome_of(table, &found->value);
}

/* What it makes of one hop that leads out. */
static void except(const struct maps *maps, const struct exception_view *exception,
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
		route_view_hop(maps, value->next_hop, hop);
	set_limit(hop, limit);
	hop->by_exception = value->flags & SIXLANE_EXCEPTION_MTU;
}

/* --- the route --------------------------------------------------------------------------- */

/* Of several, the best of those in use. packets NULL: whatever the exception. */
static void choose_any(const struct maps *maps, const struct route_packets *packets,
		       struct route_view *view)
{
	const struct group_view *group = &view->group;
	struct hop_view hop;
	bool any = false;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].skipped)
			continue;
		hop = group->members[i].hop;
		if (packets && view->exception.asked && hop.port) {
			except(maps, &view->exception, &hop);
			route_view_check(maps, packets, &hop);
		}
		if (!any || (view->verdict && !hop.verdict))
			view->verdict = hop.verdict;
		any = true;
	}
	if (!any)
		view->verdict = SIXLANE_PASS_EGRESS_DOWN;
}

static void choose(const struct maps *maps, const struct route_packets *packets,
		   struct route_view *view)
{
	const struct group_view *group = &view->group;
	bool first = group->kind == SIXLANE_NH_EQUAL_METRIC;

	if (first && !group->n_members) {
		view->verdict = SIXLANE_PUNT_EQUAL_METRIC;
	} else if (first || (group->n_members == 1 && !group->members[0].skipped)) {
		view->hop = group->members[0].hop;
		view->verdict = view->hop.verdict;
	} else {
		choose_any(maps, packets, view);
	}
	if (view->expires_ns && util_now_ns() >= view->expires_ns)
		view->verdict = SIXLANE_PUNT_EXPIRES;
}

static int take_source(const struct maps *maps, const union sixlane_addr *src,
		       struct route_view *view)
{
	static const union sixlane_addr none;
	uint32_t value;

	if (maps_source_lookup(maps, view->set, src ?: &none, &value)) {
		view->verdict = SIXLANE_PUNT_SOURCE_ROUTE;
		return -ENOENT;
	}
	view->next_hop = sixlane_route_next_hop(value);
	return 0;
}

static uint16_t kind_of(const struct maps *maps, const struct route_view *view)
{
	union sixlane_nh_entry nh_entry;

	if (view->next_hop >= SIXLANE_MAX_NEXT_HOPS)
		return SIXLANE_PUNT_ROUTE;
	nh_entry.word = route_view_load64(&maps->next_hops[view->next_hop].nh_entry.word);
	return nh_entry.type;
}

static void take_next_hop(const struct maps *maps, struct route_view *view)
{
	const struct sixlane_next_hop *next_hop = &maps->next_hops[view->next_hop];
	union sixlane_nh_entry nh_entry;

	if (view->next_hop >= SIXLANE_MAX_NEXT_HOPS)
		return;
	nh_entry.word = route_view_load64(&next_hop->nh_entry.word);
	view->flags = next_hop->flags;
	if (nh_entry.type == SIXLANE_NH_GROUP || nh_entry.type == SIXLANE_NH_EQUAL_METRIC) {
		view->expires_ns = next_hop->expires_ns;
		route_view_group(maps, nh_entry, view->flags, next_hop->mtu, &view->group);
		choose(maps, NULL, view);
		return;
	}
	route_view_hop(maps, view->next_hop, &view->hop);
	if (view->hop.verdict == SIXLANE_FORWARD)
		set_limit(&view->hop, next_hop->mtu);
	view->verdict = view->hop.verdict;
}

void route_view_value(const struct maps *maps, uint32_t value, const union sixlane_addr *src,
		      struct route_view *out)
{
	/* The members are of any use only as far as their number says, and they are many. */
	memset(out, 0, offsetof(struct route_view, group.members));
	out->value = value;
	out->prefix_len = sixlane_route_len(value);
	out->marks = value & ROUTE_FLAGS;
	out->next_hop = sixlane_route_next_hop(value);
	out->verdict = SIXLANE_PUNT_ROUTE;
	if (kind_of(maps, out) == SIXLANE_NH_SOURCES) {
		out->by_source = true;
		out->set = maps->next_hops[out->next_hop].nh_entry.source_table;
		if (take_source(maps, src, out))
			return;
	}
	take_next_hop(maps, out);
}

void route_view_resolve(const struct maps *maps, uint32_t table,
			const struct route_packets *packets, struct route_view *view)
{
	struct exception_view *exception = &view->exception;
	struct group_view *group = &view->group;

	if (!view->hop.port && !group->n_members)
		return;
	find_exception(maps, table, packets->dst, view);
	for (uint32_t i = 0; i < group->n_members; i++)
		route_view_check(maps, packets, &group->members[i].hop);
	if (group->n_members > 1 && group->kind == SIXLANE_NH_GROUP) {
		choose(maps, packets, view);
		return;
	}
	if (exception->asked && view->hop.port)
		except(maps, exception, &view->hop);
	route_view_check(maps, packets, &view->hop);
	if (view->verdict != SIXLANE_PUNT_EXPIRES)
		view->verdict = view->hop.verdict;
}
