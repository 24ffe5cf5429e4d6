// SPDX-License-Identifier: GPL-2.0-only
/*
 * What next hops consist of: getting the parts of each kind, all or none, and giving them back when
 * the last reference is gone. The layer above leaves, groups, objects and source-specific tables.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "object.h"
#include "source.h"

static struct fib_next_hop *get_with_id(struct fib *fib, const struct fib_key *key);

/* --- getting ---------------------------------------------------------------------------------- */

static int fill_sources(struct fib *fib, struct fib_source_table *table, const struct fib_key *key)
{
	const struct fib_key_source *source = fib_key_first_source(key);

	for (size_t i = 0; i < table->n; i++, source = fib_key_next_source(source)) {
		table->entries[i].next_hop = get_with_id(fib, fib_key_of_source(source));
		if (!table->entries[i].next_hop)
			return -ENOMEM;
	}
	return fib_source_table_write(fib, table);
}

static struct fib_source_table *get_sources(struct fib *fib, const struct fib_key *key)
{
	struct fib_source_table *table = fib_source_table_new(fib, key);
	int err = table ? fill_sources(fib, table, key) : -ENOMEM;

	if (!err)
		return table;
	if (table)
		fib_source_table_drop(fib, table);
	/* Its entries were deleted above, which frees too little: others will not fit either. */
	fib->no_source_room |= fib->retrying && err == -ENOSPC;
	return NULL;
}

static bool get_object(struct fib *fib, struct fib_next_hop *next_hop)
{
	struct fib_object_state *object = fib_object_get(fib, next_hop->key.object);

	if (object)
		fib_object_attach(fib, object, next_hop);
	return object != NULL;
}

/* next_hop is no leaf. */
static bool get_parts(struct fib *fib, struct fib_next_hop *next_hop)
{
	const struct fib_key *key = &next_hop->key;

	switch (key->kind) {
	case FIB_HASHED:
		next_hop->group = fib_group_new_hashed(fib, fib_key_hops(key), key->n, true);
		return next_hop->group;
	case FIB_EQUAL_METRIC:
		next_hop->group = fib_group_new_ordered(fib, fib_key_hops(key), key->n);
		return next_hop->group;
	case FIB_OBJECT:
		return get_object(fib, next_hop);
	default:
		next_hop->sources = get_sources(fib, key);
		return next_hop->sources;
	}
}

/* The entry that the parts make; without them the punt that stands for them. */
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
	default:
		if (!next_hop->sources)
			return fib_verdict_entry(SIXLANE_PUNT_SOURCE_ROUTE);
		return (union sixlane_nh_entry){ .type = SIXLANE_NH_SOURCES,
						 .source_table = next_hop->sources->id };
	}
}

static void put_parts(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->object)
		fib_object_detach(fib, next_hop);
	fib_leaf_put_parts(fib, next_hop);
	if (next_hop->group)
		fib_group_put(fib, next_hop->group);
	if (next_hop->sources)
		fib_source_table_drop(fib, next_hop->sources);
	next_hop->group = NULL;
	next_hop->sources = NULL;
}

/* Get what the next hop lacks. */
static void fill(struct fib *fib, struct fib_next_hop *next_hop)
{
	bool complete;

	if (next_hop->key.kind == FIB_ONE) {
		fib_leaf_fill(fib, next_hop);
	} else {
		complete = get_parts(fib, next_hop);
		if (!fib_next_hop_publish(fib, next_hop, complete, entry_of(next_hop)))
			put_parts(fib, next_hop);
	}
	fib_next_hop_free_unused(fib);
}

struct fib_next_hop *fib_next_hop_make(struct fib *fib, const struct fib_key *key)
{
	struct fib_next_hop *next_hop = fib_next_hop_new(fib, key);

	if (next_hop)
		fill(fib, next_hop);
	return next_hop;
}

static struct fib_next_hop *get_with_id(struct fib *fib, const struct fib_key *key)
{
	struct fib_next_hop *next_hop = fib_next_hop_find(fib, key) ?: fib_next_hop_make(fib, key);

	if (next_hop && !next_hop->id)
		fill(fib, next_hop);
	if (!next_hop || next_hop->id)
		return next_hop;
	fib_next_hop_unref(fib, next_hop);
	return NULL;
}

void fib_next_hop_retry(struct fib *fib)
{
	struct fib_list *list = &fib->retry, *at;
	size_t n = 0;

	for (at = list->next; at != list; at = at->next)
		n++;
	/* What still lacks something goes to the end, and so do next hops that are new. */
	for (; n && !fib_list_is_empty(list); n--)
		fill(fib, container_of(list->next, struct fib_next_hop, retry));
}

/* --- freeing ---------------------------------------------------------------------------------- */

static void release(struct fib *fib, struct fib_next_hop *next_hop)
{
	if (next_hop->hashed)
		fib_hash_remove(&fib->next_hops, next_hop);
	fib_list_unlink(&next_hop->retry);
	fib_next_hop_set_pending(fib, next_hop, false);
	if (next_hop->id) {
		fib->by_id[next_hop->id] = NULL;
		fib->n_ids--;
		fib_ids_give(&fib->next_hop_ids, next_hop->id, 1);
	}
	put_parts(fib, next_hop);
	free(next_hop);
}

void fib_next_hop_free_unused(struct fib *fib)
{
	struct fib_next_hop *next_hop;

	while (!fib_list_is_empty(&fib->unused)) {
		next_hop = container_of(fib->unused.next, struct fib_next_hop, unused);
		fib_list_unlink(&next_hop->unused);
		if (!next_hop->refs && !next_hop->named)
			release(fib, next_hop);
	}
}

void fib_next_hop_put(struct fib *fib, struct fib_next_hop *next_hop)
{
	fib_next_hop_unref(fib, next_hop);
	fib_next_hop_free_unused(fib);
}

static void free_one(struct fib_next_hop *next_hop)
{
	if (next_hop->group && --next_hop->group->refs == 0)
		free(next_hop->group);
	free(next_hop);
}

/* Those without an id are hashed, and those that are not hashed have an id. */
static void free_without_id(void *entry)
{
	struct fib_next_hop *next_hop = entry;

	if (!next_hop->id)
		free_one(next_hop);
}

void fib_next_hop_free_all(struct fib *fib)
{
	fib_hash_free(&fib->next_hops, free_without_id);
	for (uint32_t id = 1; id < SIXLANE_MAX_NEXT_HOPS && fib->n_ids; id++) {
		if (!fib->by_id[id])
			continue;
		free_one(fib->by_id[id]);
		fib->n_ids--;
	}
}
