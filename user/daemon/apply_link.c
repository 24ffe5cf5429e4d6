// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices, their addresses and neighbours. Also what follows for routes when a device goes down or
 * loses IPv6, or when an address gets another lifetime, which the kernel does not always report.
 */
#include "apply.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "audit.h"
#include "daemon.h"
#include "operator.h"
#include "ports.h"

/*
 * The kernel removes next-hop objects of a device that goes down without a message, perhaps in the
 * middle of a dump.
 */
static void recheck_next_hops_by(struct sync *sync, uint32_t ifindex)
{
	if (nexthops_use_device(sync->stores.nexthops, ifindex))
		sync->schedule.wanted |= SCHEDULE_NEXT_HOPS;
}

/* State of a device before a message is applied. */
struct former {
	bool ignored;	 /* links_ignored() */
	bool up;	 /* IFF_UP */
	uint32_t master; /* ifindex */
};

static struct former former_of(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	return (struct former){
		.ignored = links_ignored(links, ifindex),
		.up = device && device->has_link && device->link.flags & IFF_UP,
		.master = device && device->has_link ? device->link.master : 0,
	};
}

static void device_changed(struct sync *sync, uint32_t ifindex, const struct former *was)
{
	const struct former is = former_of(&sync->stores.links, ifindex);

	recheck_next_hops_by(sync, ifindex);
	if (sync->schedule.quiet)
		return;
	if (ports_guard_changed(sync))
		ports_write_all(sync);
	/* Rules match the VRF, too: write the pairs before the port. */
	if (was->master != is.master)
		guard_apply_all(sync);
	ports_update(sync, ifindex);
	if (was->master != is.master)
		ports_update_slaves(sync, was->master);
	/* the source of ICMPv6 errors may be an address of the VRF; a device that is down may keep
	 * some */
	if (was->master != is.master || was->up != is.up)
		sync->schedule.wanted |= SCHEDULE_SOURCES;
	apply_rules(sync);
	/* ignore_routes_with_linkdown: routes become usable or not without a message */
	if (was->ignored != is.ignored)
		apply_all_prefixes(sync);
}

/* IPv6 takes over a larger MTU only after the device announced it, without a message. */
static void mtu_changed(struct sync *sync)
{
	sync->schedule.next_poll_ns = 0;
	exceptions_mtu_changed(sync);
	audit_place_read_unsteady(sync, 0);
}

static int set_link(struct sync *sync, const struct link *link, bool *changed)
{
	const struct device *device = links_find(&sync->stores.links, link->ifindex);
	const bool known = device && device->has_link;
	const bool was_up = known && device->link.flags & IFF_UP, is_up = link->flags & IFF_UP;
	int ret;

	/* its features may have been announced while an old device still had that ifindex */
	if (!known)
		sync->schedule.wanted |= SCHEDULE_FEATURES;
	if (!known || strcmp(device->link.name, link->name) != 0)
		operator_device_changed(sync->operator);
	if (known && device->link.mtu != link->mtu)
		mtu_changed(sync);
	ret = links_set(&sync->stores.links, link, changed);
	if (!ret && known && was_up != is_up)
		apply_routes_stale(sync, link->ifindex);
	if (!ret && was_up && !is_up)
		if (addrs_device_down(&sync->stores.addrs, link->ifindex))
			sync->schedule.wanted |= SCHEDULE_SOURCES;
	return ret;
}

static int set_ipv6(struct sync *sync, const struct link_ipv6 *ipv6, bool *changed)
{
	const struct device *device = links_find(&sync->stores.links, ipv6->ifindex);
	bool goes = device && device->has_ipv6 && !device->ipv6.disabled && ipv6->disabled;
	bool mtu_changed = device && device->has_ipv6 && device->ipv6.mtu6 != ipv6->mtu6;
	int ret = links_set_ipv6(&sync->stores.links, ipv6, changed);

	if (!ret && goes)
		apply_routes_stale(sync, ipv6->ifindex);
	if (!ret && mtu_changed)
		audit_place_read_unsteady(sync, 0);
	return ret;
}

