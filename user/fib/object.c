// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects: what each means now, and the next hops that follow it, one for each MTU and
 * expiry that routes by it have. A change is made ready beside the old meaning, brought in by one
 * store for each of these, and only then is the old one given back. An object that no
 * route uses has no room in the maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_object_state *object_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_object_state, node) : NULL;
}

struct fib_object_state *fib_object_find(const struct fib *fib, uint32_t id)
{
	struct fib_hash_node *node = fib_hash_first(&fib->objects, fib_hash_of(&id, sizeof(id)));

	while (node && object_of(node)->id != id)
		node = fib_hash_next(node);
	return object_of(node);
}

struct fib_object_state *fib_object_get(struct fib *fib, uint32_t id)
{
	struct fib_object_state *object = fib_object_find(fib, id);

	if (object)
		return object;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->id = id;
	fib_hash_insert(&fib->objects, &object->node, fib_hash_of(&id, sizeof(id)));
	return object;
}

static void release(struct fib *fib, struct fib_object_state *object)
{
	if (object->users || object->def)
		return;
	fib_hash_remove(&fib->objects, &object->node);
	free(object);
}

/* --- what was said ---------------------------------------------------------------------------- */

static uint32_t verdict_of(const struct fib_object *said)
{
	bool fits = said->n_hops < UINT16_MAX && said->n_buckets <= UINT16_MAX;

	if (said->verdict != SIXLANE_FORWARD)
		return said->verdict;
	/* Rules tell what discards from what leads somewhere by its verdict alone. */
	if (said->n_hops == 1 && !said->hops[0].ifindex)
		return SIXLANE_DROP_BLACKHOLE;
	return fits && (said->n_hops || said->n_buckets) ? SIXLANE_FORWARD
							 : SIXLANE_PUNT_NEXT_HOP_OBJECT;
}

static struct fib_object_def *def_alloc(uint32_t verdict, size_t n_hops, size_t n_buckets)
{
	struct fib_object_def *def = calloc(1, sizeof(*def) + n_hops * sizeof(def->hops[0]) +
						       n_buckets * sizeof(def->buckets[0]));

	if (!def)
		return NULL;
	def->verdict = verdict;
	def->n_hops = (uint32_t)n_hops;
	def->n_buckets = (uint32_t)n_buckets;
	def->buckets = (uint16_t *)(def->hops + n_hops);
	return def;
}

/* NULL on lack of memory. */
static struct fib_object_def *def_new(const struct fib_object *said)
{
	uint32_t verdict = verdict_of(said);
	struct fib_object_def *def;

	if (verdict != SIXLANE_FORWARD)
		return def_alloc(verdict, 0, 0);
	def = def_alloc(verdict, said->n_hops, said->n_buckets);
	if (!def)
		return NULL;
	for (uint32_t i = 0; i < def->n_hops; i++) {
		def->hops[i] = fib_key_hop(&said->hops[i]);
		/* Weights make no difference to buckets, nor to one alone. */
		if (def->n_buckets || def->n_hops == 1)
			def->hops[i].weight = 0;
		else if (!def->hops[i].weight)
			def->hops[i].weight = 1;
	}
	if (def->n_buckets)
		memcpy(def->buckets, said->buckets, def->n_buckets * sizeof(def->buckets[0]));
	return def;
}

static bool same_hops(const struct fib_object_def *a, const struct fib_object_def *b)
{
	return a->n_hops == b->n_hops && !memcmp(a->hops, b->hops, a->n_hops * sizeof(a->hops[0]));
}

static bool def_equal(const struct fib_object_def *a, const struct fib_object_def *b)
{
	return a && b && a->verdict == b->verdict && a->n_buckets == b->n_buckets &&
	       same_hops(a, b) &&
	       !memcmp(a->buckets, b->buckets, a->n_buckets * sizeof(a->buckets[0]));
}

/* --- what it comes to ------------------------------------------------------------------------- */

union sixlane_nh_entry fib_object_entry(const struct fib_object_state *object, bool expires)
{
	if (!object->def)
		return fib_verdict_entry(SIXLANE_PUNT_NEXT_HOP_OBJECT);
	/* Only groups know when their time is over, and what passes may go on doing so. */
	if (object->def->verdict == SIXLANE_DROP_BLACKHOLE && expires)
		return fib_verdict_entry(SIXLANE_PUNT_EXPIRES);
	if (object->def->verdict != SIXLANE_FORWARD)
		return fib_verdict_entry(object->def->verdict);
	if (!object->group)
		return fib_verdict_entry(SIXLANE_PUNT_MAP_FULL);
	return fib_group_entry(object->group, SIXLANE_NH_GROUP);
}

static struct fib_group *group_new(struct fib *fib, const struct fib_object_state *object)
{
	const struct fib_object_def *def = object->def;

