// SPDX-License-Identifier: GPL-2.0-only
/* See object.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

struct fib_object_state *fib_object_get(struct fib *fib, uint32_t id)
{
	return fib_hash_find(&fib->objects, &id)
		       ?: fib_hash_add(&fib->objects, &id, sizeof(struct fib_object_state));
}

static void free_if_unused(struct fib *fib, struct fib_object_state *object)
{
	if (object->users || object->def)
		return;
	fib_hash_remove(&fib->objects, object);
	free(object);
}

/* --- definitions ------------------------------------------------------------------------------ */

static uint32_t verdict_of(const struct fib_object *object)
{
	bool fits = object->n_hops < UINT16_MAX && object->n_buckets <= UINT16_MAX;

	if (object->verdict != SIXLANE_FORWARD)
		return object->verdict;
	/* Rules tell a route that discards from one that forwards by its verdict alone. */
	if (object->n_hops == 1 && !object->hops[0].ifindex)
		return SIXLANE_DROP_BLACKHOLE;
	return fits && (object->n_hops || object->n_buckets) ? SIXLANE_FORWARD
							     : SIXLANE_PUNT_NEXT_HOP_OBJECT;
}

/* NULL: no memory. */
static struct fib_object_def *def_new(const struct fib_object *object)
{
	const uint32_t verdict = verdict_of(object);
	const bool forwards = verdict == SIXLANE_FORWARD;
	const size_t n_hops = forwards ? object->n_hops : 0;
	const size_t n_buckets = forwards ? object->n_buckets : 0;
	struct fib_object_def *def = calloc(1, sizeof(*def) + n_hops * sizeof(def->hops[0]) +
						       n_buckets * sizeof(uint16_t));
	uint16_t *members;

	if (!def)
		return NULL;
	members = (uint16_t *)(def->hops + n_hops);
	def->verdict = verdict;
	def->buckets = (struct fib_group_buckets){ .hops = def->hops,
						   .members = members,
						   .n_hops = (uint32_t)n_hops,
						   .n_buckets = (uint32_t)n_buckets };
	for (uint32_t i = 0; i < n_hops; i++) {
		def->hops[i] = fib_key_hop(&object->hops[i]);
		/* Buckets make weights meaningless, and so does a single hop. */
		if (n_buckets || n_hops == 1)
			def->hops[i].weight = 0;
		else if (!def->hops[i].weight)
			def->hops[i].weight = 1;
	}
	if (n_buckets)
		memcpy(members, object->buckets, n_buckets * sizeof(members[0]));
	return def;
}

static bool def_equal(const struct fib_object_def *a, const struct fib_object_def *b)
{
	const struct fib_group_buckets *p = &a->buckets, *q = &b->buckets;

	return a->verdict == b->verdict && p->n_buckets == q->n_buckets && p->n_hops == q->n_hops &&
	       !memcmp(p->hops, q->hops, p->n_hops * sizeof(p->hops[0])) &&
	       !memcmp(p->members, q->members, p->n_buckets * sizeof(p->members[0]));
}

/* --- publishing ------------------------------------------------------------------------------- */

union sixlane_nh_entry fib_object_entry(const struct fib_object_state *object, bool expires)
{
	if (!object->def)
		return fib_verdict_entry(SIXLANE_PUNT_NEXT_HOP_OBJECT);
	/* Only groups have an expiry. What passes may go on passing, but a drop must end. */
	if (object->def->verdict == SIXLANE_DROP_BLACKHOLE && expires)
		return fib_verdict_entry(SIXLANE_PUNT_EXPIRES);
	if (object->def->verdict != SIXLANE_FORWARD)
		return fib_verdict_entry(object->def->verdict);
	if (!object->group)
		return fib_verdict_entry(SIXLANE_PUNT_MAP_FULL);
	return fib_group_entry(object->group, SIXLANE_NH_GROUP);
}

static bool needs_group(const struct fib_object_state *object)
{
	return object->users && object->def && object->def->verdict == SIXLANE_FORWARD;
}

static struct fib_group *group_new(struct fib *fib, const struct fib_object_state *object)
{
	const struct fib_object_def *def = object->def;

	if (!needs_group(object))
		return NULL;
	return def->buckets.n_buckets ? fib_group_new_buckets(fib, &def->buckets)
				      : fib_group_new_hashed(fib, def->hops, def->buckets.n_hops,
							     object->n_expiring != 0);
}

static void set_pending(struct fib *fib, struct fib_object_state *object, bool pending)
{
	fib->n_pending -= object->pending;
	object->pending = pending;
	fib->n_pending += pending;
}

