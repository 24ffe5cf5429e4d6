// SPDX-License-Identifier: GPL-2.0-only
/*
 * See requests.h. Strict checking is on, so the body of each dump request must be exactly the one
 * that the kernel expects for that dump.
 */
#include "requests.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "../netlink/socket_query.h"
#include "audit.h"
#include "daemon.h"

#define TIMEOUT_MS 10000
#define REQUEST_BYTES 256
#define TCLASS_DSCP 0xfc /* rules compare no other bits, and the kernel may refuse them */

static struct nlmsghdr *start(char *buf, uint16_t type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	return nlh;
}

/* --- dumps ------------------------------------------------------------------------------------ */

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
	int ret = nl_socket_dump(socket, nlh, fn, sync, between_messages, sync, TIMEOUT_MS,
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
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start(buf, type);
	uint8_t *body = mnl_nlmsg_put_extra_header(nlh, body_bytes);

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

/* --- questions -------------------------------------------------------------------------------- */

/* Linux 4.19 to the newest accept only these: rtm_getroute_parse_ip_proto(). */
bool request_takes_protocol(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMPV6;
}

int request_packet(struct sockets *sockets, const struct sixlane_sample *packet, bool whole_route,
		   nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start(buf, RTM_GETROUTE);
	struct rtmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->rtm_family = AF_INET6;
	body->rtm_dst_len = body->rtm_src_len = 128;
	body->rtm_tos = packet->tclass & TCLASS_DSCP;
	body->rtm_flags = whole_route ? RTM_F_FIB_MATCH : 0;
	mnl_attr_put(nlh, RTA_DST, sizeof(packet->dst), &packet->dst);
	mnl_attr_put(nlh, RTA_SRC, sizeof(packet->src), &packet->src);
	mnl_attr_put_u32(nlh, RTA_IIF, packet->iif);
	/* as ip6_route_input() does for forwarded packets; without it no uid range matches */
	mnl_attr_put_u32(nlh, RTA_UID, 0);
	if (request_takes_protocol(packet->next_header))
		mnl_attr_put_u8(nlh, RTA_IP_PROTO, packet->next_header);
	if (packet->src_port)
		mnl_attr_put_u16(nlh, RTA_SPORT, packet->src_port);
	if (packet->dst_port)
		mnl_attr_put_u16(nlh, RTA_DPORT, packet->dst_port);
	return nl_socket_request_one(sockets->dump, nlh, fn, ctx, TIMEOUT_MS);
}

int request_next_hop(struct sockets *sockets, uint32_t id, nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start(buf, RTM_GETNEXTHOP);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nhmsg));
	mnl_attr_put_u32(nlh, NHA_ID, id);
	return nl_socket_request_one(sockets->dump, nlh, fn, ctx, TIMEOUT_MS);
}

int request_link(struct sockets *sockets, const char *name, nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start(buf, RTM_GETLINK);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return nl_socket_request_one(sockets->dump, nlh, fn, ctx, TIMEOUT_MS);
}
