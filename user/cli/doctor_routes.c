// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the routes in the maps: those that only the kernel can follow, and gateways that are
 * not resolved. Each next hop is checked once, however many routes use it.
 */
#include <errno.h>
#include <string.h>

#include "doctor.h"
#include "gateways.h"
#include "route_view.h"
#include "traffic.h"

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
