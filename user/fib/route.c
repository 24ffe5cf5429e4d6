// SPDX-License-Identifier: GPL-2.0-only
/* Prefixes and objects as the caller sets them, full synchronisation, and retries: see fib.h. */
#include <errno.h>

#include "cover.h"
#include "fib.h"
#include "neigh.h"
#include "object.h"
#include "parts.h"
#include "port.h"
#include "source.h"
#include "vlan.h"
#include "write.h"

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
	struct fib_entry *entry = fib_entry_find(fib, id, dst);
	struct fib_table *table;

	if (entry)
		return entry;
	table = fib_table_get(fib, id);
	entry = table ? fib_entry_new(fib, table, dst) : NULL;
	if (entry)
		return entry;
	set_incomplete(fib, id, dst);
	if (table)
		fib_table_free_if_empty(fib, table);
	return NULL;
}

static void withdraw(struct fib *fib, struct fib_entry *entry)
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
		entry = fib_entry_find(fib, table, dst);
		if (entry)
			withdraw(fib, entry);
		return 0;
	}
	entry = get_entry(fib, table, dst);
	if (!entry)
		return -ENOMEM;
	entry->generation = fib->generation & FIB_GENERATION_MASK;
	key = fib_key_make(&fib->scratch, target);
	next_hop = key ? fib_next_hop_get(fib, key) : NULL;
	if (!next_hop) {
		fib->full->refs++;
		set_next_hop(fib, entry, fib->full);
		return -ENOMEM;
	}
	set_next_hop(fib, entry, next_hop);
	return 0;
}

int fib_set_object(struct fib *fib, uint32_t id, const struct fib_object *object)
{
	int err = fib_object_set(fib, id, object);

	fib_next_hop_free_unused(fib);
	return err;
}

/* --- synchronisation -------------------------------------------------------------------------- */

void fib_sync_begin(struct fib *fib)
{
	fib->generation++;
	fib->syncing = true;
	fib->incomplete_in_sync = false;
}

static void drop_if_unset(struct fib *fib, struct fib_entry *entry)
{
	if (entry->generation != (fib->generation & FIB_GENERATION_MASK))
		withdraw(fib, entry);
}

static void delete_orphans(struct fib *fib)
{
	size_t kept = 0;

	for (size_t i = 0; i < fib->n_orphans; i++) {
		if (fib_write_del(fib, FIB_MAP_ROUTES, &fib->orphans[i]))
			fib->orphans[kept++] = fib->orphans[i];
	}
	fib->n_orphans = kept;
}

static void confirm_objects(struct fib *fib)
{
	struct fib_object_state *object, *after;

	FIB_HASH_EACH(object, after, &fib->objects)
	fib_object_confirm(fib, object);
	fib_next_hop_free_unused(fib);
}

static void end_stale(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->stale)
		return;
	entry->stale = false;
	fib_entry_reconcile(fib, entry);
}

/* All that there is was set since fib_sync_begin(): what is missing is known. */
static void end_incomplete(struct fib *fib)
{
	if (fib->incomplete && !fib->incomplete_in_sync) {
		fib->incomplete = false;
		fib_entry_each(fib, end_stale);
	}
	/* An earlier daemon may have left the flag set. */
	fib->gaps |= !fib->gaps_known;
	fib->gaps_known = true;
	fib_update_gaps(fib);
}

void fib_sync_end(struct fib *fib)
{
	fib_entry_each(fib, drop_if_unset);
	delete_orphans(fib);
	fib->syncing = false;
	confirm_objects(fib);
	end_incomplete(fib);
	fib_vlan_sweep(fib, true);
	fib_retry(fib);
	fib_neigh_sweep(fib, true);
	fib_port_sweep(fib, true);
}

/* --- retries ---------------------------------------------------------------------------------- */

static void retry_objects(struct fib *fib)
{
	struct fib_object_state *object, *after;

	FIB_HASH_EACH(object, after, &fib->objects)
	{
		fib_object_retry(fib, object);
		fib_next_hop_free_unused(fib);
	}
}

static void retry_entry(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->failed)
		return;
	fib_entry_reconcile(fib, entry);
	fib_entry_free_if_unused(fib, entry);
}

size_t fib_retry(struct fib *fib)
{
	fib_vlan_sweep(fib, false);
	fib_port_sweep(fib, false);
	fib_neigh_sweep(fib, false);
	fib_source_table_sweep(fib);
	fib_next_hop_free_unused(fib);
	fib_exception_retry(fib);
	if (!fib->n_failed && !fib->n_pending)
		return 0;
	fib->retrying = true;
	fib->no_room = fib->no_source_room = fib->graced = false;
	fib_next_hop_retry(fib);
	retry_objects(fib);
	fib_entry_each(fib, retry_entry);
	fib->retrying = false;
	fib->no_room = fib->no_source_room = false;
	return fib->n_failed + fib->n_pending;
}
