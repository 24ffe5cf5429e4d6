// SPDX-License-Identifier: GPL-2.0-only
/* The hash of next-hop objects, see nexthops_table.h. */
#include "nexthops_table.h"

#include <stdlib.h>

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
