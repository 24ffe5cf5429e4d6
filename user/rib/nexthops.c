// SPDX-License-Identifier: GPL-2.0-only
/*
 * What messages do to next-hop objects, and views of them.
 *
 * Invariants
 * - Outside of mark and sweep a group names only existing objects, as in the kernel: members come
 *   before their groups, and leave them when they go (remove_nexthop). Exceptions are objects of
 *   another family, and those for which there was no memory.
 * - A change is reported when it is in place; the listener may take views.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nexthops_table.h"

static void report_with_groups(const struct nexthops *nexthops, uint32_t id)
{
	const struct nexthop_object *group;

	nexthops_report(nexthops, id);
	for (group = nexthops->groups; group; group = group->next_group) {
		if (nexthop_object_find(group, id) >= 0)
			nexthops_report(nexthops, group->id);
	}
}

/* --- objects and the values of their routes --------------------------------------------------- */

/* The caller frees it. */
static void object_take(struct nexthops *nexthops, struct nexthop_object *object)
{
	struct value_sums values;

	nexthops_unlink(nexthops, object);
	if (!nexthop_kind_is_group(object->kind) && !object->incomplete)
		return;
	values = nexthops_values_of(nexthops, object->id);
	nexthops_values_add(nexthops, object, &values, -1);
	nexthops_report_mixed(nexthops);
}

/*
 * nexthop_object_set(), and the object's routes use its new hops. Values are added to the new hops
 * before they are removed from the old ones, so that no hop seems uniform in between.
 */
static int object_set(struct nexthops *nexthops, struct nexthop_object *object,
		      const struct next_hop *next_hop, bool is_new)
{
	const struct value_sums values = nexthops_values_of(nexthops, object->id);
	bool was_group = nexthop_kind_is_group(object->kind), was_incomplete = object->incomplete;
	bool is_group;
	struct next_hop_member old[NEXT_HOP_MAX_MEMBERS];
	uint32_t n_old = object->n_members;
	int ret;

	if (n_old)
		memcpy(old, object->members, n_old * sizeof(*old));
	ret = nexthop_object_set(object, next_hop);
	is_group = nexthop_kind_is_group(object->kind);
	if (is_group || object->incomplete)
		nexthops_values_add(nexthops, object, &values, 1);
	if (was_incomplete)
		nexthops_values_add_all(nexthops, &values, -1);
	if (was_group && !is_group)
		nexthops_groups_del(nexthops, object);
	if (!was_group && is_group)
		nexthops_groups_add(nexthops, object);
	nexthops_values_add_members(nexthops, old, n_old, &values, -1);
	if (nexthop_object_is_hop(object) && (was_group || was_incomplete || is_new))
		object->values = nexthops_values_by_hop(nexthops, object->id);
	nexthops_report_mixed(nexthops);
	return ret;
}

/* --- messages --------------------------------------------------------------------------------- */

/*
 * remove_nexthop_from_groups: the object of this id is deleted, or is a new one that older groups
 * do not mean. keep_current: skip groups of the current generation, which mean the new object.
 */
static void leave_groups(struct nexthops *nexthops, uint32_t id, bool keep_current)
{
	struct nexthop_object *group, *next;

	for (group = nexthops->groups; group; group = next) {
		uint32_t group_id = group->id;

		next = group->next_group;
		if (nexthop_object_find(group, id) < 0 ||
		    (keep_current && group->generation == nexthops->generation))
			continue;
		nexthop_object_drop(group, id);
		if (!group->n_members) {
			object_take(nexthops, group);
			nexthop_object_free(group);
		}
		nexthops_report(nexthops, group_id);
	}
}

int nexthops_set(struct nexthops *nexthops, const struct next_hop *next_hop)
{
	bool known = nexthops_find(nexthops, next_hop->id);
	struct nexthop_object *object;
	int ret;

	/*
	 * A group is never older than its members. One that names a new object's id means an object
	 * that was deleted without a message. Dumps are in the order of ids.
	 */
	if (!known)
		leave_groups(nexthops, next_hop->id, nexthops->marked);
	object = nexthops_get(nexthops, next_hop->id);
	if (!object)
		return -ENOMEM;
	object->generation = nexthops->generation;
	if (known && nexthop_object_equal(object, next_hop))
		return 0;
	ret = object_set(nexthops, object, next_hop, !known);
	report_with_groups(nexthops, next_hop->id);
	return ret;
}

/* A dump of buckets is reported once, since a large group is expensive to resolve. */
static void bucket_changed(const struct nexthops *nexthops, struct nexthop_object *group)
{
	if (nexthops->marked)
		group->dirty = true;
	else
		nexthops_report(nexthops, group->id);
}

static void report_dirty(const struct nexthops *nexthops)
{
	struct nexthop_object *group;

	for (group = nexthops->groups; group; group = group->next_group) {
		if (group->dirty)
			nexthops_report(nexthops, group->id);
		group->dirty = false;
	}
}

int nexthops_set_bucket(struct nexthops *nexthops, const struct next_hop_bucket *bucket)
{
	struct nexthop_object *group = nexthops_find(nexthops, bucket->group);
	uint32_t member;

	if (!group || bucket->index >= group->n_buckets)
		return -ENOENT;
	member = nexthop_object_find(group, bucket->member) >= 0 ? bucket->member : 0;
	if (group->buckets[bucket->index] != member) {
		group->buckets[bucket->index] = member;
		bucket_changed(nexthops, group);
	}
	return member ? 0 : -ENOENT;
}

