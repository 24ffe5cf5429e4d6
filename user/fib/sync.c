// SPDX-License-Identifier: GPL-2.0-only
/* Full synchronisation and retries: see fib.h. */
#include "entry.h"
#include "fib.h"
#include "neigh.h"
#include "object.h"
#include "port.h"
#include "source.h"

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
		fib_entry_withdraw(fib, entry);
}

static void confirm_objects(struct fib *fib)
{
	FIB_HASH_EACH(struct fib_object_state, object, &fib->objects)
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
	FIB_HASH_EACH(struct fib_object_state, object, &fib->objects) {
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

/* Keys in sl_routes that no prefix can have. */
static void delete_orphans(struct fib *fib)
{
	size_t kept = 0;

	for (size_t i = 0; i < fib->n_orphans; i++) {
		if (fib_write_del(fib, FIB_MAP_ROUTES, &fib->orphans[i]))
			fib->orphans[kept++] = fib->orphans[i];
	}
	fib->n_orphans = kept;
	fib->unswept |= kept != 0;
}

/* Write or delete what could not be before. */
static void sweep(struct fib *fib)
{
	fib->unswept = false;
	delete_orphans(fib);
	fib_vlan_sweep(fib, false);
	fib_port_sweep(fib, false);
	fib_neigh_sweep(fib, false);
	fib_source_table_sweep(fib);
	fib_next_hop_free_unused(fib);
	fib_exception_retry(fib);
}

size_t fib_retry(struct fib *fib)
{
	if (fib->unswept)
		sweep(fib);
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
