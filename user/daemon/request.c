// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the daemon asks the kernel, one function a question. Strict checking is on, so that the body
 * of each request must be exactly the one that the kernel expects for that dump.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "../netlink/parse.h"
#include "../netlink/socket_features.h"
#include "state.h"

#define DUMP_TIMEOUT_MS 10000
#define REQUEST_BYTES 256
#define TCLASS_DSCP 0xfc /* rules compare no other bits, and the rest may be refused */

/* Notifications must not pile up in the socket while a long dump is read. */
static int keep_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;

	queue_add(&sync->queue, nlh);
	return 0;
}

static void drain_notifications(void *ctx)
{
	struct sync *sync = ctx;

	guarding_run(sync);
	if (!sync->dumping)
		return;
	if (nl_socket_read(sync->notify, keep_message, sync) < 0)
		sync->queue.overflow = true;
}

static struct nlmsghdr *start_request(char *buf, uint16_t type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	return nlh;
}

static int run_dump(struct sync *sync, struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn)
{
	bool filtered = false;
	int ret = nl_socket_dump(socket, nlh, fn, sync, drain_notifications, sync, DUMP_TIMEOUT_MS,
				 &filtered);

	/*
	 * None of the requests here asks for a filter: a part must never be taken for the whole. A
	 * dump of IPv6 routes is marked in any case, since it leaves out the exceptions.
	 */
	return ret ? ret : filtered && nlh->nlmsg_type != RTM_GETROUTE ? -EPROTO : 0;
}

int request_links(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETLINK);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return run_dump(sync, sync->dump, nlh, fn);
}

int request_netconf(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETNETCONF);
	struct netconfmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->ncm_family = AF_INET6;
	return run_dump(sync, sync->dump, nlh, fn);
}

int request_rules(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETRULE);
	struct fib_rule_hdr *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->family = AF_INET6;
	return run_dump(sync, sync->dump, nlh, fn);
}

int request_neighs(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETNEIGH);
	struct ndmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->ndm_family = AF_INET6;
	return run_dump(sync, sync->dump, nlh, fn);
}

int request_addrs(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETADDR);
	struct ifaddrmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->ifa_family = AF_INET6;
	return run_dump(sync, sync->dump, nlh, fn);
}

static int request_nexthop_dump(struct sync *sync, uint16_t type, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, type);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nhmsg)); /* AF_UNSPEC: groups have no other */
	return run_dump(sync, sync->dump, nlh, fn);
}

int request_next_hops(struct sync *sync, nl_msg_fn fn)
{
	return request_nexthop_dump(sync, RTM_GETNEXTHOP, fn);
}

int request_next_hop_buckets(struct sync *sync, nl_msg_fn fn)
{
	return request_nexthop_dump(sync, RTM_GETNEXTHOPBUCKET, fn);
}

int request_routes(struct sync *sync, nl_msg_fn fn)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETROUTE);
	struct rtmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->rtm_family = AF_INET6;
	return run_dump(sync, sync->dump, nlh, fn);
}

/* Linux 4.19 to the newest take these and no others (rtm_getroute_parse_ip_proto()). */
bool request_takes_protocol(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMPV6;
}

int request_packet(struct sync *sync, const struct sixlane_sample *packet, bool whole_route,
		   nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETROUTE);
	struct rtmsg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	body->rtm_family = AF_INET6;
	body->rtm_dst_len = body->rtm_src_len = 128;
	body->rtm_tos = packet->tclass & TCLASS_DSCP;
	body->rtm_flags = whole_route ? RTM_F_FIB_MATCH : 0;
	mnl_attr_put(nlh, RTA_DST, sizeof(packet->dst), &packet->dst);
	mnl_attr_put(nlh, RTA_SRC, sizeof(packet->src), &packet->src);
	mnl_attr_put_u32(nlh, RTA_IIF, packet->iif);
	/* Of forwarded packets, by ip6_route_input(); a request without it would have no user. */
	mnl_attr_put_u32(nlh, RTA_UID, 0);
	if (request_takes_protocol(packet->next_header))
		mnl_attr_put_u8(nlh, RTA_IP_PROTO, packet->next_header);
	if (packet->src_port)
		mnl_attr_put_u16(nlh, RTA_SPORT, packet->src_port);
	if (packet->dst_port)
		mnl_attr_put_u16(nlh, RTA_DPORT, packet->dst_port);
	return nl_socket_ask(sync->dump, nlh, fn, ctx, DUMP_TIMEOUT_MS);
}

int request_next_hop(struct sync *sync, uint32_t id, nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETNEXTHOP);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nhmsg));
	mnl_attr_put_u32(nlh, NHA_ID, id);
	return nl_socket_ask(sync->dump, nlh, fn, ctx, DUMP_TIMEOUT_MS);
}

int request_link(struct sync *sync, const char *name, nl_msg_fn fn, void *ctx)
{
	char buf[REQUEST_BYTES];
	struct nlmsghdr *nlh = start_request(buf, RTM_GETLINK);

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return nl_socket_ask(sync->dump, nlh, fn, ctx, DUMP_TIMEOUT_MS);
}

int request_features(struct sync *sync, nl_msg_fn fn)
{
	char buf[NL_FEATURES_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));

	if (!sync->netdev_family)
		return 0;
	return run_dump(sync, sync->genl, nl_features_request(buf, sync->netdev_family), fn);
}

int request_netdev_family(struct sync *sync)
{
	struct nl_features_family family;
	int ret = nl_socket_new(NETLINK_GENERIC, 0, &sync->genl);

	if (ret)
		return ret;
	ret = nl_features_family(sync->genl, &family);
	if (ret || !family.id)
		return ret;
	ret = nl_socket_new(NETLINK_GENERIC, 0, &sync->genl_notify);
	if (ret)
		return ret;
	ret = nl_socket_join(sync->genl_notify, family.group);
	if (!ret)
		sync->netdev_family = family.id;
	return ret;
}
