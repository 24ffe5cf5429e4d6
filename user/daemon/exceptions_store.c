// SPDX-License-Identifier: GPL-2.0-only
/*
 * See exceptions_store.h.
 */
#include "exceptions_store.h"

#include <string.h>

#include "audit_table.h"
#include "daemon.h"

/* Without a kernel reader: the kernel forgets exceptions in less time. */
#define FORGOTTEN_NS 900000000000ull

/* --- the store -------------------------------------------------------------------------------- */

struct excepted *exceptions_find(const struct exceptions *exceptions, const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };

	return excepted_of(radix_find(&exceptions->store, &host));
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
	maps_look(sync->maps);
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
	const struct excepted *excepted = exceptions_find(exceptions, dst);

	if (exceptions_observe(sync))
		return false;
	if ((excepted && excepted->state != EXCEPTED_NONE) ||
	    maps_punted_has(exceptions->overflow.filter, dst) ||
	    maps_punted_has(exceptions->older.filter, dst))
		return true;
	/* as left by an earlier daemon */
	return !exceptions->ready && !fib_exception(sync->fib, dst) &&
	       maps_punted_has(exceptions->shadow, dst);
}

struct excepted *exceptions_get(struct sync *sync, const union sixlane_addr *dst)
{
	const struct prefix host = { .addr = *dst, .len = 128 };
	struct radix *store = &sync->exceptions->store;
	struct excepted *excepted = exceptions_find(sync->exceptions, dst);

	if (!excepted && store->entries < SIXLANE_MAX_EXCEPTIONS)
		excepted = radix_add(store, &host, sizeof(*excepted));
	if (!excepted)
		exceptions_punt_untracked(sync, dst);
	return excepted;
}

void exceptions_set_state(struct exceptions *exceptions, struct excepted *excepted,
			  enum excepted_state state)
{
	exceptions->dirty |= excepted->state != EXCEPTED_NONE && state == EXCEPTED_NONE;
	exceptions->n[excepted->state]--;
	exceptions->n[state]++;
	excepted->state = state;
}

void exceptions_forget(struct exceptions *exceptions, struct excepted *excepted)
{
	if (excepted->due_ns || !exceptions_is_known(excepted) || exceptions_has_any(excepted) ||
	    excepted->state != EXCEPTED_NONE)
		return;
	radix_remove(&exceptions->store, &excepted->node);
}

/* --- findings --------------------------------------------------------------------------------- */

bool exceptions_same_hop(const struct fib_hop *a, const struct fib_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       (!a->has_gateway || !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)));
}

void exceptions_read_soon(struct exceptions *exceptions, struct excepted *excepted,
			  uint64_t asked_ns)
{
	if (excepted->due_ns)
		return;
	if (exceptions->n_soon >= EXCEPTIONS_MAX_SOON) {
		exceptions->left_ns = util_now_ns();
		return;
	}
	excepted->asked_ns = asked_ns;
	excepted->due_ns = util_now_ns() + EXCEPTIONS_DELAY_NS;
	TAILQ_INSERT_TAIL(&exceptions->soon, excepted, soon);
	exceptions->n_soon++;
}

void exceptions_note_event(struct exceptions *exceptions, struct excepted *excepted)
{
	excepted->event_ns = util_now_ns();
	exceptions_read_soon(exceptions, excepted, excepted->event_ns);
}

void exceptions_dequeue(struct exceptions *exceptions, struct excepted *excepted)
{
	if (!excepted->due_ns)
		return;
	TAILQ_REMOVE(&exceptions->soon, excepted, soon);
	excepted->due_ns = 0;
	exceptions->n_soon--;
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
	exceptions->next_look_ns = util_earlier(exceptions->next_look_ns, exceptions->rested_ns);
}
