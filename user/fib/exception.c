// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exceptions as they are said: by whom, how many there may be, which make room for others, and
 * which are in doubt. What the map says of them is host.c's, and how those go that are said no
 * more, or have expired, exception_end.c's.
 */
#include <errno.h>
#include <stdlib.h>

#include "../lib/util.h"
#include "host.h"

static const struct prefix all;

/* Of what may make room for others; the kernel's own ones go before all that the operator said. */
#define NEVER_EXPIRES (UINT64_MAX - 1)
#define NEVER_GOES UINT64_MAX

static struct prefix host_prefix(const union sixlane_addr *dst)
{
	return (struct prefix){ .addr = *dst, .len = 128 };
}

/* --- all of them ------------------------------------------------------------------------------ */

struct each {
	struct fib *fib;
	const struct prefix *dst;
	void (*fn)(struct fib *fib, struct fib_host *host, void *ctx);
	void *ctx;
};

static void each_of_table(struct fib_hash_node *node, void *ctx)
{
	struct fib_table *table = container_of(node, struct fib_table, node);
	const struct each *each = ctx;
	struct radix_node *at = radix_first_under(&table->hosts, each->dst), *after;

	/* With its last host the table may go. */
	for (; at; at = after) {
		after = radix_next_under(at, each->dst);
		each->fn(each->fib, fib_host_of(at), each->ctx);
	}
}

void fib_host_each_under(struct fib *fib, const struct prefix *dst,
			 void (*fn)(struct fib *fib, struct fib_host *host, void *ctx), void *ctx)
{
	struct each each = { fib, dst, fn, ctx };

	if (fib->hosts.n)
		fib_hash_each(&fib->tables, each_of_table, &each);
}

void fib_host_each(struct fib *fib, void (*fn)(struct fib *fib, struct fib_host *host, void *ctx),
		   void *ctx)
{
	fib_host_each_under(fib, &all, fn, ctx);
}

void fib_host_init(struct fib *fib)
{
	fib_list_init(&fib->hosts.arrivals);
	fib_list_init(&fib->hosts.doubts);
	fib_list_init(&fib->hosts.leaving);
	fib->hosts.max = SIXLANE_MAX_EXCEPTIONS;
	fib->hosts.lost.any = true; /* by an earlier daemon */
}

void fib_host_free_all(struct fib *fib)
{
	fib_heap_free(&fib->hosts.expiry);
	fib_heap_free(&fib->hosts.eviction);
}

/* --- one of them ------------------------------------------------------------------------------ */

static struct fib_host *new_host(struct fib *fib, struct fib_table *table,
				 const union sixlane_addr *dst)
{
	struct fib_hosts *hosts = &fib->hosts;
	struct fib_host *host;

	if (fib_heap_reserve(&hosts->expiry, hosts->n + 1) ||
	    fib_heap_reserve(&hosts->eviction, hosts->n + 1))
		return NULL;
	host = calloc(1, sizeof(*host));
	if (!host)
		return NULL;
	host->node.prefix = host_prefix(dst);
	if (radix_insert(&table->hosts, &host->node)) {
		free(host);
		return NULL;
	}
	host->table = table;
	fib_list_append(&hosts->arrivals, &host->arrivals);
	fib_list_init(&host->doubts);
	fib_list_init(&host->leaving);
	fib_host_own(host);
	host->lost = fib_is_lost(fib, host);
	hosts->n++;
	return host;
}

struct fib_host *fib_host_get(struct fib *fib, uint32_t id, const union sixlane_addr *dst)
{
	struct fib_table *table = fib_table_get(fib, id);
	struct fib_host *host = table ? new_host(fib, table, dst) : NULL;

	if (table)
		fib_table_reap(fib, table);
	return host;
}

