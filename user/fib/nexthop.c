// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next hops: one object, one id for each different meaning. Knows nothing of prefixes but how many
 * want one and how many name it; what a next-hop entry leads to is made by others, and got all or
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_next_hop *next_hop_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_next_hop, node) : NULL;
}

static void set_hungry(struct fib *fib, struct fib_next_hop *next_hop, bool hungry)
{
	fib->n_hungry -= next_hop->hungry;
	next_hop->hungry = hungry;
	fib->n_hungry += hungry;
}

/* --- by meaning and by id --------------------------------------------------------------------- */

struct fib_next_hop *fib_next_hop_alloc(size_t key_bytes)
{
	size_t bytes = offsetof(struct fib_next_hop, key) + key_bytes;
	struct fib_next_hop *next_hop;

	next_hop = calloc(1, bytes > sizeof(*next_hop) ? bytes : sizeof(*next_hop));
	if (next_hop)
		fib_list_init(&next_hop->starving);
	return next_hop;
}

struct fib_next_hop *fib_next_hop_find(const struct fib *fib, const struct fib_key *key)
{
	struct fib_hash_node *node;

	node = fib_hash_first(&fib->next_hops, fib_hash_of(key, key->bytes));
	while (node && (next_hop_of(node)->key.bytes != key->bytes ||
			memcmp(&next_hop_of(node)->key, key, key->bytes)))
		node = fib_hash_next(node);
	return next_hop_of(node);
}

void fib_next_hop_insert(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_key *key = &next_hop->key;

	fib_hash_insert(&fib->next_hops, &next_hop->node, fib_hash_of(key, key->bytes));
	next_hop->hashed = true;
}

void fib_next_hop_take_id(struct fib *fib, struct fib_next_hop *next_hop, uint32_t id)
{
	next_hop->id = id;
	fib->by_id[id] = next_hop;
	fib->n_ids++;
}

/* --- what a next-hop entry leads to
 * --------------------------------------------------------------------- */

void fib_next_hop_drop_parts(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->neigh)
		fib_neigh_put(fib, next_hop->neigh);
	if (next_hop->port)
		fib_port_put(fib, next_hop->port);
	if (next_hop->group)
		fib_group_put(fib, next_hop->group);
	if (next_hop->set)
		fib_set_drop(fib, next_hop->set);
	next_hop->neigh = NULL;
	next_hop->port = NULL;
	next_hop->group = NULL;
	next_hop->set = NULL;
}

static void drop_all(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->object)
		fib_object_detach(fib, next_hop);
	fib_next_hop_drop_parts(fib, next_hop);
}

static bool get_port_and_neigh(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_key_hop *hop = fib_key_hops(&next_hop->key);

	if (!next_hop->key.n) /* a verdict */
		return true;
	next_hop->port = fib_port_get(fib, hop->ifindex);
	if (next_hop->port && hop->has_gateway)
		next_hop->neigh = fib_neigh_get(fib, hop->ifindex, &hop->gateway);
	if (next_hop->port && (next_hop->neigh || !hop->has_gateway))
		return true;
	fib_next_hop_drop_parts(fib, next_hop);
	return false;
}

static bool get_object(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_object_state *object = fib_object_get(fib, next_hop->key.object);

	if (object)
		fib_object_attach(fib, object, next_hop);
	return object != NULL;
}

static bool get_parts(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_key *key = &next_hop->key;

	switch (key->kind) {
	case FIB_HASHED:
		next_hop->group = fib_group_new_hashed(fib, fib_key_hops(key), key->n, true);
		return next_hop->group;
	case FIB_EQUAL_METRIC:
		next_hop->group = fib_group_new_first(fib, fib_key_hops(key), key->n);
		return next_hop->group;
	case FIB_OBJECT:
		return get_object(fib, next_hop);
	case FIB_SOURCES:
		next_hop->set = fib_set_new(fib, key);
		return next_hop->set;
	default:
		return get_port_and_neigh(fib, next_hop);
	}
}

/* The next-hop entry that the parts make; without them the punt that stands for them. */
static union sixlane_nh_entry entry_of(const struct fib_next_hop *next_hop)
{
	const struct fib_key *key = &next_hop->key;

	switch (key->kind) {
	case FIB_HASHED:
	case FIB_EQUAL_METRIC:
		if (!next_hop->group)
			return fib_verdict_entry(SIXLANE_PUNT_MAP_FULL);
		return fib_group_entry(next_hop->group, key->kind == FIB_EQUAL_METRIC
								? SIXLANE_NH_EQUAL_METRIC
								: SIXLANE_NH_GROUP);
	case FIB_OBJECT:
		if (!next_hop->object)
			return fib_verdict_entry(SIXLANE_PUNT_NEXT_HOP_OBJECT);
		return fib_object_entry(next_hop->object, key->expires_ns);
	case FIB_SOURCES:
		if (!next_hop->set)
			return fib_verdict_entry(SIXLANE_PUNT_SOURCE_ROUTE);
		return (union sixlane_nh_entry){ .type = SIXLANE_NH_SOURCES,
						 .source_table = next_hop->set->id };
	default:
		return (union sixlane_nh_entry){
			.type = (uint16_t)key->verdict,
			.port = next_hop->port ? (uint16_t)next_hop->port->slot : 0,
			.neighbour = next_hop->neigh ? next_hop->neigh->slot : 0,
		};
	}
}

