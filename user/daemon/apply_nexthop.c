// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects and buckets of resilient groups. The FIB brings a changed object to all its
 * routes in one store. Routes go with their object; with net.ipv4.nexthop_compat_mode=0 no message
 * says so.
 */
#include "apply.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../loader/loader.h"
#include "../netlink/parse.h"
#include "daemon.h"
#include "ports.h"

/* --- routes that the kernel caches at hops ---------------------------------------------------- */

/* fib6_ifup() needs lo to be up and to have IPv6, and so a route to ::1. */
static bool has_loopback(const struct rib *rib)
{
	static const struct prefix loopback = { .addr.bytes = { [15] = 1 }, .len = 128 };
	const struct rib_dest *dest = rib_find(rib, RT_TABLE_LOCAL, &loopback);
	const struct rib_route *route = dest ? dest->routes : NULL;

	return route && !route->next_hop_id && route->n_hops == 1 &&
	       route->hops[0].ifindex == LOOPBACK_IFINDEX;
}

void apply_flush_cached_routes(struct stores *stores)
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

/* --- objects ---------------------------------------------------------------------------------- */

static bool uses_next_hop(const struct route *route, void *ctx)
{
	return route->next_hop_id == *(const uint32_t *)ctx;
}

static void prune_routes_by(const struct stores *stores, uint32_t id)
{
	if (rib_by_object(stores->rib, id).n)
		rib_prune(stores->rib, uses_next_hop, &id);
}

static void fill_hops(struct sync *sync, const struct nexthop_view *view, struct fib_hop *hops)
{
	for (uint32_t i = 0; i < view->n_hops; i++) {
		const struct route_hop *hop = &view->hops[i];

		hops[i] = (struct fib_hop){
			.gateway = hop->gateway,
			.ifindex = hop->ifindex,
			.weight = view->weights[i],
			.has_gateway = hop->has_gateway,
		};
		ports_add_egress(sync, hop->ifindex);
	}
}

static enum sixlane_verdict verdict_of(const struct nexthop_view *view)
{
	if (view->mixed)
		return SIXLANE_PUNT_NEXT_HOP_OBJECT;
	switch (view->kind) {
	case NEXT_HOP_BLACKHOLE:
		return SIXLANE_DROP_BLACKHOLE;
	case NEXT_HOP_ONE:
	case NEXT_HOP_GROUP:
	case NEXT_HOP_RESILIENT:
		return view->n_hops ? SIXLANE_FORWARD : SIXLANE_PUNT_NEXT_HOP_OBJECT;
	case NEXT_HOP_OTHER:
		break;
	}
	return SIXLANE_PUNT_NEXT_HOP_OBJECT;
}

static void set_object(void *ctx, uint32_t id)
{
	struct sync *sync = ctx;
	struct fib_hop hops[NEXT_HOP_MAX_MEMBERS];
	struct nexthop_view view;
	struct fib_object object = { 0 };
	bool known = nexthops_view(sync->stores.nexthops, id, &view);

	if (known)
		object.verdict = verdict_of(&view);
	if (known && object.verdict == SIXLANE_FORWARD) {
		fill_hops(sync, &view, hops);
		object.hops = hops;
		object.n_hops = view.n_hops;
		object.buckets = view.buckets;
		object.n_buckets = view.n_buckets;
	}
	if (fib_set_object(sync->fib, id, known ? &object : NULL))
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

void apply_next_hop_changed(void *ctx, uint32_t id)
{
	struct sync *sync = ctx;
	struct nexthop_view view;

	if (sync->schedule.quiet)
		return;
	set_object(sync, id);
	if (!nexthops_view(sync->stores.nexthops, id, &view))
		prune_routes_by(&sync->stores, id);
}

void apply_all_next_hops(struct sync *sync)
{
	nexthops_each(sync->stores.nexthops, set_object, sync);
}

int apply_next_hop(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct next_hop_member members[NEXT_HOP_MAX_MEMBERS];
	struct next_hop next_hop;
	int ret = parse_next_hop(nlh, &next_hop, members);

	if (ret)
		return ret;
	sockets_report_attr(&sync->statistics, REPORT_NEXT_HOP, next_hop.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELNEXTHOP) {
		nexthops_delete(sync->stores.nexthops, next_hop.id);
		/* the buckets of a member that goes move to others without a message */
		if (nexthops_any_resilient(sync->stores.nexthops) && !sync->schedule.dumping)
			sync->schedule.wanted |= SCHEDULE_NEXT_HOPS;
		/* also if the object was not known: its routes are gone */
		if (!sync->schedule.quiet)
			prune_routes_by(&sync->stores, next_hop.id);
		return 0;
	}
	/* The message lacks the buckets; later moves are announced only in part. */
	if (next_hop.kind == NEXT_HOP_RESILIENT && !sync->schedule.dumping)
		sync->schedule.wanted |= SCHEDULE_NEXT_HOPS;
	return nexthops_set(sync->stores.nexthops, &next_hop);
}

int apply_next_hop_bucket(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct next_hop_bucket bucket;
	int ret = parse_next_hop_bucket(nlh, &bucket);

	if (ret)
		return ret;
	sockets_report_attr(&sync->statistics, REPORT_NEXT_HOP, bucket.unknown_attr);
	ret = nexthops_set_bucket(sync->stores.nexthops, &bucket);
	if (ret != -ENOENT)
		return ret;
	/* of an IPv4 group, or of one that is gone: read all objects */
	if (!sync->schedule.dumping)
		sync->schedule.wanted |= SCHEDULE_NEXT_HOPS;
	return 0;
}
