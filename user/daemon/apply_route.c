// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTM_NEWROUTE and RTM_DELROUTE into the RIB. Each prefix whose target this may change is resolved,
 * and apply_prefix.c takes the target. What a message leaves out is read from the kernel's own
 * table (audit_store.c).
 */
#include "apply.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "../lib/kernel.h"
#include "../netlink/parse.h"
#include "../resolve/resolve.h"
#include "audit.h"
#include "exceptions_store.h"
#include "ports.h"

/*
 * With net.ipv6.route.skip_notify_on_dev_down=1 the kernel removes the routes of a device that goes
 * down or loses IPv6 without a message. Packets that would leave by it pass until all tables are
 * read again: after a moment, since the message may come before the removal.
 */
#define AFTER_DOWN_NS 200000000u

void apply_routes_stale(struct sync *sync, uint32_t ifindex)
{
	struct device *device = links_find(&sync->stores.links, ifindex);

	if (!device || !kernel_sysctl("net/ipv6/route/skip_notify_on_dev_down", 0))
		return;
	device->routes_stale = true;
	schedule_tables(&sync->schedule, AFTER_DOWN_NS);
	if (!sync->schedule.quiet)
		ports_update(sync, ifindex);
}

/*
 * ff00::/8 of a device in the local table comes and goes with its IPv6. Nothing else announces
 * disable_ipv6=1, or that it was set and reset between two polls.
 */
static void ipv6_toggled(struct sync *sync, const struct route *route)
{
	sync->schedule.next_poll_ns = 0;
	for (uint16_t i = 0; i < route->n_hops; i++)
		apply_routes_stale(sync, route->hops[i].ifindex);
}

/*
 * A route was added just now, so that fib6 has a new serial number, which flushes what is cached at
 * next-hop objects. NLM_F_REPLACE does not prove that: a packet may still cache the old route, and
 * nexthop_replace_notify() sends such messages for unchanged routes. Nor do queued messages, which
 * may be older than the dump.
 */
static bool is_by_fib6_add(const struct schedule *schedule, const struct nlmsghdr *nlh,
			   const struct route *route)
{
	return nlh->nlmsg_type == RTM_NEWROUTE && nlh->nlmsg_flags & NLM_F_CREATE &&
	       !route->cloned && !schedule->dumping && !schedule->replaying;
}

/* A local route announces an address that has no message of its own. A dump has all addresses. */
static int apply_unannounced(struct sync *sync, const struct nlmsghdr *nlh,
			     const struct route *route, const struct route_hop *hops)
{
	bool changed;
	int ret;

	if (sync->schedule.dumping || nlh->nlmsg_type != RTM_NEWROUTE || route->type != RTN_LOCAL ||
	    route->protocol != RTPROT_KERNEL || route->dst.len != 128 || !route->n_hops)
		return 0;
	ret = addrs_set_unannounced(&sync->stores.addrs, hops[0].ifindex, &route->dst.addr,
				    &changed);
	if (changed)
		sync->schedule.wanted |= SCHEDULE_SOURCES;
	return ret;
}

/*
 * A route that expires within 10 ms, or has expired, is reported as one without a lifetime. Returns
 * when the known route of this metric and source expires; 0: there is none.
 */
static uint64_t known_end_ns(const struct stores *stores, const struct route *route)
{
	const struct rib_dest *dest =
		rib_unsteady(stores->rib) ? rib_find(stores->rib, route->table, &route->dst) : NULL;
	const struct rib_route *known = dest ? dest->routes : NULL;

	while (known && !(known->expires && known->metric == route->metric &&
			  prefix_equal(&known->src, &route->src)))
		known = known->next;
	return known ? known->expires_ns : 0;
}

/* Whether it expires about now. */
#define EXPIRES_NOW_NS 2000000000u

static bool expires_now(uint64_t end_ns)
{
	const uint64_t now_ns = util_now_ns();

	return end_ns + EXPIRES_NOW_NS > now_ns && end_ns < now_ns + EXPIRES_NOW_NS;
}

