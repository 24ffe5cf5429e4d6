// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exceptions_store.h. Also reads the ICMPv6 events of the datapath. It punts their destinations
 * by sl_fresh until they are read.
 */
#include "exceptions_store.h"

#include <string.h>

#include "audit.h"

/* Without a kernel reader: the kernel forgets exceptions in less time. */
#define FORGOTTEN_NS 900000000000ull

/*
 * sl_fresh has two halves. The program marks destinations in one of them, and the daemon turns
 * them. A half is cleared when all destinations of its messages were read after these had come; or,
 * if some messages were lost, when everything that the kernel has was read.
 */
#define TURN_NS 500000000u
#define DRAIN_NS 20000000u	/* between two checks whether everything was read */
#define NO_GRACE_NS 1000000000u /* no packet is in the program for so long */

#define EVENTS_MAX 512
#define EVENTS_GAP_NS (10 * NS_PER_MS)

/* --- the store -------------------------------------------------------------------------------- */

struct exception_dest *exceptions_find(const struct exceptions *exceptions,
				       const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };

	return exception_dest_of(radix_find(&exceptions->store, &host));
}

/* Its routes are not flagged: packets look it up whatever their route is. */
void exceptions_punt_untracked(struct sync *sync, const union sixlane_addr *dst)
{
	struct exceptions *exceptions = sync->exceptions;

	if (exceptions_observe(sync))
		return;
	maps_punted_add(exceptions->overflow.filter, dst);
	maps_punted_add(sync->maps->punted, dst);
	fib_set_exception(sync->fib, dst, NULL);
	exceptions->overflow.n++;
	maps_check_punted(sync->maps);
}

bool exceptions_need_pass(const struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;
	const uint64_t since_ns = exceptions_read_since_ns(sync);

	return !exceptions->ready || (exceptions->fresh.draining && exceptions->fresh.lost) ||
	       exceptions_any_untracked(exceptions) ||
	       since_ns <= exceptions->left_ns + EXCEPTIONS_DELAY_NS;
}

bool exceptions_override(const struct sync *sync, const union sixlane_addr *dst)
{
	const struct exceptions *exceptions = sync->exceptions;
	const struct exception_dest *dest = exceptions_find(exceptions, dst);

	if (exceptions_observe(sync))
		return false;
	if ((dest && dest->state != EXCEPTION_NONE) ||
	    maps_punted_has(exceptions->overflow.filter, dst) ||
	    maps_punted_has(exceptions->older.filter, dst))
		return true;
	/* as left by an earlier daemon */
	return !exceptions->ready && !fib_exception(sync->fib, dst) &&
	       maps_punted_has(exceptions->next_punted, dst);
}

struct exception_dest *exceptions_get(struct sync *sync, const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };
	struct radix *store = &sync->exceptions->store;
	struct exception_dest *dest = exceptions_find(sync->exceptions, dst);

	if (!dest && store->entries < SIXLANE_MAX_EXCEPTIONS)
		dest = radix_add(store, &host, sizeof(*dest));
	if (!dest)
		exceptions_punt_untracked(sync, dst);
	return dest;
}

void exceptions_forget(struct exceptions *exceptions, struct exception_dest *dest)
{
	if (dest->due_ns || !exceptions_is_known(dest) || exceptions_has_any(dest) ||
	    dest->state != EXCEPTION_NONE)
		return;
	radix_remove(&exceptions->store, &dest->node);
}

/* --- what is to be read -------------------------------------------------------------------- */

void exceptions_read_soon(struct exceptions *exceptions, struct exception_dest *dest,
			  uint64_t asked_ns)
{
	if (dest->due_ns)
		return;
	if (exceptions->n_queued >= EXCEPTIONS_MAX_QUEUED) {
		exceptions->left_ns = util_now_ns();
		return;
	}
	dest->asked_ns = asked_ns;
	dest->due_ns = util_now_ns() + EXCEPTIONS_DELAY_NS;
	TAILQ_INSERT_TAIL(&exceptions->queue, dest, queued);
	exceptions->n_queued++;
}

void exceptions_note_event(struct exceptions *exceptions, struct exception_dest *dest)
{
	dest->event_ns = util_now_ns();
	exceptions_read_soon(exceptions, dest, dest->event_ns);
}

void exceptions_dequeue(struct exceptions *exceptions, struct exception_dest *dest)
{
	if (!dest->due_ns)
		return;
	TAILQ_REMOVE(&exceptions->queue, dest, queued);
	dest->due_ns = 0;
	exceptions->n_queued--;
}

uint64_t exceptions_read_since_ns(const struct sync *sync)
{
	const uint64_t now_ns = util_now_ns();

	if (sync->audit->reader)
		return audit_read_since_ns(sync->audit);
	return now_ns > FORGOTTEN_NS ? now_ns - FORGOTTEN_NS : 0;
}

void exceptions_operator_removed(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;

	exceptions->dirty = true; /* punt until the next check */
	exceptions->next_check_ns =
		util_earlier(exceptions->next_check_ns, exceptions->not_before_ns);
}

