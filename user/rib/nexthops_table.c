// SPDX-License-Identifier: GPL-2.0-only
/* Stored next-hop objects, and the table of them by id. See nexthops_table.h. */
#include "nexthops_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rib_table.h"

void nexthop_object_free(struct nexthop_object *object)
{
	free(object->members);
	free(object->buckets);
	free(object);
}

enum next_hop_kind nexthop_object_kind(const struct next_hop *next_hop)
{
	if (nexthop_kind_is_group(next_hop->kind) &&
	    (!next_hop->n_members || next_hop->n_members > NEXT_HOP_MAX_MEMBERS))
		return NEXT_HOP_OTHER;
	if (next_hop->kind == NEXT_HOP_RESILIENT &&
	    (!next_hop->n_buckets || next_hop->n_buckets > NEXTHOP_MAX_BUCKETS))
		return NEXT_HOP_OTHER;
	return next_hop->kind;
}

bool nexthop_object_is_incomplete(const struct next_hop *next_hop)
{
	return (next_hop->is_group || nexthop_kind_is_group(next_hop->kind)) &&
	       nexthop_object_kind(next_hop) == NEXT_HOP_OTHER;
}

static bool same_members(const struct nexthop_object *object, const struct next_hop *next_hop)
{
	if (object->n_members != next_hop->n_members)
		return false;
	for (uint32_t i = 0; i < object->n_members; i++) {
		if (object->members[i].id != next_hop->members[i].id ||
		    object->members[i].weight != next_hop->members[i].weight)
			return false;
	}
	return true;
}

bool nexthop_object_equal(const struct nexthop_object *object, const struct next_hop *next_hop)
{
	if (object->kind != nexthop_object_kind(next_hop) ||
	    object->incomplete != nexthop_object_is_incomplete(next_hop))
		return false;
	switch (object->kind) {
	case NEXT_HOP_ONE:
		return rib_hop_equal(&object->hop, &next_hop->hop);
	case NEXT_HOP_OTHER:
		return object->hop.ifindex == next_hop->hop.ifindex;
	case NEXT_HOP_BLACKHOLE:
		return true;
	case NEXT_HOP_GROUP:
		return same_members(object, next_hop);
	case NEXT_HOP_RESILIENT:
		return same_members(object, next_hop) && object->n_buckets == next_hop->n_buckets;
	}
	return false;
}

/* The kernel keeps the buckets of members that stay, too, as long as they are busy. */
static void keep_buckets(const struct nexthop_object *old, struct nexthop_object *object)
{
	if (old->n_buckets != object->n_buckets)
		return;
	for (uint32_t i = 0; i < old->n_buckets; i++) {
		if (nexthop_object_find(object, old->buckets[i]) >= 0)
			object->buckets[i] = old->buckets[i];
	}
}

/* 0, or -ENOMEM with nothing allocated. */
static int make_group(const struct next_hop *next_hop, struct nexthop_object *out)
{
	out->n_members = next_hop->n_members;
	out->members = calloc(out->n_members, sizeof(*out->members));
	if (!out->members)
		return -ENOMEM;
	memcpy(out->members, next_hop->members, out->n_members * sizeof(*out->members));
	if (out->kind != NEXT_HOP_RESILIENT)
		return 0;
	out->n_buckets = next_hop->n_buckets;
	out->buckets = calloc(out->n_buckets, sizeof(*out->buckets));
	if (out->buckets)
		return 0;
	free(out->members);
	return -ENOMEM;
}

int nexthop_object_set(struct nexthop_object *object, const struct next_hop *next_hop)
{
	const struct nexthop_object old = *object;
	struct nexthop_object failed = {
		.next = old.next,
		.next_group = old.next_group,
		.id = old.id,
		.generation = old.generation,
		.kind = NEXT_HOP_OTHER,
		.next_unreported = old.next_unreported,
		.values = old.values,
		.unreported = old.unreported,
		.stale = old.stale,
		.incomplete = nexthop_object_is_incomplete(next_hop),
	};
	struct nexthop_object fresh = failed;
	int ret = 0;

	failed.incomplete |= nexthop_kind_is_group(next_hop->kind);
	fresh.kind = nexthop_object_kind(next_hop);
	if (nexthop_kind_is_group(fresh.kind))
		ret = make_group(next_hop, &fresh);
	else if (fresh.kind != NEXT_HOP_BLACKHOLE)
		fresh.hop = next_hop->hop;
	if (!ret && fresh.buckets)
		keep_buckets(&old, &fresh);
	*object = ret ? failed : fresh;
	free(old.members);
	free(old.buckets);
	return ret;
}

int nexthop_object_find(const struct nexthop_object *group, uint32_t id)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].id == id)
			return (int)i;
	}
	return -1;
}

void nexthop_object_drop(struct nexthop_object *group, uint32_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->members[i].id != id)
			group->members[kept++] = group->members[i];
	}
	group->n_members = kept;
	for (uint32_t i = 0; i < group->n_buckets; i++) {
		if (group->buckets[i] == id)
			group->buckets[i] = 0;
	}
}

/* --- the table -------------------------------------------------------------------------------- */

void nexthops_report(const struct nexthops *nexthops, uint32_t id)
{
	if (nexthops->changed)
		nexthops->changed(nexthops->ctx, id);
}

struct nexthop_object *nexthops_find(const struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object *object = nexthops->objects[id % NEXTHOPS_BUCKETS];

	while (object && object->id != id)
		object = object->next;
	return object;
}

struct nexthop_object *nexthops_get(struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object **first = &nexthops->objects[id % NEXTHOPS_BUCKETS];
	struct nexthop_object *object = nexthops_find(nexthops, id);

	if (object)
		return object;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->id = id;
	object->next = *first;
	*first = object;
	nexthops->n++;
	return object;
}

void nexthops_unlink(struct nexthops *nexthops, struct nexthop_object *object)
{
	struct nexthop_object **link = &nexthops->objects[object->id % NEXTHOPS_BUCKETS];

	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	nexthops->n--;
	nexthops->n_stale -= object->stale;
	if (nexthop_kind_is_group(object->kind))
		nexthops_groups_del(nexthops, object);
}

void nexthops_groups_add(struct nexthops *nexthops, struct nexthop_object *group)
{
	group->next_group = nexthops->groups;
	nexthops->groups = group;
}

void nexthops_groups_del(struct nexthops *nexthops, const struct nexthop_object *group)
{
	struct nexthop_object **link = &nexthops->groups;

	while (*link != group)
		link = &(*link)->next_group;
	*link = group->next_group;
}
