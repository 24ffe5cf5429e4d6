// SPDX-License-Identifier: GPL-2.0-only
/* See source.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "source.h"

static int write_entry(struct fib *fib, struct fib_source_entry *entry)
{
	const uint32_t id = entry->next_hop->id, value = sixlane_route_value(id, entry->dst_len);
	int err;

	if (fib->no_source_room)
		return -ENOSPC;
	err = fib_write_set(fib, FIB_MAP_SOURCES, &entry->key, &value);
	if (err)
		return err;
	entry->id = id;
	fib->n_sources++;
	fib_next_hop_rename(fib, 0, id);
	return 0;
}

int fib_source_table_write(struct fib *fib, struct fib_source_table *table)
{
	int err = 0;

	for (size_t i = 0; i < table->n && !err; i++)
		err = write_entry(fib, &table->entries[i]);
	return err;
}

static bool delete_entry(struct fib *fib, struct fib_source_entry *entry)
{
	const uint32_t id = entry->id;

	if (!id)
		return true;
	if (fib_write_del(fib, FIB_MAP_SOURCES, &entry->key))
		return false;
	entry->id = 0;
	fib->n_sources--;
	fib->no_source_room = false;
	fib_next_hop_rename(fib, id, 0);
	return true;
}

/*
 * Shorter prefixes go first: a packet under way that finds its longest prefix gone finds nothing.
 * False: some entry is left.
 */
static bool delete_entries(struct fib *fib, struct fib_source_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		if (!delete_entry(fib, &table->entries[i]))
			return false;
	}
	fib_hash_remove(&fib->source_tables, table);
	/* The id of an adopted table may be out of range. */
	if (table->id && table->id < fib->source_ids.limit)
		fib_ids_give(&fib->source_ids, table->id, 1);
	free(table);
	return true;
}

void fib_source_table_drop(struct fib *fib, struct fib_source_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		if (table->entries[i].next_hop)
			fib_next_hop_unref(fib, table->entries[i].next_hop);
		table->entries[i].next_hop = NULL;
	}
	table->dying = true;
	delete_entries(fib, table);
}

struct fib_source_table *fib_source_table_new(struct fib *fib, const struct fib_key *key)
{
	const struct fib_key_source *source = fib_key_first_source(key);
	struct fib_source_table *table;

	table = calloc(1, sizeof(*table) + key->n * sizeof(table->entries[0]));
	if (!table)
		return NULL;
	table->id = fib_ids_take_one(fib, &fib->source_ids);
	if (!table->id) {
		free(table);
		return NULL;
	}
	table->n = key->n;
	for (size_t i = 0; i < table->n; i++, source = fib_key_next_source(source)) {
		table->entries[i].key = (struct sixlane_route_key){
			.prefix_len = SIXLANE_TABLE_BITS + source->len,
			.table = htonl(table->id),
			.addr = source->addr,
		};
		table->entries[i].dst_len = source->dst_len;
	}
	fib_hash_insert(&fib->source_tables, table);
	return table;
}

void fib_source_table_sweep(struct fib *fib)
{
	FIB_HASH_EACH(struct fib_source_table, table, &fib->source_tables) {
		if (table->dying)
			delete_entries(fib, table);
	}
}
