// SPDX-License-Identifier: GPL-2.0-only
/* See exceptions_store.h. */
#include "exceptions_store.h"

#include <string.h>

#include "audit_table.h"
#include "daemon.h"

/* Without a kernel reader: the kernel forgets exceptions in less time. */
#define FORGOTTEN_NS 900000000000ull

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

void exceptions_set_state(struct exceptions *exceptions, struct exception_dest *dest,
			  enum exception_state state)
{
	exceptions->dirty |= dest->state != EXCEPTION_NONE && state == EXCEPTION_NONE;
	exceptions->n[dest->state]--;
	exceptions->n[state]++;
	dest->state = state;
}

void exceptions_forget(struct exceptions *exceptions, struct exception_dest *dest)
{
	if (dest->due_ns || !exceptions_is_known(dest) || exceptions_has_any(dest) ||
	    dest->state != EXCEPTION_NONE)
		return;
	radix_remove(&exceptions->store, &dest->node);
}

/* --- findings --------------------------------------------------------------------------------- */

bool exceptions_same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       (!a->has_gateway || !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)));
}

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

	if (audit_reader(sync->audit))
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
