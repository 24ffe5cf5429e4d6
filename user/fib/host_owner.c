// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which prefix a host belongs to: in the trie, where packets look, and by what was told, which is
 * what the kernel goes by; and what the trie says of it. See the invariants of host.h.
 */
#include "host.h"

/* --- marks ------------------------------------------------------------------------------------ */

uint32_t fib_entry_marks(const struct fib *fib, const struct fib_entry *entry)
{
	uint32_t marks = entry->hosts ? SIXLANE_ROUTE_EXCEPTIONS : 0;

	if (entry->hosts_absent || entry->hosts_awake || (entry->hosts && fib->hosts.lost.expected))
		marks = SIXLANE_ROUTE_EXCEPTIONS | SIXLANE_ROUTE_EXCEPTIONS_MISSING;
	return marks;
}

/*
 * One that is withdrawn, or not understood, punts anyway. One that is not in the trie takes its
 * marks there when it comes, and its covers punt till then.
 */
void fib_owner_settle(struct fib *fib, struct fib_entry *owner)
{
	if (owner && owner->wanted && owner->written)
		fib_entry_settle(fib, owner);
}

void fib_host_count(struct fib_host *host, bool absent, bool stuck)
{
	struct fib_entry *owner = host->owner;

	if (owner) {
		owner->hosts_absent += absent;
		owner->hosts_absent -= host->absent;
		owner->hosts_stuck += stuck;
		owner->hosts_stuck -= host->stuck;
	}
	host->absent = absent;
	host->stuck = stuck;
}

/* --- whose a host is -------------------------------------------------------------------------- */

struct fib_entry *fib_owner_above(const struct fib_entry *entry)
{
	struct fib_entry *above = fib_entry_of(radix_cover(&entry->node));

	while (above && !above->written)
		above = fib_entry_of(radix_cover(&above->node));
	return above;
}

struct fib_entry *fib_host_owner_at(const struct fib_table *table, const struct prefix *host)
{
	struct fib_entry *entry = fib_entry_of(radix_match(&table->entries, host));

	return entry && !entry->written ? fib_owner_above(entry) : entry;
}

/* The longest prefix that was told, or at. */
static struct fib_entry *told_at(const struct fib_table *table, const struct prefix *host,
				 const struct fib_entry *at)
{
	struct fib_entry *entry = fib_entry_of(radix_match(&table->entries, host));

	while (entry && entry != at && !entry->wanted)
		entry = fib_entry_of(radix_cover(&entry->node));
	return entry;
}

struct fib_entry *fib_host_told_at(const struct fib_table *table, const struct prefix *host)
{
	return told_at(table, host, NULL);
}

const struct fib_next_hop *fib_host_route_at(const struct fib_table *table,
					     const struct prefix *host)
{
	const struct fib_entry *entry = told_at(table, host, NULL);

	return entry ? entry->wanted : NULL;
}

const struct fib_next_hop *fib_host_route(const struct fib_host *host)
{
	return fib_host_route_at(host->table, &host->node.prefix);
}

static void set_owner(struct fib_host *host, struct fib_entry *owner)
{
	bool absent = host->absent, stuck = host->stuck;

	fib_host_count(host, false, false);
	if (host->owner)
		host->owner->hosts--;
	host->owner = owner;
	if (owner)
		owner->hosts++;
	fib_host_count(host, absent, stuck);
}

void fib_host_own(struct fib_host *host)
{
	set_owner(host, fib_host_owner_at(host->table, &host->node.prefix));
}

void fib_host_disown(struct fib_host *host)
{
	set_owner(host, NULL);
}

/* The hosts under the entry's prefix that are from's. False: there are none. */
static bool move_hosts(const struct fib_entry *entry, const struct fib_entry *from,
		       struct fib_entry *to)
{
	const struct prefix *prefix = &entry->node.prefix;
	struct radix_node *at;
	bool any = false;

	if (from ? !from->hosts : !entry->table->hosts.entries)
		return false;
	for (at = radix_first_under(&entry->table->hosts, prefix); at;
	     at = radix_next_under(at, prefix)) {
		if (fib_host_of(at)->owner != from)
			continue;
		set_owner(fib_host_of(at), to);
		any = true;
	}
	return any;
}

