// SPDX-License-Identifier: GPL-2.0-only
/*
 * See entry.h for the terms and invariants.
 *
 * The flag of an entry is SIXLANE_ROUTE_EXCEPTIONS: some destination under the prefix may have an
 * exception (exception.h). An insertion copies the flag from the nearest cover in the trie. Before
 * a deletion that cover gets the flag, because it matches the packets afterwards.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "entry.h"
#include "fib.h"
#include "nexthop.h"

static const struct prefix any; /* ::/0 */

struct fib_table *fib_table_get(struct fib *fib, uint32_t id)
{
	return fib_hash_find(&fib->tables, &id)
		       ?: fib_hash_add(&fib->tables, &id, sizeof(struct fib_table));
}

static void table_free_if_empty(struct fib *fib, struct fib_table *table)
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

static struct fib_entry *entry_find(const struct fib *fib, uint32_t table, const struct prefix *dst)
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
	table_free_if_empty(fib, table);
}

void fib_entry_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_entry *entry))
{
	struct radix_node *at, *after;

	FIB_HASH_EACH(struct fib_table, table, &fib->tables) {
		/* fn may free the last entry, and the table with it. */
		for (at = radix_first_under(&table->entries, &any); at; at = after) {
			after = radix_next_under(at, &any);
			fn(fib, fib_entry_of(at));
		}
	}
}

void fib_table_free(void *entry)
{
	struct fib_table *table = entry;
	struct radix_node *at = radix_first_under(&table->entries, &any), *after;

	for (; at; at = after) {
		after = radix_next_under(at, &any);
		radix_remove(&table->entries, at);
	}
	free(table);
}

/* --- values ----------------------------------------------------------------------------------- */

uint32_t fib_entry_value(const struct radix_node *node)
{
	const struct fib_entry *entry = fib_entry_of(node);
	uint32_t id = entry->unrecognised ? FIB_ID_FULL : entry->written;

	if (!entry->written)
		return 0;
	return sixlane_route_value(id, node->prefix.len) |
	       (entry->flag_written ? SIXLANE_ROUTE_EXCEPTIONS : 0);
}

static struct sixlane_route_key key_of(const struct fib_entry *entry)
{
	return (struct sixlane_route_key){
		.prefix_len = SIXLANE_TABLE_BITS + entry->node.prefix.len,
		.table = htonl(entry->table->id),
		.addr = entry->node.prefix.addr,
	};
}

/* The id that the value should name; 0: the trie should not have the prefix. */
static uint32_t wanted_id(const struct fib_entry *entry)
{
	if (!entry->next_hop)
		return 0;
	if (entry->absent_below || entry->stale || !entry->next_hop->id)
		return FIB_ID_FULL;
	return entry->next_hop->id;
}

/* --- flags ------------------------------------------------------------------------------------ */

/* The nearest cover that the trie has. */
static struct fib_entry *written_cover(const struct fib_entry *entry)
{
	struct fib_entry *cover = fib_entry_cover(entry);

	while (cover && !cover->written)
		cover = fib_entry_cover(cover);
	return cover;
}

void fib_entry_set_flag(struct fib *fib, struct fib_entry *entry)
{
	if (entry && !entry->written)
		entry = written_cover(entry);
	fib->any_flag = true;
	if (!entry) {
		fib->flag_uncovered = true;
		return;
	}
	if (entry->flag)
		return;
	entry->flag = true;
	/* Without a next hop it is in the trie only because its deletion failed: it punts. */
	if (entry->next_hop)
		fib_entry_reconcile(fib, entry);
}

/* --- writes ----------------------------------------------------------------------------------- */

/*
 * The trie has accepted a value with this id, or for 0 the deletion. The compiled FIB still names
 * the old next hop, so it changes before that is restored or freed.
 */
