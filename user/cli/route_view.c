// SPDX-License-Identifier: GPL-2.0-only
/* See route_view.h. */
#include "route_view.h"

#include <errno.h>
#include <string.h>

/* --- one next hop ------------------------------------------------------------------------- */

/* Sets the MTU to the smaller one of the egress device's and limit (0: none). */
static void set_limit(struct hop_view *hop, uint32_t limit)
{
	hop->limit = limit;
	hop->mtu = hop->egress.mtu;
	if (limit && limit < hop->mtu)
		hop->mtu = limit;
}

union sixlane_nh_entry hop_view_entry(const struct maps *maps, uint32_t id)
{
	union sixlane_nh_entry entry = { .type = SIXLANE_PUNT_ROUTE };

	if (id < SIXLANE_MAX_NEXT_HOPS)
		entry.word = __atomic_load_n(&maps->next_hops[id].nh_entry.word, __ATOMIC_ACQUIRE);
	return entry;
}

void hop_view_read_entry(const struct maps *maps, union sixlane_nh_entry entry,
			 struct hop_view *hop)
{
	*hop = (struct hop_view){ .verdict = SIXLANE_PUNT_ROUTE, .nh_entry = entry };
	if (entry.type != SIXLANE_FORWARD && !sixlane_is_final(entry.type))
		return;
	hop->verdict = entry.type;
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (entry.port < SIXLANE_MAX_PORTS) {
		hop->port = entry.port;
		hop->egress = maps->ports[entry.port];
	}
	set_limit(hop, 0);
	if (entry.neighbour && entry.neighbour < SIXLANE_MAX_NEIGHBOURS) {
		hop->has_gateway = true;
		hop->neigh = maps->neighbours[entry.neighbour];
		hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
}

void hop_view_read(const struct maps *maps, uint32_t id, struct hop_view *hop)
{
	hop_view_read_entry(maps, hop_view_entry(maps, id), hop);
	hop->id = id;
}

void hop_view_set_on_link(const struct maps *maps, const union sixlane_addr *dst,
			  struct hop_view *hop)
{
	uint32_t slot = maps_neigh_slot(maps, hop->egress.ifindex, dst);

	if (!slot)
		return;
	hop->neigh = maps->neighbours[slot];
	hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
}

static enum sixlane_verdict check_device(const struct packet_filter *packets, uint32_t flags)
{
	if (flags & SIXLANE_PORT_BRIDGE)
		return SIXLANE_PUNT_BRIDGE;
	if (flags & SIXLANE_PORT_MACVLAN)
		return SIXLANE_PUNT_MACVLAN;
	if (flags & SIXLANE_PORT_TUNNEL)
		return SIXLANE_PUNT_TUNNEL;
	return flags & SIXLANE_PORT_UNSUPPORTED ||
			       (!packets->generic && !(flags & SIXLANE_PORT_XMIT))
		       ? SIXLANE_PASS_EGRESS_DEVICE
		       : SIXLANE_FORWARD;
}

static enum sixlane_verdict check_egress(const struct packet_filter *packets,
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

/* For packets of any protocol. */
static enum sixlane_verdict check_guard(const struct maps *maps,
					const struct packet_filter *packets, uint32_t out_slot)
{
	static const union sixlane_addr none;
	const uint32_t flags = __atomic_load_n(&maps->meta->flags, __ATOMIC_ACQUIRE);

	if (!packets->in || !(packets->in->flags & SIXLANE_PORT_GUARD))
		return SIXLANE_FORWARD;
	if (flags & SIXLANE_META_IPSEC_ALL ||
	    (flags & SIXLANE_META_IPSEC &&
	     maps_has_policy(maps, packets->src ?: &none, packets->dst)))
		return SIXLANE_PASS_IPSEC;
	return maps_pair_is_free(maps, packets->in_slot, out_slot) ? SIXLANE_FORWARD
								   : SIXLANE_PASS_FIREWALL;
}

void hop_view_check(const struct maps *maps, const struct packet_filter *packets,
		    struct hop_view *hop)
{
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (!hop->has_gateway)
		hop_view_set_on_link(maps, packets->dst, hop);
	if (packets->in && !(packets->in->flags & SIXLANE_PORT_FORWARDING))
		hop->verdict = SIXLANE_PASS_NO_FORWARDING;
	else
		hop->verdict = check_egress(packets, &hop->egress)
				       ?: check_guard(maps, packets, hop->port);
	if (!hop->verdict && !hop->has_mac)
		hop->verdict = SIXLANE_PASS_UNRESOLVED;
	/* a bond without a slave in use */
	if (!hop->verdict && hop->egress.flags & SIXLANE_PORT_SLAVES && !hop->egress.n_slaves)
		hop->verdict = SIXLANE_PASS_EGRESS_DOWN;
}

/* --- groups ------------------------------------------------------------------------------- */

/* Members beyond GROUP_MAX_MEMBERS are ignored. */
static void add_share(struct group_view *group, uint32_t id, uint64_t share)
{
	uint32_t i = 0;

	while (i < group->n_members && group->members[i].hop.id != id)
		i++;
	if (!share || i == GROUP_MAX_MEMBERS)
		return;
	if (i == group->n_members)
		group->members[group->n_members++] = (struct member_view){ .hop.id = id };
	group->members[i].share += share;
}

static void read_buckets(const struct maps *maps, union sixlane_nh_entry entry,
			 struct group_view *group)
{
	const uint64_t whole = 1ull << 32;
	bool shared = false;

	group->type = entry.type;
	group->n_buckets = entry.n_buckets;
	for (uint32_t i = 0; i < entry.n_buckets && entry.first_bucket + i < SIXLANE_MAX_NH_BUCKETS;
	     i++) {
		union sixlane_nh_bucket bucket;

		if (entry.type == SIXLANE_NH_EQUAL_METRIC && i >= SIXLANE_MAX_EQUAL_METRIC)
			break;
		bucket.word = __atomic_load_n(&maps->buckets[entry.first_bucket + i].word,
					      __ATOMIC_ACQUIRE);
		shared |= bucket.below != bucket.above;
		if (entry.type == SIXLANE_NH_EQUAL_METRIC) {
			add_share(group, bucket.below, whole);
			continue;
		}
		add_share(group, bucket.below, bucket.bound);
		add_share(group, bucket.above, whole - bucket.bound);
	}
	group->resilient =
		entry.type == SIXLANE_NH_GROUP && !shared && group->n_buckets > group->n_members;
}

#define WEIGHT_MAX 65536u

/* k times a share in units of the smallest one. *rest, from -1/2 to 1/2, is what rounding drops. */
static uint32_t scale(uint64_t share, double smallest, uint32_t k, double *rest)
{
	double multiple = (double)share * k / smallest;
	uint32_t whole = multiple < UINT32_MAX ? (uint32_t)(multiple + 0.5) : UINT32_MAX;

	*rest = multiple - whole;
	return whole;
}

/* Whether all shares are multiples of the smallest one / k, but for the rounding of the buckets'
 * bounds: fib/group.c errs by at most half a unit a member. */
static bool are_multiples(const struct group_view *group, double smallest, uint32_t k)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		double rest;
		uint32_t whole = scale(group->members[i].share, smallest, k, &rest);
		double rounding = 0.5 * (whole + k) * group->n_members / smallest;

		if (rest > rounding || rest < -rounding)
			return false;
	}
	return true;
}