static void publish(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_key *key = &next_hop->key;

	next_hop->content = (struct sixlane_next_hop){
		.nh_entry = entry_of(next_hop),
		.mtu = key->mtu,
		.flags = (key->kind == FIB_OBJECT ? SIXLANE_NEXT_HOP_OBJECT : 0) |
			 (key->mtu_locked ? SIXLANE_NEXT_HOP_LOCKED : 0) |
			 (key->own_source ? SIXLANE_NEXT_HOP_NO_ANSWER : 0),
		.expires_ns = key->expires_ns,
		.reserved = key->object, /* for the daemon that comes after this one */
	};
	fib->writer.next_hop_set(fib->writer.ctx, next_hop->id, &next_hop->content);
}

/*
 * Get what the next hop lacks. A plain one takes no id without the rest; the others do, so that
 * their routes can be written once and for all.
 */
static void feed(struct fib *fib, struct fib_next_hop *next_hop)
{
	bool fed = get_parts(fib, next_hop);
	uint32_t id = next_hop->id;

	fib_list_unlink(&next_hop->starving);
	if (!id && (fed || next_hop->key.kind != FIB_ONE))
		id = fib_pool_take(fib, &fib->next_hop_pool);
	if (!id) {
		drop_all(fib, next_hop);
	} else if (!next_hop->id) {
		fib_next_hop_take_id(fib, next_hop, id);
		publish(fib, next_hop);
	} else if (fed) {
		fib_next_hop_set_entry(fib, next_hop, entry_of(next_hop));
	}
	set_hungry(fib, next_hop, id && !fed);
	if (!id || !fed)
		fib_list_append(&fib->starving, &next_hop->starving);
}

void fib_next_hop_feed(struct fib *fib)
{
	struct fib_list *list = &fib->starving, *at;
	size_t n = 0;

	for (at = list->next; at != list; at = at->next)
		n++;
	/* What still lacks something afterwards, and what is made meanwhile, goes to the end. */
	for (; n && list->next != list; n--)
		feed(fib, container_of(list->next, struct fib_next_hop, starving));
}

/* --- wanted and named ------------------------------------------------------------------------- */

int fib_next_hop_want(struct fib *fib, const struct fib_key *key, struct fib_next_hop **out)
{
	struct fib_next_hop *next_hop = fib_next_hop_find(fib, key);

	if (next_hop) {
		next_hop->wanted++;
		*out = next_hop;
		return 0;
	}
	next_hop = fib_next_hop_alloc(key->bytes);
	if (!next_hop)
		return -ENOMEM;
	memcpy(&next_hop->key, key, key->bytes);
	next_hop->valid = true;
	next_hop->wanted = 1;
	fib_next_hop_insert(fib, next_hop);
	feed(fib, next_hop);
	*out = next_hop;
	return 0;
}

bool fib_next_hop_want_fed(struct fib *fib, const struct fib_key *key, struct fib_next_hop **out)
{
	struct fib_next_hop *next_hop;

	if (fib_next_hop_want(fib, key, &next_hop))
		return false;
	if (!next_hop->id)
		feed(fib, next_hop);
	if (!next_hop->id) {
		fib_next_hop_unwant(fib, next_hop);
		return false;
	}
	*out = next_hop;
	return true;
}

void fib_next_hop_release(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->wanted || next_hop->named)
		return;
	if (next_hop->hashed)
		fib_hash_remove(&fib->next_hops, &next_hop->node);
	fib_list_unlink(&next_hop->starving);
	set_hungry(fib, next_hop, false);
	if (next_hop->id) {
		fib->by_id[next_hop->id] = NULL;
		fib->n_ids--;
		fib_pool_give(&fib->next_hop_pool, next_hop->id);
	}
	drop_all(fib, next_hop);
	free(next_hop);
}

void fib_next_hop_unwant(struct fib *fib, struct fib_next_hop *next_hop)
{
	next_hop->wanted--;
	fib_next_hop_release(fib, next_hop);
}

void fib_next_hop_rename(struct fib *fib, uint32_t old, uint32_t new)
{
	if (new)
		fib->by_id[new]->named++;
	if (!old)
		return;
	fib->by_id[old]->named--;
	fib_next_hop_release(fib, fib->by_id[old]);
}

/* --- what packets see ------------------------------------------------------------------------- */

void fib_next_hop_set_entry(struct fib *fib, struct fib_next_hop *next_hop,
			    union sixlane_nh_entry nh_entry)
{
	if (next_hop->content.nh_entry.word == nh_entry.word)
		return;
	next_hop->content.nh_entry = nh_entry;
	if (!next_hop->stuck)
		fib->writer.next_hop_set_entry(fib->writer.ctx, next_hop->id, nh_entry);
}

void fib_next_hop_poison(struct fib *fib, uint32_t id)
{
	if (fib->by_id[id]->stuck++ == 0)
		fib->writer.next_hop_set_entry(fib->writer.ctx, id,
					       fib_verdict_entry(SIXLANE_PUNT_MAP_FULL));
}

void fib_next_hop_cure(struct fib *fib, uint32_t id)
{
	struct fib_next_hop *next_hop = fib->by_id[id];

	if (--next_hop->stuck == 0 && next_hop->valid)
		fib->writer.next_hop_set_entry(fib->writer.ctx, id, next_hop->content.nh_entry);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void free_one(struct fib_next_hop *next_hop)
{
	if (next_hop->group && --next_hop->group->refs == 0)
		free(next_hop->group);
	free(next_hop);
}

/* Starved ones have no id, those that are not understood are not hashed. */
static void free_starved(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	if (!next_hop_of(node)->id)
		free_one(next_hop_of(node));
}

void fib_next_hop_free_all(struct fib *fib)
{
	fib_hash_each(&fib->next_hops, free_starved, NULL);
	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS && fib->n_ids; id++) {
		if (!fib->by_id[id])
			continue;
		free_one(fib->by_id[id]);
		fib->n_ids--;
	}
	fib_hash_free(&fib->next_hops);
}
