// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects by id, in a hash; groups also in a list, since a member that goes leaves them all.
 *
 * Invariants
 * - Outside of mark and sweep a group names only ids of objects that are there, but for those
 *   of another family, and those for which there was no memory: in the kernel, too, members
 *   come before their groups and leave them when they go (remove_nexthop).
 * - A change is told when it is in place; views may be taken while it is told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nexthops_internal.h"

void nexthops_report(const struct nexthops *nexthops, uint32_t id)
{
	if (nexthops->changed)
		nexthops->changed(nexthops->ctx, id);
}

/* --- the hash and the list ------------------------------------------------------------------ */

struct nexthop_object *nexthops_find(const struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object *object = nexthops->objects[id % NEXTHOPS_BUCKETS];

	while (object && object->id != id)
		object = object->next;
	return object;
}

static struct nexthop_object *object_get(struct nexthops *nexthops, uint32_t id)
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

static void groups_add(struct nexthops *nexthops, struct nexthop_object *object)
{
	object->next_group = nexthops->groups;
	nexthops->groups = object;
}

static void groups_remove(struct nexthops *nexthops, const struct nexthop_object *object)
{
	struct nexthop_object **link = &nexthops->groups;

	while (*link && *link != object)
		link = &(*link)->next_group;
	if (*link)
		*link = object->next_group;
}

static void report_with_groups(const struct nexthops *nexthops, uint32_t id)
{
	const struct nexthop_object *group;

	nexthops_report(nexthops, id);
	for (group = nexthops->groups; group; group = group->next_group) {
		if (nexthop_object_find(group, id) >= 0)
			nexthops_report(nexthops, group->id);
	}
}

/* --- objects that come and go ----------------------------------------------------------------- */

/* The caller frees it. */
static void object_take(struct nexthops *nexthops, struct nexthop_object *object)
{
	struct nexthop_object **link = &nexthops->objects[object->id % NEXTHOPS_BUCKETS];
	struct mixture routes;

	while (*link && *link != object)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = object->next;
	nexthops->n--;
	nexthops->n_stale -= object->stale;
	if (nexthop_kind_is_group(object->kind))
		groups_remove(nexthops, object);
	else if (!object->unseen)
		return;
	routes = nexthops_routes_of(nexthops, object->id);
	nexthops_count_routes(nexthops, object, &routes, -1);
	nexthops_tell_turned(nexthops);
}

/*
 * nexthop_object_set, and its routes go by the hops that it has then. These are counted before
 * those that it had, so that nothing seems alike on the way that is not.
 */
static int object_set(struct nexthops *nexthops, struct nexthop_object *object,
		      const struct next_hop *next_hop, bool is_new)
{
	const struct mixture routes = nexthops_routes_of(nexthops, object->id);
	bool was_group = nexthop_kind_is_group(object->kind), was_unseen = object->unseen;
	bool is_group;
	struct next_hop_member old[NEXT_HOP_MAX_MEMBERS];
	uint32_t n_old = object->n_members;
	int ret;

	if (n_old)
		memcpy(old, object->members, n_old * sizeof(*old));
	ret = nexthop_object_set(object, next_hop);
	is_group = nexthop_kind_is_group(object->kind);
	if (is_group || object->unseen)
		nexthops_count_routes(nexthops, object, &routes, 1);
	if (was_unseen)
		nexthops_count_unseen(nexthops, &routes, -1);
	if (was_group && !is_group)
		groups_remove(nexthops, object);
	if (!was_group && is_group)
		groups_add(nexthops, object);
	nexthops_count_members(nexthops, old, n_old, &routes, -1);
	if (nexthop_object_is_hop(object) && (was_group || was_unseen || is_new))
		object->routes = nexthops_routes_by_hop(nexthops, object->id);
	nexthops_tell_turned(nexthops);
	return ret;
}

/* --- messages --------------------------------------------------------------------------------- */

/*
 * remove_nexthop_from_groups: the object of this id is no more, or another one than the groups of
 * before mean. spare: groups of this generation, which mean the new one, are left alone.
 * Returns how many groups went with their last member.
 */
static size_t leave_groups(struct nexthops *nexthops, uint32_t id, bool spare)
{
	struct nexthop_object *group, *next;
	size_t gone = 0;

	for (group = nexthops->groups; group; group = next) {
		uint32_t group_id = group->id;

		next = group->next_group;
		if (nexthop_object_find(group, id) < 0 ||
		    (spare && group->generation == nexthops->generation))
			continue;
		nexthop_object_drop(group, id);
		if (!group->n_members) {
			object_take(nexthops, group);
			nexthop_object_free(group);
			gone++;
		}
		nexthops_report(nexthops, group_id);
	}
	return gone;
}

int nexthops_set(struct nexthops *nexthops, const struct next_hop *next_hop)
{
	bool known = nexthops_find(nexthops, next_hop->id);
	struct nexthop_object *object;
	int ret;

	/*
	 * A group cannot be older than its members: one that names a new object's id means an
	 * object that went without a word. Dumps are in the order of ids.
	 */
	if (!known)
		leave_groups(nexthops, next_hop->id, nexthops->marked);
	object = object_get(nexthops, next_hop->id);
	if (!object)
		return -ENOMEM;
	object->generation = nexthops->generation;
	if (known && nexthop_object_equal(object, next_hop))
		return 0;
	ret = object_set(nexthops, object, next_hop, !known);
	report_with_groups(nexthops, next_hop->id);
	return ret;
}

/* A dump of buckets is told as a whole: a large group would be looked at once for each of them. */
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

/* Take out what this generation has not confirmed, or everything, as a list. */
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
		rib_tell_uses(nexthops->rib, NULL, NULL);
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

size_t nexthops_sweep(struct nexthops *nexthops)
{
	struct nexthop_object *object, *next, *gone = take_all(nexthops, true);
	size_t n = 0;

	nexthops->marked = false;
	for (object = gone; object; object = object->next)
		n += 1 + leave_groups(nexthops, object->id, false);
	for (object = gone; object; object = next) {
		uint32_t id = object->id;

		next = object->next;
		nexthop_object_free(object);
		nexthops_report(nexthops, id);
	}
	report_dirty(nexthops);
	return n;
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
