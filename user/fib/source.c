// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source sets: the entries of sl_src_routes under one id, for destinations whose routes are chosen
 * among by source. A set is written whole before anything names it and is never changed; another
 * choice is another set.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "fib_internal.h"

static struct fib_set *set_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_set, node) : NULL;
}

struct fib_set *fib_set_find(const struct fib *fib, uint32_t id)
{
	struct fib_hash_node *node = fib_hash_first(&fib->sets, fib_hash_of(&id, sizeof(id)));

	while (node && set_of(node)->id != id)
		node = fib_hash_next(node);
	return set_of(node);
}

static int write_entry(struct fib *fib, struct fib_set_entry *entry)
{
	uint32_t id = entry->next_hop->id;
	int err = -ENOMEM;

	if (fib->no_source_room)
		return -ENOSPC;
	for (int i = 0; i < FIB_ENOMEM_TRIES && err == -ENOMEM; i++) {
		err = fib->writer.source_set(fib->writer.ctx, &entry->key,
					     sixlane_route_value(id, entry->dst_len));
		fib->write_errors += err != 0;
	}
	if (err)
		return err;
	entry->id = id;
	fib->n_sources++;
	fib_next_hop_rename(fib, 0, id);
	return 0;
}

/* True: it is not in the map any more. */
static bool delete_entry(struct fib *fib, struct fib_set_entry *entry)
{
	uint32_t id = entry->id;
	int err;

	if (!id)
		return true;
	err = fib->writer.source_del(fib->writer.ctx, &entry->key);
	if (err && err != -ENOENT) {
		fib->write_errors++;
		return false;
	}
	entry->id = 0;
	fib->n_sources--;
	fib->no_source_room = false;
	fib_next_hop_rename(fib, id, 0);
	return true;
}

/*
 * Take the set out of the map, as far as that can be done: shorter prefixes first, so that a packet
 * that is under way and finds its longest prefix gone finds nothing. False: some is left.
 */
static bool bury(struct fib *fib, struct fib_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (!delete_entry(fib, &set->entries[i]))
			return false;
	}
	fib_hash_remove(&fib->sets, &set->node);
	if (set->id && set->id < fib->set_pool.limit) /* else an adopted one, not of this daemon */
		fib_pool_give(&fib->set_pool, set->id);
	free(set);
	return true;
}

void fib_set_drop(struct fib *fib, struct fib_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->entries[i].next_hop)
			fib_next_hop_unwant(fib, set->entries[i].next_hop);
		set->entries[i].next_hop = NULL;
	}
	set->dying = true;
	fib->n_dying_sets++;
	if (bury(fib, set))
		fib->n_dying_sets--;
}

/* All entries of the set, with the next hops that they need. False: one is starved, or no memory.
 */
static bool want_next_hops(struct fib *fib, struct fib_set *set, const struct fib_key *key)
{
	const struct fib_key_source *source = fib_key_first_source(key);
	struct fib_set_entry *entry;

	for (uint32_t i = 0; i < key->n; i++, source = fib_key_next_source(source)) {
		entry = &set->entries[i];
		entry->key = (struct sixlane_route_key){
			.prefix_len = SIXLANE_TABLE_BITS + source->len,
			.table = htonl(set->id),
			.addr = source->addr,
		};
		entry->dst_len = source->dst_len;
		if (!fib_next_hop_want_fed(fib, fib_key_of_source(source), &entry->next_hop))
			return false;
	}
	return true;
}

static int write_entries(struct fib *fib, struct fib_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++)
		err = write_entry(fib, &set->entries[i]);
	return err;
}

struct fib_set *fib_set_new(struct fib *fib, const struct fib_key *key)
{
	struct fib_set *set = calloc(1, sizeof(*set) + key->n * sizeof(set->entries[0]));
	int err;

	if (!set)
		return NULL;
	set->id = fib_pool_take(fib, &fib->set_pool);
	if (!set->id) {
		free(set);
		return NULL;
	}
	set->n = key->n;
	fib_hash_insert(&fib->sets, &set->node, fib_hash_of(&set->id, sizeof(set->id)));
	err = want_next_hops(fib, set, key) ? write_entries(fib, set) : -ENOMEM;
	if (!err)
		return set;
	fib_set_drop(fib, set);
	/* Its own entries were not enough room for it, so they are not for the others either. */
	fib->no_source_room |= fib->retrying && err == -ENOSPC;
	return NULL;
}

static void sweep_one(struct fib_hash_node *node, void *ctx)
{
	struct fib *fib = ctx;

	if (set_of(node)->dying && bury(fib, set_of(node)))
		fib->n_dying_sets--;
}

void fib_set_sweep(struct fib *fib)
{
	if (fib->n_dying_sets)
		fib_hash_each(&fib->sets, sweep_one, fib);
}

static void free_one(struct fib_hash_node *node, void *ctx)
{
	(void)ctx;
	free(set_of(node));
}

void fib_set_free_all(struct fib *fib)
{
	fib_hash_each(&fib->sets, free_one, NULL);
	fib_hash_free(&fib->sets);
}
