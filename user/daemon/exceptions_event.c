// SPDX-License-Identifier: GPL-2.0-only
/* See exceptions_event.h. */
#include "exceptions_event.h"

#include <linux/rtnetlink.h>
#include <string.h>

#include "daemon.h"
#include "exceptions_decide.h"
#include "exceptions_store.h"

#define NS_PER_MS 1000000ull

/*
 * The kernel announces a device's new MTU, updates all exceptions (rt6_mtu_change), and then passes
 * it on to IPv6. That takes longer with more routes, so it is checked several times. Not for ever:
 * an operator may have set net.ipv6.conf.DEV.mtu to another value.
 */
#define MTU_CHECK_NS (10 * NS_PER_MS)
#define MTU_CHECK_MAX_NS (10000 * NS_PER_MS)

/* --- what the datapath saw -------------------------------------------------------------------- */

/* --- sl_fresh ----------------------------------------------------------------------------- */

/* --- changes ---------------------------------------------------------------------------------- */

static void punt_and_read(struct sync *sync, struct exception_dest *dest)
{
	if (dest->state == EXCEPTION_EXACT)
		exceptions_punt(sync, dest);
	exceptions_note_event(sync->exceptions, dest);
}

/* It is exact by the route of this prefix, or may be routed by this prefix from now on. */
static bool is_affected(const struct exception_dest *dest, uint32_t table, const struct prefix *dst)
{
	return dest->state == EXCEPTION_EXACT && dest->found.table == table &&
	       dest->found.prefix.len <= dst->len;
}

static bool is_same_route(const struct exception_dest *dest, const struct prefix *dst,
			  const struct fib_target *target)
{
	return target && dest->found.plain && prefix_equal(&dest->found.prefix, dst) &&
	       exceptions_target_matches(target, &dest->found);
}

void exceptions_target_changes(struct sync *sync, uint32_t table, const struct prefix *dst,
			       const struct fib_target *target)
{
	struct radix *store = &sync->exceptions->store;
	struct radix_node *at = radix_first_under(store, dst);

	for (; at; at = radix_next_under(at, dst)) {
		struct exception_dest *dest = exception_dest_of(at);

		if (is_affected(dest, table, dst) && !is_same_route(dest, dst, target))
			punt_and_read(sync, dest);
	}
}

void exceptions_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	exceptions_target_changes(sync, table, dst, NULL);
	if (table == RT_TABLE_LOCAL && sync->stores.view.local_first)
		exceptions_target_changes(sync, RT_TABLE_MAIN, dst, NULL);
}

void exceptions_neigh_changed(struct sync *sync, uint32_t ifindex, const union sixlane_addr *addr)
{
	struct exception_dest *at = exceptions_first(sync->exceptions);

	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTION_EXACT && at->found.hop.ifindex == ifindex &&
		    !memcmp(exceptions_neighbour(at), addr, sizeof(*addr)))
			punt_and_read(sync, at);
}

void exceptions_mtu_changed(struct sync *sync)
{
	struct exceptions *exceptions = sync->exceptions;
	struct exception_dest *at = exceptions_first(exceptions);

	exceptions->mtu_check_ns = util_now_ns() + MTU_CHECK_NS;
	exceptions->mtu_until_ns = util_now_ns() + MTU_CHECK_MAX_NS;
	for (; at; at = exceptions_next(at))
		if (at->state == EXCEPTION_EXACT)
			punt_and_read(sync, at);
}

void exceptions_mtu_run(struct sync *sync, uint64_t now_ns)
{
	struct exceptions *exceptions = sync->exceptions;

	if (now_ns < exceptions->mtu_check_ns)
		return;
	if (now_ns < exceptions->mtu_until_ns && links_mtu_pending(&sync->stores.links)) {
		sync->schedule.next_poll_ns = 0;
		exceptions->mtu_check_ns = now_ns + MTU_CHECK_NS;
		return;
	}
	exceptions->mtu_check_ns = UINT64_MAX;
	links_mtu_clear(&sync->stores.links);
	for (struct exception_dest *at = exceptions_first(exceptions); at; at = exceptions_next(at))
		exceptions_note_event(exceptions, at);
}