/* --- ICMPv6 events ---------------------------------------------------------------------- */

static void note_destination(struct sync *sync, const union sixlane_addr *dst)
{
	struct exceptions *exceptions = sync->exceptions;
	struct exception_dest *dest = NULL;

	if (!sync->audit->reader) {
		exceptions_punt_untracked(sync, dst);
		return;
	}
	if (exceptions->n_queued < EXCEPTIONS_MAX_QUEUED)
		dest = exceptions_get(sync, dst);
	if (dest)
		exceptions_note_event(exceptions, dest);
	else
		exceptions->fresh.lost = exceptions->fresh.lost_since = true;
}

void exceptions_fresh_read(struct sync *sync)
{
	struct icmp_events *icmp_events = &sync->icmp_events;
	const uint64_t now_ns = util_now_ns();
	struct sixlane_icmp_event read[EVENTS_MAX];
	int n;

	if (now_ns < icmp_events->next_read_ns)
		return;
	n = maps_ring_read(icmp_events->ring, read, EVENTS_MAX);
	for (int i = 0; i < n; i++)
		if (read[i].type == SIXLANE_ICMP6_ROUTER_ADVERT)
			audit_place_read_unsteady(sync, read[i].ifindex);
		else
			note_destination(sync, &read[i].dst);
	icmp_events->next_read_ns = n > 0 ? now_ns + EVENTS_GAP_NS : 0;
	if (n >= 0 && n < EVENTS_MAX)
		icmp_events->until_ns = now_ns;
	if (n < 0)
		log_warning_limited("cannot read the ICMP events of the datapath: %s",
				    strerror(-n));
}

int exceptions_fresh_fd(const struct icmp_events *events)
{
	/* events that wait are read when they are due */
	return events->next_read_ns ? -1 : maps_ring_fd(events->ring);
}

uint64_t exceptions_fresh_read_due_ns(const struct icmp_events *events)
{
	return events->next_read_ns ? events->next_read_ns : UINT64_MAX;
}

/* Unless some destinations need a lookup whatever their route is. */
static void stop_lookups(struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;

	if (exceptions->object_ns <= exceptions_read_since_ns(sync) &&
	    !exceptions_any_untracked(exceptions))
		maps_uncheck_punted(sync->maps);
}

static void turn(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t grace_ns;

	exceptions->fresh.next_turn_ns = now_ns + TURN_NS;
	if (!maps_fresh_any(sync->maps)) {
		stop_lookups(sync);
		return;
	}
	exceptions->fresh.draining = true;
	exceptions->fresh.event_ns = 0;
	grace_ns = maps_fresh_switch(sync->maps) ? NO_GRACE_NS : 0;
	exceptions->fresh.turned_ns = util_now_ns() + grace_ns;
	exceptions->fresh.lost = exceptions->fresh.lost_since;
	exceptions->fresh.lost_since = false;
}

/* Destinations of all events until then were read, but for those left to a pass. */
static bool is_read_until(const struct exceptions *exceptions, uint64_t until_ns)
{
	const struct exception_dest *at;

	TAILQ_FOREACH(at, &exceptions->queue, queued)
	if (at->asked_ns <= until_ns)
		return false;
	return true;
}

/* The half of before the turn may be cleared. */
static bool is_drained(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t turned_ns = exceptions->fresh.turned_ns;

	if (exceptions->fresh.lost)
		return exceptions_read_since_ns(sync) > turned_ns + EXCEPTIONS_DELAY_NS;
	if (!exceptions->fresh.event_ns && sync->icmp_events.until_ns > turned_ns)
		exceptions->fresh.event_ns = util_now_ns();
	return exceptions->fresh.event_ns && is_read_until(exceptions, exceptions->fresh.event_ns);
}

void exceptions_fresh_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t n_lost = exceptions->fresh.n_lost;

	/* on failure none; a pass comes in any case */
	(void)maps_icmp_events_lost(sync->maps, &n_lost);
	if (n_lost != exceptions->fresh.n_lost)
		exceptions->fresh.lost = exceptions->fresh.lost_since = true;
	exceptions->fresh.n_lost = n_lost;
	if (!exceptions->fresh.draining && !maps_checks_punted(sync->maps))
		return;
	if (!exceptions->fresh.draining && now_ns >= exceptions->fresh.next_turn_ns)
		turn(sync, now_ns);
	if (!exceptions->fresh.draining || !is_drained(sync))
		return;
	maps_fresh_clear(sync->maps, sync->maps->meta->fresh ^ 1);
	exceptions->fresh.draining = false;
	stop_lookups(sync);
}

uint64_t exceptions_fresh_due_ns(const struct sync *sync)
{
	if (sync->exceptions->fresh.draining)
		return util_now_ns() + (sync->exceptions->fresh.lost ? TURN_NS : DRAIN_NS);
	return maps_checks_punted(sync->maps) ? sync->exceptions->fresh.next_turn_ns : UINT64_MAX;
}
