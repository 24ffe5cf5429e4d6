// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions of the kernel that nobody remembers, for lack of room or memory: only the prefixes
 * that they belong to, and bits of sl_missing. They are lost until the kernel has told all that it
 * has and not them; what it never tells of is lost for as long as it may have it.
 */
#include "fib_host.h"

/*
 * What has no end that is known: far longer than a Path MTU lives (net.ipv6.route.mtu_expires, 10
 * minutes), and than an unused redirect does.
 */
#define UNTOLD_NS (3600ull * 1000000000)
#define NOT_KNOWN UINT64_MAX

static void set_lost(struct fib *fib, struct fib_entry *entry, bool is_lost)
{
	fib->hosts.lost.n_entries += is_lost;
	fib->hosts.lost.n_entries -= entry->hosts_lost;
	entry->hosts_lost = is_lost;
	if (!is_lost)
		entry->hosts_lost_anew = entry->hosts_lost_untold = false;
}

bool fib_lost_under(const struct fib *fib, const struct fib_entry *owner)
{
	return owner ? owner->hosts_lost : fib->hosts.lost.unowned;
}

void fib_lost_spread(struct fib *fib, const struct fib_entry *from, struct fib_entry *to)
{
	struct fib_lost *lost = &fib->hosts.lost;
	bool anew = from ? from->hosts_lost_anew : lost->unowned_anew;

	if (!fib_lost_under(fib, from))
		return;
	if (to) {
		set_lost(fib, to, true);
		to->hosts_lost_anew |= anew;
		to->hosts_lost_untold |= from && from->hosts_lost_untold;
	} else {
		lost->unowned = true;
		lost->unowned_anew |= anew;
	}
}

/* The kernel tells all that it has under a route by one hop at a time, or by an object. */
static bool is_told(const struct fib_next_hop *route)
{
	if (route->set || route->key.kind == FIB_SOURCES)
		return false;
	return route->key.kind == FIB_OBJECT || route->key.kind == FIB_FIRST ||
	       (route->key.n == 1 && !route->group);
}

unsigned int fib_missing_add(struct fib *fib, const struct sixlane_exception_key *key, bool untold)
{
	fib->hosts.lost.any = fib->hosts.lost.any_anew = true;
	return fib->writer.missing_add(fib->writer.ctx, key, untold);
}

static void lose_untold(struct fib_lost *lost, const struct fib_exception *said)
{
	uint64_t until_ns = said->confirm_ns || !said->expires_ns ? NOT_KNOWN : said->expires_ns;

	if (until_ns > lost->untold_until_ns)
		lost->untold_until_ns = until_ns;
}

void fib_lost_add(struct fib *fib, const struct sixlane_exception_key *key,
		  const struct fib_exception *said)
{
	const struct prefix host = { .addr = key->dst, .len = 128 };
	const struct fib_table *table = fib_table_find(fib, key->table);
	const struct fib_next_hop *route = table ? fib_host_route_at(table, &host) : NULL;
	struct fib_entry *owner = table ? fib_host_owner_at(table, &host) : NULL;
	struct fib_lost *lost = &fib->hosts.lost;
	bool untold = route && !is_told(route);
	unsigned int news = fib_missing_add(fib, key, untold);

	if (untold)
		lose_untold(lost, said);
	if (!route && fib->adopted)
		lost->adopted_until_ns = NOT_KNOWN;
	lost->n += (news & FIB_MISSING_NOW) != 0;
	lost->n_anew += (news & FIB_MISSING_ANEW) != 0;
	lost->n_untold += untold && news & FIB_MISSING_ANEW;
	if (owner) {
		set_lost(fib, owner, true);
		owner->hosts_lost_anew = true;
		owner->hosts_lost_untold |= untold;
	} else {
		lost->unowned = lost->unowned_anew = true;
	}
	fib_owner_settle(fib, owner);
}

void fib_lost_forget(struct fib *fib, struct fib_entry *entry)
{
	set_lost(fib, entry, false);
}

void fib_lost_adopt(struct fib *fib, struct fib_entry *entry, uint32_t marks)
{
	bool is_lost = marks & SIXLANE_ROUTE_EXCEPTIONS_MISSING;

	entry->marks = marks >> SIXLANE_ROUTE_MARKS_SHIFT;
	set_lost(fib, entry, is_lost);
	if (is_lost)
		fib->hosts.lost.adopted_until_ns = NOT_KNOWN;
}

uint64_t fib_lost_count(const struct fib *fib)
{
	const struct fib_lost *lost = &fib->hosts.lost;

	/* Of an earlier daemon's nobody knows how many. */
	return lost->n ? lost->n : lost->n_entries || lost->unowned;
}

void fib_lost_at(struct fib *fib, uint64_t now_ns)
{
	struct fib_lost *lost = &fib->hosts.lost;

	lost->now_ns = now_ns;
	if (lost->untold_until_ns == NOT_KNOWN)
		lost->untold_until_ns = now_ns + UNTOLD_NS;
	if (lost->adopted_until_ns == NOT_KNOWN)
		lost->adopted_until_ns = now_ns + UNTOLD_NS;
}

/* --- finding ---------------------------------------------------------------------------------- */

static void begin_finding(struct fib *fib, struct fib_entry *entry)
{
	entry->hosts_lost_untold &= fib->hosts.lost.untold_until_ns != 0;
	entry->hosts_lost_anew = entry->hosts_lost_untold;
}

static void add_absent(struct fib *fib, struct fib_host *host, void *ctx)
{
	const struct sixlane_exception_key key = fib_host_key(host);

	(void)ctx;
	if (host->absent)
		fib_missing_add(fib, &key, false);
}

void fib_lost_begin(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;
	bool keep = lost->now_ns < lost->untold_until_ns;

	if (lost->finding || !lost->any)
		return;
	lost->finding = true;
	if (!keep)
		lost->n_untold = lost->untold_until_ns = 0;
	lost->any_anew = keep;
	fib->writer.missing_begin(fib->writer.ctx, keep);
	if (fib->hosts.n_failed)
		fib_host_each(fib, add_absent, NULL);
	lost->n_anew = lost->n_untold;
	lost->unowned_anew = false;
	if (lost->n_entries)
		fib_entry_each(fib, begin_finding);
}

static void end_finding(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->hosts_lost || entry->hosts_lost_anew)
		return;
	set_lost(fib, entry, false);
	fib_owner_settle(fib, entry);
}

static void end_host_lost(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	if (!host->lost || fib_lost_under(fib, host->owner))
		return;
	host->lost = false;
	fib_host_update(fib, host);
}

static void hold_untold(struct fib *fib, struct fib_entry *entry)
{
	fib->hosts.lost.held |= entry->hosts_lost && entry->wanted && !is_told(entry->wanted);
}

/* Of what an earlier daemon has lost nobody knows before its routes are told whether it is. */
static bool is_held(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;

	lost->held = false;
	if (lost->now_ns < lost->adopted_until_ns && lost->n_entries)
		fib_entry_each(fib, hold_untold);
	return lost->held;
}

/* A packet that has not found an entry before it came must not take it for none: hence the grace.
 */
void fib_lost_end(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;

	if (!lost->finding || is_held(fib) || fib->writer.grace(fib->writer.ctx))
		return;
	lost->finding = false;
	lost->any = lost->any_anew;
	lost->adopted_until_ns = 0;
	lost->n = lost->n_anew;
	lost->unowned = lost->unowned_anew;
	if (lost->n_entries)
		fib_entry_each(fib, end_finding);
	fib->writer.missing_end(fib->writer.ctx);
	fib_host_each(fib, end_host_lost, NULL);
}
