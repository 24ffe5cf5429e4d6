// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions of the kernel that nobody remembers, for lack of room or memory: only the prefixes
 * that they belong to, and bits of sl_missing. They are lost until the kernel has told all that it
 * has and not them. What it never tells of is lost for as long as the kernel may have it, and so is
 * what an earlier daemon has lost, unless dumps tell of all routes: two lots of those take turns,
 * so that the later ones do not keep the earlier ones, and each is lost for twice that time at
 * most. What the kernel keeps at a route that packets do not go by sleeps: see host.h.
 */
#include <linux/rtnetlink.h>

#include "host.h"

static const struct prefix all;

/*
 * What has no end that is known: far longer than a Path MTU lives (net.ipv6.route.mtu_expires, 10
 * minutes), and than an unused redirect does.
 */
#define UNTOLD_NS (3600ull * 1000000000)

/* There is room again when one in so many is free. */
#define ROOM 8

/* Lots of untold ones, as struct fib_untold: a bit each. */
#define LOST_OLD 1
#define LOST_LATER 2

static void set_lost(struct fib *fib, struct fib_entry *entry, bool is_lost)
{
	fib->hosts.lost.n_entries += is_lost;
	fib->hosts.lost.n_entries -= entry->hosts_lost;
	entry->table->n_lost += is_lost;
	entry->table->n_lost -= entry->hosts_lost;
	entry->hosts_lost = is_lost;
	if (!is_lost) {
		entry->hosts_lost_anew = entry->hosts_awake = entry->hosts_awake_anew = false;
		entry->hosts_lost_untold = 0;
	}
}

bool fib_lost_under(const struct fib *fib, const struct fib_entry *owner)
{
	return owner ? owner->hosts_lost : fib->hosts.lost.unowned;
}

bool fib_is_lost(const struct fib *fib, const struct fib_host *host)
{
	return fib_lost_under(fib, host->owner) &&
	       fib->writer.missing_has(fib->writer.ctx, &host->node.prefix.addr);
}

static void wake(struct fib *fib, struct fib_entry *owner)
{
	if (!owner->hosts_lost)
		return;
	fib->hosts.lost.wanted |= !owner->hosts_awake;
	owner->hosts_awake = owner->hosts_awake_anew = true;
	fib_owner_settle(fib, owner);
}

void fib_lost_wake(struct fib *fib, struct fib_entry *entry)
{
	struct fib_entry *owner = entry->written ? entry : fib_owner_above(entry);

	if (owner)
		wake(fib, owner);
}

void fib_wake_exceptions(struct fib *fib)
{
	fib_adopt_finish(fib);
	if (fib->hosts.lost.asleep)
		fib_entry_each(fib, wake);
	fib->hosts.lost.asleep = false;
}

/* Some more are lost under this owner, or without any (NULL). */
static void lose(struct fib *fib, struct fib_entry *owner, bool anew, uint8_t untold, bool awake)
{
	struct fib_lost *lost = &fib->hosts.lost;

	lost->any = true;
	lost->any_anew |= anew;
	if (owner) {
		set_lost(fib, owner, true);
		owner->hosts_awake |= awake;
		owner->hosts_awake_anew |= awake;
		owner->hosts_lost_anew |= anew;
		owner->hosts_lost_untold |= untold;
		lost->asleep |= !owner->hosts_awake;
	} else {
		lost->unowned = true;
		lost->unowned_anew |= anew;
		lost->unowned_untold |= untold;
	}
}

void fib_lost_spread(struct fib *fib, const struct fib_entry *from, struct fib_entry *to)
{
	const struct fib_lost *lost = &fib->hosts.lost;

	if (!fib_lost_under(fib, from))
		return;
	if (from)
		lose(fib, to, from->hosts_lost_anew, from->hosts_lost_untold, from->hosts_awake);
	else
		lose(fib, to, lost->unowned_anew, lost->unowned_untold, true);
}

/*
 * The kernel tells all that it has under a route by one hop at a time, or by an object, or by no
 * hop at all. Where the route is not known, nothing is.
 */