static void forget(struct fib *fib, struct fib_host *host)
{
	struct fib_table *table = host->table;

	fib_heap_remove(&fib->hosts.expiry, &host->expiry);
	fib_heap_remove(&fib->hosts.eviction, &host->eviction);
	fib_list_unlink(&host->arrivals);
	fib_list_unlink(&host->doubts);
	fib_list_unlink(&host->leaving);
	fib_host_disown(host);
	fib->hosts.n--;
	radix_remove(&table->hosts, &host->node);
	fib_table_reap(fib, table);
}

static uint64_t expiry_of(const struct fib_host *host)
{
	uint64_t kernel = fib_host_end_ns(host, FIB_KERNEL),
		 oper = fib_host_end_ns(host, FIB_OPERATOR);

	return kernel < oper ? kernel : oper;
}

static uint64_t eviction_key(uint64_t expires_ns)
{
	return expires_ns && expires_ns < NEVER_EXPIRES ? expires_ns : NEVER_EXPIRES;
}

void fib_host_place(struct fib *fib, struct fib_host *host)
{
	const struct fib_word *kernel = &host->words[FIB_KERNEL];
	bool kernel_alone = kernel->there && !host->words[FIB_OPERATOR].there;
	uint64_t expiry = expiry_of(host);

	if (expiry < UINT64_MAX)
		fib_heap_set(&fib->hosts.expiry, &host->expiry, expiry);
	else
		fib_heap_remove(&fib->hosts.expiry, &host->expiry);
	fib_heap_set(&fib->hosts.eviction, &host->eviction,
		     kernel_alone ? eviction_key(kernel->said.expires_ns) : NEVER_GOES);
}

void fib_host_update(struct fib *fib, struct fib_host *host)
{
	struct fib_entry *owner;

	if (!host->words[FIB_KERNEL].there) {
		host->doubtful = false;
		host->lost = fib_is_lost(fib, host);
		fib_list_unlink(&host->doubts);
	}
	fib_host_settle(fib, host);
	owner = host->owner;
	if (fib_host_is_said(host) || host->written)
		fib_host_place(fib, host);
	else
		forget(fib, host);
	fib_owner_settle(fib, owner);
}

static void retry(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	if (host->failed)
		fib_host_update(fib, host);
}

void fib_host_retry(struct fib *fib)
{
	if (fib->hosts.n_failed)
		fib_host_each(fib, retry, NULL);
}

/* --- room ------------------------------------------------------------------------------------- */

/* As far as is known. */
static bool kernel_has(const struct fib_host *host)
{
	const struct fib_word *kernel = &host->words[FIB_KERNEL];

	return kernel->there && kernel->said.expires_ns != FIB_LONG_EXPIRED;
}

static struct fib_host *first_to_go(const struct fib *fib)
{
	struct fib_heap_item *item = fib_heap_first(&fib->hosts.eviction);

	return item ? container_of(item, struct fib_host, eviction) : NULL;
}

/* The kernel still has it: what is not there is the kernel's. False: stuck, or it must not go. */
static bool evict(struct fib *fib, struct fib_host *host)
{
	const struct sixlane_exception_key key = fib_host_key(host);
	bool has = kernel_has(host);
	size_t n = fib->hosts.n;

	if (has && !fib_lost_expect(fib))
		return false;
	if (has)
		fib_lost_add(fib, &key, &host->words[FIB_KERNEL].said, host->untold);
	for (int origin = 0; origin < FIB_N_ORIGINS; origin++)
		host->words[origin].there = false;
	fib->hosts.n_evicted++;
	fib_host_update(fib, host);
	return fib->hosts.n < n;
}

static bool make_room(struct fib *fib, enum fib_origin origin, uint64_t expires_ns)
{
	uint64_t before = origin == FIB_OPERATOR ? NEVER_GOES : eviction_key(expires_ns);
	struct fib_host *host;

	while (fib->hosts.n >= fib->hosts.max) {
		host = first_to_go(fib);
		if (!host || host->eviction.key >= before || !evict(fib, host))
			return false;
	}
	return true;
}

void fib_host_trim(struct fib *fib)
{
	while (fib->hosts.n > fib->hosts.max && evict(fib, first_to_go(fib)))
		;
}

