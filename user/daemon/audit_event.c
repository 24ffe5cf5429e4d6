// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which destinations events point at: those of an address or of a router advertisement, whose
 * lifetimes change without a message, those with an MTU that follows a device's, and those that
 * are about to expire, unless the kernel has given them more time. The kernel changes them
 * after the event, or before it, so that each is read twice.
 */
#include <search.h>
#include <string.h>

#include "audit_internal.h"
#include "state.h"

#define NS_PER_MS 1000000u
#define FIRST_NS (5 * NS_PER_MS)
#define SECOND_NS (40 * NS_PER_MS)
/* How often those that are transient are looked through; less than RIB_RENEW_NS. */
#define TRANSIENT_INTERVAL_NS (1000ull * NS_PER_MS)

/* --- soon --------------------------------------------------------------------------------- */

static struct audit_soon *find_soon(struct audit *audit, uint32_t table, const struct prefix *dst)
{
	for (size_t i = 0; i < audit->n_soon; i++)
		if (audit->soon[i].place.table == table &&
		    prefix_equal(&audit->soon[i].place.dst, dst))
			return &audit->soon[i];
	return NULL;
}

void audit_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	struct audit_soon *soon = find_soon(audit, table, dst);

	if (!audit->reader) {
		sync_want(sync, SYNC_LATER_NS);
		return;
	}
	if (!soon && audit->n_soon == AUDIT_MAX_SOON) {
		audit->all_soon = true;
		return;
	}
	if (!soon)
		soon = &audit->soon[audit->n_soon++];
	memset(soon, 0, sizeof(*soon));
	soon->place.table = table;
	soon->place.dst = *dst;
	soon->due_ns = util_now_ns() + FIRST_NS;
	soon->again = true;
}

static void read_due(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;

	for (size_t i = 0; i < audit->n_soon;) {
		const struct audit_place place = audit->soon[i].place;

		if (audit->soon[i].due_ns > now_ns) {
			i++;
			continue;
		}
		if (audit->soon[i].again) {
			audit->soon[i].again = false;
			audit->soon[i++].due_ns = now_ns + SECOND_NS;
		} else {
			audit->soon[i] = audit->soon[--audit->n_soon];
		}
		audit_place_mend(sync, &place, true);
	}
}

/* --- routes that are transient ------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct audit_place));
}

static const struct rib_route *first_transient(const struct sync *sync,
					       const struct audit_place *place)
{
	const struct rib_dest *dest = rib_find(sync->rib, place->table, &place->dst);
	const struct rib_route *route = dest ? dest->routes : NULL;

	while (route && !rib_route_is_transient(route))
		route = route->next;
	return route;
}

void audit_note_change(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	struct audit_place *place, **found;

	if (!rib_transient(sync->rib) || !audit->reader)
		return;
	place = calloc(1, sizeof(*place));
	if (!place) {
		sync_want(sync, SYNC_LATER_NS);
		return;
	}
	place->table = table;
	place->dst = *dst;
	found = first_transient(sync, place) ? tsearch(place, &audit->transient, compare_places)
					     : NULL;
	if (!found || *found != place)
		free(place);
	else
		audit->n_transient++;
}

/* What a walk through them finds. */
struct search {
	struct sync *sync;
	struct audit_places found;
	uint64_t now_ns;
	uint32_t ifindex; /* a router advertisement came in by it; 0: none */
};

static bool leads_by(const struct rib_route *route, uint32_t ifindex)
{
	for (uint16_t i = 0; i < route->n_hops; i++)
		if (route->hops[i].ifindex == ifindex)
			return true;
	return false;
}

/* An event points at one of the routes, it is about to end, or none is transient any more. */
static bool is_wanted(const struct search *search, const struct audit_place *place)
{
	const struct rib_route *route = first_transient(search->sync, place);

	if (!route)
		return !search->ifindex;
	for (; route; route = route->next) {
		if (search->ifindex
			    ? rib_route_is_transient(route) && leads_by(route, search->ifindex)
			    : route->expires && route->expires_ns < search->now_ns + RIB_RENEW_NS)
			return true;
	}
	return false;
}

static void visit(const void *node, VISIT order, void *ctx)
{
	const struct audit_place *place = *(struct audit_place *const *)node;
	struct search *search = ctx;

	if ((order == postorder || order == leaf) && is_wanted(search, place) &&
	    audit_place_add(&search->found, place->table, &place->dst))
		sync_want(search->sync, SYNC_LATER_NS);
}

static void forget(struct audit *audit, const struct audit_place *place)
{
	struct audit_place **found = tfind(place, &audit->transient, compare_places);
	struct audit_place *gone = found ? *found : NULL;

	if (!gone)
		return;
	tdelete(gone, &audit->transient, compare_places);
	free(gone);
	audit->n_transient--;
}

static void look_through(struct sync *sync, uint64_t now_ns)
{
	struct search search = { .sync = sync, .now_ns = now_ns };

	twalk_r(sync->audit->transient, visit, &search);
	for (size_t i = 0; i < search.found.n; i++) {
		if (first_transient(sync, &search.found.list[i]))
			audit_place_mend(sync, &search.found.list[i], true);
		else
			forget(sync->audit, &search.found.list[i]);
	}
	free(search.found.list);
}

void audit_advertised(struct sync *sync, uint32_t ifindex)
{
	struct search search = { .sync = sync, .ifindex = ifindex };

	twalk_r(sync->audit->transient, visit, &search);
	for (size_t i = 0; i < search.found.n; i++)
		audit_read_soon(sync, search.found.list[i].table, &search.found.list[i].dst);
	free(search.found.list);
}

/* --- routes with an MTU --------------------------------------------------------------------- */

struct mtu_search {
	struct sync *sync;
	uint32_t ifindex;
};

/* By an object they may lead by any device. */
static bool follows_mtu(const struct rib_dest *dest, uint32_t ifindex)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next)
		if (r->mtu && (r->next_hop_id || leads_by(r, ifindex)))
			return true;
	return false;
}

static void search_table(void *ctx, uint32_t table)
{
	static const struct prefix all;
	const struct mtu_search *search = ctx;
	const struct radix *radix = rib_table(search->sync->rib, table);
	const struct radix_node *node = radix ? radix_first_under(radix, &all) : NULL;

	for (; node && !search->sync->audit->all_soon; node = radix_next_under(node, &all))
		if (follows_mtu((const struct rib_dest *)node, search->ifindex))
			audit_read_soon(search->sync, table, &node->prefix);
}

void audit_mtu_changed(struct sync *sync, uint32_t ifindex)
{
	struct mtu_search search = { sync, ifindex };

	if (rib_with_mtu(sync->rib))
		rib_each_table(sync->rib, search_table, &search);
}

/* --- when ------------------------------------------------------------------------------------ */

void audit_event_run(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;

	read_due(sync, now_ns);
	if (audit->n_transient && now_ns >= audit->next_transient_ns) {
		audit->next_transient_ns = now_ns + TRANSIENT_INTERVAL_NS;
		look_through(sync, now_ns);
	}
}

uint64_t audit_event_due_ns(const struct audit *audit)
{
	uint64_t next_ns = audit->n_transient ? audit->next_transient_ns : UINT64_MAX;

	for (size_t i = 0; i < audit->n_soon; i++)
		if (audit->soon[i].due_ns < next_ns)
			next_ns = audit->soon[i].due_ns;
	return next_ns;
}

void audit_event_free(struct audit *audit)
{
	tdestroy(audit->transient, free);
}
