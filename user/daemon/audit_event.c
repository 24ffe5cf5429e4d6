// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which destinations events point at: those of an address or of a router advertisement, whose
 * lifetimes change without a message, those with an MTU that follows a device's, and those that
 * are about to expire, unless the kernel has given them more time. The kernel changes them
 * after the event, or before it, so that each is read several times.
 */
#include <string.h>

#include "audit_internal.h"
#include "state.h"

#define NS_PER_MS 1000000u
/* Between an event, and the readings that follow it. */
static const uint64_t readings_ns[] = { 5 * NS_PER_MS, 10 * NS_PER_MS, 25 * NS_PER_MS };
/* How often those that are transient are looked through; less than RIB_RENEW_NS. */
#define TRANSIENT_INTERVAL_NS (1000ull * NS_PER_MS)

/* --- soon --------------------------------------------------------------------------------- */

static int compare_places(const void *x, const void *y)
{
	const struct audit_place *a = x, *b = y;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return audit_prefix_compare(&a->dst, &b->dst);
}

/* If there is no room for it, all of them. */
static struct audit_soon *get_soon(struct audit *audit, const struct audit_place *place)
{
	for (size_t i = 0; i < audit->n_soon; i++)
		if (!compare_places(&audit->soon[i].place, place))
			return &audit->soon[i];
	return audit->n_soon < AUDIT_MAX_SOON ? &audit->soon[audit->n_soon++] : &audit->all;
}

void audit_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct audit_place place = { table, *dst };
	struct audit_soon *soon;

	if (!sync->audit->reader) {
		sync_want(sync, SYNC_LATER_NS);
		return;
	}
	soon = get_soon(sync->audit, &place);
	*soon = (struct audit_soon){ place, util_now_ns() + readings_ns[0], 0 };
}

static void read_with_mtu(void *ctx, uint32_t table)
{
	static const struct prefix all;
	const struct radix *radix = rib_table(((struct sync *)ctx)->rib, table);
	const struct radix_node *node = radix ? radix_first_under(radix, &all) : NULL;

	for (; node; node = radix_next_under(node, &all)) {
		const struct rib_route *route = ((const struct rib_dest *)node)->routes;

		while (route && !route->mtu)
			route = route->next;
		if (route)
			audit_read_soon(ctx, table, &node->prefix);
	}
}

void audit_mtu_changed(struct sync *sync)
{
	if (rib_with_mtu(sync->rib))
		rib_each_table(sync->rib, read_with_mtu, sync);
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

/* --- routes that are transient ------------------------------------------------------------ */

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
	const struct audit_place place = { table, *dst };

	if (!rib_transient(sync->rib) || !sync->audit->reader || !first_transient(sync, &place))
		return;
	if (audit_place_add(&sync->audit->transient, table, dst))
		sync_want(sync, SYNC_LATER_NS);
}

static bool leads_by(const struct rib_route *route, uint32_t ifindex)
{
	for (uint16_t i = 0; i < route->n_hops; i++)
		if (route->hops[i].ifindex == ifindex)
			return true;
	return false;
}

void audit_advertised(struct sync *sync, uint32_t ifindex)
{
	const struct audit_places *places = &sync->audit->transient;

	for (size_t i = 0; i < places->n; i++) {
		const struct audit_place *place = &places->list[i];
		const struct rib_route *route = first_transient(sync, place);

		while (route && !(rib_route_is_transient(route) && leads_by(route, ifindex)))
			route = route->next;
		if (route)
			audit_read_soon(sync, place->table, &place->dst);
	}
}

/* Each once, and none that is not transient any more. */
static void tidy(const struct sync *sync, struct audit_places *places)
{
	size_t kept = 0;

	qsort(places->list, places->n, sizeof(*places->list), compare_places);
	for (size_t i = 0; i < places->n; i++) {
		const struct audit_place *place = &places->list[i];

		if ((!kept || compare_places(place, &places->list[kept - 1])) &&
		    first_transient(sync, place))
			places->list[kept++] = *place;
	}
	places->n = kept;
}

static bool ends_soon(const struct rib_route *route, uint64_t now_ns)
{
	while (route && !(route->expires && route->expires_ns < now_ns + RIB_RENEW_NS))
		route = route->next;
	return route;
}

static void look_through(struct sync *sync, uint64_t now_ns)
{
	struct audit_places *places = &sync->audit->transient;
	size_t n;

	tidy(sync, places);
	n = places->n;
	for (size_t i = 0; i < n; i++) /* others may be added behind them */
		if (ends_soon(first_transient(sync, &places->list[i]), now_ns))
			audit_place_mend(sync, &places->list[i], true);
}

/* --- when ------------------------------------------------------------------------------------ */

void audit_event_run(struct sync *sync, uint64_t now_ns)
{
	struct audit *audit = sync->audit;

	read_due(sync, now_ns);
	if (audit->transient.n && now_ns >= audit->next_transient_ns) {
		audit->next_transient_ns = now_ns + TRANSIENT_INTERVAL_NS;
		look_through(sync, now_ns);
	}
}

uint64_t audit_event_due_ns(const struct audit *audit)
{
	uint64_t next_ns = audit->transient.n ? audit->next_transient_ns : UINT64_MAX;

	if (audit->all.due_ns && audit->all.due_ns < next_ns)
		next_ns = audit->all.due_ns;
	for (size_t i = 0; i < audit->n_soon; i++)
		if (audit->soon[i].due_ns < next_ns)
			next_ns = audit->soon[i].due_ns;
	return next_ns;
}
