// SPDX-License-Identifier: GPL-2.0-only
/*
 * One entry of the trie and what it costs its covers when it cannot be written. Every function
 * here keeps: an entry that should be in the trie and is not ("absent") is counted in all entries
 * that cover it in its table, and these say PUNT_MAP_FULL; covers are punted before an entry leaves
 * the trie against its will, and restored after it is back. SIXLANE_META_GAPS does for the
 * other tables what they do for their own.
 *
 * An entry that comes into the trie takes the mark of exceptions of the next shorter one there,
 * which takes that of an entry before it goes: see exception.h.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "exception.h"

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
	if (!entry->wanted)
		return 0;
	if (entry->missing_below || entry->doubtful || !entry->wanted->id)
		return FIB_ID_FULL;
	return entry->wanted->id;
}

/* The trie names id here from now on, with its mark. The compiled FIB does so before an id that
 * is named no more may come to mean something else, or forward again. */
static void note_written(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	uint32_t old = entry->written;
	bool marked = id && entry->excepted;
	bool same = id == old && marked == entry->marked && !entry->foreign;
	bool stuck = entry->stuck;

	entry->stuck = false;
	entry->foreign = false;
	entry->written = id;
	entry->marked = marked;
	fib->n_written += (id != 0) - (old != 0);
	if (!same)
		fib_compiled_change(fib, entry, id && old);
	if (stuck)
		fib_next_hop_cure(fib, old);
	fib_next_hop_rename(fib, old, id);
}

static int replace_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	const struct sixlane_route_key key = key_of(entry);
	uint32_t mark = entry->excepted ? SIXLANE_ROUTE_EXCEPTIONS : 0;
	int err = -ENOMEM;

	for (int i = 0; i < FIB_ENOMEM_TRIES && err == -ENOMEM; i++) {
		err = fib->writer.route_set(fib->writer.ctx, &key,
					    sixlane_route_value(id, entry->node.prefix.len) | mark);
		fib->writes++;
		fib->write_errors += err != 0;
	}
	if (!err)
		note_written(fib, entry, id);
	return err;
}

static int insert_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	if (fib->no_room || fib->n_written >= fib->max_routes)
		return -ENOSPC;
	fib_mark_enter(fib, entry);
	return replace_value(fib, entry, id);
}

static int put_value(struct fib *fib, struct fib_entry *entry, uint32_t id)
{
	return entry->written ? replace_value(fib, entry, id) : insert_value(fib, entry, id);
}

static int delete_value(struct fib *fib, struct fib_entry *entry)
{
	const struct sixlane_route_key key = key_of(entry);
	int err;

	fib_mark_leave(fib, entry);
	err = fib->writer.route_del(fib->writer.ctx, &key);
	fib->writes++;
	if (err && err != -ENOENT) {
		fib->write_errors++;
		return err;
	}
	note_written(fib, entry, 0);
	fib->no_room = false;
	return 0;
}

/* Neither replaced nor deleted: the next hop that it names must not forward. */
static void stick(struct fib *fib, struct fib_entry *entry)
{
	if (entry->stuck)
		return;
	entry->stuck = true;
	fib_next_hop_poison(fib, entry->written);
}

void fib_gaps_tell(struct fib *fib)
{
	bool gaps = fib->n_absent || fib->lost;

	if (fib->gaps_known ? gaps == fib->gaps : !gaps || fib->gaps)
		return;
	fib->writer.gaps_set(fib->writer.ctx, gaps);
	fib->gaps = gaps;
}

static void count_absent(struct fib *fib, struct fib_entry *entry, bool absent)
{
	struct fib_entry *cover = entry;

	if (entry->absent == absent)
		return;
	entry->absent = absent;
	fib->n_absent += absent ? 1 : -1;
	if (absent)
		fib_gaps_tell(fib);
	while ((cover = fib_entry_of(radix_cover(&cover->node)))) {
		cover->missing_below += absent ? 1 : -1;
		/* The first one, or none any more. Withdrawn covers have no say left. */
		if (cover->missing_below == (absent ? 1 : 0) && cover->wanted)
			fib_entry_settle(fib, cover);
	}
	if (!absent)
		fib_gaps_tell(fib);
}

/*
 * What should be here could not be written, and what is here may be wrong. Older kernels'
 * full trie refuses even to replace; with the old value gone there is room for the new one.
 */
static void fall_back(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->written || (entry->written == FIB_ID_FULL && !entry->foreign))
		return;
	count_absent(fib, entry, true);
	if (delete_value(fib, entry))
		stick(fib, entry);
	else
		put_value(fib, entry, proper_id(entry));
}

static void withdraw(struct fib *fib, struct fib_entry *entry)
{
	if (delete_value(fib, entry) && entry->written != FIB_ID_FULL &&
	    put_value(fib, entry, FIB_ID_FULL))
		stick(fib, entry);
}

/* The trie lacks the mark here, or has it without need. */
static bool lacks_mark(const struct fib_entry *entry)
{
	return entry->wanted && entry->excepted && !entry->marked;
}

static bool is_marked_idly(const struct fib_entry *entry)
{
	return entry->wanted && entry->marked && !entry->excepted;
}

static bool is_right(const struct fib_entry *entry)
{
	return proper_id(entry) == entry->written && !entry->foreign && !lacks_mark(entry);
}

void fib_entry_settle(struct fib *fib, struct fib_entry *entry)
{
	uint32_t id = proper_id(entry);
	int err = 0;

	if (!id && entry->written)
		withdraw(fib, entry);
	else if (id && (!is_right(entry) || is_marked_idly(entry)))
		err = put_value(fib, entry, id);
	else if (entry->stuck)
		note_written(fib, entry, id);
	if (err) {
		fib->no_room |= fib->retrying && !entry->written && err == -ENOSPC;
		if (!is_right(entry))
			fall_back(fib, entry);
	}
	count_absent(fib, entry, entry->wanted && !entry->written);
	fib->n_failed -= entry->failed;
	entry->failed =
		!is_right(entry) || is_marked_idly(entry) || (entry->wanted && !entry->wanted->id);
	fib->n_failed += entry->failed;
}

bool fib_entry_is_over(const struct fib_entry *entry)
{
	return !entry->wanted && !entry->written;
}
