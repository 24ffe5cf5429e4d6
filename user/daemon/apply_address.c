// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages about addresses and advertised prefixes: into the addresses, and which routes the kernel
 * may have given another lifetime.
 */
#include "apply_address.h"

#include <linux/rtnetlink.h>

#include "../netlink/parse.h"
#include "audit_place.h"
#include "daemon.h"
#include "report.h"

/* addrconf_prefix_route(): where a device's prefixes have their routes. */
static uint32_t prefix_table(const struct sync *sync, uint32_t ifindex)
{
	const struct device *device = links_find(&sync->stores.links, ifindex);
	const struct device *vrf = device ? links_vrf(&sync->stores.links, device) : NULL;

	return vrf ? vrf->link.vrf_table : RT_TABLE_MAIN;
}

/*
 * An address that comes, goes or gets another lifetime may give its prefix's route another one, or
 * none, for which there is no message (modify_prefix_route(), cleanup_prefix_route()).
 */
static void read_prefixes(struct sync *sync, const struct address *address)
{
	const uint32_t table = prefix_table(sync, address->ifindex);
	const struct prefix peer = { .addr = address->peer, .len = 128 };

	if (sync->schedule.dumping)
		return;
	audit_place_read_soon(sync, table, &address->prefix);
	if (!addr_is_zero(&peer.addr))
		audit_place_read_soon(sync, table, &peer);
}

/* A router advertisement told of it (addrconf_prefix_rcv()). */
int apply_advertised(struct sync *sync, const struct nlmsghdr *nlh)
{
	struct prefix prefix;
	uint32_t ifindex;
	int ret = parse_advertised(nlh, &prefix, &ifindex);

	if (ret)
		return ret;
	audit_place_read_soon(sync, prefix_table(sync, ifindex), &prefix);
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