void fib_set_max_exceptions(struct fib *fib, uint32_t max)
{
	fib->hosts.max = max < SIXLANE_MAX_EXCEPTIONS ? max : SIXLANE_MAX_EXCEPTIONS;
	if (!fib->adopting)
		fib_host_trim(fib);
}

/* --- what is said ----------------------------------------------------------------------------- */

static struct fib_host *find(const struct fib_table *table, const union sixlane_addr *dst)
{
	const struct prefix prefix = host_prefix(dst);
	struct radix_node *node = table ? radix_find(&table->hosts, &prefix) : NULL;

	return node ? fib_host_of(node) : NULL;
}

/* A hop to nowhere cannot be: that is the kernel's. */
static struct fib_exception sane(const struct fib_exception *said)
{
	struct fib_exception out = *said;

	out.has_hop &= said->hop.ifindex != 0;
	out.has_under &= said->under.ifindex != 0;
	out.punt |= said->has_hop != out.has_hop || said->has_under != out.has_under;
	return out;
}

/* Without words yet. NULL: *err says why. */
static struct fib_host *first_word(struct fib *fib, enum fib_origin origin,
				   const struct sixlane_exception_key *key,
				   const struct fib_exception *said, int *err)
{
	struct fib_host *host = NULL;

	*err = -ENOSPC;
	if (make_room(fib, origin, said->expires_ns)) {
		host = fib_host_get(fib, key->table, &key->dst);
		*err = -ENOMEM;
	}
	if (!host && origin == FIB_KERNEL)
		fib_lost_add(fib, key, said, false);
	return host;
}

void fib_host_lose_behind(struct fib *fib, const struct fib_host *host)
{
	const struct sixlane_exception_key key = fib_host_key(host);

	if (host->moved && kernel_has(host))
		fib_lost_behind(fib, &key, &host->words[FIB_KERNEL].said, host->untold);
}

static bool is_same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	const struct fib_key_hop hop = fib_key_hop(a), other = fib_key_hop(b);

	return fib_key_hop_is(&hop, &other);
}

/* Those that have no end have a lease, from each time on at which they are said. */
static bool is_same(const struct fib_exception *a, const struct fib_exception *b)
{
	bool leased = a->confirm_ns && b->confirm_ns;

	return a->mtu == b->mtu && (leased || a->expires_ns == b->expires_ns) &&
	       a->has_hop == b->has_hop && a->has_under == b->has_under &&
	       (!a->has_hop || is_same_hop(&a->hop, &b->hop)) &&
	       (!a->has_under || is_same_hop(&a->under, &b->under));
}

int fib_set_exception(struct fib *fib, enum fib_origin origin, uint32_t table,
		      const union sixlane_addr *dst, const struct fib_exception *exception)
{
	const struct sixlane_exception_key key = { .dst = *dst, .table = table };
	struct fib_host *host;
	bool found = false;
	int err;

	fib_adopt_finish(fib);
	host = find(fib_table_find(fib, table), dst);
	if (!host && !exception)
		return 0;
	if (!host) {
		host = first_word(fib, origin, &key, exception, &err);
		if (!host)
			return err;
	}
	if (origin == FIB_KERNEL) {
		if (!exception || !is_same(exception, &host->words[FIB_KERNEL].said))
			fib_host_lose_behind(fib, host);
		/* which has its bit anew no more */
		found = exception && host->lost && fib->hosts.lost.finding;
		host->lost = host->doubtful = host->moved = host->untold = false;
		fib_list_unlink(&host->doubts);
	}
	host->words[origin].there = exception != NULL;
	host->words[origin].generation = fib->hosts.generation[origin];
	if (exception)
		host->words[origin].said = sane(exception);
	fib_host_update(fib, host);
	if (found)
		fib_host_share(fib, host);
	return 0;
}

const struct fib_exception *fib_host_kernels(const struct fib_host *host)
{
	return kernel_has(host) ? &host->words[FIB_KERNEL].said : NULL;
}