bool fib_is_told(const struct fib_next_hop *route)
{
	if (!route || route->set || route->key.kind == FIB_SOURCES)
		return false;
	if (route->key.verdict != SIXLANE_FORWARD)
		return !fib_hides_hops(route->key.verdict);
	return route->key.kind == FIB_OBJECT || route->key.kind == FIB_FIRST ||
	       (route->key.n == 1 && !route->group);
}

unsigned int fib_missing_add(struct fib *fib, const union sixlane_addr *dst, bool untold)
{
	fib->hosts.lost.any = fib->hosts.lost.any_anew = true;
	fib->hosts.lost.bits = fib->hosts.lost.bits_anew = true;
	return fib->writer.missing_add(fib->writer.ctx, dst, untold);
}

bool fib_lost_expect(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;

	if (!lost->expected) {
		lost->expected = lost->any = lost->any_anew = true;
		fib_entry_each(fib, fib_owner_settle);
	}
	if (!lost->expected_surely)
		lost->expected_surely = !fib->writer.grace(fib->writer.ctx);
	return lost->expected_surely;
}

static void keep_untold(struct fib_untold *untold, const struct fib_exception *said)
{
	if (said->expires_ns > untold->until_ns)
		untold->until_ns = said->expires_ns;
	untold->no_end |= said->confirm_ns || !said->expires_ns;
}

static struct prefix prefix_of(const struct sixlane_exception_key *key)
{
	return (struct prefix){ .addr = key->dst, .len = 128 };
}

/* Under this owner, or none (NULL). Returns FIB_MISSING_*. */
static unsigned int add_under(struct fib *fib, struct fib_entry *owner,
			      const union sixlane_addr *dst, const struct fib_exception *said,
			      bool untold, bool awake)
{
	unsigned int news = fib_missing_add(fib, dst, untold);

	if (untold)
		keep_untold(&fib->hosts.lost.untold, said);
	lose(fib, owner, true, untold ? LOST_LATER : 0, awake);
	return news;
}

/* table: NULL if it is not known. Returns FIB_MISSING_*. */
static unsigned int add(struct fib *fib, const struct fib_table *table,
			const struct sixlane_exception_key *key, const struct fib_exception *said,
			bool untold, bool awake)
{
	const struct prefix host = prefix_of(key);
	struct fib_entry *owner = table ? fib_host_owner_at(table, &host) : NULL;
	unsigned int news = add_under(fib, owner, &key->dst, said, untold, awake);

	fib_owner_settle(fib, owner);
	return news;
}

void fib_lost_behind(struct fib *fib, const struct sixlane_exception_key *key,
		     const struct fib_exception *said, bool untold)
{
	add(fib, fib_table_find(fib, key->table), key, said, untold, false);
}

void fib_lost_suspect(struct fib *fib, struct fib_entry *entry, const union sixlane_addr *dst,
		      const struct fib_exception *said, bool untold)
{
	add_under(fib, entry, dst, said, untold, true);
	fib->hosts.lost.wanted = true;
}

/* Others may have set the bits of the first one. */
static void count(uint64_t *n, bool is_new)
{
	*n += is_new || !*n;
}

bool fib_is_untold(const struct fib *fib, const struct sixlane_exception_key *key)
{
	const struct fib_table *table = fib_table_find(fib, key->table);
	const struct prefix host = prefix_of(key);

	return !table || !fib_is_told(fib_host_route_at(table, &host));
}

void fib_lost_add(struct fib *fib, const struct sixlane_exception_key *key,
		  const struct fib_exception *said, bool untold)
{
	const struct fib_table *table = fib_table_find(fib, key->table);
	struct fib_lost *lost = &fib->hosts.lost;
	unsigned int news;

	untold |= fib_is_untold(fib, key);
	news = add(fib, table, key, said, untold, true);
	count(&lost->n, news & FIB_MISSING_NOW);
	count(&lost->n_anew, news & FIB_MISSING_ANEW);
	if (untold)
		count(&lost->untold.n, news & FIB_MISSING_UNTOLD);
}

static bool are_there(const struct fib_untold *untold)
{
	return untold->until_ns || untold->no_end;
}

/* As long as any may be. */
static void lose_all(struct fib *fib, struct fib_entry *owner)
{
	const struct fib_lost *lost = &fib->hosts.lost;
	uint8_t untold = 0;

	untold |= are_there(&lost->untold) ? LOST_LATER : 0;
	untold |= are_there(&lost->untold_old) ? LOST_OLD : 0;
	lose(fib, owner, true, untold, true);
}

