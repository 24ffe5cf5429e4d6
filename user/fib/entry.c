// SPDX-License-Identifier: GPL-2.0-only
/* See entry.h. */
#include <stdlib.h>

#include "entry.h"

static const struct prefix all;

struct fib_table *fib_table_get(struct fib *fib, uint32_t id)
{
	struct fib_table *table = fib_hash_find(&fib->tables, &id);

	if (table)
		return table;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->id = id;
	fib_hash_insert(&fib->tables, table);
	return table;
}

void fib_table_free_if_empty(struct fib *fib, struct fib_table *table)
{
	if (table->entries.entries)
		return;
	fib_hash_remove(&fib->tables, table);
	free(table);
}

static uint32_t count_absent_below(const struct fib *fib, const struct fib_entry *entry)
{
	const struct radix_node *node = &entry->node;
	uint32_t n = 0;

	if (!fib->n_absent)
		return 0;
	while ((node = radix_next_under(node, &entry->node.prefix)))
		n += fib_entry_of(node)->absent;
	return n;
}

struct fib_entry *fib_entry_new(struct fib *fib, struct fib_table *table, const struct prefix *dst)
{
	struct fib_entry *entry = radix_add(&table->entries, dst, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->table = table;
	entry->absent_below = count_absent_below(fib, entry);
	entry->stale = fib->incomplete;
	return entry;
}

struct fib_entry *fib_entry_find(const struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_table *in = fib_hash_find(&fib->tables, &table);

	return in ? fib_entry_of(radix_find(&in->entries, dst)) : NULL;
}

struct fib_entry *fib_entry_match(const struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_table *in = fib_hash_find(&fib->tables, &table);

	return in ? fib_entry_of(radix_match(&in->entries, dst)) : NULL;
}

struct fib_entry *fib_entry_cover(const struct fib_entry *entry)
{
	return fib_entry_of(radix_cover(&entry->node));
}

void fib_entry_free_if_unused(struct fib *fib, struct fib_entry *entry)
{
	struct fib_table *table = entry->table;

	if (entry->next_hop || entry->written)
		return;
	radix_remove(&table->entries, &entry->node);
	fib_table_free_if_empty(fib, table);
}

void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry))
{
	struct fib_table *table, *table_after;
	struct radix_node *at, *after;

	FIB_HASH_EACH(table, table_after, &fib->tables)
	{
		/* The table may be freed with its last entry. */
		for (at = radix_first_under(&table->entries, &all); at; at = after) {
			after = radix_next_under(at, &all);
			fn(fib, fib_entry_of(at));
		}
	}
}

void fib_table_free(void *entry)
{
	struct fib_table *table = entry;
	struct radix_node *at = radix_first_under(&table->entries, &all), *after;

	for (; at; at = after) {
		after = radix_next_under(at, &all);
		radix_remove(&table->entries, at);
	}
	free(table);
}
