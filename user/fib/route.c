// SPDX-License-Identifier: GPL-2.0-only
/*
 * The prefixes of each table: what each should say, full synchronisation, and trying again. How an
 * entry gets into the trie is cover.c's, and how the compiled FIB follows compiled.c's.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "exception.h"

static const struct prefix all;

/* --- tables ----------------------------------------------------------------------------------- */

static struct fib_table *table_of(struct fib_hash_node *node)
{
	return node ? container_of(node, struct fib_table, node) : NULL;
}

struct fib_table *fib_table_find(const struct fib *fib, uint32_t id)
{
	struct fib_hash_node *node = fib_hash_first(&fib->tables, fib_hash_of(&id, sizeof(id)));

	while (node && table_of(node)->id != id)
		node = fib_hash_next(node);
	return table_of(node);
}

struct fib_table *fib_table_get(struct fib *fib, uint32_t id)
{
	struct fib_table *table = fib_table_find(fib, id);

	if (table)
		return table;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->id = id;
	fib_hash_insert(&fib->tables, &table->node, fib_hash_of(&id, sizeof(id)));
	return table;
}

void fib_table_reap(struct fib *fib, struct fib_table *table)
{
	if (table->entries.entries)
		return;
	fib_hash_remove(&fib->tables, &table->node);
	free(table);
}

struct each {
	struct fib *fib;
	void (*fn)(struct fib *fib, struct fib_entry *entry);
};

static void each_of_table(struct fib_hash_node *node, void *ctx)
{
	const struct each *each = ctx;
	struct radix_node *at = radix_first_under(&table_of(node)->entries, &all), *after;

	/* With its last entry the table may go. */
	for (; at; at = after) {
		after = radix_next_under(at, &all);
		each->fn(each->fib, fib_entry_of(at));
	}
}

void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry))
{
	struct each each = { fib, fn };

	fib_hash_each(&fib->tables, each_of_table, &each);
}

/* --- entries ---------------------------------------------------------------------------------- */

void fib_entry_reap(struct fib *fib, struct fib_entry *entry)
{
	struct fib_table *table = entry->table;

	if (!fib_entry_is_over(entry))
		return;
	radix_remove(&table->entries, &entry->node);
	fib_table_reap(fib, table);
}

static uint32_t count_absent_under(const struct fib *fib, const struct fib_entry *entry)
{
	const struct prefix *prefix = &entry->node.prefix;
	const struct radix_node *node = &entry->node;
	uint32_t n = 0;

	if (!fib->n_absent)
		return 0;
	while ((node = radix_next_under(node, prefix)))
		n += ((const struct fib_entry *)node)->absent;
	return n;
}

struct fib_entry *fib_entry_new(struct fib *fib, struct fib_table *table, const struct prefix *dst)
{
	struct fib_entry *entry = radix_add(&table->entries, dst, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->table = table;
	entry->missing_below = count_absent_under(fib, entry);
	entry->doubtful = fib->lost;
	return entry;
}

/* There is no memory to remember that dst is missing: its covers are punted until synchronised. */
static void lose(struct fib *fib, const struct fib_table *table, const struct prefix *dst)
{
	struct fib_entry *cover = table ? fib_entry_of(radix_match(&table->entries, dst)) : NULL;

	fib->lost = fib->lost_in_sync = true;
	fib_gaps_tell(fib);
	for (; cover; cover = fib_entry_of(radix_cover(&cover->node))) {
		cover->doubtful = true;
		if (cover->wanted)
			fib_entry_settle(fib, cover);
	}
}

static void set_wanted(struct fib *fib, struct fib_entry *entry, struct fib_next_hop *next_hop)
{
	struct fib_next_hop *old = entry->wanted;

	entry->wanted = next_hop;
	fib_entry_settle(fib, entry);
	if (old)
		fib_next_hop_unwant(fib, old);
}

/* The entry at dst, made if there is none. NULL on lack of memory. */
static struct fib_entry *get_entry(struct fib *fib, uint32_t id, const struct prefix *dst)
{
	struct fib_table *table = fib_table_get(fib, id);
	struct fib_entry *entry = NULL;

