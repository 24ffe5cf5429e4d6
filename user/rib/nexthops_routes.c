// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes by next-hop objects: which hops they may go by, and whether those by one hop are alike, as
 * nexthops_follow() tells. Whoever listens is told once of all that a change has turned.
 */
#include "nexthops_internal.h"

struct mixture nexthops_routes_of(const struct nexthops *nexthops, uint32_t id)
{
	return nexthops->rib ? rib_by_object(nexthops->rib, id) : (struct mixture){ 0 };
}

/* Whether all routes that may go by a hop are alike to a packet: its own, and those by any hop. */
static bool hop_agrees(const struct nexthop_object *hop, const struct mixture *unseen)
{
	struct mixture routes = hop->routes;

	mixture_add(&routes, unseen, 1);
	return mixture_is_uniform(&routes);
}

/* What discards does so whatever the route. */
bool nexthops_is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop)
{
	return hop->kind != NEXT_HOP_BLACKHOLE &&
	       (nexthops->doubtful || hop->stale || !hop_agrees(hop, &nexthops->unseen));
}

static void turn(struct nexthops *nexthops, struct nexthop_object *hop)
{
	if (hop->turned)
		return;
	hop->turned = true;
	hop->next_turned = nexthops->turned;
	nexthops->turned = hop;
}

static bool has_turned_member(const struct nexthops *nexthops, const struct nexthop_object *group)
{
	if (!nexthops->turned->next_turned) /* as mostly: by far quicker than below */
		return nexthop_object_find(group, nexthops->turned->id) >= 0;
	for (uint32_t i = 0; i < group->n_members; i++) {
		const struct nexthop_object *member = nexthops_find(nexthops, group->members[i].id);

		if (member && member->turned)
			return true;
	}
	return false;
}

/* Of many that turned at once each group is told once. */
void nexthops_tell_turned(struct nexthops *nexthops)
{
	const struct nexthop_object *group;

	for (group = nexthops->groups; nexthops->turned && group; group = group->next_group) {
		if (has_turned_member(nexthops, group))
			nexthops_report(nexthops, group->id);
	}
	while (nexthops->turned) {
		struct nexthop_object *hop = nexthops->turned;

		nexthops->turned = hop->next_turned;
		hop->turned = false;
		nexthops_report(nexthops, hop->id);
	}
}

/* Whether the routes of a hop agree: what is different from before waits to be told, or renewed. */
static void hop_note(struct nexthops *nexthops, struct nexthop_object *hop, bool before, bool now)
{
	if (before == now || hop->stale)
		return;
	if (now) {
		hop->stale = true;
		nexthops->n_stale++;
	} else {
		turn(nexthops, hop);
	}
}

/* by: 1 or -1, so many routes more may go by a hop. */
static void hop_count(struct nexthops *nexthops, struct nexthop_object *hop,
		      const struct mixture *routes, int by)
{
	bool before = hop_agrees(hop, &nexthops->unseen);

	mixture_add(&hop->routes, routes, by);
	hop_note(nexthops, hop, before, hop_agrees(hop, &nexthops->unseen));
}

void nexthops_count_members(struct nexthops *nexthops, const struct next_hop_member *members,
			    uint32_t n, const struct mixture *routes, int by)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nexthop_object *member = nexthops_find(nexthops, members[i].id);

		if (member && nexthop_object_is_hop(member))
			hop_count(nexthops, member, routes, by);
	}
}

/* Routes that may go by any hop. */
void nexthops_count_unseen(struct nexthops *nexthops, const struct mixture *routes, int by)
{
	const struct mixture before = nexthops->unseen;

	mixture_add(&nexthops->unseen, routes, by);
	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		struct nexthop_object *hop = nexthops->objects[i];

		for (; hop; hop = hop->next) {
			if (nexthop_object_is_hop(hop))
				hop_note(nexthops, hop, hop_agrees(hop, &before),
					 hop_agrees(hop, &nexthops->unseen));
		}
	}
}

void nexthops_count_routes(struct nexthops *nexthops, struct nexthop_object *object,
			   const struct mixture *routes, int by)
{
	if (object->unseen)
		nexthops_count_unseen(nexthops, routes, by);
	else if (nexthop_kind_is_group(object->kind))
		nexthops_count_members(nexthops, object->members, object->n_members, routes, by);
	else
		hop_count(nexthops, object, routes, by);
}

/* Of a hop that was none until now. */
struct mixture nexthops_routes_by_hop(const struct nexthops *nexthops, uint32_t id)
{
	struct mixture routes = nexthops_routes_of(nexthops, id);
	const struct nexthop_object *group;

	for (group = nexthops->groups; group; group = group->next_group) {
		struct mixture more = { 0 };

		if (nexthop_object_find(group, id) >= 0)
			more = nexthops_routes_of(nexthops, group->id);
		mixture_add(&routes, &more, 1);
	}
	return routes;
}

static void routes_changed(void *ctx, uint32_t id, const struct mixture *change)
{
	struct nexthops *nexthops = ctx;
	struct nexthop_object *object = nexthops_find(nexthops, id);

	if (object)
		nexthops_count_routes(nexthops, object, change, 1);
	nexthops_tell_turned(nexthops);
}

bool nexthops_outdated(const struct nexthops *nexthops)
{
	return nexthops->doubtful || nexthops->n_stale;
}

static void set_doubt(struct nexthops *nexthops, bool doubtful)
{
	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		struct nexthop_object *hop = nexthops->objects[i];

		for (; hop; hop = hop->next) {
			if (nexthop_object_is_hop(hop) &&
			    (doubtful || nexthops->doubtful || hop->stale))
				turn(nexthops, hop);
			hop->stale &= doubtful;
		}
	}
	nexthops->doubtful = doubtful;
	if (!doubtful)
		nexthops->n_stale = 0;
	nexthops_tell_turned(nexthops);
}

void nexthops_doubt(struct nexthops *nexthops)
{
	if (!nexthops->doubtful)
		set_doubt(nexthops, true);
}

void nexthops_renewed(struct nexthops *nexthops)
{
	if (nexthops_outdated(nexthops))
		set_doubt(nexthops, false);
}

void nexthops_follow(struct nexthops *nexthops, struct rib *rib)
{
	nexthops->rib = rib;
	rib_tell_uses(rib, routes_changed, nexthops);
}
