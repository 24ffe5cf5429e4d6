// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of routes: those that only the kernel can follow, and gateways that are not resolved.
 * Each next hop is checked once, however many routes use it. Where no daemon keeps the maps, the
 * gateways are those of the kernel's own tables.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <string.h>

#include "../netlink/parse.h"
#include "../netlink/socket.h"
#include "doctor.h"
#include "route_view.h"

/* --- gateways ----------------------------------------------------------------------------- */

void gateways_add(struct gateways *gateways, const union sixlane_addr *addr, uint32_t ifindex)
{
	const struct sixlane_neigh_key key = { .addr = *addr, .ifindex = ifindex };

	for (size_t i = 0; i < gateways->n; i++)
		if (!memcmp(&gateways->at[i], &key, sizeof(key)))
			return;
	if (gateways->n < GATEWAYS_MAX)
		gateways->at[gateways->n++] = key;
	else
		gateways->more++;
}

/* Reports checkup->gateways. */
static void gateways_report(struct checkup *checkup)
{
	const struct gateways *gateways = checkup->gateways;
	char addr[PRINT_PREFIX_LEN];

	for (size_t i = 0; i < gateways->n; i++) {
		const struct sixlane_neigh_key *key = &gateways->at[i];
		const struct link *link = ports_find(&checkup->view->ports, key->ifindex);

		check_report(
			checkup, checkup->daemon ? FINDING_WARNING : FINDING_NOTE,
			link ? link->name : NULL,
			"the gateway %s on %s is not resolved: packets to it pass to the kernel",
			print_addr(&key->addr, addr), link ? link->name : "a device that is gone");
	}
	if (gateways->more)
		check_note(checkup, NULL, "more gateways are not resolved");
}

/* --- the kernel's routes ------------------------------------------------------------------ */

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

/* --- the routes in the maps --------------------------------------------------------------- */

struct use {
	uint64_t routes;
	struct sixlane_route_key first; /* of the routes, and its value */
	uint32_t value;
};

static int count(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	struct use *use = (struct use *)ctx + sixlane_route_next_hop(value) % SIXLANE_MAX_NEXT_HOPS;

	if (!use->routes++) {
		use->first = *key;
		use->value = value;
	}
	return 0;
}

static struct use *read_uses(const struct maps *maps)
{
	struct use *uses = calloc(SIXLANE_MAX_NEXT_HOPS, sizeof(*uses));

	if (!uses || maps_route_each(maps, count, uses)) {
		free(uses);
		return NULL;
	}
	return uses;
}

static bool is_punt(uint32_t verdict)
{
	return verdict < SIXLANE_N_VERDICTS && !strncmp(cmd_verdict_name(verdict), "punt_", 5);
}

static void add_use(struct use *sum, const struct use *use)
{
	if (!sum->routes)
		*sum = *use;
	else
		sum->routes += use->routes;
}

static void add_gateway(struct gateways *gateways, const struct hop_view *hop)
{
	if (hop->has_gateway && !hop->has_mac && hop->egress.flags & SIXLANE_PORT_UP)
		gateways_add(gateways, &hop->neigh.key.addr, hop->neigh.key.ifindex);
}

static void check_use(struct checkup *checkup, const struct use *use, struct use *punted)
{
	struct route_view route;

	route_view_read(&checkup->view->maps, use->value, NULL, &route);
	if (is_punt(route.verdict))
		add_use(&punted[route.verdict], use);
	add_gateway(checkup->gateways, &route.hop);
	for (uint32_t i = 0; i < route.group.n_members; i++)
		add_gateway(checkup->gateways, &route.group.members[i].hop);
}

static void report_punted(struct checkup *checkup, const struct use *punted)
{
	struct traffic traffic;
	char first[PRINT_PREFIX_LEN];

	(void)traffic_read(checkup, &traffic);
	for (uint32_t v = 0; v < SIXLANE_N_VERDICTS; v++) {
		const struct use *use = &punted[v];

		if (!use->routes)
			continue;
		print_prefix(&use->first.addr, use->first.prefix_len - SIXLANE_TABLE_BITS, first);
		check_warn(
			checkup, NULL,
			"%llu %s left to the kernel (%s), for example %s, which receive %.1f %% of the IPv6 packets so far: %s",
			(unsigned long long)use->routes,
			use->routes == 1 ? "route is" : "routes are", cmd_verdict_name(v), first,
			traffic_share(&traffic, v), cmd_verdict_text(v));
		if (traffic_verdict(v)->advice)
			check_advise(checkup, "%s", traffic_verdict(v)->advice);
	}
}

static void check_routes(struct checkup *checkup)
{
	struct use punted[SIXLANE_N_VERDICTS] = { 0 };
	_cleanup_free_ struct use *uses = read_uses(&checkup->view->maps);

	if (!uses) {
		check_warn(checkup, NULL, "the routes in the maps cannot be read");
		return;
	}
	for (size_t i = 0; i < SIXLANE_MAX_NEXT_HOPS; i++)
		if (uses[i].routes)
			check_use(checkup, &uses[i], punted);
	report_punted(checkup, punted);
}

const struct check doctor_routes[] = {
	{ "routes", check_routes, .usual = "'sixlane routes' shows the routes" },
	{ "neighbours", gateways_report,
	  .usual = "check that the neighbour is up and answers; 'ip -6 neigh' shows its state" },
	{ .name = NULL },
};
