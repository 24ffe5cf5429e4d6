// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check for gateways that are not resolved where no daemon keeps the maps: it reads the
 * kernel's own tables.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../netlink/parse.h"
#include "../netlink/socket.h"
#include "doctor.h"
#include "gateways.h"

#define TIMEOUT_MS 10000
#define REQUEST_BYTES 128
#define MAX_CANDIDATES 4096 /* a router has few; further ones are ignored */

struct candidate {
	struct sixlane_neigh_key key;
	bool resolved;
};

struct candidates {
	struct candidate at[MAX_CANDIDATES];
	size_t n;
};

static struct candidate *find(struct candidates *candidates, const struct sixlane_neigh_key *key)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (!memcmp(&candidates->at[i].key, key, sizeof(*key)))
			return &candidates->at[i];
	return NULL;
}

static int add_route(const struct nlmsghdr *nlh, void *ctx)
{
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct candidates *candidates = ctx;
	struct route route;

	if (parse_route(nlh, &route, hops))
		return 0;
	for (uint32_t i = 0; i < route.n_hops; i++) {
		const struct sixlane_neigh_key key = { .addr = hops[i].gateway,
						       .ifindex = hops[i].ifindex };

		if (hops[i].has_gateway && candidates->n < MAX_CANDIDATES &&
		    !find(candidates, &key))
			candidates->at[candidates->n++].key = key;
	}
	return 0;
}

static int apply_neigh(const struct nlmsghdr *nlh, void *ctx)
{
	const uint16_t valid =
		NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
	struct candidate *found;
	struct neigh neigh;

	if (parse_neigh(nlh, &neigh))
		return 0;
	found = find(ctx,
		     &(struct sixlane_neigh_key){ .addr = neigh.addr, .ifindex = neigh.ifindex });
	if (found)
		found->resolved = neigh.has_mac && neigh.state & valid;
	return 0;
}

/* header_bytes: of the message's own header, which begins with the family. */
static int dump(struct nl_socket *socket, uint16_t type, size_t header_bytes, nl_msg_fn fn,
		struct candidates *candidates)
{
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *header;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	header = mnl_nlmsg_put_extra_header(nlh, header_bytes);
	header->rtgen_family = AF_INET6;
	return nl_socket_dump(socket, nlh, fn, candidates, NULL, NULL, TIMEOUT_MS, NULL);
}

/* -EINTR, something changed meanwhile, is good enough here. */
static int read_candidates(struct candidates *candidates)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	int rc = nl_socket_new(NETLINK_ROUTE, 0, &socket);

	if (!rc)
		rc = dump(socket, RTM_GETROUTE, sizeof(struct rtmsg), add_route, candidates);
	if (!rc || rc == -EINTR)
		rc = dump(socket, RTM_GETNEIGH, sizeof(struct ndmsg), apply_neigh, candidates);
	return rc == -EINTR ? 0 : rc;
}

static bool is_up(const struct checkup *checkup, uint32_t ifindex)
{
	const struct link *link = ports_find(&checkup->view->ports, ifindex);

	return link && link->flags & IFF_UP && link->carrier;
}

static void check_gateways(struct checkup *checkup)
{
	static struct candidates candidates; /* large */
	const int rc = read_candidates(&candidates);

	if (rc)
		check_note(checkup, NULL, "cannot read routes and neighbours: %s", strerror(-rc));
	for (size_t i = 0; !rc && i < candidates.n; i++) {
		const struct candidate *one = &candidates.at[i];

		if (!one->resolved && is_up(checkup, one->key.ifindex))
			gateways_add(checkup->gateways, &one->key.addr, one->key.ifindex);
	}
	gateways_report(checkup);
}

const struct check doctor_kernel_routes[] = {
	{ "neighbours", check_gateways,
	  .usual = "none needed if it was not in use: sixlaned lets the kernel resolve it" },
	{ .name = NULL },
};
