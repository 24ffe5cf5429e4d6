// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel keeps at a next-hop object counts for the routes by it, and by all groups with
 * it, in all tables, but is said of one table at a time. What is known, or lost, in one may so be
 * in another: packets to it are the kernel's there until a dump has told.
 */
#include "../lib/util.h"
#include "host.h"

/* Of a route by source, which may be by several, or one that is not known: it may share with all.
 */
#define SOME_OBJECT UINT32_MAX

bool fib_objects_may_share(const struct fib *fib, uint32_t id, uint32_t other)
{
	const struct fib_key_hop *a, *b;

	if (!id || !other || id == other)
		return id && other;
	a = fib_object_only_hop(fib_object_find(fib, id));
	b = fib_object_only_hop(fib_object_find(fib, other));
	return !a || !b || fib_key_hop_is(a, b);
}

static uint32_t object_of(const struct fib_next_hop *route)
{
	return route && route->key.kind == FIB_SOURCES ? SOME_OBJECT : fib_object_of(route);
}

bool fib_may_be_by_object(const struct fib_next_hop *route)
{
	return object_of(route) != 0;
}

/*
 * At a route that is not expressed, or not known, it may be kept at any object; and at one that was
 * not told yet, since of an earlier daemon's nobody knows by which object it is.
 */
static uint32_t object_at(const struct fib *fib, const struct fib_table *table,
			  const struct prefix *dst)
{
	const struct fib_entry *entry = table ? fib_host_told_at(table, dst) : NULL;

	if (!entry || entry->wanted->key.verdict != SIXLANE_FORWARD ||
	    (fib->syncing && !fib_entry_is_set(fib, entry)))
		return SOME_OBJECT;
	return object_of(entry->wanted);
}

/* What there is to share. */
struct shared {
	struct fib *fib;
	const struct fib_table *table;	  /* where it is known, or lost, … */
	const struct fib_exception *said; /* … as this */
	struct prefix dst;
	uint32_t object; /* at which it may be kept */
	uint32_t only;	 /* with routes by this one, whatever its next hops are; 0: by any */
	bool learnt;	 /* just now: what is known elsewhere is older */
};

static bool is_shared_with(const struct shared *shared, const struct fib_table *table,
			   const struct fib_next_hop *route)
{
	const uint32_t object = object_of(route);

	if (table == shared->table || !object)
		return false;
	if (shared->only)
		return object == shared->only || object == SOME_OBJECT;
	if (object == SOME_OBJECT || shared->object == SOME_OBJECT)
		return true;
	return fib_objects_may_share(shared->fib, shared->object, object);
}

static void suspect_at(const struct shared *shared, struct fib_entry *entry,
		       const struct fib_next_hop *route)
{
	struct fib_host *known;

	if (!is_shared_with(shared, entry->table, route))
		return;
	known = fib_host_suspect(shared->fib, entry->table, entry, &shared->dst.addr, shared->said,
				 !fib_is_told(route));
	if (known && shared->learnt && !fib_host_says(known, shared->said))
		fib_owner_doubt_host(shared->fib, known);
}

static void suspect_in_table(struct fib_hash_node *node, void *ctx)
{
	const struct fib_table *table = container_of(node, struct fib_table, node);
	const struct shared *shared = ctx;
	struct fib_entry *entry;

	if (table == shared->table || !table->n_by_object)
		return;
	entry = fib_host_told_at(table, &shared->dst);
	if (!entry)
		return;
	suspect_at(shared, entry, entry->wanted);
	fib_owner_settle(shared->fib, entry);
}

/* At a route that has just gone, or behind another one, it may have been kept at any object. */
static bool shared_of(struct fib *fib, const struct fib_host *host, struct shared *out)
{
	*out = (struct shared){ .fib = fib, .table = host->table, .dst = host->node.prefix };
	out->said = fib_host_kernels(host);
	out->object = host->moved ? SOME_OBJECT : object_at(fib, host->table, &host->node.prefix);
	return out->said && out->object;
}

/* --- a destination ---------------------------------------------------------------------------- */

void fib_host_share(struct fib *fib, const struct fib_host *host)
{
	struct shared shared;

	if (shared_of(fib, host, &shared))
		fib_hash_each(&fib->tables, suspect_in_table, &shared);
}