/* They are equal, or groups with equal buckets. */
static bool same_meaning(const struct fib *fib, union sixlane_nh_entry a, union sixlane_nh_entry b)
{
	const union sixlane_nh_bucket *buckets = fib->written_buckets;

	if (a.word == b.word)
		return true;
	return a.type == SIXLANE_NH_GROUP && b.type == SIXLANE_NH_GROUP &&
	       a.n_buckets == b.n_buckets &&
	       !memcmp(&buckets[a.first_bucket], &buckets[b.first_bucket],
		       a.n_buckets * sizeof(*buckets));
}

static bool changes(const struct fib *fib, const struct fib_object_state *object)
{
	for (const struct fib_next_hop *user = object->users; user; user = user->next_user) {
		if (user->id && !same_meaning(fib, user->content.nh_entry,
					      fib_object_entry(object, user->key.expires_ns)))
			return true;
	}
	return false;
}

/* Give all users their entries. Adopted users have parts of their own: put them. */
static void publish(struct fib *fib, struct fib_object_state *object)
{
	union sixlane_nh_entry nh_entry;

	object->punted |= fib->syncing && changes(fib, object);
	for (struct fib_next_hop *user = object->users; user; user = user->next_user) {
		if (!user->id) /* it is being made, and asks for its entry itself */
			continue;
		nh_entry = object->punted ? fib_verdict_entry(SIXLANE_PUNT_NEXT_HOP_OBJECT)
					  : fib_object_entry(object, user->key.expires_ns);
		fib_next_hop_set_entry(fib, user, nh_entry);
		fib_leaf_put_parts(fib, user);
		if (user->group)
			fib_group_put(fib, user->group);
		user->group = NULL;
	}
}

static void rebuild(struct fib *fib, struct fib_object_state *object)
{
	struct fib_group *old = object->group;

	object->group = group_new(fib, object);
	set_pending(fib, object, needs_group(object) && !object->group);
	publish(fib, object);
	if (old)
		fib_group_put(fib, old);
}

/* A resilient group can be changed in place if it keeps its size and no user is to be punted. */
static bool set_in_place(struct fib *fib, struct fib_object_state *object,
			 const struct fib_object_def *def)
{
	return def && object->def && object->group && def->buckets.n_buckets && !fib->syncing &&
	       def->buckets.n_buckets == object->def->buckets.n_buckets &&
	       fib_group_set_buckets(fib, &object->group, &def->buckets);
}

static void set_def(struct fib *fib, struct fib_object_state *object, struct fib_object_def *def)
{
	struct fib_object_def *old = object->def;
	const bool done = set_in_place(fib, object, def);

	object->def = def;
	if (!done)
		rebuild(fib, object);
	free(old);
	free_if_unused(fib, object);
}

int fib_object_set(struct fib *fib, uint32_t id, const struct fib_object *value)
{
	struct fib_object_state *object;
	struct fib_object_def *def = NULL;

	object = value ? fib_object_get(fib, id) : fib_hash_find(&fib->objects, &id);
	if (!object)
		return value ? -ENOMEM : 0;
	object->generation = fib->generation;
	if (value)
		def = def_new(value);
	if (def && object->def && def_equal(object->def, def)) {
		free(def);
		return 0;
	}
	set_def(fib, object, def);
	return value && !def ? -ENOMEM : 0;
}

void fib_object_retry(struct fib *fib, struct fib_object_state *object)
{
	if (object->pending)
		rebuild(fib, object);
}

void fib_object_confirm(struct fib *fib, struct fib_object_state *object)
{
	bool punted = object->punted;

	object->punted = false;
	if (object->generation != fib->generation)
		set_def(fib, object, NULL);
	else if (punted)
		publish(fib, object);
}

/* --- users ------------------------------------------------------------------------------------ */

void fib_object_attach(struct fib *fib, struct fib_object_state *object,
		       struct fib_next_hop *next_hop)
{
	bool expires = next_hop->key.expires_ns != 0;

	next_hop->object = object;
	next_hop->next_user = object->users;
	object->users = next_hop;
	object->n_expiring += expires;
	if (object->def &&
	    (!next_hop->next_user || (expires && object->group && !object->group->n_buckets)))
		rebuild(fib, object);
}

void fib_object_detach(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_object_state *object = next_hop->object;
	struct fib_next_hop **link = &object->users;

	while (*link != next_hop)
		link = &(*link)->next_user;
	*link = next_hop->next_user;
	object->n_expiring -= next_hop->key.expires_ns != 0;
	next_hop->object = NULL;
	if (!object->users && object->group) {
		fib_group_put(fib, object->group);
		object->group = NULL;
	}
	if (!object->users)
		set_pending(fib, object, false);
	free_if_unused(fib, object);
}

void fib_object_free(void *entry)
{
	struct fib_object_state *object = entry;

	if (object->group && --object->group->refs == 0)
		free(object->group);
	free(object->def);
	free(object);
}