bool fib_lost_elsewhere(const struct fib *fib, const struct fib_table *table)
{
	const struct fib_lost *lost = &fib->hosts.lost;

	return lost->bits && (lost->n_entries > table->n_lost || lost->unowned);
}

void fib_host_check_lost(struct fib *fib, struct fib_host *host)
{
	if (host->words[FIB_KERNEL].there ||
	    !fib->writer.missing_has(fib->writer.ctx, &host->node.prefix.addr))
		return;
	host->lost = true;
	fib_host_settle(fib, host);
}

void fib_lost_share(struct fib *fib, struct fib_entry *entry)
{
	lose_all(fib, entry);
	fib->hosts.lost.wanted = true;
}

/* Packets to main look at the bits, which those of local have, too. */
static void lose_in_main(struct fib *fib, struct fib_entry *entry)
{
	if (entry->table->id != RT_TABLE_MAIN)
		return;
	lose_all(fib, entry);
	fib_owner_settle(fib, entry);
}

static void lose_beside(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	host->lost = fib_is_lost(fib, host);
	fib_host_update(fib, host);
}

/* With its last host main may go. */
static void suspect_in_main(struct fib *fib, const struct fib_host *host)
{
	const struct fib_table *main = fib_table_find(fib, RT_TABLE_MAIN);
	const struct fib_exception *said = fib_host_kernels(host);
	struct fib_entry *owner = main ? fib_host_owner_at(main, &host->node.prefix) : NULL;

	if (!said)
		return;
	fib_host_suspect(fib, main, owner, &host->node.prefix.addr, said,
			 !fib_is_told(fib_host_route(host)));
	fib_owner_settle(fib, owner);
}

void fib_join_exceptions(struct fib *fib)
{
	const struct fib_table *local;
	struct radix_node *at;

	fib_adopt_finish(fib);
	local = fib_table_find(fib, RT_TABLE_LOCAL);
	at = local ? radix_first_under(&local->hosts, &all) : NULL;
	for (; at; at = radix_next_under(at, &all))
		suspect_in_main(fib, fib_host_of(at));
	if (!fib->hosts.lost.any)
		return;
	fib_entry_each(fib, lose_in_main);
	/* and to those of local's routes that main has no cover of */
	lose_all(fib, NULL);
	fib_host_each(fib, lose_beside, NULL);
}

void fib_lost_forget(struct fib *fib, struct fib_entry *entry)
{
	set_lost(fib, entry, false);
}

void fib_lost_adopt(struct fib *fib, struct fib_entry *entry, uint32_t marks)
{
	entry->marks = marks >> SIXLANE_ROUTE_MARKS_SHIFT;
	if (marks & SIXLANE_ROUTE_EXCEPTIONS_MISSING)
		lose(fib, entry, true, LOST_LATER, true);
}

static void find_none(struct fib *fib, struct fib_entry *entry)
{
	set_lost(fib, entry, false);
}

/* Behind a route of which the kernel does not tell all there may be what it does not tell. */
static void find_untold(struct fib *fib, struct fib_entry *entry)
{
	fib->hosts.lost.untold.no_end |=
		entry->hosts_lost || (entry->wanted && !fib_is_told(entry->wanted));
}

static void lose_adopted(struct fib *fib, struct fib_entry *entry)
{
	lose(fib, entry, true, fib->hosts.lost.untold.no_end ? LOST_LATER : 0, false);
}

/* How many nobody knows: those that find no room are lost again, and counted, by the next dump. */
void fib_lost_adopt_finish(struct fib *fib)
{
	if (!fib->writer.missing_adopt(fib->writer.ctx)) {
		fib_entry_each(fib, find_none);
		return;
	}
	fib->hosts.lost.bits = true;
	fib_entry_each(fib, find_untold);
	fib_entry_each(fib, lose_adopted);
	/* their bits turn twice, whatever is found */
	fib->hosts.lost.untold.until_ns = 1;
}

uint64_t fib_lost_count(const struct fib *fib)
{
	return fib->hosts.lost.n;
}

