// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a next hop's id to a verdict (bpf/group.h, bpf/nexthop.h).
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "walk.h"

/* --- one next hop ------------------------------------------------------------------------ */

void walk_fill_fate(const struct maps *maps, union sixlane_fate fate, struct walk_limit limit,
		    struct walk_hop *hop)
{
	*hop = (struct walk_hop){ .verdict = SIXLANE_PUNT_ROUTE, .fate = fate, .limit = limit };
	if (fate.kind != SIXLANE_FORWARD && !sixlane_is_fate(fate.kind))
		return;
	hop->verdict = fate.kind;
	if (hop->verdict != SIXLANE_FORWARD)
		return;
	if (fate.port < SIXLANE_MAX_PORTS) {
		hop->port = fate.port;
		hop->egress = maps->ports[fate.port];
	}
	hop->mtu = hop->egress.mtu;
	if (limit.mtu && limit.mtu < hop->mtu)
		hop->mtu = limit.mtu;
	if (fate.neighbour && fate.neighbour < SIXLANE_MAX_NEIGHBOURS) {
		hop->has_gateway = true;
		hop->neigh = maps->neighbours[fate.neighbour];
		hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
	}
}

void walk_fill_hop(const struct maps *maps, uint32_t id, struct walk_limit limit,
		   struct walk_hop *hop)
{
	union sixlane_fate fate = { .kind = SIXLANE_PUNT_ROUTE };

	if (id < SIXLANE_MAX_NEXT_HOPS)
		fate.word = walk_load64(&maps->next_hops[id].fate.word);
	walk_fill_fate(maps, fate, limit, hop);
	hop->id = id;
}

void walk_find_on_link(const struct maps *maps, const union sixlane_addr *dst, struct walk_hop *hop)
{
	uint32_t slot = maps_neigh_slot(maps, hop->egress.ifindex, dst);

	if (!slot)
		return;
	hop->neigh = maps->neighbours[slot];
	hop->has_mac = hop->neigh.mac.flags & SIXLANE_MAC_VALID;
}

static enum sixlane_verdict check_forwarding(const struct walk_query *query,
					     const struct walk *walk)
{
	if (walk->in_slot && !(walk->in.flags & SIXLANE_PORT_FORWARDING))
		return SIXLANE_PASS_NO_FORWARDING;
	return query->has_flow && query->hop_limit <= 1 ? SIXLANE_PASS_HOP_LIMIT : SIXLANE_FORWARD;
}

static enum sixlane_verdict device_verdict(uint32_t flags)
{
	if (flags & SIXLANE_PORT_BRIDGE)
		return SIXLANE_PUNT_BRIDGE;
	if (flags & SIXLANE_PORT_MACVLAN)
		return SIXLANE_PUNT_MACVLAN;
	return flags & SIXLANE_PORT_TUNNEL ? SIXLANE_PUNT_TUNNEL : SIXLANE_PASS_EGRESS_DEVICE;
}

static enum sixlane_verdict check_egress(const struct walk_query *query, const struct walk *walk,
					 const struct walk_hop *hop)
{
	const uint32_t alive = SIXLANE_PORT_UP | SIXLANE_PORT_IPV6;
	const struct sixlane_port *out = &hop->egress;

	if (walk->in_slot && walk->in.ifindex == out->ifindex)
		return SIXLANE_PASS_SAME_PORT;
	if (!out->ifindex || (out->flags & alive) != alive)
		return SIXLANE_PASS_EGRESS_DOWN;
	if (out->flags & SIXLANE_PORT_OUT_HELD)
		return out->flags & SIXLANE_PORT_OUT_FIREWALL ? SIXLANE_PASS_FIREWALL
							      : SIXLANE_PASS_TC;
	if (out->flags & SIXLANE_PORT_NO_XMIT)
		return device_verdict(out->flags);
	if (walk->generic)
		return SIXLANE_FORWARD;
	if (!(out->flags & SIXLANE_PORT_XMIT) ||
	    (query->frags && !(out->flags & SIXLANE_PORT_XMIT_FRAGS)))
		return SIXLANE_PASS_EGRESS_DEVICE;
	return SIXLANE_FORWARD;
}

/* query NULL: the next hop's own verdict alone is asked for. */
static void check_hop(const struct maps *maps, const struct walk_query *query,
		      const struct walk *walk, struct walk_hop *hop)
{
	if (!query || hop->verdict != SIXLANE_FORWARD)
		return;
	if (!hop->has_gateway)
		walk_find_on_link(maps, &query->dst, hop);
	hop->verdict = check_forwarding(query, walk) ?: check_egress(query, walk, hop) ?:
		       walk_check_guard(maps, query, walk, hop);
	if (!hop->verdict && query->has_flow && query->ip_bytes > hop->mtu)
		hop->verdict = walk_too_big(maps, query, walk, hop);
	if (!hop->verdict && !hop->has_mac)
		hop->verdict = SIXLANE_PASS_UNRESOLVED;
	if (!hop->verdict && hop->egress.flags & SIXLANE_PORT_SLAVES)
		hop->verdict = walk_choose_slave(query, hop);
}

