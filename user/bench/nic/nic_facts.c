// SPDX-License-Identifier: GPL-2.0-only
/* What a device is there for, as nic_check.h wants to know it, asked of the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <string.h>

#include "../../netlink/parse_attr.h"
#include "../../netlink/socket.h"
#include "nic_check.h"

#define TIMEOUT_MS 5000
#define REQUEST_BYTES 256

/* --- routes --------------------------------------------------------------------------------- */

static const struct attr_spec route_attrs[] = {
	[RTA_DST] = ATTR_ANY,
};

static void show_route(const struct rtmsg *rtm, const struct nlattr *dst, struct nic_facts *facts)
{
	size_t size = rtm->rtm_family == AF_INET6 ? 16 : 4;
	char addr[INET6_ADDRSTRLEN];

	if (!dst || mnl_attr_get_payload_len(dst) != size)
		snprintf(facts->route, sizeof(facts->route), "default");
	else
		snprintf(facts->route, sizeof(facts->route), "%s/%u",
			 inet_ntop(rtm->rtm_family, mnl_attr_get_payload(dst), addr, sizeof(addr)),
			 rtm->rtm_dst_len);
}

/* Those that somebody gave: the kernel's own come and go with addresses and with the device. */
static int take_route(const struct nlmsghdr *nlh, void *ctx)
{
	const struct rtmsg *rtm = attr_header(nlh, sizeof(*rtm));
	const struct nlattr *at[ARRAY_SIZE(route_attrs)];
	struct nic_facts *facts = ctx;
	int ret;

	if (!rtm)
		return -EBADMSG;
	if (rtm->rtm_protocol == RTPROT_KERNEL || rtm->rtm_type != RTN_UNICAST ||
	    rtm->rtm_flags & RTM_F_CLONED)
		return 0;
	ret = attr_walk_message(nlh, sizeof(*rtm), route_attrs, ARRAY_SIZE(route_attrs), at, NULL);
	if (ret)
		return ret;
	if (!facts->n_routes++)
		show_route(rtm, at[RTA_DST], facts);
	if (!rtm->rtm_dst_len)
		facts->has_default_route = true;
	return 0;
}

/* The kernel itself leaves out those by other devices, and knows who is meant by objects. */
static int read_routes(struct nl_socket *socket, int family, struct nic_facts *facts)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm->rtm_family = (unsigned char)family;
	mnl_attr_put_u32(nlh, RTA_OIF, facts->state.ifindex);
	return nl_socket_dump(socket, nlh, take_route, facts, NULL, NULL, TIMEOUT_MS, NULL);
}

/* --- neighbours ----------------------------------------------------------------------------- */

/* Those that the kernel has learnt it learns again. */
static int take_neighbour(const struct nlmsghdr *nlh, void *ctx)
{
	const struct ndmsg *ndm = attr_header(nlh, sizeof(*ndm));
	struct nic_facts *facts = ctx;

	if (!ndm)
		return -EBADMSG;
	facts->n_neighbours +=
		ndm->ndm_ifindex == (int)facts->state.ifindex && ndm->ndm_state & NUD_PERMANENT;
	return 0;
}

static int read_neighbours(struct nl_socket *socket, struct nic_facts *facts)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RTM_GETNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ndmsg));
	mnl_attr_put_u32(nlh, NDA_IFINDEX, facts->state.ifindex);
	return nl_socket_dump(socket, nlh, take_neighbour, facts, NULL, NULL, TIMEOUT_MS, NULL);
}

/* --- addresses ------------------------------------------------------------------------------ */

static int read_addresses(struct nic_facts *facts)
{
	_cleanup_free_ struct nic_address *list = NULL;
	char addr[INET6_ADDRSTRLEN];
	size_t n = 0;
	int ret = nic_link_addresses(facts->state.ifindex, &list, &n);

	for (size_t i = 0; i < n; i++) {
		if (list[i].scope == RT_SCOPE_LINK)
			continue;
		if (!facts->n_addresses++)
			snprintf(facts->address, sizeof(facts->address), "%s/%u",
				 inet_ntop(list[i].family, list[i].addr, addr, sizeof(addr)),
				 list[i].len);
	}
	return ret;
}

