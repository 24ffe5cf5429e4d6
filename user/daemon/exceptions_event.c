// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that make exceptions stale: messages, changes of routes and of devices' MTUs, the
 * operator's own exceptions. Each punts the destinations before it counts, and has them read again.
 */
#include "exceptions.h"

#include <linux/rtnetlink.h>
#include <string.h>

#define NS_PER_MS 1000000ull

/*
 * The kernel announces a device's new MTU, goes through all exceptions (rt6_mtu_change), and gives
 * it to IPv6 then. The more routes, the longer that takes, so it is looked for every so often; not
 * for ever, since an operator may have set net.ipv6.conf.DEV.mtu to something else at once.
 */
#define MTU_LOOK_NS (10 * NS_PER_MS)
#define MTU_LOOK_MAX_NS (10000 * NS_PER_MS)

/*
 * sl_fresh: the program punts destinations that an ICMPv6 message was about before the kernel sees
 * it. The halves are set in turn. One is cleared when all that its messages were about was read
 * after they had come, or, if some of that was lost, when all that the kernel has was.
 */
#define TURN_NS 500000000u
#define DRAIN_NS 20000000u	/* between two looks whether all was read */
#define NO_GRACE_NS 1000000000u /* a packet is not under way for so long */

#define HINTS_MAX 512
#define HINTS_GAP_NS (10 * NS_PER_MS)

/* --- what the datapath saw -------------------------------------------------------------------- */

static void expect(struct sync *sync, const union sixlane_addr *dst)
{
	struct exceptions *exceptions = sync->exceptions;
	struct excepted *excepted = NULL;

	if (!audit_reader(sync->audit)) {
		exceptions_lose(sync, dst);
		return;
	}
	if (exceptions->n_soon < EXCEPTIONS_MAX_SOON)
		excepted = exceptions_get(sync, dst);
	if (excepted)
		exceptions_heard(exceptions, excepted);
	else
		exceptions->fresh.lost = exceptions->fresh.lost_since = true;
}

void icmp_events_run(struct sync *sync)
{
	struct icmp_events *icmp_events = &sync->icmp_events;
	const uint64_t now_ns = util_now_ns();
	struct sixlane_icmp_event read[HINTS_MAX];
	int n;

	if (now_ns < icmp_events->next_read_ns)
		return;
	n = maps_ring_read(icmp_events->ring, read, HINTS_MAX);
	for (int i = 0; i < n; i++)
		if (read[i].type == SIXLANE_ICMP6_ROUTER_ADVERT)
			audit_read_unsteady(sync, read[i].ifindex);
		else
			expect(sync, &read[i].dst);
	icmp_events->next_read_ns = n > 0 ? now_ns + HINTS_GAP_NS : 0;
	if (n >= 0 && n < HINTS_MAX)
		icmp_events->until_ns = now_ns;
	if (n < 0)
		log_warning_limited("cannot read the ICMP events of the datapath: %s",
				    strerror(-n));
}

int icmp_events_fd(const struct sync *sync)
{
	/* what is there is read when it is time to */
	return sync->icmp_events.next_read_ns ? -1 : maps_ring_fd(sync->icmp_events.ring);
}

uint64_t icmp_events_due_ns(const struct sync *sync)
{
	return sync->icmp_events.next_read_ns ? sync->icmp_events.next_read_ns : UINT64_MAX;
}

/* --- sl_fresh ----------------------------------------------------------------------------- */

/* Unless some destinations are looked for whatever the route. */
static void stop_looking(struct sync *sync)
{
	const struct exceptions *exceptions = sync->exceptions;

	if (exceptions->object_ns <= exceptions_read_since_ns(sync) &&
	    !exceptions_any_lost(exceptions))
		maps_look_no_more(sync->maps);
}

static void turn(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t grace_ns;

	exceptions->fresh.next_turn_ns = now_ns + TURN_NS;
	if (!maps_fresh_any(sync->maps)) {
		stop_looking(sync);
		return;
	}
	exceptions->fresh.draining = true;
	exceptions->fresh.heard_ns = 0;
	grace_ns = maps_fresh_turn(sync->maps) ? NO_GRACE_NS : 0;
	exceptions->fresh.turned_ns = util_now_ns() + grace_ns;
	exceptions->fresh.lost = exceptions->fresh.lost_since;
	exceptions->fresh.lost_since = false;
}

/* All that came until then was read, but for what is left to a pass. */
static bool is_read_until(const struct exceptions *exceptions, uint64_t until_ns)
{
	const struct excepted *at;

	TAILQ_FOREACH(at, &exceptions->soon, soon)
	if (at->asked_ns <= until_ns)
		return false;
	return true;
}

