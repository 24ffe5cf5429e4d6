// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gateways that are not resolved, from the kernel's own tables where no daemon keeps the maps.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "../netlink/socket.h"
#include "doctor.h"

#define TIMEOUT_MS 10000
#define REQUEST_BYTES 128
/* A router has few; what is beyond is not looked at. */
#define MAX_GATEWAYS 4096

void doctor_add_gateway(struct doctor_gateways *gateways, const union sixlane_addr *addr,
			uint32_t ifindex)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };

	for (size_t i = 0; i < gateways->n; i++)
		if (!memcmp(&gateways->at[i], &key, sizeof(key)))
			return;
	if (gateways->n < DOCTOR_MAX_GATEWAYS)
		gateways->at[gateways->n++] = key;
	else
		gateways->more++;
}

void doctor_say_gateways(struct checkup *checkup, const struct doctor_gateways *gateways)
{
	char addr[PRINT_PREFIX_LEN];

	for (size_t i = 0; i < gateways->n; i++) {
		const struct sixlane_neigh_key *key = &gateways->at[i];
		const struct link *link = ports_find(&checkup->view->ports, key->ifindex);

		print_prefix(&key->addr, 128, true, addr);
		check_say(checkup, checkup->daemon ? FINDING_SHOULD : FINDING_NOTE,
			  link ? link->name : NULL,
			  "the gateway %s on %s is not resolved: packets to it pass to the kernel",
			  addr, link ? link->name : "a device that is gone");
	}
	if (gateways->more)
		check_say(checkup, FINDING_NOTE, NULL, "more gateways are not resolved");
}

struct gateway {
	struct sixlane_neigh_key key;
	bool resolved;
};

struct gateways {
	struct gateway at[MAX_GATEWAYS];
	size_t n;
};

static struct gateway *find(struct gateways *gateways, const struct sixlane_neigh_key *key)
{
	for (size_t i = 0; i < gateways->n; i++)
		if (!memcmp(&gateways->at[i].key, key, sizeof(*key)))
			return &gateways->at[i];
	return NULL;
}

static int take_route(const struct nlmsghdr *nlh, void *ctx)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct gateways *gateways = ctx;
	struct route route;

	if (parse_route(nlh, &route, hops))
		return 0;
	for (uint32_t i = 0; i < route.n_hops; i++) {
		const struct sixlane_neigh_key key = { .addr = hops[i].gateway,
						       .ifindex = hops[i].ifindex };

		if (hops[i].has_gateway && gateways->n < MAX_GATEWAYS && !find(gateways, &key))
			gateways->at[gateways->n++].key = key;
	}
	return 0;
}

static int take_neigh(const struct nlmsghdr *nlh, void *ctx)
{
	const uint16_t valid =
		NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
	struct gateway *gateway;
	struct neigh neigh;

	if (parse_neigh(nlh, &neigh))
		return 0;
	gateway = find(ctx,
		       &(struct sixlane_neigh_key){ .addr = neigh.addr, .ifindex = neigh.ifindex });
	if (gateway)
		gateway->resolved = neigh.has_mac && neigh.state & valid;
	return 0;
}

static int dump(struct nl_socket *socket, uint16_t type, nl_msg_fn fn, struct gateways *gateways)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	if (type == RTM_GETROUTE)
		((struct rtmsg *)mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtmsg)))
			->rtm_family = AF_INET6;
	else
		((struct ndmsg *)mnl_nlmsg_put_extra_header(nlh, sizeof(struct ndmsg)))
			->ndm_family = AF_INET6;
	return nl_socket_dump(socket, nlh, fn, gateways, NULL, NULL, TIMEOUT_MS, NULL);
}

static bool is_up(const struct checkup *checkup, uint32_t ifindex)
{
	const struct link *link = ports_find(&checkup->view->ports, ifindex);

	return link && link->flags & IFF_UP && link->carrier;
}

static int read_gateways(struct gateways *gateways)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int ret = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (!ret)
		ret = dump(socket, RTM_GETROUTE, take_route, gateways);
	/* changed meanwhile: what was told will do */
	if (!ret || ret == -EINTR)
		ret = dump(socket, RTM_GETNEIGH, take_neigh, gateways);
	return ret == -EINTR ? 0 : ret;
}

static void check_gateways(struct checkup *checkup)
{
	struct gateways *gateways = calloc(1, sizeof(*gateways));
	int ret = gateways ? read_gateways(gateways) : -ENOMEM;

	if (ret)
		check_say(checkup, FINDING_NOTE, NULL, "cannot read routes and neighbours: %s",
			  strerror(-ret));
	for (size_t i = 0; !ret && i < gateways->n; i++)
		if (!gateways->at[i].resolved && is_up(checkup, gateways->at[i].key.ifindex))
			doctor_add_gateway(checkup->gateways, &gateways->at[i].key.addr,
					   gateways->at[i].key.ifindex);
	free(gateways);
	doctor_say_gateways(checkup, checkup->gateways);
}

static const struct check checks[] = {
	{ "neighbours", check_gateways,
	  .usual = "none needed if it was not in use: sixlaned lets the kernel resolve it" },
};

const struct checks doctor_kernel_routes = { checks, ARRAY_SIZE(checks) };