const struct fib_exception *fib_host_said_at(const struct fib_table *table,
					     const union sixlane_addr *dst)
{
	const struct fib_host *host = find(table, dst);

	return host ? fib_host_kernels(host) : NULL;
}

bool fib_host_says(const struct fib_host *host, const struct fib_exception *said)
{
	return is_same(&host->words[FIB_KERNEL].said, said);
}

struct fib_host *fib_host_suspect(struct fib *fib, const struct fib_table *table,
				  struct fib_entry *entry, const union sixlane_addr *dst,
				  const struct fib_exception *said, bool untold)
{
	struct fib_host *host = find(table, dst);

	if (host && kernel_has(host))
		return host;
	fib_lost_suspect(fib, entry, dst, said, untold);
	if (!host)
		return NULL;
	host->words[FIB_KERNEL].there = false;
	if (host->words[FIB_OPERATOR].there)
		fib_host_check_lost(fib, host);
	else
		fib_host_update(fib, host);
	return NULL;
}

void fib_lose_exception(struct fib *fib, uint32_t table, const union sixlane_addr *dst, bool asked)
{
	const struct sixlane_exception_key key = { .dst = *dst, .table = table };
	const struct fib_exception unknown = { 0 };
	struct fib_host *host;

	fib_adopt_finish(fib);
	fib_lost_behind(fib, &key, &unknown, asked && fib_is_untold(fib, &key));
	host = find(fib_table_find(fib, table), dst);
	if (host && !host->words[FIB_KERNEL].there)
		fib_host_update(fib, host);
}

static void doubt(struct fib *fib, struct fib_host *host, void *ctx)
{
	(void)ctx;
	fib_owner_doubt_host(fib, host);
}

void fib_doubt_exceptions(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	struct fib_table *found;
	struct radix_node *node;

	fib_adopt_finish(fib);
	if (!dst) {
		fib_host_each(fib, doubt, NULL);
		return;
	}
	found = fib_table_find(fib, table);
	node = found ? radix_find(&found->entries, dst) : NULL;
	if (!node)
		return;
	fib_owner_doubt(fib, fib_entry_of(node));
	fib_lost_wake(fib, fib_entry_of(node));
	fib_owner_settle(fib, fib_entry_of(node));
}

void fib_doubt_exceptions_within(struct fib *fib, uint32_t table, const struct prefix *dst)
{
	struct fib_table *found;
	struct radix_node *at;

	fib_adopt_finish(fib);
	found = fib_table_find(fib, table);
	at = found ? radix_first_under(&found->hosts, dst) : NULL;
	for (; at; at = radix_next_under(at, dst))
		fib_owner_doubt_host(fib, fib_host_of(at));
}

bool fib_has_exceptions(const struct fib *fib, uint32_t table, const struct prefix *dst)
{
	const struct fib_table *found = fib_table_find(fib, table);

	return found && (radix_first_under(&found->hosts, dst) ||
			 fib_lost_under(fib, fib_host_owner_at(found, dst)));
}

bool fib_wants_exceptions(struct fib *fib)
{
	bool wanted = fib->hosts.lost.wanted;

	fib->hosts.lost.wanted = false;
	return wanted;
}

bool fib_any_exceptions(const struct fib *fib)
{
	return fib->hosts.n;
}

bool fib_has_doubts(const struct fib *fib)
{
	return !fib_list_is_empty(&fib->hosts.doubts);
}

bool fib_exception_in_doubt(struct fib *fib, uint32_t *table, union sixlane_addr *dst)
{
	struct fib_list *doubts = &fib->hosts.doubts;
	struct fib_host *host;

	fib_adopt_finish(fib);
	if (fib_list_is_empty(doubts))
		return false;
	host = container_of(doubts->next, struct fib_host, doubts);
	fib_list_unlink(&host->doubts);
	*table = host->table->id;
	*dst = host->node.prefix.addr;
	return true;
}