static void set_lifetime(const struct sync *sync, struct route *route, uint64_t end_ns)
{
	if (route->expires)
		route->expires_ns =
			sync->sockets.sent_after_ns + route->lifetime_ms * (uint64_t)NS_PER_MS;
	else if (expires_now(end_ns) && !sync->audit->reader) { /* as it was known */
		route->expires = true;
		route->expires_ns = end_ns;
	}
}

/* Read what the message left out from the kernel's own table. Returns the error that remains. */
static int read_rest(struct sync *sync, const struct nlmsghdr *nlh, const struct route *route,
		     int ret, bool expiring)
{
	const bool added = nlh->nlmsg_type == RTM_NEWROUTE;

	if (sync->schedule.dumping)
		return ret == -EINPROGRESS ? 0 : ret;
	/* The route was withdrawn before the dump, which therefore lacked it. */
	if (ret == -EAGAIN && !added && sync->schedule.replaying && !route->unknown)
		return 0;
	/* ndisc_router_discovery() sets lifetime, MTU and hop limit after the message */
	if (added && route->protocol == RTPROT_RA)
		audit_place_read_soon(sync, route->table, &route->dst);
	if ((ret == -EAGAIN || ret == -EINPROGRESS || expiring) &&
	    audit_place_read(sync, route->table, &route->dst))
		return 0;
	return ret == -EINPROGRESS ? 0 : ret;
}

void apply_route_changed(void *ctx, uint32_t table, const struct prefix *dst)
{
	struct sync *sync = ctx;

	audit_place_route_changed(sync, table, dst);
	/* A synchronisation applies all prefixes at its end. */
	if (!sync->schedule.quiet)
		resolve_affected(sync->stores.resolve, table, dst, apply_target, sync);
}

int apply_route(struct sync *sync, const struct nlmsghdr *nlh)
{
	const bool object_sources = rib_object_sources(sync->stores.rib);
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct route route;
	uint64_t end_ns = 0;
	bool changed;
	int ret = parse_route(nlh, &route, hops);

	if (ret)
		return ret;
	if (nlh->nlmsg_type == RTM_NEWROUTE && route.unknown_attr)
		sockets_report_attr(&sync->statistics, REPORT_ROUTE, route.unknown_attr);
	if (nlh->nlmsg_type == RTM_NEWROUTE && !route.expires)
		end_ns = known_end_ns(&sync->stores, &route);
	set_lifetime(sync, &route, end_ns);
	if (!sync->schedule.dumping && route.table == RT_TABLE_LOCAL && route.type == RTN_MULTICAST)
		ipv6_toggled(sync, &route);
	if (nlh->nlmsg_type == RTM_NEWROUTE)
		/* fib6_info_hw_flags_set() notifies without any flag, as if it were a dump. */
		ret = rib_add(sync->stores.rib, &route,
			      sync->schedule.dumping ? 0 : nlh->nlmsg_flags | NLM_F_CREATE,
			      &changed);
	else
		ret = rib_del(sync->stores.rib, &route, &changed);
	if (changed)
		apply_route_changed(sync, route.table, &route.dst);
	if (ret != -ENOMEM) {
		const int error = apply_unannounced(sync, nlh, &route, hops);

		ret = error ? error : ret;
	}
	/* the route's exceptions go with it, even if the same route replaces it */
	if (!sync->schedule.dumping && sync->exceptions->store.entries)
		exceptions_route_changed(sync, route.table, &route.dst);
	/* it changes all other routes by objects, once and for all */
	if (!object_sources && rib_object_sources(sync->stores.rib) && !sync->schedule.quiet)
		apply_all_prefixes(sync);
	if (is_by_fib6_add(&sync->schedule, nlh, &route))
		nexthops_cache_flushed(sync->stores.nexthops);
	return read_rest(sync, nlh, &route, ret, end_ns != 0);
}