/* --- a group's members ------------------------------------------------------------------- */

static struct walk_member *find_member(struct walk_group *group, uint32_t id)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].hop.id == id)
			return &group->members[i];
	}
	if (group->n_members == WALK_MAX_MEMBERS) {
		group->truncated = true;
		return NULL;
	}
	group->members[group->n_members] = (struct walk_member){ .hop.id = id };
	return &group->members[group->n_members++];
}

static void add_share(struct walk_group *group, uint32_t id, uint64_t share)
{
	struct walk_member *member = share ? find_member(group, id) : NULL;

	if (member)
		member->share += share;
}

static void read_cells(const struct maps *maps, union sixlane_fate fate, struct walk_group *group)
{
	const uint64_t whole = 1ull << 32;
	bool shared = false;

	group->kind = fate.kind;
	group->n_cells = fate.n_cells;
	for (uint32_t i = 0; i < fate.n_cells && fate.first_cell + i < SIXLANE_MAX_CELLS; i++) {
		union sixlane_cell cell;

		if (fate.kind == SIXLANE_KIND_FIRST && i >= SIXLANE_MAX_FIRST)
			break;
		cell.word = walk_load64(&maps->cells[fate.first_cell + i].word);
		shared |= cell.below != cell.above;
		if (fate.kind == SIXLANE_KIND_FIRST) {
			add_share(group, cell.below, whole);
			continue;
		}
		add_share(group, cell.below, cell.bound);
		add_share(group, cell.above, whole - cell.bound);
	}
	group->buckets =
		fate.kind == SIXLANE_KIND_GROUP && !shared && group->n_cells > group->n_members;
}

#define WEIGHT_MAX 65536u

/* k times a share in parts of the smallest one, and what is over, from -1/2 to 1/2. */
static uint32_t in_parts(uint64_t share, double smallest, uint32_t k, double *over)
{
	double multiple = (double)share * k / smallest;
	uint32_t whole = multiple < UINT32_MAX ? (uint32_t)(multiple + 0.5) : UINT32_MAX;

	*over = multiple - whole;
	return whole;
}

/*
 * Whether all shares are multiples of one k-th of the smallest, but for the rounding of the cells'
 * bounds: each share is right to within half a cell's smallest part a member (fib/alias.c).
 */
static bool are_multiples(const struct walk_group *group, double smallest, uint32_t k)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		double over;
		uint32_t whole = in_parts(group->members[i].share, smallest, k, &over);
		double rounding = 0.5 * (whole + k) * group->n_members / smallest;

		if (over > rounding || over < -rounding)
			return false;
	}
	return true;
}

/* The weights that the group was made of, in lowest terms. */
static void set_weights(struct walk_group *group)
{
	uint64_t smallest = UINT64_MAX;
	uint32_t k = 1;
	double over;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].share < smallest)
			smallest = group->members[i].share;
	}
	if (group->buckets)
		smallest = 1ull << 32;
	while (k < WEIGHT_MAX && !are_multiples(group, (double)smallest, k))
		k++;
	for (uint32_t i = 0; i < group->n_members; i++)
		group->members[i].weight =
			in_parts(group->members[i].share, (double)smallest, k, &over);
}

/* --- the choice -------------------------------------------------------------------------- */

/* What the destination's exception makes of a hop, which was checked without it. */
static enum walk_exception_outcome except(const struct maps *maps, const struct walk_query *query,
					  const struct walk *walk, struct walk_hop *hop)
{
	enum walk_exception_outcome outcome;

	if (!query || hop->fate.kind != SIXLANE_FORWARD)
		return WALK_EXCEPTION_UNASKED;
	outcome = walk_apply_exception(maps, query, walk, hop);
	if (outcome == WALK_EXCEPTION_APPLIED)
		check_hop(maps, query, walk, hop);
	return outcome;
}

/* The packets go by this one. */
static void take_hop(const struct maps *maps, const struct walk_query *query,
		     const struct walk_hop *hop, struct walk *walk)
{
	walk->hop = *hop;
	walk->exception.outcome = except(maps, query, walk, &walk->hop);
	walk->verdict = walk->hop.verdict;
}

