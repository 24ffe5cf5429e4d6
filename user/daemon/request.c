// SPDX-License-Identifier: GPL-2.0-only
#include "request.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

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