static void end_after(struct fib_untold *untold, uint64_t end_ns)
{
	if (untold->no_end && end_ns > untold->until_ns)
		untold->until_ns = end_ns;
	untold->no_end = false;
}

void fib_lost_at(struct fib *fib, uint64_t now_ns)
{
	struct fib_lost *lost = &fib->hosts.lost;

	lost->now_ns = now_ns;
	if (lost->finding && !lost->finding_since_ns)
		lost->finding_since_ns = now_ns;
	end_after(&lost->untold_old, now_ns + UNTOLD_NS);
	end_after(&lost->untold, now_ns + UNTOLD_NS);
}

/* --- finding ---------------------------------------------------------------------------------- */

static uint8_t turned(uint8_t untold)
{
	return untold & LOST_LATER ? LOST_OLD : 0;
}

/* The old ones may be told again, and the later ones are the old ones. */
static void turn(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;

	lost->untold_old = lost->untold;
	lost->untold = (struct fib_untold){ 0 };
	lost->unowned_untold = turned(lost->unowned_untold);
}

static void begin_finding(struct fib *fib, struct fib_entry *entry)
{
	(void)fib;
	entry->hosts_lost_anew = entry->hosts_lost_untold != 0;
	entry->hosts_awake_anew = entry->hosts_awake && entry->hosts_lost_untold;
}

static void turn_and_begin_finding(struct fib *fib, struct fib_entry *entry)
{
	entry->hosts_lost_untold = turned(entry->hosts_lost_untold);
	begin_finding(fib, entry);
}

static void add_absent(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	if (host->absent)
		fib_missing_add(fib, &host->node.prefix.addr, false);
}

bool fib_lost_begin(struct fib *fib)
{
	struct fib_lost *lost = &fib->hosts.lost;
	bool turns = !lost->untold_old.no_end && lost->now_ns >= lost->untold_old.until_ns;

	if (lost->finding)
		return true;
	if (!lost->any)
		return false;
	lost->finding = true;
	lost->shared = false;
	lost->finding_since_ns = lost->now_ns;
	if (turns)
		turn(fib);
	fib->writer.missing_begin(fib->writer.ctx, turns);
	lost->any_anew = are_there(&lost->untold_old) || are_there(&lost->untold);
	lost->bits_anew = lost->any_anew;
	if (fib->hosts.n_failed)
		fib_host_each(fib, add_absent, NULL);
	lost->n_anew = lost->untold_old.n + lost->untold.n;
	lost->unowned_anew = lost->unowned_untold;
	if (lost->n_entries)
		fib_entry_each(fib, turns ? turn_and_begin_finding : begin_finding);
	return false;
}

static void end_finding(struct fib *fib, struct fib_entry *entry)
{
	if (!entry->hosts_lost && !entry->hosts)
		return;
	if (!entry->hosts_lost_anew)
		set_lost(fib, entry, false);
	entry->hosts_awake = entry->hosts_awake_anew;
	fib->hosts.lost.asleep |= entry->hosts_lost && !entry->hosts_awake;
	fib_owner_settle(fib, entry);
}

static void end_host_lost(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	if (!host->lost || fib_is_lost(fib, host))
		return;
	host->lost = false;
	fib_host_update(fib, host);
}

/*
 * A packet that has not found an entry before it came must not take it for none: hence the grace.
 * Where routes change all the time no telling is complete, and what many of them have left out for
 * so long is none either.
 */
void fib_lost_end(struct fib *fib, bool complete)
{
	struct fib_lost *lost = &fib->hosts.lost;
	bool walk;

	if (!lost->finding || !(complete || lost->now_ns > lost->finding_since_ns + UNTOLD_NS) ||
	    fib->writer.grace(fib->writer.ctx))
		return;
	walk = lost->n_entries || lost->expected;
	lost->finding = false;
	lost->expected &= fib->hosts.n >= fib->hosts.max - fib->hosts.max / ROOM;
	lost->expected_surely &= lost->expected;
	lost->any = lost->any_anew || lost->expected;
	lost->bits = lost->bits_anew;
	lost->n = lost->n_anew;
	lost->unowned = lost->unowned_anew;
	if (walk)
		fib_entry_each(fib, end_finding);
	fib->writer.missing_end(fib->writer.ctx);
	fib_host_each(fib, end_host_lost, NULL);
}