static bool clear_ipv6(struct sync *sync, uint32_t ifindex)
{
	bool changed = links_clear_ipv6(&sync->stores.links, ifindex);

	if (changed)
		apply_routes_stale(sync, ifindex);
	return changed;
}

int apply_link(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct link_ipv6 ipv6;
	struct link link;
	bool link_changed = false, ipv6_changed = false, names_changed = false;
	struct former was;
	int ret = parse_link(nlh, &link);
	int ipv6_ret = parse_link_ipv6(nlh, &ipv6);

	if (ret && ret != -ENOMSG)
		return ret;
	if (ipv6_ret && ipv6_ret != -ENOMSG)
		return ipv6_ret;
	if (ret && ipv6_ret)
		return -ENOMSG;
	if (!ret && port_names_update(sync->stores.port_names, nlh, link.ifindex, &names_changed))
		return -EBADMSG;
	if (!ret)
		sockets_report_attr(&sync->statistics, REPORT_DEVICE, link.unknown_attr);
	was = former_of(&sync->stores.links, ret ? ipv6.ifindex : link.ifindex);
	if (!ret && set_link(sync, &link, &link_changed))
		return -ENOMEM;
	if (!ret)
		ports_mark_uppers(&sync->stores.links, &sync->schedule, &link);
	if (ipv6_ret)
		ipv6_changed = clear_ipv6(sync, link.ifindex);
	else if (set_ipv6(sync, &ipv6, &ipv6_changed))
		return -ENOMEM;
	if (link_changed || ipv6_changed || names_changed)
		device_changed(sync, ret ? ipv6.ifindex : link.ifindex, &was);
	if (names_changed && !sync->schedule.quiet)
		port_names_report(sync->stores.port_names, &sync->stores.links);
	return 0;
}

/* Routes that fib6_ifdown() removes with a device. Multipath routes are announced in any case. */
static bool uses_device(const struct route *route, void *ctx)
{
	uint32_t ifindex = *(const uint32_t *)ctx;

	return route->n_hops == 1 && !route->next_hop_id && route->hops[0].ifindex == ifindex;
}

int apply_link_gone(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct link link;
	const struct device *device;
	int ret = parse_link(nlh, &link);

	if (ret)
		return ret;
	device = links_find(&sync->stores.links, link.ifindex);
	if (link.moved && device && device->has_link)
		links_set_moved(&sync->stores.links, &device->link);
	if (device)
		ports_removed(&sync->stores, device, link.moved);
	links_delete(&sync->stores.links, link.ifindex);
	ports_mark_uppers(&sync->stores.links, &sync->schedule, &link);
	operator_device_changed(sync->operator);
	if (rib_may_use_device(sync->stores.rib, link.ifindex))
		rib_prune(sync->stores.rib, uses_device, &link.ifindex);
	recheck_next_hops_by(sync, link.ifindex);
	if (sync->schedule.quiet)
		return 0;
	port_names_report(sync->stores.port_names, &sync->stores.links);
	ports_update_all(sync);
	apply_rules(sync);
	return 0;
}

int apply_netconf(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct netconf netconf;
	int ret = parse_netconf(nlh, &netconf);

	if (ret)
		return ret;
	if (nlh->nlmsg_type == RTM_DELNETCONF) {
		if (netconf.ifindex > 0) {
			const struct former was =
				former_of(&sync->stores.links, (uint32_t)netconf.ifindex);

			clear_ipv6(sync, (uint32_t)netconf.ifindex);
			apply_routes_stale(sync, (uint32_t)netconf.ifindex);
			device_changed(sync, (uint32_t)netconf.ifindex, &was);
		}
		return 0;
	}
	if (links_set_netconf(&sync->stores.links, &netconf) && !sync->schedule.quiet)
		ports_update_all(sync);
	/* A message lacks some values: that of force_forwarding. */
	sync->schedule.next_poll_ns = 0;
	return 0;
}