/* What came before the turn was heard of, perhaps after it, and read; or, if some of that was lost,
 * all was read. */
static bool is_drained(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	const uint64_t turned_ns = exceptions->fresh.turned_ns;

	if (exceptions->fresh.lost)
		return exceptions_read_since_ns(sync) > turned_ns + EXCEPTIONS_DELAY_NS;
	if (!exceptions->fresh.heard_ns && sync->icmp_events.until_ns > turned_ns)
		exceptions->fresh.heard_ns = util_now_ns();
	return exceptions->fresh.heard_ns && is_read_until(exceptions, exceptions->fresh.heard_ns);
}

void exceptions_fresh_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;
	uint64_t n_lost = exceptions->fresh.n_lost;

	/* not known: none; a pass comes in any case */
	(void)maps_icmp_events_lost(sync->maps, &n_lost);
	if (n_lost != exceptions->fresh.n_lost)
		exceptions->fresh.lost = exceptions->fresh.lost_since = true;
	exceptions->fresh.n_lost = n_lost;
	if (!exceptions->fresh.draining && !maps_looks(sync->maps))
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
		return util_now_ns() + (sync->exceptions->fresh.lost ? TURN_NS : DRAIN_NS);
	return maps_looks(sync->maps) ? sync->exceptions->fresh.next_turn_ns : UINT64_MAX;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void punt_and_read(struct sync *sync, struct excepted *excepted)
{
	if (excepted->state == EXCEPTED_EXACT)
		exceptions_punt(sync, excepted);
	exceptions_heard(sync->exceptions, excepted);
}

/* The route by which a destination is exact is this prefix's, or another one from now on. */
static bool is_by(const struct excepted *excepted, uint32_t table, const struct prefix *dst)
{
	return excepted->state == EXCEPTED_EXACT && excepted->found.table == table &&
	       excepted->found.prefix.len <= dst->len;
}

static bool is_same_route(const struct excepted *excepted, const struct prefix *dst,
			  const struct fib_target *target)
{
	return target && excepted->found.plain && prefix_equal(&excepted->found.prefix, dst) &&
	       exceptions_leads(target, &excepted->found);
}

void exceptions_route_changes(struct sync *sync, uint32_t table, const struct prefix *dst,
			      const struct fib_target *target)
{
	struct radix *store = &sync->exceptions->store;
	struct radix_node *at = store->entries ? radix_first_under(store, dst) : NULL;

	for (; at; at = radix_next_under(at, dst)) {
		struct excepted *excepted = excepted_of(at);

		if (is_by(excepted, table, dst) && !is_same_route(excepted, dst, target))
			punt_and_read(sync, excepted);
	}
}

void exceptions_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	exceptions_route_changes(sync, table, dst, NULL);
	if (table == RT_TABLE_LOCAL && sync->view.local_first)
		exceptions_route_changes(sync, RT_TABLE_MAIN, dst, NULL);
}

void exceptions_neighbour_changes(struct sync *sync, uint32_t ifindex,
				  const union sixlane_addr *addr)
{
	struct excepted *at = exceptions_first(sync->exceptions);

	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTED_EXACT && at->found.hop.ifindex == ifindex &&
		    !memcmp(exceptions_neighbour(at), addr, sizeof(*addr)))
			punt_and_read(sync, at);
}

void exceptions_mtu_changes(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	struct excepted *at = exceptions_first(exceptions);

	exceptions->mtu_look_ns = util_now_ns() + MTU_LOOK_NS;
	exceptions->mtu_until_ns = util_now_ns() + MTU_LOOK_MAX_NS;
	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTED_EXACT)
			punt_and_read(sync, at);
}

/* Until then the kernel may still change exceptions. */
void exceptions_mtu_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	if (now_ns < exceptions->mtu_look_ns)
		return;
	if (now_ns < exceptions->mtu_until_ns && links_mtu_moves(&sync->links)) {
		sync->next_poll_ns = 0;
		exceptions->mtu_look_ns = now_ns + MTU_LOOK_NS;
		return;
	}
	exceptions->mtu_look_ns = UINT64_MAX;
	links_mtu_forget(&sync->links);
	for (struct excepted *at = exceptions_first(exceptions); at; at = exceptions_next(at))
		exceptions_heard(exceptions, at);
}

void exceptions_operator_gone(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;

	exceptions->dirty = true; /* until that look it is punt */
	exceptions->next_look_ns = util_earlier(exceptions->next_look_ns, exceptions->rested_ns);
}