/* What is known without a hash: the best of all members in use. */
static void choose_any(const struct maps *maps, const struct walk_query *query, struct walk *walk)
{
	const struct walk_group *group = &walk->group;
	struct walk_hop hop;
	bool any = false;

	for (uint32_t i = 0; i < group->n_members; i++) {
		const struct walk_member *member = &group->members[i];

		if (member->skipped)
			continue;
		if (group->n_members == 1) {
			take_hop(maps, query, &member->hop, walk);
			return;
		}
		hop = member->hop;
		except(maps, query, walk, &hop);
		if (!any || (walk->verdict && !hop.verdict))
			walk->verdict = hop.verdict;
		any = true;
	}
	if (!any)
		walk->verdict = SIXLANE_PASS_EGRESS_DOWN;
}

static void choose_by_hash(const struct maps *maps, const struct walk_query *query,
			   union sixlane_fate fate, struct walk *walk)
{
	struct walk_group *group = &walk->group;
	uint64_t hash = 0;
	uint32_t member;

	if (!group->n_cells) {
		walk->verdict = SIXLANE_PASS_EGRESS_DOWN;
		return;
	}
	if (group->n_cells > 1 && !walk_hash(maps, query, &hash)) {
		walk->verdict = SIXLANE_PUNT_HASH;
		return;
	}
	member = walk_draw_member(maps, fate, hash, group);
	if (member == WALK_NO_MEMBER)
		walk->verdict = SIXLANE_PASS_EGRESS_DOWN;
	else
		take_hop(maps, query, &group->members[member].hop, walk);
}

static void choose_member(const struct maps *maps, const struct walk_query *query,
			  union sixlane_fate fate, struct walk *walk)
{
	const uint32_t down = walk->flags & SIXLANE_NEXT_HOP_OBJECT ? SIXLANE_PORT_SKIP_OBJECT
								    : SIXLANE_PORT_SKIP;
	struct walk_group *group = &walk->group;

	for (uint32_t i = 0; i < group->n_members; i++)
		group->members[i].skipped = group->members[i].hop.egress.flags & down;
	if (query && query->has_flow)
		choose_by_hash(maps, query, fate, walk);
	else
		choose_any(maps, query, walk);
}

/* The first, unless one of them leaves by the ingress port: that one comes before it. */
static void choose_first(const struct maps *maps, const struct walk_query *query, struct walk *walk)
{
	struct walk_group *group = &walk->group;

	if (!group->n_members) {
		walk->verdict = SIXLANE_PUNT_EQUAL_METRIC;
		return;
	}
	if (query && !query->ingress && group->n_members > 1)
		walk->depends |= WALK_ON_PORT;
	for (uint32_t i = 0; walk->in_slot && i < group->n_members; i++) {
		if (group->members[i].hop.egress.ifindex != walk->in.ifindex)
			continue;
		group->chosen = i;
		walk->hop = group->members[i].hop;
		walk->verdict = SIXLANE_PASS_SAME_PORT;
		return;
	}
	take_hop(maps, query, &group->members[0].hop, walk);
}

static void choose(const struct maps *maps, const struct walk_query *query, union sixlane_fate fate,
		   struct walk_limit limit, struct walk *walk)
{
	struct walk_group *group = &walk->group;

	read_cells(maps, fate, group);
	for (uint32_t i = 0; i < group->n_members; i++) {
		walk_fill_hop(maps, group->members[i].hop.id, limit, &group->members[i].hop);
		check_hop(maps, query, walk, &group->members[i].hop);
	}
	if (fate.kind == SIXLANE_KIND_FIRST) {
		choose_first(maps, query, walk);
	} else {
		set_weights(group);
		choose_member(maps, query, fate, walk);
	}
	if (walk->expires_ns && util_now_ns() >= walk->expires_ns)
		walk->verdict = SIXLANE_PUNT_EXPIRES;
}

void walk_next_hop(const struct maps *maps, const struct walk_query *query, struct walk *walk)
{
	const struct sixlane_next_hop *next_hop;
	struct walk_limit limit = { 0 };
	union sixlane_fate fate;
	struct walk_hop hop;

	if (walk->next_hop >= SIXLANE_MAX_NEXT_HOPS) {
		walk->verdict = SIXLANE_PUNT_ROUTE;
		return;
	}
	next_hop = &maps->next_hops[walk->next_hop];
	fate.word = walk_load64(&next_hop->fate.word);
	walk->flags = next_hop->flags;
	walk->route_mtu = limit.mtu = next_hop->mtu;
	limit.locked = walk->flags & SIXLANE_NEXT_HOP_LOCKED;
	walk->expires_ns = fate.kind >= SIXLANE_KIND_GROUP ? next_hop->expires_ns : 0;
	if (query)
		walk_find_exception(maps, query, walk);
	if (fate.kind == SIXLANE_KIND_GROUP || fate.kind == SIXLANE_KIND_FIRST) {
		choose(maps, query, fate, limit, walk);
		return;
	}
	walk_fill_hop(maps, walk->next_hop, limit, &hop);
	check_hop(maps, query, walk, &hop);
	take_hop(maps, query, &hop, walk);
}
