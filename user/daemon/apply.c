// SPDX-License-Identifier: GPL-2.0-only
/*
 * See apply.h. A file for each kind of object does the work; this one only dispatches.
 */
#include "apply.h"

#include <linux/rtnetlink.h>

#include "apply_address.h"
#include "apply_link.h"
#include "apply_neigh.h"
#include "apply_nexthop.h"
#include "apply_prefix.h"
#include "apply_route.h"
#include "apply_rule.h"
#include "daemon.h"
#include "ports.h"
#include "report.h"

int apply_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;

	switch (nlh->nlmsg_type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		report_message(sync, "route", apply_route(sync, nlh));
		break;
	case RTM_NEWLINK:
		report_message(sync, "link", apply_link(sync, nlh));
		break;
	case RTM_DELLINK:
		report_message(sync, "link", apply_link_gone(sync, nlh));
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		report_message(sync, "neighbour", apply_neigh(sync, nlh));
		break;
	case RTM_NEWNETCONF:
	case RTM_DELNETCONF:
		report_message(sync, "netconf", apply_netconf(sync, nlh));
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		if (sync->schedule.dumping)
			report_message(sync, "rule", apply_rule(sync, nlh));
		else
			apply_rules_changed(sync);
		break;
	case RTM_NEWPREFIX:
		report_message(sync, "prefix", apply_advertised(sync, nlh));
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		report_message(sync, "address", apply_address(sync, nlh));
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		report_message(sync, "next-hop", apply_next_hop(sync, nlh));
		break;
	case RTM_NEWNEXTHOPBUCKET:
		report_message(sync, "next-hop bucket", apply_next_hop_bucket(sync, nlh));
		break;
	default: /* of a group that we joined, but of no consequence here */
		break;
	}
	return 0;
}

int apply_genl_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;

	if (nlh->nlmsg_type == sync->sockets.netdev_family)
		report_message(sync, "device", apply_features(sync, nlh));
	return 0;
}

void apply_all(struct sync *sync)
{
	apply_rules(sync);
	fib_sync_begin(sync->fib);
	ports_update_all(sync);
	apply_all_neighs(sync);
	apply_all_next_hops(sync);
	apply_all_prefixes(sync);
	fib_sync_end(sync->fib);
	sync->schedule.held = false;
}
