// SPDX-License-Identifier: GPL-2.0-only
/* Mixed hops, see nexthops.h. A hop's values are kept up to date with each change. */
#include "nexthops_table.h"

struct value_sums nexthops_values_of(const struct nexthops *nexthops, uint32_t id)
{
	return nexthops->rib ? rib_by_object(nexthops->rib, id) : (struct value_sums){ 0 };
}

static bool hop_is_uniform(const struct nexthop_object *hop, const struct value_sums *of_incomplete)
{
	struct value_sums values = hop->values;

	value_sums_add(&values, of_incomplete, 1);
	return value_sums_equal(&values);
}

/* A blackhole discards whatever the route is. */
bool nexthops_is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop)
{
	return hop->kind != NEXT_HOP_BLACKHOLE && (nexthops->all_stale || hop->stale ||
						   !hop_is_uniform(hop, &nexthops->of_incomplete));
}

static void queue_report(struct nexthops *nexthops, struct nexthop_object *hop)
{
	if (hop->unreported)
		return;
	hop->unreported = true;
	hop->next_unreported = nexthops->unreported;
	nexthops->unreported = hop;
}

static bool has_unreported_member(const struct nexthops *nexthops,
				  const struct nexthop_object *group)
{
	/* Usually it is one hop, and comparing ids is far quicker than the loop below. */
	if (!nexthops->unreported->next_unreported)
		return nexthop_object_find(group, nexthops->unreported->id) >= 0;
	for (uint32_t i = 0; i < group->n_members; i++) {
		const struct nexthop_object *member = nexthops_find(nexthops, group->members[i].id);

		if (member && member->unreported)
			return true;
	}
	return false;
}

void nexthops_report_mixed(struct nexthops *nexthops)
{
	const struct nexthop_object *group;

	for (group = nexthops->groups; nexthops->unreported && group; group = group->next_group) {
		if (has_unreported_member(nexthops, group))
			nexthops_report(nexthops, group->id);
	}
	while (nexthops->unreported) {
		struct nexthop_object *hop = nexthops->unreported;

		nexthops->unreported = hop->next_unreported;
		hop->unreported = false;
		nexthops_report(nexthops, hop->id);
	}
}

/* A hop that becomes uniform stays mixed, as stale. One that becomes mixed is reported. */
static void hop_update(struct nexthops *nexthops, struct nexthop_object *hop, bool was_uniform,
		       bool is_uniform)
{
	if (was_uniform == is_uniform || hop->stale)
		return;
	if (is_uniform) {
		hop->stale = true;
		nexthops->n_stale++;
	} else {
		queue_report(nexthops, hop);
	}
}

static void hop_add_values(struct nexthops *nexthops, struct nexthop_object *hop,
			   const struct value_sums *values, int by)
{
	bool before = hop_is_uniform(hop, &nexthops->of_incomplete);

	value_sums_add(&hop->values, values, by);
	hop_update(nexthops, hop, before, hop_is_uniform(hop, &nexthops->of_incomplete));
}

void nexthops_values_add_members(struct nexthops *nexthops, const struct next_hop_member *members,
				 uint32_t n, const struct value_sums *values, int by)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nexthop_object *member = nexthops_find(nexthops, members[i].id);

		if (member && nexthop_object_is_hop(member))
			hop_add_values(nexthops, member, values, by);
	}
}

void nexthops_values_add_all(struct nexthops *nexthops, const struct value_sums *values, int by)
{
	const struct value_sums before = nexthops->of_incomplete;

	value_sums_add(&nexthops->of_incomplete, values, by);
	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		for (struct nexthop_object *hop = nexthops->objects[i]; hop; hop = hop->next) {
			if (nexthop_object_is_hop(hop))
				hop_update(nexthops, hop, hop_is_uniform(hop, &before),
					   hop_is_uniform(hop, &nexthops->of_incomplete));
		}
	}
}

void nexthops_values_add(struct nexthops *nexthops, struct nexthop_object *object,
			 const struct value_sums *values, int by)
{
	if (object->incomplete)
		nexthops_values_add_all(nexthops, values, by);
	else if (nexthop_kind_is_group(object->kind))
		nexthops_values_add_members(nexthops, object->members, object->n_members, values,
					    by);
	else
		hop_add_values(nexthops, object, values, by);
}

struct value_sums nexthops_values_by_hop(const struct nexthops *nexthops, uint32_t id)
{
	struct value_sums values = nexthops_values_of(nexthops, id);
	const struct nexthop_object *group;

	for (group = nexthops->groups; group; group = group->next_group) {
		struct value_sums more = { 0 };

		if (nexthop_object_find(group, id) >= 0)
			more = nexthops_values_of(nexthops, group->id);
		value_sums_add(&values, &more, 1);
	}
	return values;
}

static void routes_changed(void *ctx, uint32_t id, const struct value_sums *change)
{
	struct nexthops *nexthops = ctx;
	struct nexthop_object *object = nexthops_find(nexthops, id);

	if (object)
		nexthops_values_add(nexthops, object, change, 1);
	nexthops_report_mixed(nexthops);
}

bool nexthops_cache_is_stale(const struct nexthops *nexthops)
{
	return nexthops->all_stale || nexthops->n_stale;
}

static void set_all_stale(struct nexthops *nexthops, bool all_stale)
{
	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		for (struct nexthop_object *hop = nexthops->objects[i]; hop; hop = hop->next) {
			if (nexthop_object_is_hop(hop) &&
			    (all_stale || nexthops->all_stale || hop->stale))
				queue_report(nexthops, hop);
			hop->stale &= all_stale;
		}
	}
	nexthops->all_stale = all_stale;
	if (!all_stale)
		nexthops->n_stale = 0;
	nexthops_report_mixed(nexthops);
}

void nexthops_cache_set_stale(struct nexthops *nexthops)
{
	if (!nexthops->all_stale)
		set_all_stale(nexthops, true);
}

void nexthops_cache_flushed(struct nexthops *nexthops)
{
	if (nexthops_cache_is_stale(nexthops))
		set_all_stale(nexthops, false);
}

void nexthops_set_rib(struct nexthops *nexthops, struct rib *rib)
{
	nexthops->rib = rib;
	rib_set_used_fn(rib, routes_changed, nexthops);
}