	if (!object->users || !def || def->verdict != SIXLANE_FORWARD)
		return NULL;
	if (def->n_buckets)
		return fib_group_new_buckets(fib, def);
	return fib_group_new_hashed(fib, def->hops, def->n_hops, object->n_expiring != 0);
}

static void set_hungry(struct fib *fib, struct fib_object_state *object, bool hungry)
{
	fib->n_hungry -= object->hungry;
	object->hungry = hungry;
	fib->n_hungry += hungry;
}

/* They are one, or lead to buckets that are equal. */
static bool same_meaning(const struct fib *fib, union sixlane_nh_entry a, union sixlane_nh_entry b)
{
	const union sixlane_nh_bucket *buckets = fib->buckets.written;

	if (a.word == b.word)
		return true;
	return a.type == SIXLANE_NH_GROUP && b.type == SIXLANE_NH_GROUP &&
	       a.n_buckets == b.n_buckets &&
	       !memcmp(&buckets[a.first_bucket], &buckets[b.first_bucket],
		       a.n_buckets * sizeof(*buckets));
}

static bool turns(const struct fib *fib, const struct fib_object_state *object)
{
	for (const struct fib_next_hop *user = object->users; user; user = user->next_user) {
		if (user->id && !same_meaning(fib, user->content.nh_entry,
					      fib_object_entry(object, user->key.expires_ns)))
			return true;
	}
	return false;
}

/*
 * All that follow the object have its next-hop entry. What an adopted one had of its own is given
 * back. In a synchronisation an id may be told to mean something else, while routes still name it
 * that have long had another: theirs would be the next-hop entry of neither before nor afterwards.
 */
static void publish(struct fib *fib, struct fib_object_state *object)
{
	union sixlane_nh_entry nh_entry;

	object->held |= fib->syncing && turns(fib, object);
	for (struct fib_next_hop *user = object->users; user; user = user->next_user) {
		if (!user->id) /* on its way: it asks for its next-hop entry by itself */
			continue;
		nh_entry = object->held ? fib_verdict_entry(SIXLANE_PUNT_NEXT_HOP_OBJECT)
					: fib_object_entry(object, user->key.expires_ns);
		fib_next_hop_set_entry(fib, user, nh_entry);
		fib_next_hop_drop_parts(fib, user);
	}
}

static void rebuild(struct fib *fib, struct fib_object_state *object)
{
	struct fib_group *old = object->group;

	object->group = group_new(fib, object);
	set_hungry(fib, object,
		   object->users && object->def && object->def->verdict == SIXLANE_FORWARD &&
			   !object->group);
	publish(fib, object);
	if (old)
		fib_group_put(fib, old);
}

/* def is the object's from now on. */
static void set_def(struct fib *fib, struct fib_object_state *object, struct fib_object_def *def)
{
	struct fib_object_def *old = object->def;
	bool done;

	done = def && old && object->group && def->n_buckets && !fib->syncing &&
	       def->n_buckets == old->n_buckets && fib_group_set_buckets(fib, &object->group, def);

	object->def = def;
	if (!done)
		rebuild(fib, object);
	free(old);
	release(fib, object);
}

int fib_set_object(struct fib *fib, uint32_t id, const struct fib_object *said)
{
	struct fib_object_state *object;
	struct fib_object_def *def = NULL;

	fib_adopt_finish(fib);
	object = said ? fib_object_get(fib, id) : fib_object_find(fib, id);
	if (!object)
		return said ? -ENOMEM : 0;
	object->generation = fib->generation;
	if (said)
		def = def_new(said);
	if (def && def_equal(object->def, def)) {
		free(def);
		return 0;
	}
	set_def(fib, object, def);
	return said && !def ? -ENOMEM : 0;
}

/* --- who follows ------------------------------------------------------------------------------ */

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
		set_hungry(fib, object, false);
	release(fib, object);
}

static void feed_one(struct fib_hash_node *node, void *ctx)
{
	if (object_of(node)->hungry)
		rebuild(ctx, object_of(node));
}

void fib_object_feed(struct fib *fib)
{
	fib_hash_each(&fib->objects, feed_one, fib);
}

static void forget_one(struct fib_hash_node *node, void *ctx)
{
	struct fib_object_state *object = object_of(node);
	struct fib *fib = ctx;
	bool held = object->held;

	object->held = false;
	if (object->generation != fib->generation)
		set_def(fib, object, NULL);
	else if (held)
		publish(fib, object);
}

void fib_object_forget(struct fib *fib)
{
	fib_hash_each(&fib->objects, forget_one, fib);
}

static void free_one(struct fib_hash_node *node, void *ctx)
{
	struct fib_object_state *object = object_of(node);

	(void)ctx;
	if (object->group && --object->group->refs == 0)
		free(object->group);
	free(object->def);
	free(object);
}

void fib_object_free_all(struct fib *fib)
{
	fib_hash_each(&fib->objects, free_one, NULL);
	fib_hash_free(&fib->objects);
}
