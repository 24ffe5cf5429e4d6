// SPDX-License-Identifier: GPL-2.0-only
/*
 * sl_fresh: the program punts destinations that an ICMPv6 message was about before the kernel sees
 * it. The halves are set in turn. One is cleared when all that its messages were about was read
 * after they had come, or, if some of that was lost, when all that the kernel has was.
 */
#include "exceptions.h"

#define TURN_NS 500000000u
#define DRAIN_NS 20000000u	/* between two looks whether all was read */
#define NO_GRACE_NS 1000000000u /* a packet is not under way for so long */

void exceptions_fresh_lost(struct exceptions *exceptions)
{
	exceptions->fresh.lost = exceptions->fresh.lost_since = true;
}

/* Unless some destinations are looked for whatever the route. */
static void stop_looking(struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;

	if (exceptions->object_passes <= audit_passes(sync->audit) &&
	    !exceptions_any_lost(exceptions))
		maps_look_no_more(sync->maps);
}

static void turn(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	exceptions->fresh.next_turn_ns = now_ns + TURN_NS;
	if (!maps_fresh_any(sync->maps)) {
		stop_looking(sync);
		return;
	}
	exceptions->fresh.turned_ns = util_now_ns();
	if (maps_fresh_turn(sync->maps))
		exceptions->fresh.turned_ns += NO_GRACE_NS;
	else
		exceptions->fresh.turned_ns = util_now_ns();
	exceptions->fresh.draining = true;
	exceptions->fresh.heard_ns = 0;
	exceptions->fresh.lost = exceptions->fresh.lost_since;
	exceptions->fresh.lost_since = false;
}

/* What came before the turn was heard of, perhaps after it, and read; or, if some of that was lost,
 * all was read. */
static bool is_drained(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t turned_ns = exceptions->fresh.turned_ns;

	if (exceptions->fresh.lost)
		return exceptions_read_since_ns(sync) > turned_ns;
	if (!exceptions->fresh.heard_ns && sync->hints.until_ns > turned_ns)
		exceptions->fresh.heard_ns = util_now_ns();
	return exceptions->fresh.heard_ns &&
	       exceptions_read_until(exceptions, exceptions->fresh.heard_ns);
}

void exceptions_fresh_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t n_lost = exceptions->fresh.n_lost;

	/* not known: none; a pass comes in any case */
	(void)maps_hints_lost(sync->maps, &n_lost);
	if (n_lost != exceptions->fresh.n_lost)
		exceptions_fresh_lost(exceptions);
	exceptions->fresh.n_lost = n_lost;
	if (!maps_looks(sync->maps))
		return;
	if (!exceptions->fresh.draining && now_ns >= exceptions->fresh.next_turn_ns)
		turn(sync, now_ns);
	if (!exceptions->fresh.draining || !is_drained(sync))
		return;
	maps_fresh_clear(sync->maps, sync->maps->meta->fresh ^ 1);
	exceptions->fresh.draining = false;
	stop_looking(sync);
}

uint64_t exceptions_fresh_due_ns(const struct sync *sync)
{
	if (sync->exceptions->fresh.draining)
		return util_now_ns() + DRAIN_NS;
	return maps_looks(sync->maps) ? sync->exceptions->fresh.next_turn_ns : UINT64_MAX;
}