static void after_write(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	uint32_t old = entry->written;
	bool flag = id && entry->flag;
	bool unchanged = id == old && flag == entry->flag_written && !entry->unrecognised;
	bool was_stuck = entry->stuck;

	entry->stuck = false;
	entry->unrecognised = false;
	entry->written = id;
	entry->flag_written = flag;
	fib->n_written += (id != 0) - (old != 0);
	/* A failure shows in fib_is_compiled(). */
	if (!unchanged)
		compiled_change(fib->compiled, entry->table->id, &entry->table->entries,
				&entry->node.prefix, id && old);
	if (was_stuck)
		fib_next_hop_restore(fib, old);
	fib_next_hop_rename(fib, old, id);
	if (!fib_list_is_empty(&fib->unused))
		fib_next_hop_free_unused(fib);
}

/* Insert or replace the value, with the flag that the entry should have. */
static int write_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	const struct sixlane_route_key key = key_of(entry);
	const uint32_t value = sixlane_route_value(id, entry->node.prefix.len) |
			       (entry->flag ? SIXLANE_ROUTE_EXCEPTIONS : 0);
	int err = fib_write_set(fib, FIB_MAP_ROUTES, &key, &value);

	if (!err)
		after_write(fib, entry, id);
	return err;
}

/* Replace the value, or insert it if the trie has room. An insertion copies the cover's flag. */
static int put_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	const struct fib_entry *cover;

	if (entry->written)
		return write_value(fib, entry, id);
	if (fib->no_room || fib->n_written >= fib->max_routes)
		return -ENOSPC;
	cover = written_cover(entry);
	entry->flag |= cover ? cover->flag : fib->flag_uncovered;
	return write_value(fib, entry, id);
}

/* The cover gets the flag first. A deletion makes room for other insertions. */
static int delete_value(struct fib *fib, struct fib_entry *entry)
{
	const struct sixlane_route_key key = key_of(entry);
	int err;

	if (entry->flag)
		fib_entry_set_flag(fib, written_cover(entry));
	err = fib_write_del(fib, FIB_MAP_ROUTES, &key);
	if (err)
		return err;
	after_write(fib, entry, 0);
	fib->no_room = false;
	return 0;
}

/* --- absent entries --------------------------------------------------------------------------- */

/*
 * The value can be neither replaced nor deleted, so the next hop that it names must not forward.
 * All routes of that next hop are punted, too.
 */
static void punt_in_place(struct fib *fib, struct fib_entry *entry)
{
	if (entry->stuck)
		return;
	entry->stuck = true;
	fib_next_hop_punt(fib, entry->written);
}

void fib_update_gaps(struct fib *fib)
{
	bool gaps = fib->n_absent || fib->incomplete;

	/* An earlier daemon may have set it: until the first synchronisation, do not clear it. */
	if (gaps == fib->gaps || (!fib->gaps_known && !gaps))
		return;
	fib->writer.set_gaps(fib->writer.ctx, gaps);
	fib->gaps = gaps;
}

static void set_absent(struct fib *fib, struct fib_entry *entry, bool absent)
{
	struct fib_entry *cover = entry;

	if (entry->absent == absent)
		return;
	entry->absent = absent;
	fib->n_absent += absent ? 1 : -1;
	if (absent)
		fib_update_gaps(fib);
	while ((cover = fib_entry_cover(cover))) {
		cover->absent_below += absent ? 1 : -1;
		/* The value of a cover changes only when the count goes from 0 to 1 or back. */
		if (cover->absent_below == (absent ? 1 : 0) && cover->next_hop)
			fib_entry_reconcile(fib, cover);
	}
	if (!absent)
		fib_update_gaps(fib);
}

/*
 * The write has failed, and the trie may have a wrong value. Older kernels refuse even a
 * replacement in a full trie, so delete the old value and insert the new one. If the deletion
 * fails, punt its next hop in place.
 *
 * The entry counts as absent in between, so that its covers are punted; fib_entry_reconcile()
 * corrects the count. A value that punts already may stay.
 */
static void delete_and_insert(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->written || (entry->written == FIB_ID_FULL && !entry->unrecognised))
		return;
	set_absent(fib, entry, true);
	if (delete_value(fib, entry))
		punt_in_place(fib, entry);
	else
		put_value(fib, entry, wanted_id(entry));
}

