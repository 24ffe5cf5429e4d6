// SPDX-License-Identifier: GPL-2.0-only
/*
 * See apply_address.h. The kernel changes lifetimes of routes without a message when addresses and
 * prefixes change, so the routes concerned are read again.
 */
#include "apply_address.h"

#include <linux/rtnetlink.h>

#include "../netlink/parse.h"
#include "audit_place.h"
#include "daemon.h"
#include "report.h"

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

/* From a router advertisement: addrconf_prefix_rcv(). */
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
	report_unknown_attr(&sync->statistics, REPORT_ADDRESS, address.unknown_attr);
	if (nlh->nlmsg_type == RTM_DELADDR)
		changed = addrs_delete(&sync->stores.addrs, address.ifindex, &address.addr);
	else
		ret = addrs_set(&sync->stores.addrs, &address, &changed);
	if (changed)
		sync->schedule.wanted |= SCHEDULE_SOURCES;
	read_prefixes(sync, &address);
	return ret;
}
