// SPDX-License-Identifier: GPL-2.0-only
/*
 * The prefixes: what each should say, full synchronisation, and trying again. How an entry gets
 * into the trie is fib_cover.c's.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "fib_internal.h"

static const struct prefix all;

static struct fib_entry *first(const struct fib *fib)
{
	return fib_entry_of(radix_first_under(&fib->entries, &all));
}

static struct fib_entry *next(const struct fib_entry *entry)
{
	return fib_entry_of(radix_next_under(&entry->node, &all));
}

/* Forget an entry if it is over. */
static void reap(struct fib *fib, struct fib_entry *entry)
{
	if (fib_entry_is_over(entry))
		radix_remove(&fib->entries, &entry->node);
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

/* NULL on lack of memory. */
static struct fib_entry *entry_new(struct fib *fib, const struct prefix *dst)
{
	struct fib_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->node.prefix = *dst;
	if (radix_insert(&fib->entries, &entry->node)) {
		free(entry);
		return NULL;
	}
	entry->missing_below = count_absent_under(fib, entry);
	entry->doubtful = fib->lost;
	return entry;
}

/* There is no memory to remember that dst is missing: its covers are punted until synchronised. */
static void lose(struct fib *fib, const struct prefix *dst)
{
	struct fib_entry *cover = fib_entry_of(radix_match(&fib->entries, dst));

	fib->lost = fib->lost_in_sync = true;
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

static int set_target(struct fib *fib, const struct prefix *dst, const struct fib_target *target)
{
	struct fib_entry *entry = fib_entry_of(radix_find(&fib->entries, dst));
	struct fib_next_hop *next_hop;
	int err;

	if (!entry)
		entry = entry_new(fib, dst);
	if (!entry) {
		lose(fib, dst);
		return -ENOMEM;
	}
	entry->generation = fib->generation;
	err = fib_next_hop_want(fib, target, &next_hop);
	if (err) {
		next_hop = fib->full;
		next_hop->wanted++;
	}
	set_wanted(fib, entry, next_hop);
	return err;
}

int fib_set(struct fib *fib, const struct prefix *dst, const struct fib_target *target)
{
	struct fib_entry *entry;

	fib_adopt_finish(fib);
	if (target)
		return set_target(fib, dst, target);
	entry = fib_entry_of(radix_find(&fib->entries, dst));
	if (entry) {
		set_wanted(fib, entry, NULL);
		reap(fib, entry);
	}
	return 0;
}

/* Everything that there is was set since fib_sync_begin(), so nothing is forgotten any more. */
static void end_doubts(struct fib *fib)
{
	if (!fib->lost || fib->lost_in_sync)
		return;
	fib->lost = false;
	for (struct fib_entry *entry = first(fib); entry; entry = next(entry)) {
		if (!entry->doubtful)
			continue;
		entry->doubtful = false;
		fib_entry_settle(fib, entry);
	}
}

void fib_sync_begin(struct fib *fib)
{
	fib_adopt_finish(fib);
	fib->generation++;
	fib->lost_in_sync = false;
}

void fib_sync_end(struct fib *fib)
{
	struct fib_entry *entry, *after;

	fib_adopt_finish(fib);
	for (entry = first(fib); entry; entry = after) {
		after = next(entry);
		if (entry->generation == fib->generation)
			continue;
		set_wanted(fib, entry, NULL);
		reap(fib, entry);
	}
	fib_adopt_drop_strays(fib);
	end_doubts(fib);
	fib_retry(fib);
	fib_neigh_sweep(fib, true);
	fib_port_sweep(fib, true);
}

size_t fib_retry(struct fib *fib)
{
	struct fib_entry *entry, *after;

	fib_adopt_finish(fib);
	fib_port_sweep(fib, false);
	fib_neigh_sweep(fib, false);
	if (!fib->n_failed)
		return 0;
	fib_next_hop_feed(fib);
	fib->retrying = true;
	fib->no_room = false;
	for (entry = first(fib); entry; entry = after) {
		after = next(entry);
		if (!entry->failed)
			continue;
		fib_entry_settle(fib, entry);
		reap(fib, entry);
	}
	fib->retrying = false;
	fib->no_room = false;
	return fib->n_failed;
}

/* --- adopting ------------------------------------------------------------------------------- */

/* The prefix of a key that this daemon could have written; false: another's. */
static bool prefix_of_key(const struct sixlane_route_key *key, struct prefix *out)
{
	if (key->table != htobe32(SIXLANE_TABLE_MAIN) || key->prefix_len < SIXLANE_TABLE_BITS ||
	    key->prefix_len > SIXLANE_TABLE_BITS + 128)
		return false;
	out->addr = key->addr;
	out->len = (uint8_t)(key->prefix_len - SIXLANE_TABLE_BITS);
	prefix_mask(out);
	return true;
}

static int keep_stray(struct fib *fib, const struct sixlane_route_key *key)
{
	size_t bytes = (fib->n_strays + 1) * sizeof(*fib->strays);
	struct sixlane_route_key *strays = realloc(fib->strays, bytes);

	if (!strays)
		return -ENOMEM;
	strays[fib->n_strays++] = *key;
	fib->strays = strays;
	return -EINVAL;
}

int fib_adopt_route(struct fib *fib, const struct sixlane_route_key *key, uint32_t value)
{
	uint32_t id = sixlane_route_next_hop(value);
	struct fib_next_hop *next_hop;
	struct fib_entry *entry;
	struct prefix prefix;

	fib->adopted = true;
	if (!prefix_of_key(key, &prefix))
		return keep_stray(fib, key);
	entry = fib_entry_of(radix_find(&fib->entries, &prefix));
	if (entry)
		return -EINVAL;
	entry = entry_new(fib, &prefix);
	if (!entry)
		return -ENOMEM;
	/* An id out of range is no next hop: packets pass, as they do at the one for full maps. */
	entry->foreign = value != sixlane_route_value(id, prefix.len);
	if (!id || id >= SIXLANE_MAX_NEXT_HOPS) {
		entry->foreign = true;
		id = FIB_ID_FULL;
	}
	next_hop = fib_next_hop_adopt(fib, id);
	if (!next_hop) {
		radix_remove(&fib->entries, &entry->node);
		return -ENOMEM;
	}
	next_hop->named++;
	entry->written = id;
	fib->n_written++;
	return entry->foreign ? -EINVAL : 0;
}

/*
 * A prefix that was punted for lack of room may still lack what is under it, which nobody
 * has told yet: it stays punted until all is.
 */
static void understand(struct fib *fib, struct fib_entry *entry)
{
	struct fib_next_hop *next_hop = fib->by_id[entry->written];

	if (!next_hop->valid)
		return;
	entry->wanted = next_hop;
	next_hop->wanted++;
	if (next_hop != fib->full)
		return;
	entry->doubtful = true;
	fib->lost = true;
}

void fib_route_understand(struct fib *fib)
{
	for (struct fib_entry *entry = first(fib); entry; entry = next(entry))
		understand(fib, entry);
}

void fib_route_free_all(struct fib *fib)
{
	struct fib_entry *entry, *after;

	for (entry = first(fib); entry; entry = after) {
		after = next(entry);
		radix_remove(&fib->entries, &entry->node);
	}
}
