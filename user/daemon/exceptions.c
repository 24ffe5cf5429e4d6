// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exceptions.h. The passes of the audit read all exceptions. A single destination is read a
 * moment after an event or a change of its route, within a budget of CPU time. What has not been
 * read is punt, by sl_fresh (exceptions_store.c) or by sl_punted.
 */
#include <string.h>

#include "audit.h"
#include "exceptions_store.h"
#include "kernel_reader.h"
#include "operator.h"

/* Readings take at most a 50th of a CPU, and so do checks of the store. */
#define BUDGET_PART 50
#define BURST_NS (20 * NS_PER_MS) /* readings in a row, followed by a rest */

#define CHECK_NS NS_PER_S /* between two checks of the store, or more by the budget */

/* --- reading one ------------------------------------------------------------------------------ */

struct reading {
	struct sync *sync;
	struct kernel_reader *reader;
	struct kernel_choice choice;
	int err;
};

static void read_table(void *ctx, uint32_t table)
{
	struct reading *reading = ctx;
	const struct prefix host = { .addr = reading->choice.dst, .len = 128 };
	const struct radix *radix = rib_table(reading->sync->stores.rib, table);
	const struct radix_node *node = radix ? radix_match(radix, &host) : NULL;
	struct kernel_view view;

	for (; node && !reading->err; node = radix_cover(node))
		reading->err = kernel_reader_find(reading->reader, table, &node->prefix,
						  &reading->choice, &view)
				       ?: exceptions_note(reading->sync, table, &view, view.records,
							  view.n);
}

static void read_objects(struct reading *reading)
{
	struct kernel_cursor cursor = { 0 };
	struct kernel_view view = { 0 };

	while (!view.end && !reading->err)
		reading->err = kernel_reader_walk(reading->reader, KERNEL_READER_OBJECTS,
						  KERNEL_READER_RECORDS / 4, &reading->choice,
						  &cursor, &view)
				       ?: exceptions_note(reading->sync, KERNEL_READER_OBJECTS,
							  &view, view.records, view.n);
}

/* Read all exceptions of the destination: at each route that covers it, and at each object. */
static void read_one(struct sync *sync, struct exception_dest *dest)
{
	struct reading reading = {
		.sync = sync,
		.reader = sync->audit->reader,
		.choice = { .exceptions = KERNEL_EXCEPTIONS_ONE, .dst = dest->node.prefix.addr },
	};

	dest->since_ns = util_now_ns();
	rib_each_table(sync->stores.rib, read_table, &reading);
	for (int i = 0; i < 2 && nexthops_count(sync->stores.nexthops); i++)
		read_objects(&reading); /* one walk may miss some, two do not */
	exceptions_dequeue(sync->exceptions, dest);
	if (reading.err) {
		log_warning_limited("cannot read the kernel's exceptions: %s",
				    strerror(-reading.err));
		dest->since_ns = 0; /* unknown until a pass */
		sync->exceptions->left_ns = util_now_ns();
		exceptions_punt(sync, dest);
		return;
	}
	exceptions_decide(sync, dest);
}

/* --- reading those that are due --------------------------------------------------------------- */

static void read_next(struct sync *sync, struct exception_dest *dest, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	read_one(sync, dest);
	if (dest->event_ns + EXCEPTIONS_DELAY_NS > now_ns)
		exceptions_read_soon(exceptions, dest, dest->event_ns);
	exceptions_forget(exceptions, dest);
}