int apply_features(struct sync *sync, const struct nlmsghdr *nlh)
{
	uint32_t ifindex;
	uint64_t features;
	bool changed;
	int ret = parse_netdev(nlh, &ifindex, &features);

	/* It may come before the link, by another socket: the store keeps it until then. */
	if (!ret)
		ret = links_set_features(&sync->stores.links, ifindex, features, &changed);
	if (!ret && changed && !sync->schedule.quiet)
		ports_update(sync, ifindex);
	return ret;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* The table of the routes to a device's prefixes: addrconf_prefix_route(). */
static uint32_t prefix_table(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);
	const struct device *vrf = device ? links_vrf(links, device) : NULL;

	return vrf ? vrf->link.vrf_table : RT_TABLE_MAIN;
}

/* The route of an address's prefix may get another lifetime, or none, without a message:
 * modify_prefix_route(), cleanup_prefix_route(). */
static void read_prefixes(struct sync *sync, const struct address *address)
{
	const uint32_t table = prefix_table(&sync->stores.links, address->ifindex);
	const struct prefix peer = { .addr = address->peer, .len = 128 };

	if (sync->schedule.dumping)
		return;
	audit_place_read_soon(sync, table, &address->prefix);
	if (!addr_is_zero(&peer.addr))
		audit_place_read_soon(sync, table, &peer);
}

/* The prefix of a router advertisement: addrconf_prefix_rcv(). */
int apply_advertised(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct prefix prefix;
	uint32_t ifindex;
	int ret = parse_advertised(nlh, &prefix, &ifindex);

	if (ret)
		return ret;
	audit_place_read_soon(sync, prefix_table(&sync->stores.links, ifindex), &prefix);
	audit_place_read_unsteady(sync, ifindex);
	return 0;
}

int apply_address(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct address address;
	bool changed = false;
	int ret = parse_address(nlh, &address);

	if (ret)
		return ret;
	sockets_report_attr(&sync->statistics, REPORT_ADDRESS, address.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELADDR)
		changed = addrs_delete(&sync->stores.addrs, address.ifindex, &address.addr);
	else
		ret = addrs_set(&sync->stores.addrs, &address, &changed);
	if (changed)
		sync->schedule.wanted |= SCHEDULE_SOURCES;
	read_prefixes(sync, &address);
	return ret;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static void set_neigh(void *ctx, const struct neigh *neigh)
{
	struct sync *sync = ctx;

	int ret = fib_set_neigh(sync->fib, neigh->ifindex, &neigh->addr,
				neigh_usable(neigh) ? neigh->mac : NULL);

	if (ret == -ENOSPC)
		log_warning_limited(
			"there are more than %u neighbours: packets to the others pass to the kernel",
			SIXLANE_MAX_NEIGHBOURS - 1);
	else if (ret)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

int apply_neigh(struct sync *sync, const struct nlmsghdr *nlh)
{
	const struct neigh *known;
	struct neigh neigh;
	int ret = parse_neigh(nlh, &neigh);

	if (ret || neigh.addr.bytes[0] == 0xff)
		return ret;
	sockets_report_attr(&sync->statistics, REPORT_NEIGHBOUR, neigh.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neigh.state = NUD_NONE;
	known = neighs_find(sync->stores.neighs, neigh.ifindex, &neigh.addr);
	if (known && ((neigh_usable(known) && !neigh_usable(&neigh)) ||
		      known->flags & ~neigh.flags & NTF_ROUTER))
		exceptions_neigh_changed(sync, neigh.ifindex, &neigh.addr);
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		neighs_delete(sync->stores.neighs, neigh.ifindex, &neigh.addr);
	else
		ret = neighs_set(sync->stores.neighs, &neigh);
	if (!ret && !sync->schedule.quiet)
		set_neigh(sync, &neigh);
	return ret;
}

void apply_all_neighs(struct sync *sync)
{
	neighs_each(sync->stores.neighs, set_neigh, sync);
}
