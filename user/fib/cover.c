// SPDX-License-Identifier: GPL-2.0-only
/*
 * See cover.h. An entry that comes into the trie takes the flag of the next shorter one there;
 * before it goes, that one takes its flag.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "compile.h"
#include "cover.h"
#include "parts.h"
#include "write.h"

static struct sixlane_route_key key_of(const struct fib_entry *entry)
{
	return (struct sixlane_route_key){
		.prefix_len = SIXLANE_TABLE_BITS + entry->node.prefix.len,
		.table = htonl(entry->table->id),
		.addr = entry->node.prefix.addr,
	};
}

/* The id that the trie should name here; 0: none. */
static uint32_t proper_id(const struct fib_entry *entry)
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
	/* A withdrawn entry punts anyway. */
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
	if (!same)
		fib_compile_change(fib, entry, id && old);
	if (stuck)
		fib_next_hop_restore(fib, old);
	fib_next_hop_rename(fib, old, id);
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

/* --- covers ----------------------------------------------------------------------------------- */

/* The value can be neither replaced nor deleted: the next hop that it names must not forward. */
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

	if (fib->gaps_known ? gaps == fib->gaps : !gaps || fib->gaps)
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
		/* Only the first absent entry, or none any more, changes what the cover says. */
		if (cover->absent_below == (absent ? 1 : 0) && cover->next_hop)
			fib_entry_reconcile(fib, cover);
	}
	if (!absent)
		fib_update_gaps(fib);
}

/*
 * The value could not be written, and what the trie has may be wrong. A full trie of older kernels
 * refuses even to replace: with the old value gone, there is room for the new one.
 */
static void fall_back(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->written || (entry->written == FIB_ID_FULL && !entry->unrecognised))
		return;
	set_absent(fib, entry, true);
	if (delete_value(fib, entry))
		punt_in_place(fib, entry);
	else
		put_value(fib, entry, proper_id(entry));
}

static void withdraw(struct fib *fib, struct fib_entry *entry)
{
	if (delete_value(fib, entry) && entry->written != FIB_ID_FULL &&
	    put_value(fib, entry, FIB_ID_FULL))
		punt_in_place(fib, entry);
}

/* The trie lacks the flag here, which would be wrong; or has it without need. */
static bool lacks_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag && !entry->flag_written;
}

static bool has_spare_flag(const struct fib_entry *entry)
{
	return entry->next_hop && entry->flag_written && !entry->flag;
}

static bool is_right(const struct fib_entry *entry)
{
	return proper_id(entry) == entry->written && !entry->unrecognised && !lacks_flag(entry);
}

void fib_entry_reconcile(struct fib *fib, struct fib_entry *entry)
{
	uint32_t id = proper_id(entry);
	int err = 0;

	if (!id && entry->written)
		withdraw(fib, entry);
	else if (id && (!is_right(entry) || has_spare_flag(entry)))
		err = put_value(fib, entry, id);
	else if (entry->stuck)
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