static void set_weights(struct group_view *group)
{
	uint64_t smallest = UINT64_MAX;
	uint32_t k = 1;
	double rest;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].share < smallest)
			smallest = group->members[i].share;
	}
	if (group->resilient)
		smallest = 1ull << 32;
	while (k < WEIGHT_MAX && !are_multiples(group, (double)smallest, k))
		k++;
	for (uint32_t i = 0; i < group->n_members; i++)
		group->members[i].weight =
			scale(group->members[i].share, (double)smallest, k, &rest);
}

/* flags: SIXLANE_NEXT_HOP_*. limit: the route's MTU, 0: none. */
static void read_group(const struct maps *maps, union sixlane_nh_entry entry, uint32_t flags,
		       uint32_t limit, struct group_view *group)
{
	const uint32_t down =
		flags & SIXLANE_NEXT_HOP_OBJECT ? SIXLANE_PORT_SKIP_OBJECT : SIXLANE_PORT_SKIP;

	memset(group, 0, offsetof(struct group_view, members));
	read_buckets(maps, entry, group);
	for (uint32_t i = 0; i < group->n_members; i++) {
		struct hop_view *hop = &group->members[i].hop;

		hop_view_read(maps, hop->id, hop);
		set_limit(hop, limit);
		group->members[i].skipped =
			entry.type == SIXLANE_NH_GROUP && hop->egress.flags & down;
	}
	if (entry.type == SIXLANE_NH_GROUP)
		set_weights(group);
}

double group_view_share(const struct group_view *group, const struct member_view *member)
{
	return (double)member->share / ((double)group->n_buckets * (1ull << 32));
}

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
	set_limit(hop, limit);
	hop->by_exception = value->flags & SIXLANE_EXCEPTION_MTU;
}

/* --- the route --------------------------------------------------------------------------- */

/* The best verdict of the members in use. packets NULL: exceptions are left out. */
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
		read_group(maps, entry, view->flags, next_hop->mtu, &view->group);
		set_verdict(maps, NULL, view);
		return;
	}
	hop_view_read(maps, view->next_hop, &view->hop);
	if (view->hop.verdict == SIXLANE_FORWARD)
		set_limit(&view->hop, next_hop->mtu);
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
