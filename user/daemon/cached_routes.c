// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel caches a route at each hop of a next-hop object. It may belong to a route that was
 * deleted or changed before the daemon listened. Adding a route flushes these caches.
 */
#include "cached_routes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../loader/loader.h"
#include "stores.h"

/* fib6_ifup() needs lo to be up and to have IPv6, and so a route to ::1. */
static bool has_loopback(const struct rib *rib)
{
	static const struct prefix loopback = { .addr.bytes = { [15] = 1 }, .len = 128 };
	const struct rib_dest *dest = rib_find(rib, RT_TABLE_LOCAL, &loopback);
	const struct rib_route *route = dest ? dest->routes : NULL;

	return route && !route->next_hop_id && route->n_hops == 1 &&
	       route->hops[0].ifindex == LOOPBACK_IFINDEX;
}

void cached_routes_flush(struct stores *stores)
{
	int ret;

	if (!nexthops_count(stores->nexthops))
		return;
	ret = has_loopback(stores->rib) ? loader_announce_device(LOOPBACK_IFINDEX) : -ENETDOWN;
	if (!ret) {
		nexthops_cache_flushed(stores->nexthops);
		return;
	}
	nexthops_cache_set_stale(stores->nexthops);
	log_warning_limited(
		"routes with next-hop objects pass to the kernel until a route is added: cannot flush the routes that the kernel cached: %s%s",
		strerror(-ret), ret == -ENETDOWN ? " (lo has no ::1)" : "");
}