/* --- queueing ------------------------------------------------------------------------------- */

static const struct attr_spec qdisc_attrs[] = {
	[TCA_KIND] = ATTR_STRING(16),
};

/* What the kernel gives a device by itself, whatever net.core.default_qdisc is. */
static bool is_default_qdisc(const char *kind)
{
	static const char *const kinds[] = { "noop",	   "noqueue", "mq",	  "mqprio",
					     "pfifo_fast", "pfifo",   "fq_codel", "fq",
					     "sfq",	   "cake",    "codel" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

static int take_qdisc(const struct nlmsghdr *nlh, void *ctx)
{
	const struct tcmsg *tcm = attr_header(nlh, sizeof(*tcm));
	const struct nlattr *at[ARRAY_SIZE(qdisc_attrs)];
	struct nic_facts *facts = ctx;
	char kind[16] = "";
	int ret;

	if (!tcm)
		return -EBADMSG;
	if (tcm->tcm_ifindex != (int)facts->state.ifindex)
		return 0;
	ret = attr_walk_message(nlh, sizeof(*tcm), qdisc_attrs, ARRAY_SIZE(qdisc_attrs), at, NULL);
	if (ret || !at[TCA_KIND])
		return ret;
	attr_copy_string(kind, sizeof(kind), at[TCA_KIND]);
	if (!strcmp(kind, "clsact") || !strcmp(kind, "ingress"))
		memcpy(facts->filter, kind, sizeof(kind));
	else if (tcm->tcm_parent == TC_H_ROOT && !is_default_qdisc(kind))
		memcpy(facts->queueing, kind, sizeof(kind));
	return 0;
}

/* A kernel without packet schedulers (CONFIG_NET_SCHED) has none to speak of. */
static int read_qdiscs(struct nl_socket *socket, struct nic_facts *facts)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int ret;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
	ret = nl_socket_dump(socket, nlh, take_qdisc, facts, NULL, NULL, TIMEOUT_MS, NULL);
	return ret == -EOPNOTSUPP ? 0 : ret;
}

/* --- all of it ------------------------------------------------------------------------------ */

static void read_layers(const struct ports *ports, const struct link *link, struct nic_facts *facts)
{
	const struct link *master = ports_find(ports, link->master);

	facts->is_ethernet = link->type == ARPHRD_ETHER;
	facts->has_carrier = link->carrier;
	if (link->master)
		snprintf(facts->master, sizeof(facts->master), "%s", master ? master->name : "?");
	for (size_t i = 0; i < ports->n; i++)
		if (ports->links[i].lower == link->ifindex && strcmp(ports->links[i].kind, "veth"))
			snprintf(facts->upper, sizeof(facts->upper), "%s", ports->links[i].name);
}

static void read_login(const struct ports *ports, const struct nic_login *logins, size_t n,
		       struct nic_facts *facts)
{
	for (size_t i = 0; i < n; i++)
		if (nic_login_passes(ports, logins[i].egress, facts->state.ifindex))
			memcpy(facts->login, logins[i].peer, sizeof(facts->login));
}

int nic_facts_read(const struct ports *ports, const char *dev, const struct nic_login *logins,
		   size_t n_logins, struct nic_facts *out)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	struct nic_facts facts = { 0 };
	const struct link *link;
	int ret = nic_state_read(dev, &facts.state) ?: nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (ret)
		return ret;
	link = ports_find(ports, facts.state.ifindex);
	if (!link)
		return -ENODEV;
	read_layers(ports, link, &facts);
	read_login(ports, logins, n_logins, &facts);
	ret = loader_query(facts.state.ifindex, NULL, &facts.prog) ?: read_addresses(&facts);
	ret = ret ?: read_routes(socket, AF_INET6, &facts);
	ret = ret ?: read_routes(socket, AF_INET, &facts);
	ret = ret ?: read_neighbours(socket, &facts);
	ret = ret ?: read_qdiscs(socket, &facts);
	if (!ret)
		*out = facts;
	return ret;
}
