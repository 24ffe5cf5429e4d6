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
#include "nexthops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nexthops_object.h"

#define ID_BUCKETS 4096u

struct nexthops {
	nexthops_changed_fn changed;
	void *ctx;
	struct rib *rib; /* whose routes count; may be NULL */
	struct nexthop_object *objects[ID_BUCKETS];
	struct nexthop_object *groups;
	struct nexthop_object *turned; /* hops of which nobody was told yet */
	struct mixture unseen;	       /* routes by groups whose members are not known */
	size_t n, n_stale;
	bool doubtful; /* the kernel may have cached what nobody knows of */
	uint32_t generation;
	bool marked; /* between mark and sweep */
	/* What the last view points to. */
	struct route_hop hops[NEXT_HOP_MAX_MEMBERS];
	uint32_t weights[NEXT_HOP_MAX_MEMBERS];
	uint16_t owners[NEXTHOP_MAX_BUCKETS];
};

static void report(const struct nexthops *nexthops, uint32_t id)
{
	if (nexthops->changed)
		nexthops->changed(nexthops->ctx, id);
}

/* --- the hash and the list ------------------------------------------------------------------ */

static struct nexthop_object *object_find(const struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object *object = nexthops->objects[id % ID_BUCKETS];

	while (object && object->id != id)
		object = object->next;
	return object;
}

static struct nexthop_object *object_get(struct nexthops *nexthops, uint32_t id)
{
	struct nexthop_object **first = &nexthops->objects[id % ID_BUCKETS];
	struct nexthop_object *object = object_find(nexthops, id);

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

	report(nexthops, id);
	for (group = nexthops->groups; group; group = group->next_group) {
		if (nexthop_object_find(group, id) >= 0)
			report(nexthops, group->id);
	}
}

/* --- routes by them --------------------------------------------------------------------------- */

static struct mixture routes_of(const struct nexthops *nexthops, uint32_t id)
{
	return nexthops->rib ? rib_by_object(nexthops->rib, id) : (struct mixture){ 0 };
}

static bool is_hop(const struct nexthop_object *object)
{
	return !nexthop_kind_is_group(object->kind) && !object->unseen;
}

/* Whether all routes that may go by a hop are alike to a packet. */
static bool hop_agrees(const struct nexthops *nexthops, const struct nexthop_object *hop)
{
	struct mixture routes = hop->routes;

	mixture_add(&routes, &nexthops->unseen, 1);
	return mixture_is_uniform(&routes);
}

/* What discards does so whatever the route. */
static bool is_mixed(const struct nexthops *nexthops, const struct nexthop_object *hop)
{
	return hop->kind != NEXT_HOP_BLACKHOLE &&
	       (nexthops->doubtful || hop->stale || !hop_agrees(nexthops, hop));
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
	for (uint32_t i = 0; i < group->n_members; i++) {
		const struct nexthop_object *member = object_find(nexthops, group->members[i].id);

		if (member && member->turned)
			return true;
	}
	return false;
}

/* Of many that turned at once each group is told once. */
static void tell_turned(struct nexthops *nexthops)
{
	const struct nexthop_object *group = nexthops->groups;
	struct nexthop_object *hop = nexthops->turned;
	bool alone = hop && !hop->next_turned;

	for (; hop && group; group = group->next_group) {
		if (alone ? nexthop_object_find(group, hop->id) >= 0
			  : has_turned_member(nexthops, group))
			report(nexthops, group->id);
	}
	while (nexthops->turned) {
		hop = nexthops->turned;
		nexthops->turned = hop->next_turned;
		hop->turned = false;
		report(nexthops, hop->id);
	}
}

/* A hop whose routes agree where they did not, or the other way round. */
static void hop_agreed(struct nexthops *nexthops, struct nexthop_object *hop, bool before)
{
	bool agrees = hop_agrees(nexthops, hop);

	if (before == agrees || hop->stale)
		return;
	if (agrees) {
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
	bool agreed = hop_agrees(nexthops, hop);

	mixture_add(&hop->routes, routes, by);
	hop_agreed(nexthops, hop, agreed);
}

static void members_count(struct nexthops *nexthops, const struct next_hop_member *members,
			  uint32_t n, const struct mixture *routes, int by)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nexthop_object *member = object_find(nexthops, members[i].id);

		if (member && is_hop(member))
			hop_count(nexthops, member, routes, by);
	}
}

/* Routes that may go by any hop. */
static void unseen_count(struct nexthops *nexthops, const struct mixture *routes, int by)
{
	const struct mixture before = nexthops->unseen;
	struct mixture after = before;

	mixture_add(&after, routes, by);
	for (size_t i = 0; i < ID_BUCKETS; i++) {
		struct nexthop_object *hop = nexthops->objects[i];

		for (; hop; hop = hop->next) {
			bool agreed;

			if (!is_hop(hop))
				continue;
			nexthops->unseen = before;
			agreed = hop_agrees(nexthops, hop);
			nexthops->unseen = after;
			hop_agreed(nexthops, hop, agreed);
		}
	}
	nexthops->unseen = after;
}

static void object_count(struct nexthops *nexthops, struct nexthop_object *object,
			 const struct mixture *routes, int by)
{
	if (object->unseen)
		unseen_count(nexthops, routes, by);
	else if (nexthop_kind_is_group(object->kind))
		members_count(nexthops, object->members, object->n_members, routes, by);
	else
		hop_count(nexthops, object, routes, by);
}

