// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places that are read out of turn: those that events point at, those with a lifetime that is
 * about to end, and those where a pass saw a difference. The kernel changes routes after an event,
 * or before it, so that each is then read several times.
 *
 * All destinations whose routes may change without a message (rib_route_is_unsteady()) are places,
 * so that no event looks for them in the whole RIB. Only audit_places_run() removes any.
 */
#include <errno.h>
#include <search.h>

#include "audit_internal.h"
#include "state.h"

#define NS_PER_MS 1000000u
/* How long each reading is after the event or the reading before, by how many are left then. */
static const uint64_t readings_ns[] = { 0, 25 * NS_PER_MS, 10 * NS_PER_MS, 5 * NS_PER_MS };
#define N_READINGS (ARRAY_SIZE(readings_ns) - 1)
/* Looks at what expires fall on multiples of this, so that many are one; less than RIB_RENEW_NS. */
#define LOOK_NS (1000ull * NS_PER_MS)
/* If more are to be read all tables are, or messages were lost and a dump is what helps. */
#define MAX_SOON 2048u

/* --- the places ------------------------------------------------------------------------------- */

static int compare_places(const void *x, const void *y)
{
	const struct audit_place *a = x, *b = y;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return audit_prefix_compare(&a->dst, &b->dst);
}

/* NULL: it is none. */
static struct audit_place *find_place(const struct audit *audit, const struct audit_place *key)
{
	struct audit_place **found = tfind(key, &audit->places, compare_places);

	return found ? *found : NULL;
}

/* NULL: no memory. */
static struct audit_place *get_place(struct audit *audit, const struct audit_place *key)
{
	struct audit_place *place = find_place(audit, key);

	if (place)
		return place;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	*place = (struct audit_place){ .table = key->table, .dst = key->dst, .due_ns = UINT64_MAX };
	if (!tsearch(place, &audit->places, compare_places)) {
		free(place);
		return NULL;
	}
	LIST_INSERT_HEAD(&audit->list, place, in_list);
	return place;
}

static void drop_place(struct audit *audit, struct audit_place *place)
{
	tdelete(place, &audit->places, compare_places);
	LIST_REMOVE(place, in_list);
	free(place);
}

void audit_places_free(struct audit *audit)
{
	while (!LIST_EMPTY(&audit->list))
		drop_place(audit, LIST_FIRST(&audit->list));
}

/* Nothing puts it off. */
static void set_due(struct audit *audit, struct audit_place *place, uint64_t due_ns)
{
	place->due_ns = util_earlier(place->due_ns, due_ns);
	audit->next_place_ns = util_earlier(audit->next_place_ns, place->due_ns);
}

static uint64_t next_look_ns(uint64_t now_ns)
{
	return (now_ns / LOOK_NS + 1) * LOOK_NS;
}

/* --- soon ------------------------------------------------------------------------------------- */

/* A place that is to be read. NULL: there are too many, or no memory. */
static struct audit_place *get_soon(struct audit *audit, uint32_t table, const struct prefix *dst)
{
	const struct audit_place key = { .table = table, .dst = *dst };
	struct audit_place *place = audit->n_soon < MAX_SOON ? get_place(audit, &key) : NULL;

	if (place && !place->n_left) {
		place->n_left = 1;
		audit->n_soon++;
	}
	return place;
}

void audit_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	struct audit_place *place = NULL;

	if (!audit->reader) {
		sync_want(sync, SYNC_LATER_NS);
		return;
	}
	if (!audit->all.n_left)
		place = get_soon(audit, table, dst);
	if (!place)
		place = &audit->all;
	place->n_left = N_READINGS;
	set_due(audit, place, util_now_ns() + readings_ns[N_READINGS]);
}

int audit_suspect(struct audit *audit, uint32_t table, const struct prefix *dst)
{
	struct audit_place *place = get_soon(audit, table, dst);

	if (!place)
		return -E2BIG;
	place->counted |= !audit->quiet;
	set_due(audit, place, 0);
	return 0;
}

void audit_place_take(struct audit_place *place, uint64_t now_ns)
{
	place->n_left -= place->n_left > 0;
	place->due_ns = place->n_left ? now_ns + readings_ns[place->n_left] : UINT64_MAX;
}

/* --- routes that change without a message ----------------------------------------------------- */