	if (table)
		entry = fib_entry_of(radix_find(&table->entries, dst));
	if (table && !entry)
		entry = fib_entry_new(fib, table, dst);
	if (entry)
		return entry;
	lose(fib, table, dst);
	if (table)
		fib_table_reap(fib, table);
	return NULL;
}

static int set_target(struct fib *fib, uint32_t table, const struct prefix *dst,
		      const struct fib_target *target)
{
	struct fib_entry *entry = get_entry(fib, table, dst);
	struct fib_next_hop *next_hop;
	const struct fib_key *key;
	int err = -ENOMEM;

	if (!entry)
		return -ENOMEM;
	entry->generation = fib->generation & FIB_GENERATION_MASK;
	key = fib_key_make(&fib->scratch, target);
	if (key)
		err = fib_next_hop_want(fib, key, &next_hop);
	if (err) {
		next_hop = fib->full;
		next_hop->wanted++;
	}
	set_wanted(fib, entry, next_hop);
	return err;
}

int fib_set(struct fib *fib, uint32_t table, const struct prefix *dst,
	    const struct fib_target *target)
{
	const struct fib_table *in;
	struct fib_entry *entry;

	fib_adopt_finish(fib);
	if (target)
		return set_target(fib, table, dst, target);
	in = fib_table_find(fib, table);
	entry = in ? fib_entry_of(radix_find(&in->entries, dst)) : NULL;
	if (entry) {
		set_wanted(fib, entry, NULL);
		fib_entry_reap(fib, entry);
	}
	return 0;
}

/* --- synchronisation -------------------------------------------------------------------------- */

static void end_doubt(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->doubtful)
		return;
	entry->doubtful = false;
	fib_entry_settle(fib, entry);
}

/* Everything that there is was set since fib_sync_begin(), so nothing is forgotten any more. */
static void end_doubts(struct fib *fib)
{
	if (fib->lost && !fib->lost_in_sync) {
		fib->lost = false;
		fib_entry_each(fib, end_doubt);
	}
	/* An earlier daemon may have left it set. */
	fib->gaps |= !fib->gaps_known;
	fib->gaps_known = true;
	fib_gaps_tell(fib);
}

void fib_sync_begin(struct fib *fib)
{
	fib_adopt_finish(fib);
	fib->generation++;
	fib->syncing = true;
	fib->lost_in_sync = false;
}

static void drop_unset(struct fib *fib, struct fib_entry *entry)
{
	if (fib_entry_is_set(fib, entry))
		return;
	set_wanted(fib, entry, NULL);
	fib_entry_reap(fib, entry);
}

void fib_sync_end(struct fib *fib)
{
	fib_adopt_finish(fib);
	fib_entry_each(fib, drop_unset);
	fib_adopt_drop_strays(fib);
	fib->syncing = false;
	fib_object_forget(fib);
	end_doubts(fib);
	fib_vlan_sweep(fib, true);
	fib_retry(fib);
	fib_neigh_sweep(fib, true);
	fib_port_sweep(fib, true);
}

static void retry(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->failed)
		return;
	fib_entry_settle(fib, entry);
	fib_entry_reap(fib, entry);
}

size_t fib_retry(struct fib *fib)
{
	fib_adopt_finish(fib);
	fib_vlan_sweep(fib, false);
	fib_port_sweep(fib, false);
	fib_neigh_sweep(fib, false);
	fib_set_sweep(fib);
	fib_exception_retry(fib);
	if (!fib->n_failed && !fib->n_hungry)
		return 0;
	fib->retrying = true;
	fib->no_room = fib->no_source_room = fib->graced = false;
	fib_next_hop_feed(fib);
	fib_object_feed(fib);
	fib_entry_each(fib, retry);
	fib->retrying = false;
	fib->no_room = fib->no_source_room = false;
	return fib->n_failed + fib->n_hungry;
}

static void free_nodes(struct radix *radix)
{
	struct radix_node *at = radix_first_under(radix, &all), *after;

	for (; at; at = after) {
		after = radix_next_under(at, &all);
		radix_remove(radix, at);
	}
}

static void free_table(struct fib_hash_node *node, void *ctx)
{
	struct fib_table *table = table_of(node);

	(void)ctx;
	free_nodes(&table->entries);
	free(table);
}

void fib_route_free_all(struct fib *fib)
{
	fib_hash_each(&fib->tables, free_table, NULL);
	fib_hash_free(&fib->tables);
}