/* Of a hop that was none until now. */
static struct mixture hop_routes(const struct nexthops *nexthops, uint32_t id)
{
	struct mixture routes = routes_of(nexthops, id);
	const struct nexthop_object *group;

	for (group = nexthops->groups; group; group = group->next_group) {
		struct mixture more = { 0 };

		if (nexthop_object_find(group, id) >= 0)
			more = routes_of(nexthops, group->id);
		mixture_add(&routes, &more, 1);
	}
	return routes;
}

static void routes_changed(void *ctx, uint32_t id, const struct mixture *change)
{
	struct nexthops *nexthops = ctx;
	struct nexthop_object *object = object_find(nexthops, id);

	if (object)
		object_count(nexthops, object, change, 1);
	tell_turned(nexthops);
}

bool nexthops_outdated(const struct nexthops *nexthops)
{
	return nexthops->doubtful || nexthops->n_stale;
}

static void set_doubt(struct nexthops *nexthops, bool doubtful)
{
	for (size_t i = 0; i < ID_BUCKETS; i++) {
		struct nexthop_object *hop = nexthops->objects[i];

		for (; hop; hop = hop->next) {
			if (is_hop(hop) && (doubtful || nexthops->doubtful || hop->stale))
				turn(nexthops, hop);
			hop->stale &= doubtful;
		}
	}
	nexthops->doubtful = doubtful;
	if (!doubtful)
		nexthops->n_stale = 0;
	tell_turned(nexthops);
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

/* --- objects that come and go ----------------------------------------------------------------- */

/* The caller frees it. */
static void object_take(struct nexthops *nexthops, struct nexthop_object *object)
{
	struct nexthop_object **link = &nexthops->objects[object->id % ID_BUCKETS];
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
	routes = routes_of(nexthops, object->id);
	object_count(nexthops, object, &routes, -1);
	tell_turned(nexthops);
}

/*
 * nexthop_object_set, and its routes go by the hops that it has then. These are counted before
 * those that it had, so that nothing seems alike on the way that is not.
 */
static int object_set(struct nexthops *nexthops, struct nexthop_object *object,
		      const struct next_hop *next_hop, bool is_new)
{
	const struct mixture routes = routes_of(nexthops, object->id);
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
		object_count(nexthops, object, &routes, 1);
	if (was_unseen)
		unseen_count(nexthops, &routes, -1);
	if (was_group && !is_group)
		groups_remove(nexthops, object);
	if (!was_group && is_group)
		groups_add(nexthops, object);
	members_count(nexthops, old, n_old, &routes, -1);
	if (is_hop(object) && (was_group || was_unseen || is_new))
		object->routes = hop_routes(nexthops, object->id);
	tell_turned(nexthops);
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
		report(nexthops, group_id);
	}
	return gone;
}

int nexthops_set(struct nexthops *nexthops, const struct next_hop *next_hop)
{
	bool known = object_find(nexthops, next_hop->id);
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
		report(nexthops, group->id);
}

static void report_dirty(const struct nexthops *nexthops)
{
	struct nexthop_object *group;

	for (group = nexthops->groups; group; group = group->next_group) {
		if (group->dirty)
			report(nexthops, group->id);
		group->dirty = false;
	}
}

int nexthops_set_bucket(struct nexthops *nexthops, const struct next_hop_bucket *bucket)
{
	struct nexthop_object *group = object_find(nexthops, bucket->group);
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
	struct nexthop_object *object = object_find(nexthops, id);

	if (!object)
		return;
	object_take(nexthops, object);
	nexthop_object_free(object);
	leave_groups(nexthops, id, false);
	report(nexthops, id);
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
		const struct nexthop_object *member = object_find(nexthops, group->members[i].id);

		if (!member ||
		    (member->kind != NEXT_HOP_ONE && member->kind != NEXT_HOP_BLACKHOLE)) {
			view->kind = NEXT_HOP_OTHER;
			return;
		}
		view->mixed |= is_mixed(nexthops, member);
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
	const struct nexthop_object *object = object_find(nexthops, id);

	if (!object)
		return false;
	*view = (struct nexthop_view){ .kind = object->kind };
	if (nexthop_kind_is_group(object->kind)) {
		view_group(nexthops, object, view);
	} else if (object->kind == NEXT_HOP_ONE) {
		view->mixed = is_mixed(nexthops, object);
		view->n_hops = 1;
		view->hops = &object->hop;
		view->weights = &one;
	}
	return true;
}

/* --- the whole ----------------------------------------------------------------------------------
 */

struct nexthops *nexthops_new(nexthops_changed_fn changed, void *ctx)
{
	struct nexthops *nexthops = calloc(1, sizeof(*nexthops));

	if (!nexthops)
		return NULL;
	nexthops->changed = changed;
	nexthops->ctx = ctx;
	return nexthops;
}

void nexthops_follow(struct nexthops *nexthops, struct rib *rib)
{
	nexthops->rib = rib;
	rib_tell_uses(rib, routes_changed, nexthops);
}

/* Take out what this generation has not confirmed, or everything, as a list. */
static struct nexthop_object *take_all(struct nexthops *nexthops, bool outdated)
{
	struct nexthop_object *taken = NULL, *object, *next;

	for (size_t i = 0; i < ID_BUCKETS; i++) {
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
		report(nexthops, id);
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
	for (size_t i = 0; ifindex && i < ID_BUCKETS; i++) {
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
	for (size_t i = 0; i < ID_BUCKETS; i++) {
		const struct nexthop_object *object = nexthops->objects[i];

		for (; object; object = object->next)
			fn(ctx, object->id);
	}
}