static const struct rib_route *first_route(const struct sync *sync, const struct audit_place *place)
{
	const struct rib_dest *dest = rib_find(sync->rib, place->table, &place->dst);

	return dest ? dest->routes : NULL;
}

/* One of its routes is such a one; ifindex: as that takes it. */
static bool has_route(const struct sync *sync, const struct audit_place *place,
		      bool (*wanted)(const struct rib_route *, uint32_t), uint32_t ifindex)
{
	const struct rib_route *route = first_route(sync, place);

	while (route && !wanted(route, ifindex))
		route = route->next;
	return route;
}

static bool unsteady(const struct rib_route *route, uint32_t ifindex)
{
	(void)ifindex;
	return rib_route_is_unsteady(route);
}

static bool advertised(const struct rib_route *route, uint32_t ifindex)
{
	for (uint16_t i = 0; i < route->n_hops && rib_route_is_transient(route); i++)
		if (route->hops[i].ifindex == ifindex)
			return true;
	return false;
}

/* The device of a next-hop object is not known here. */
static bool with_mtu(const struct rib_route *route, uint32_t ifindex)
{
	(void)ifindex;
	return route->mtu;
}

static void read_those(struct sync *sync, bool (*wanted)(const struct rib_route *, uint32_t),
		       uint32_t ifindex)
{
	const struct audit_place *place;

	LIST_FOREACH(place, &sync->audit->list, in_list)
	if (has_route(sync, place, wanted, ifindex))
		audit_read_soon(sync, place->table, &place->dst);
}

void audit_advertised(struct sync *sync, uint32_t ifindex)
{
	read_those(sync, advertised, ifindex);
}

void audit_mtu_changed(struct sync *sync)
{
	read_those(sync, with_mtu, 0);
}

void audit_note_change(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct audit_place key = { .table = table, .dst = *dst };
	struct audit *audit = sync->audit;
	struct audit_place *place;

	if (!audit->reader || (!rib_unsteady(sync->rib) && !audit->places))
		return;
	if (!has_route(sync, &key, unsteady, 0))
		place = find_place(audit, &key);
	else if (!(place = get_place(audit, &key)))
		sync_want(sync, SYNC_LATER_NS);
	if (place)
		set_due(audit, place, next_look_ns(util_now_ns()));
}

/* When the first of its routes expires; UINT64_MAX: never. */
static uint64_t end_ns(const struct sync *sync, const struct audit_place *place)
{
	uint64_t first_ns = UINT64_MAX;

	for (const struct rib_route *at = first_route(sync, place); at; at = at->next)
		if (at->expires)
			first_ns = util_earlier(first_ns, at->expires_ns);
	return first_ns;
}

/* --- when ------------------------------------------------------------------------------------- */

/* When to look at it next for what expires, which is read again before it does. */
static uint64_t look_due_ns(const struct sync *sync, const struct audit_place *place,
			    uint64_t now_ns)
{
	const uint64_t last_ns = end_ns(sync, place);

	if (last_ns == UINT64_MAX)
		return UINT64_MAX;
	return next_look_ns(util_later(now_ns + RIB_RENEW_NS, last_ns) - RIB_RENEW_NS);
}

static void run_place(struct sync *sync, struct audit_place *place, uint64_t now_ns)
{
	struct audit *audit = sync->audit;
	const bool wanted = place->n_left, counted = place->counted;

	place->counted = false;
	audit_place_take(place, now_ns);
	audit->n_soon -= wanted && !place->n_left;
	if (wanted || end_ns(sync, place) < now_ns + RIB_RENEW_NS)
		audit_place_mend(sync, place, counted);
	set_due(audit, place, look_due_ns(sync, place, now_ns));
	if (place->due_ns == UINT64_MAX && !has_route(sync, place, unsteady, 0))
		drop_place(audit, place);
}

void audit_places_run(struct sync *sync)
{
	struct audit *audit = sync->audit;
	const uint64_t now_ns = util_now_ns();
	struct audit_place *place, *next;

	if (now_ns < audit->next_place_ns)
		return;
	audit->next_place_ns = UINT64_MAX;
	for (place = LIST_FIRST(&audit->list); place; place = next) {
		next = LIST_NEXT(place, in_list); /* messages add others only before the first */
		if (place->due_ns <= now_ns)
			run_place(sync, place, now_ns);
		else
			set_due(audit, place, place->due_ns);
	}
}