void fib_share_exception(struct fib *fib, uint32_t id, const union sixlane_addr *dst)
{
	static const struct fib_exception unknown;
	struct shared shared = { .fib = fib, .learnt = true };
	const struct fib_exception *said;

	fib_adopt_finish(fib);
	shared.table = fib_table_find(fib, id);
	shared.dst = (struct prefix){ .addr = *dst, .len = 128 };
	shared.object = object_at(fib, shared.table, &shared.dst);
	/* it may have found no room */
	said = fib_host_said_at(shared.table, dst);
	shared.said = said ? said : &unknown;
	if (shared.object)
		fib_hash_each(&fib->tables, suspect_in_table, &shared);
}

/* --- a route ---------------------------------------------------------------------------------- */

struct place {
	struct fib_entry *entry;
	const struct fib_next_hop *route; /* by which it is going to lead */
};

static void suspect_at_place(struct fib *fib, struct fib_host *host, void *ctx)
{
	const struct place *place = ctx;
	struct shared shared;

	if (host->table != place->entry->table && shared_of(fib, host, &shared))
		suspect_at(&shared, place->entry, place->route);
}

void fib_owner_share(struct fib *fib, struct fib_entry *entry, const struct fib_next_hop *route)
{
	const struct prefix *prefix = &entry->node.prefix;
	struct place place = { entry, route };
	struct radix_node *at;

	if (!fib_may_be_by_object(route))
		return;
	fib_host_each_under(fib, prefix, suspect_at_place, &place);
	if (!fib_lost_elsewhere(fib, entry->table))
		return;
	fib_lost_share(fib, entry);
	at = radix_first_under(&entry->table->hosts, prefix);
	for (; at; at = radix_next_under(at, prefix))
		fib_host_check_lost(fib, fib_host_of(at));
}

void fib_entry_set_wanted(struct fib_entry *entry, struct fib_next_hop *wanted)
{
	struct fib_table *table = entry->table;

	table->n_by_object -= entry->by_object;
	entry->wanted = wanted;
	entry->by_object = fib_may_be_by_object(wanted);
	table->n_by_object += entry->by_object;
}

/* --- an object -------------------------------------------------------------------------------- */

struct with_objects {
	const struct fib_table *only; /* with routes by objects; NULL: there are several */
	bool any;
	uint32_t object; /* which is changing */
};

static void note_table(struct fib_hash_node *node, void *ctx)
{
	const struct fib_table *table = container_of(node, struct fib_table, node);
	struct with_objects *with = ctx;

	if (!table->n_by_object)
		return;
	with->only = with->any ? NULL : table;
	with->any = true;
}

static void share_with_object(struct fib *fib, struct fib_host *host, void *ctx)
{
	const struct with_objects *with = ctx;
	struct shared shared;

	if (with->only == host->table || !shared_of(fib, host, &shared))
		return;
	shared.only = with->object;
	fib_hash_each(&fib->tables, suspect_in_table, &shared);
}

static void share_lost(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->by_object)
		return;
	fib_lost_share(fib, entry);
	fib_owner_settle(fib, entry);
}

/* Beside the operator's: also one that was lost since all were marked. */
static void share_beside(struct fib *fib, struct fib_host *host, void *ctx)
{
	const struct fib_entry *entry = fib_host_told_at(host->table, &host->node.prefix);

	(void)ctx;
	if (entry && entry->by_object)
		fib_host_check_lost(fib, host);
}

void fib_share_object_exceptions(struct fib *fib, uint32_t object)
{
	struct with_objects with = { .object = object };
	struct fib_lost *lost = &fib->hosts.lost;
	bool any;

	fib_adopt_finish(fib);
	fib_hash_each(&fib->tables, note_table, &with);
	if (!with.any)
		return;
	any = lost->bits && (lost->n_entries || lost->unowned);
	/* what is known marks only where it may be */
	fib_host_each(fib, share_with_object, &with);
	if (!any)
		return;
	/* of all objects at once, since many may change */
	if (!lost->shared)
		fib_entry_each(fib, share_lost);
	lost->shared = true;
	fib_host_each(fib, share_beside, NULL);
}
