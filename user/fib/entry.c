// SPDX-License-Identifier: GPL-2.0-only
/*
 * See entry.h. A route that is missing in the trie would let its packets use a shorter prefix, its
 * cover; so all covers of an absent entry punt.
 *
 * The flag of an entry is SIXLANE_ROUTE_EXCEPTIONS: some destination under the prefix may have an
 * exception. An entry copies the flag from its nearest cover in the trie when it is inserted, and
 * gives it to that cover before it is deleted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "entry.h"
#include "fib.h"
#include "nexthop.h"

static const struct prefix all;

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

/* --- what the trie should have ---------------------------------------------------------------- */

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

/* The id of the next hop that the trie should have for this entry; 0: no entry. */
static uint32_t wanted_id(const struct fib_entry *entry)
{
	if (!entry->next_hop)
		return 0;
	if (entry->absent_below || entry->stale || !entry->next_hop->id)
		return FIB_ID_FULL;
	return entry->next_hop->id;
}

/* --- flags ------------------------------------------------------------------------------------ */

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
	/* An entry without a next hop that could not be deleted punts anyway. */
	if (entry->next_hop)
		fib_entry_reconcile(fib, entry);
}

/* --- writes ----------------------------------------------------------------------------------- */

/*
 * The trie names id here from now on. The compiled FIB follows before the old id may come to mean
 * something else, or forwards again.
 */
static void set_written(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	uint32_t old = entry->written;
	bool flag = id && entry->flag;
	bool same = id == old && flag == entry->flag_written && !entry->unrecognised;
	bool stuck = entry->stuck;

	entry->stuck = false;
	entry->unrecognised = false;
	entry->written = id;
	entry->flag_written = flag;
	fib->n_written += (id != 0) - (old != 0);
	/* A failure shows in fib_is_compiled(). */
	if (!same)
		compiled_change(fib->compiled, entry->table->id, &entry->table->entries,
				&entry->node.prefix, id && old);
	if (stuck)
		fib_next_hop_restore(fib, old);
	fib_next_hop_rename(fib, old, id);
	if (fib->unused.next != &fib->unused)
		fib_next_hop_free_unused(fib);
}

static int replace_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	const struct sixlane_route_key key = key_of(entry);
	const uint32_t value = sixlane_route_value(id, entry->node.prefix.len) |
			       (entry->flag ? SIXLANE_ROUTE_EXCEPTIONS : 0);
	int err = fib_write_set(fib, FIB_MAP_ROUTES, &key, &value);

	if (!err)
		set_written(fib, entry, id);
	return err;
}

static int put_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	const struct fib_entry *cover;

	if (entry->written)
		return replace_value(fib, entry, id);
	if (fib->no_room || fib->n_written >= fib->max_routes)
		return -ENOSPC;
	cover = written_cover(entry);
	entry->flag |= cover ? cover->flag : fib->flag_uncovered;
	return replace_value(fib, entry, id);
}

static int delete_value(struct fib *fib, struct fib_entry *entry)
{
	const struct sixlane_route_key key = key_of(entry);
	int err;

	if (entry->flag)
		fib_entry_set_flag(fib, written_cover(entry));
	err = fib_write_del(fib, FIB_MAP_ROUTES, &key);
	if (err)
		return err;
	set_written(fib, entry, 0);
	fib->no_room = false;
	return 0;
}

/* --- absent entries --------------------------------------------------------------------------- */

/*
 * The value can be neither replaced nor deleted, so the next hop that it refers to must not
 * forward. That affects all routes of this next hop.
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

	/* Until the flag in the map is known, only gaps are reported. */
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
 * The new value could not be written, and the trie has a wrong one. Older kernels refuse even a
 * replacement in a full trie, so the old value is deleted and the new one inserted. If it cannot be
 * deleted, its next hop is made to punt. The covers punt meanwhile.
 */
static void fall_back(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->written || (entry->written == FIB_ID_FULL && !entry->unrecognised))
		return;
	set_absent(fib, entry, true);
	if (delete_value(fib, entry))
		punt_in_place(fib, entry);
	else
		put_value(fib, entry, wanted_id(entry));
}

/* Deletes the value; if that fails, makes it punt; if that fails, makes its next hop punt. */
static void withdraw(struct fib *fib, struct fib_entry *entry)
{
	if (delete_value(fib, entry) && entry->written != FIB_ID_FULL &&
	    put_value(fib, entry, FIB_ID_FULL))
		punt_in_place(fib, entry);
}

/* The trie must have the flag: without it packets would ignore an exception. */
static bool lacks_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag && !entry->flag_written;
}

/* The trie has the flag without need: slower, but right. */
static bool has_spare_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag_written && !entry->flag;
}

static bool is_right(const struct fib_entry *entry)
{
	return wanted_id(entry) == entry->written && !entry->unrecognised && !lacks_flag(entry);
}

void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry)
{
	uint32_t id = wanted_id(entry);
	int err = 0;

	if (!id && entry->written)
		withdraw(fib, entry);
	else if (id && (!is_right(entry) || has_spare_flag(entry)))
		err = put_value(fib, entry, id);
	else if (entry->stuck) /* its value is right again, so its next hop may forward */
		set_written(fib, entry, id);
	if (err) {
		fib->no_room |= fib->retrying && !entry->written && err == -ENOSPC;
		if (!is_right(entry))
			fall_back(fib, entry);
	}
	set_absent(fib, entry, entry->next_hop && !entry->written);
	fib->n_failed -= entry->failed;
	entry->failed = !is_right(entry) || has_spare_flag(entry) ||
			(entry->next_hop && !entry->next_hop->id);
	fib->n_failed += entry->failed;
}

/* --- setting a prefix ------------------------------------------------------------------------- */

/* There is no memory to remember dst: its covers are punted until the next synchronisation. */
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

/* The entry at dst, added if there is none. NULL: no memory. */
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
	if (!next_hop) {
		fib->full->refs++;
		set_next_hop(fib, entry, fib->full);
		return -ENOMEM;
	}
	set_next_hop(fib, entry, next_hop);
	return 0;
}