void nexthops_delete(struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object *object = nexthops_find(nexthops, id);

	if (!object)
		return;
	object_take(nexthops, object);
	nexthop_object_free(object);
	leave_groups(nexthops, id, false);
	nexthops_report(nexthops, id);
}

/* --- views ------------------------------------------------------------------------------------ */

static void view_buckets(struct nexthops *nexthops, const struct nexthop_object *group,
			 struct nexthop_view *view)
{
	for (uint32_t i = 0; i < group->n_buckets; i++) {
		int member = nexthop_object_find(group, group->buckets[i]);

		nexthops->owners[i] = member < 0 ? UINT16_MAX : (uint16_t)member;
	}
	view->n_buckets = group->n_buckets;
	view->buckets = nexthops->owners;
}

static void view_group(struct nexthops *nexthops, const struct nexthop_object *group,
		       struct nexthop_view *view)
{
	for (uint32_t i = 0; i < group->n_members; i++) {
		const struct nexthop_object *member = nexthops_find(nexthops, group->members[i].id);

		if (!member ||
		    (member->kind != NEXT_HOP_ONE && member->kind != NEXT_HOP_BLACKHOLE)) {
			view->kind = NEXT_HOP_OTHER;
			return;
		}
		view->mixed |= nexthops_is_mixed(nexthops, member);
		nexthops->hops[i] = member->hop;
		nexthops->weights[i] = group->members[i].weight;
	}
	view->n_hops = group->n_members;
	view->hops = nexthops->hops;
	view->weights = nexthops->weights;
	if (group->kind == NEXT_HOP_RESILIENT)
		view_buckets(nexthops, group, view);
}

bool nexthops_view(struct nexthops *nexthops, uint32_t id, struct nexthop_view *view)
{
	static const uint32_t one = 1;
	const struct nexthop_object *object = nexthops_find(nexthops, id);

	if (!object)
		return false;
	*view = (struct nexthop_view){ .kind = object->kind };
	if (nexthop_kind_is_group(object->kind)) {
		view_group(nexthops, object, view);
	} else if (object->kind == NEXT_HOP_ONE) {
		view->mixed = nexthops_is_mixed(nexthops, object);
		view->n_hops = 1;
		view->hops = &object->hop;
		view->weights = &one;
	}
	return true;
}

/* --- the whole ---------------------------------------------------------------------------- */

struct nexthops *nexthops_new(nexthops_changed_fn changed, void *ctx)
{
	struct nexthops *nexthops = calloc(1, sizeof(*nexthops));

	if (!nexthops)
		return NULL;
	nexthops->changed = changed;
	nexthops->ctx = ctx;
	return nexthops;
}

/* Unlink everything, or what this generation has not confirmed (outdated), as a list. */
static struct nexthop_object *take_all(struct nexthops *nexthops, bool outdated)
{
	struct nexthop_object *taken = NULL, *object, *next;

	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		for (object = nexthops->objects[i]; object; object = next) {
			next = object->next;
			if (outdated && object->generation == nexthops->generation)
				continue;
			object_take(nexthops, object);
			object->next = taken;
			taken = object;
		}
	}
	return taken;
}

void nexthops_free(struct nexthops *nexthops)
{
	struct nexthop_object *object, *next;

	if (!nexthops)
		return;
	if (nexthops->rib)
		rib_set_used_fn(nexthops->rib, NULL, NULL);
	nexthops->rib = NULL;
	for (object = take_all(nexthops, false); object; object = next) {
		next = object->next;
		nexthop_object_free(object);
	}
	free(nexthops);
}

void nexthops_mark(struct nexthops *nexthops)
{
	nexthops->generation++;
	nexthops->marked = true;
}

void nexthops_sweep(struct nexthops *nexthops)
{
	struct nexthop_object *object, *next, *gone = take_all(nexthops, true);

	nexthops->marked = false;
	for (object = gone; object; object = object->next)
		leave_groups(nexthops, object->id, false);
	for (object = gone; object; object = next) {
		uint32_t id = object->id;

		next = object->next;
		nexthop_object_free(object);
		nexthops_report(nexthops, id);
	}
	report_dirty(nexthops);
}

bool nexthops_any_resilient(const struct nexthops *nexthops)
{
	const struct nexthop_object *group = nexthops->groups;

	while (group && group->kind != NEXT_HOP_RESILIENT)
		group = group->next_group;
	return group;
}

bool nexthops_use_device(const struct nexthops *nexthops, uint32_t ifindex)
{
	for (size_t i = 0; ifindex && i < NEXTHOPS_BUCKETS; i++) {
		const struct nexthop_object *object = nexthops->objects[i];

		for (; object; object = object->next) {
			if (object->hop.ifindex == ifindex)
				return true;
		}
	}
	return false;
}

size_t nexthops_count(const struct nexthops *nexthops)
{
	return nexthops->n;
}

void nexthops_each(const struct nexthops *nexthops, void (*fn)(void *ctx, uint32_t id), void *ctx)
{
	for (size_t i = 0; i < NEXTHOPS_BUCKETS; i++) {
		const struct nexthop_object *object = nexthops->objects[i];

		for (; object; object = object->next)
			fn(ctx, object->id);
	}
}