/* What is lost under this owner from now on may be one of its hosts under the entry's prefix. */
static void check_lost(struct fib *fib, const struct fib_entry *entry,
		       const struct fib_entry *owner)
{
	const struct prefix *prefix = &entry->node.prefix;
	struct radix_node *at;

	if (!fib_lost_under(fib, owner))
		return;
	at = radix_first_under(&entry->table->hosts, prefix);
	for (; at; at = radix_next_under(at, prefix))
		if (fib_host_of(at)->owner == owner)
			fib_host_check_lost(fib, fib_host_of(at));
}

/* --- when entries come and go ----------------------------------------------------------------- */

bool fib_owner_enter(struct fib *fib, struct fib_entry *entry)
{
	struct fib_entry *above = fib_owner_above(entry);
	bool owns;

	fib_lost_spread(fib, above, entry);
	owns = move_hosts(entry, above, entry);
	check_lost(fib, entry, entry);
	return owns;
}

/* What packets find next has its marks before they come there. */
void fib_owner_leave(struct fib *fib, struct fib_entry *entry)
{
	struct fib_entry *above = fib_owner_above(entry);
	bool owns = entry->hosts || entry->hosts_lost;

	fib_lost_spread(fib, entry, above);
	move_hosts(entry, entry, above);
	check_lost(fib, entry, above);
	if (owns)
		fib_owner_settle(fib, above);
}

/* By its key: one that lacks an id, or memory, does not follow the object yet. */
uint32_t fib_object_of(const struct fib_next_hop *route)
{
	return route && route->key.kind == FIB_OBJECT ? route->key.object : 0;
}

void fib_owner_doubt(struct fib *fib, struct fib_entry *entry)
{
	const struct prefix *prefix = &entry->node.prefix;
	struct radix_node *at;

	for (at = radix_first_under(&entry->table->hosts, prefix); at;
	     at = radix_next_under(at, prefix)) {
		struct fib_host *host = fib_host_of(at);
		const struct fib_entry *from = told_at(entry->table, &at->prefix, NULL);

		if (told_at(entry->table, &at->prefix, entry) != entry)
			continue;
		host->untold |= from && !fib_is_told(from->wanted);
		host->moved |= host->untold || (from && from != entry);
		fib_host_doubt(fib, host);
		if (host->owner != entry)
			fib_owner_settle(fib, host->owner);
	}
	if (fib_object_of(entry->wanted))
		fib_doubt_object_exceptions(fib, prefix, fib_object_of(entry->wanted));
}

void fib_move_exceptions(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_table *found = fib_table_find(fib, table);
	const struct fib_entry *entry;
	struct radix_node *at;

	fib_adopt_finish(fib);
	entry = found ? fib_entry_of(radix_find(&found->entries, dst)) : NULL;
	if (!entry)
		return;
	for (at = radix_first_under(&found->hosts, dst); at; at = radix_next_under(at, dst))
		fib_host_of(at)->moved |= told_at(found, &at->prefix, NULL) == entry;
}

void fib_owner_doubt_host(struct fib *fib, struct fib_host *host)
{
	fib_host_doubt(fib, host);
	fib_owner_settle(fib, host->owner);
}

/* --- by objects ------------------------------------------------------------------------------- */

/* ctx: the object's id; 0: any. */
static void doubt_shared(struct fib *fib, struct fib_host *host, void *ctx)
{
	const uint32_t *object = ctx, own = fib_object_of(fib_host_route(host));

	if (fib_objects_may_share(fib, own, *object ? *object : own))
		fib_owner_doubt_host(fib, host);
}

void fib_doubt_object_exceptions(struct fib *fib, const struct prefix *dst, uint32_t object)
{
	fib_adopt_finish(fib);
	fib_host_each_under(fib, dst, doubt_shared, &object);
}

/* At a next hop that is not the object's any more the kernel keeps it, and no dump tells. */
static void doubt_by_object(struct fib *fib, struct fib_host *host, void *ctx)
{
	const struct fib_object_state *object = ctx;

	if (fib_object_of(fib_host_route(host)) != object->id)
		return;
	host->moved = host->untold = true;
	fib_owner_doubt_host(fib, host);
}

void fib_owner_doubt_object(struct fib *fib, const struct fib_object_state *object)
{
	fib_host_each(fib, doubt_by_object, (void *)object);
	fib_wake_exceptions(fib);
	fib_share_object_exceptions(fib, object->id);
}