/* Delete the value, or else replace it by a punt, or else punt its next hop in place. */
static void delete_or_punt(struct fib *fib, struct fib_entry *entry)
{
	if (delete_value(fib, entry) && entry->written != FIB_ID_FULL &&
	    put_value(fib, entry, FIB_ID_FULL))
		punt_in_place(fib, entry);
}

/* The value lacks a flag that it must have: packets would ignore an exception. */
static bool lacks_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag && !entry->flag_written;
}

/* The value has a flag that it need not have: packets are slower, but forwarded correctly. */
static bool has_needless_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag_written && !entry->flag;
}

/* The value is right, or rightly absent. A needless flag does not count. */
static bool is_right(const struct fib_entry *entry)
{
	return wanted_id(entry) == entry->written && !entry->unrecognised && !lacks_flag(entry);
}

void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry)
{
	uint32_t id = wanted_id(entry);
	int err = 0;

	if (!id && entry->written)
		delete_or_punt(fib, entry);
	else if (id && (!is_right(entry) || has_needless_flag(entry)))
		err = put_value(fib, entry, id);
	else if (entry->stuck) /* the old value is wanted again: its next hop may forward */
		after_write(fib, entry, id);
	if (err) {
		/* fib_retry() then tries no other insertion */
		fib->no_room |= fib->retrying && !entry->written && err == -ENOSPC;
		if (!is_right(entry))
			delete_and_insert(fib, entry);
	}
	set_absent(fib, entry, entry->next_hop && !entry->written);
	fib->n_failed -= entry->failed;
	entry->failed = !is_right(entry) || has_needless_flag(entry) ||
			(entry->next_hop && !entry->next_hop->id);
	fib->n_failed += entry->failed;
}

/* --- setting a prefix ------------------------------------------------------------------------- */

/* There is no memory for an entry of dst: punt its covers until the next synchronisation. */
static void set_incomplete(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	struct fib_entry *cover = fib_entry_match(fib, table, dst);

	fib->incomplete = fib->incomplete_in_sync = true;
	fib_update_gaps(fib);
	for (; cover; cover = fib_entry_cover(cover)) {
		cover->stale = true;
		if (cover->next_hop)
			fib_entry_reconcile(fib, cover);
	}
}

static void set_next_hop(struct fib *fib, struct fib_entry *entry, struct fib_next_hop *next_hop)
{
	struct fib_next_hop *old = entry->next_hop;

	entry->next_hop = next_hop;
	fib_entry_reconcile(fib, entry);
	if (old)
		fib_next_hop_put(fib, old);
}

/* The entry of dst in the table with this id; a new one if there is none. NULL: no memory. */
static struct fib_entry *get_entry(struct fib *fib, uint32_t id, const struct prefix *dst)
{
	struct fib_entry *entry = entry_find(fib, id, dst);
	struct fib_table *table;

	if (entry)
		return entry;
	table = fib_table_get(fib, id);
	entry = table ? fib_entry_new(fib, table, dst) : NULL;
	if (entry)
		return entry;
	set_incomplete(fib, id, dst);
	if (table)
		table_free_if_empty(fib, table);
	return NULL;
}

void fib_entry_withdraw(struct fib *fib, struct fib_entry *entry)
{
	set_next_hop(fib, entry, NULL);
	fib_entry_free_if_unused(fib, entry);
}

int fib_set(struct fib *fib, uint32_t table, const struct prefix *dst,
	    const struct fib_target *target)
{
	struct fib_entry *entry;
	struct fib_next_hop *next_hop;
	const struct fib_key *key;

	if (!target) {
		entry = entry_find(fib, table, dst);
		if (entry)
			fib_entry_withdraw(fib, entry);
		return 0;
	}
	entry = get_entry(fib, table, dst);
	if (!entry)
		return -ENOMEM;
	entry->generation = fib->generation & FIB_GENERATION_MASK;
	key = fib_key_make(&fib->scratch, target);
	next_hop = key ? fib_next_hop_find(fib, key) ?: fib_next_hop_make(fib, key) : NULL;
	if (!next_hop) { /* no memory: the prefix is punted */
		fib->full->refs++;
		set_next_hop(fib, entry, fib->full);
		return -ENOMEM;
	}
	set_next_hop(fib, entry, next_hop);
	return 0;
}