static void read_due(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t begin_ns = util_cpu_ns();
	uint64_t took_ns = 0;
	struct exception_dest *dest;

	if (now_ns < exceptions->paused_until_ns ||
	    sync->schedule.backlog) /* on messages about routes, too */
		return;
	while ((dest = TAILQ_FIRST(&exceptions->queue)) && dest->due_ns <= now_ns &&
	       took_ns < BURST_NS) {
		read_next(sync, dest, now_ns);
		took_ns = util_cpu_ns() - begin_ns;
	}
	exceptions->paused_until_ns = now_ns + took_ns * BUDGET_PART;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* A pass that began after the last event has read everything: what it did not find is gone. */
static void apply_pass(struct sync *sync, struct exception_dest *dest, uint64_t read_since_ns)
{
	if (read_since_ns <= dest->since_ns ||
	    read_since_ns <= dest->event_ns + EXCEPTIONS_DELAY_NS)
		return;
	exceptions_dequeue(sync->exceptions, dest);
	dest->since_ns = read_since_ns;
	if (dest->state != EXCEPTION_EXACT || !exceptions_has_found(dest))
		exceptions_decide(sync, dest);
}

static bool is_outdated(const struct sync *sync, const struct exception_dest *dest, uint64_t now_ns)
{
	const uint64_t expires_ns = dest->found.expires_ns;
	struct fib_exception exact;

	return !exceptions_has_found(dest) ||
	       (expires_ns ? expires_ns <= now_ns
			   : dest->found.seen_ns + EXCEPTIONS_LEASE_NS / 2 < now_ns) ||
	       (dest->state < EXCEPTION_NO_ROOM && dest->state != EXCEPTION_EXACT &&
		exceptions_is_exact(sync, dest, &exact));
}

/* Half of a redirect's lease is over, or it has no entry since the operator's was in its place. */
static bool needs_renewal(const struct fib *fib, const struct exception_dest *dest, uint64_t now_ns)
{
	const struct fib_exception *entry = fib_exception(fib, &dest->node.prefix.addr);

	return !entry ||
	       (!dest->found.expires && entry->expires_ns < now_ns + EXCEPTIONS_LEASE_NS / 2);
}

static void check_one(struct sync *sync, struct exception_dest *dest, uint64_t now_ns,
		      uint64_t read_since_ns)
{
	apply_pass(sync, dest, read_since_ns);
	if (dest->state == EXCEPTION_EXACT && needs_renewal(sync->fib, dest, now_ns))
		exceptions_decide(sync, dest);
	if (exceptions_has_any(dest) && is_outdated(sync, dest, now_ns))
		exceptions_read_soon(sync->exceptions, dest, now_ns);
	exceptions_forget(sync->exceptions, dest);
}

/* Nothing has an exception: no packet needs a lookup. */
static void clear_flags(struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;
	struct fib_stats stats;

	fib_get_stats(sync->fib, &stats);
	if (exceptions->ready && !exceptions->store.entries && !exceptions->dirty &&
	    !exceptions_any_untracked(exceptions) && !stats.exceptions)
		fib_clear_exception_flags(sync->fib);
}

/* Destinations for which there was no room. Without a kernel reader all are kept there. */
static uint64_t count_overflow(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;

	if (!sync->audit->reader)
		return 0;
	return exceptions->n[EXCEPTION_NO_ROOM] + exceptions->overflow.n + exceptions->older.n;
}

/* Everything was read: those that found no room before that were read again, or are gone. */
static void age_overflow(struct sync *sync, uint64_t read_since_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	if (read_since_ns <= exceptions->overflow_ns)
		return;
	if (exceptions->older.n) {
		exceptions->dirty = true;
		operator_reread(sync->operator);
	}
	if (exceptions_any_untracked(exceptions)) {
		exceptions->older = exceptions->overflow;
		memset(&exceptions->overflow, 0, sizeof(exceptions->overflow));
	}
	exceptions->overflow_ns = util_now_ns() + EXCEPTIONS_DELAY_NS;
}

static void add_entry(void *ctx, const union sixlane_addr *dst, const struct fib_exception *entry)
{
	struct exceptions *exceptions = ctx;

	(void)entry;
	maps_punted_add(exceptions->next_punted, dst);
}

/* Write sl_punted without the bits that no destination needs any more. */
static void rebuild(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;

	for (size_t i = 0; i < SIXLANE_PUNTED_WORDS; i++)
		exceptions->next_punted[i] =
			exceptions->overflow.filter[i] | exceptions->older.filter[i];
	for (struct exception_dest *at = exceptions_first(exceptions); at; at = exceptions_next(at))
		if (at->state >= EXCEPTION_PUNT)
			maps_punted_add(exceptions->next_punted, &at->node.prefix.addr);
	fib_exception_each(sync->fib, add_entry, exceptions);
	maps_punted_set(sync->maps, exceptions->next_punted);
	exceptions->dirty = false;
}

void exceptions_check(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t now_ns = util_now_ns(), cpu_ns = util_cpu_ns();
	const uint64_t read_since_ns = exceptions_read_since_ns(sync);
	struct exception_dest *at = exceptions_first(exceptions), *after;

	exceptions->passes = sync->audit->passes;
	for (; at; at = after) {
		after = exceptions_next(at);
		check_one(sync, at, now_ns, read_since_ns);
	}
	age_overflow(sync, read_since_ns);
	if (!exceptions->ready && read_since_ns > exceptions->start_ns) {
		exceptions->ready = true;
		operator_reread(sync->operator);
	}
	if (exceptions->ready && exceptions->dirty)
		rebuild(sync);
	clear_flags(sync);
	if (count_overflow(sync) && !exceptions->reported)
		log_warning(
			"more exceptions (Path MTUs, redirects) than max_exceptions (%u): packets to the other destinations pass to the kernel; raise max_exceptions, or find the sender of the ICMPv6 messages",
			sync->config->max_exceptions);
	exceptions->reported = count_overflow(sync);
	exceptions->not_before_ns = now_ns + (util_cpu_ns() - cpu_ns) * BUDGET_PART;
	exceptions->next_check_ns = util_later(now_ns + CHECK_NS, exceptions->not_before_ns);
}

void exceptions_start(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;

	exceptions->start_ns = util_now_ns();
	/* bits of an earlier daemon, about destinations that it had not read */
	memcpy(exceptions->next_punted, sync->maps->punted, sizeof(exceptions->next_punted));
	exceptions->fresh.lost_since = maps_fresh_count(sync->maps, sync->maps->meta->fresh);
	/* it may have ended before it cleared a half, or just after it turned them */
	exceptions->fresh.draining = exceptions->fresh.lost =
		maps_fresh_count(sync->maps, sync->maps->meta->fresh ^ 1);
	exceptions->fresh.turned_ns = exceptions->start_ns + NS_PER_S;
}

/* --- when ------------------------------------------------------------------------------------- */

/* Immediately after a pass, if the budget allows. */
static uint64_t check_due_ns(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;

	return exceptions->passes != sync->audit->passes
		       ? util_earlier(exceptions->next_check_ns, exceptions->not_before_ns)
		       : exceptions->next_check_ns;
}

void exceptions_run(struct sync *sync)
{
	const uint64_t now_ns = util_now_ns();

	exceptions_mtu_run(sync, now_ns);
	read_due(sync, now_ns);
	if (now_ns >= check_due_ns(sync))
		exceptions_check(sync);
	exceptions_fresh_run(sync, now_ns);
}

uint64_t exceptions_due_ns(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;
	const struct exception_dest *first = TAILQ_FIRST(&exceptions->queue);
	uint64_t next_ns = util_earlier(exceptions->mtu_check_ns, exceptions_fresh_due_ns(sync));

	if (first)
		next_ns = util_earlier(next_ns,
				       util_later(first->due_ns, exceptions->paused_until_ns));
	if (exceptions->store.entries || exceptions->dirty || exceptions_any_untracked(exceptions))
		next_ns = util_earlier(next_ns, check_due_ns(sync));
	return next_ns;
}

void exceptions_write_meta(const struct sync *sync, struct sixlane_meta *meta)
{
	struct exceptions *exceptions = sync->exceptions;

	/* the counter includes earlier daemons */
	meta->exception_passes += exceptions->passes - exceptions->passes_counted;
	exceptions->passes_counted = exceptions->passes;
	meta->punted = exceptions->n[EXCEPTION_PUNT] + exceptions->n[EXCEPTION_NO_ROOM];
	meta->exceptions_overflow = count_overflow(sync);
}

struct exceptions *exceptions_new(void)
{
	struct exceptions *exceptions = calloc(1, sizeof(*exceptions));

	if (!exceptions)
		return NULL;
	TAILQ_INIT(&exceptions->queue);
	exceptions->mtu_check_ns = UINT64_MAX;
	exceptions->dirty = true; /* bits of an earlier daemon */
	return exceptions;
}

void exceptions_free(struct exceptions *exceptions)
{
	struct exception_dest *at;

	while (exceptions && (at = exceptions_first(exceptions)))
		radix_remove(&exceptions->store, &at->node);
	free(exceptions);
}
