// SPDX-License-Identifier: GPL-2.0-only
/*
 * See dump.h. Strict checking is on, so the body of each request must be exactly the one that the
 * kernel expects for that dump.
 */
#include "dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "../netlink/socket_query.h"
#include "audit.h"
#include "daemon.h"
#include "guard_apply.h"

#define DUMP_TIMEOUT_MS 10000

/* Notifications must not pile up in their socket during a long dump. */
static void between_messages(void *ctx)
{
	struct sync *sync = ctx;

	guard_apply_run(sync);
	if (sync->schedule.dumping)
		sockets_enqueue(&sync->sockets);
}

static int run(struct sync *sync, struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn)
{
	bool filtered = false;
	int ret = nl_socket_dump(socket, nlh, fn, sync, between_messages, sync, DUMP_TIMEOUT_MS,
				 &filtered);

	/*
	 * No request here asks for a filter, and a part must never be taken for the whole. Dumps of
	 * IPv6 routes always have the flag, since they leave out exceptions.
	 */
	return ret ? ret : filtered && nlh->nlmsg_type != RTM_GETROUTE ? -EPROTO : 0;
}

/* The body is all zero, but for the family in its first byte and perhaps an attribute. */
static int dump(struct sync *sync, uint16_t type, uint8_t family, size_t body_bytes,
		uint32_t ext_mask)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	uint8_t *body;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	body = mnl_nlmsg_put_extra_header(nlh, body_bytes);
	*body = family;
	if (ext_mask)
		mnl_attr_put_u32(nlh, IFLA_EXT_MASK, ext_mask);
	return run(sync, sync->sockets.dump, nlh, sockets_apply);
}

int dump_links(struct sync *sync)
{
	return dump(sync, RTM_GETLINK, AF_UNSPEC, sizeof(struct ifinfomsg),
		    RTEXT_FILTER_SKIP_STATS);
}

int dump_netconf(struct sync *sync)
{
	return dump(sync, RTM_GETNETCONF, AF_INET6, sizeof(struct netconfmsg), 0);
}

int dump_neighs(struct sync *sync)
{
	return dump(sync, RTM_GETNEIGH, AF_INET6, sizeof(struct ndmsg), 0);
}

int dump_addrs(struct sync *sync)
{
	return dump(sync, RTM_GETADDR, AF_INET6, sizeof(struct ifaddrmsg), 0);
}

int dump_features(struct sync *sync)
{
	char buf[NL_FEATURES_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));

	if (!sync->sockets.netdev_family)
		return 0;
	return run(sync, sync->sockets.genl, nl_features_request(buf, sync->sockets.netdev_family),
		   sockets_apply_features);
}

int dump_rules(struct sync *sync)
{
	int ret;

	rules_clear(&sync->stores.rules);
	ret = dump(sync, RTM_GETRULE, AF_INET6, sizeof(struct fib_rule_hdr), 0);
	sync->stores.rules_known = !ret && !sync->schedule.dump_damaged;
	return ret;
}

/* AF_UNSPEC: groups have no other family. */
int dump_next_hops(struct sync *sync)
{
	int ret = dump(sync, RTM_GETNEXTHOP, AF_UNSPEC, sizeof(struct nhmsg), 0);

	if (!ret && nexthops_any_resilient(sync->stores.nexthops))
		ret = dump(sync, RTM_GETNEXTHOPBUCKET, AF_UNSPEC, sizeof(struct nhmsg), 0);
	return ret;
}

/*
 * When routes change during a dump, fib6's walker starts over and skips as many entries as it has
 * dumped. If some of these were deleted, it skips others instead and does not report that. The
 * kernel reader finds those. Without it, dump again until a round saw no deletion, or brought
 * nothing but what was announced since the round before.
 */
#define MAX_ROUNDS 4

int dump_routes(struct sync *sync)
{
	const struct sockets_queue *queue = &sync->sockets.queue;
	size_t added_before = queue->routes_added;

	for (unsigned int round = 0; round < MAX_ROUNDS; round++) {
		size_t routes = rib_routes(sync->stores.rib), added = queue->routes_added;
		size_t deleted = queue->routes_deleted;
		int ret;

		rib_dump_again(sync->stores.rib);
		ret = dump(sync, RTM_GETROUTE, AF_INET6, sizeof(struct rtmsg), 0);
		if (ret || queue->routes_deleted == deleted || sync->audit->reader)
			return ret;
		if (round &&
		    rib_routes(sync->stores.rib) <= routes + queue->routes_added - added_before)
			return 0;
		added_before = added;
	}
	log_debug("the routes changed during each of the last %u dumps", MAX_ROUNDS);
	return 0;
}
