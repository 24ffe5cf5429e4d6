// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which destinations events point at: those of an address or of a router advertisement, whose
 * lifetimes change without a message, those with an MTU that follows a device's, and those that
 * are about to expire, unless the kernel has given them more time. The kernel changes them
 * after the event, or before it, so that each is read several times.
 *
 * Those that have such routes (rib_unsteady()) are in a list, so that no event looks for them in
 * the whole RIB. One is added to it with every change, perhaps twice, and only tidy() removes any.
 */
#include <string.h>

#include "audit_internal.h"
#include "state.h"

#define NS_PER_MS 1000000u
/* Between an event, and the readings that follow it. */
static const uint64_t readings_ns[] = { 5 * NS_PER_MS, 10 * NS_PER_MS, 25 * NS_PER_MS };
/* The least between two looks at what is to expire; less than RIB_RENEW_NS. */
#define LOOK_NS (1000ull * NS_PER_MS)

/* --- soon --------------------------------------------------------------------------------- */

static int compare_places(const void *x, const void *y)
{
	const struct audit_place *a = x, *b = y;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return audit_prefix_compare(&a->dst, &b->dst);
}

/* While all are to be read, or if there is no room for it: all of them. */
static struct audit_soon *get_soon(struct audit *audit, const struct audit_place *place)
{
	if (audit->all.due_ns)
		return &audit->all;
	for (size_t i = 0; i < audit->n_soon; i++)
		if (!compare_places(&audit->soon[i].place, place))
			return &audit->soon[i];
	if (audit->n_soon == AUDIT_MAX_SOON)
		return &audit->all;
	audit->soon[audit->n_soon] = (struct audit_soon){ .place = *place };
	return &audit->soon[audit->n_soon++];
}

void audit_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const uint64_t due_ns = util_now_ns() + readings_ns[0];
	const struct audit_place place = { table, *dst };
	struct audit_soon *soon;

	if (!sync->audit->reader) {
		sync_want(sync, SYNC_LATER_NS);
		return;
	}
	soon = get_soon(sync->audit, &place);
	soon->n_read = 0;
	if (!soon->due_ns || soon->due_ns > due_ns) /* one event after the other puts nothing off */
		soon->due_ns = due_ns;
}

/* It is read now. False: and not once more. */
static bool take(struct audit_soon *soon, uint64_t now_ns)
{
	const bool again = ++soon->n_read < ARRAY_SIZE(readings_ns);

	soon->due_ns = again ? now_ns + readings_ns[soon->n_read] : 0;
	return again;
}

static void read_due(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;

	if (audit->all.due_ns && audit->all.due_ns <= now_ns) {
		take(&audit->all, now_ns);
		audit_read_all(sync);
	}
	for (size_t i = 0; i < audit->n_soon;) {
		const struct audit_place place = audit->soon[i].place;

		if (audit->soon[i].due_ns > now_ns) {
			i++;
			continue;
		}
		if (take(&audit->soon[i], now_ns))
			i++;
		else
			audit->soon[i] = audit->soon[--audit->n_soon];
		audit_place_mend(sync, &place, true);
	}
}

/* --- routes that change without a message -------------------------------------------------- */

static const struct rib_route *first_route(const struct sync *sync, const struct audit_place *place)
{
	const struct rib_dest *dest = rib_find(sync->rib, place->table, &place->dst);

	return dest ? dest->routes : NULL;
}

static bool is_unsteady(const struct sync *sync, const struct audit_place *place)
{
	const struct rib_route *route = first_route(sync, place);

	while (route && !rib_route_is_unsteady(route))
		route = route->next;
	return route;
}

/* When the first of its routes expires; UINT64_MAX: never. */
static uint64_t end_ns(const struct sync *sync, const struct audit_place *place)
{
	uint64_t first_ns = UINT64_MAX;

	for (const struct rib_route *at = first_route(sync, place); at; at = at->next)
		if (at->expires && at->expires_ns < first_ns)
			first_ns = at->expires_ns;
	return first_ns;
}

void audit_note_change(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct audit_place place = { table, *dst };
	struct audit *audit = sync->audit;

	if (!rib_unsteady(sync->rib) || !audit->reader || !is_unsteady(sync, &place))
		return;
	if (audit_place_add(&audit->unsteady, table, dst))
		sync_want(sync, SYNC_LATER_NS);
	if (end_ns(sync, &place) != UINT64_MAX)
		audit->next_look_ns = audit->looked_ns + LOOK_NS;
}

/* Those are read soon that have such a route. */
static void read_those(struct sync *sync, bool (*wanted)(const struct rib_route *, uint32_t),
		       uint32_t ifindex)
{
	const struct audit_places *places = &sync->audit->unsteady;

	for (size_t i = 0; i < places->n; i++) {
		const struct rib_route *route = first_route(sync, &places->list[i]);

		while (route && !wanted(route, ifindex))
			route = route->next;
		if (route)
			audit_read_soon(sync, places->list[i].table, &places->list[i].dst);
	}
}

static bool may_be_advertised(const struct rib_route *route, uint32_t ifindex)
{
	for (uint16_t i = 0; i < route->n_hops && rib_route_is_transient(route); i++)
		if (route->hops[i].ifindex == ifindex)
			return true;
	return false;
}

void audit_advertised(struct sync *sync, uint32_t ifindex)
{
	read_those(sync, may_be_advertised, ifindex);
}

static bool has_mtu(const struct rib_route *route, uint32_t ifindex)
{
	(void)ifindex; /* that of a next-hop object is not known here */
	return route->mtu;
}

void audit_mtu_changed(struct sync *sync)
{
	read_those(sync, has_mtu, 0);
}

/* Each once, and none that is steady. */
static void tidy(const struct sync *sync, struct audit_places *places)
{
	size_t kept = 0;

	qsort(places->list, places->n, sizeof(*places->list), compare_places);
	for (size_t i = 0; i < places->n; i++) {
		const struct audit_place *place = &places->list[i];

		if ((!kept || compare_places(place, &places->list[kept - 1])) &&
		    is_unsteady(sync, place))
			places->list[kept++] = *place;
	}
	places->n = kept;
}

/* Reads what is about to expire, and finds out when to look again. */
static void look_through(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;
	const size_t n = audit->unsteady.n; /* others may be added behind them */
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct audit_place place = audit->unsteady.list[i];
		const uint64_t last_ns = end_ns(sync, &place);

		if (last_ns < now_ns + RIB_RENEW_NS)
			audit_place_mend(sync, &place, true);
		if (last_ns < first_ns)
			first_ns = last_ns;
	}
	audit->looked_ns = now_ns;
	audit->next_look_ns = now_ns + LOOK_NS;
	if (first_ns > audit->next_look_ns + RIB_RENEW_NS)
		audit->next_look_ns = first_ns - RIB_RENEW_NS;
}

/* --- when ------------------------------------------------------------------------------------ */

void audit_event_run(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;

	if (audit->unsteady.n > audit->untidy_n) {
		tidy(sync, &audit->unsteady);
		audit->untidy_n = 2 * audit->unsteady.n + 64;
	}
	read_due(sync, now_ns);
	if (now_ns >= audit->next_look_ns)
		look_through(sync, now_ns);
}

uint64_t audit_event_due_ns(const struct audit *audit)
{
	uint64_t next_ns = audit->next_look_ns;

	if (audit->all.due_ns && audit->all.due_ns < next_ns)
		next_ns = audit->all.due_ns;
	for (size_t i = 0; i < audit->n_soon; i++)
		if (audit->soon[i].due_ns < next_ns)
			next_ns = audit->soon[i].due_ns;
	return next_ns;
}
