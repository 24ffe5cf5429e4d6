// SPDX-License-Identifier: GPL-2.0-only
/*
 * See audit.h: the tables with their pieces, and the places. The kernel may change routes before or
 * after the event that points at them, so a place is read several times after an event.
 *
 * All destinations with unsteady routes (rib.h) are places, so no event needs a search through the
 * RIB. Only audit_places_run() removes places.
 */
#include <errno.h>
#include <linux/ipv6_route.h>
#include <search.h>
#include <string.h>

#include "apply.h"
#include "audit.h"
#include "daemon.h"

/* Delay after the event, or after the last reading. The index is the number of readings left. */
static const uint64_t readings_ns[] = { 0, 25 * NS_PER_MS, 10 * NS_PER_MS, 5 * NS_PER_MS };
#define N_READINGS (ARRAY_SIZE(readings_ns) - 1)
/* Lifetimes are checked at multiples of this, many at once. Less than RIB_RENEW_NS. */
#define CHECK_NS (1000ull * NS_PER_MS)
/* If events make more places pending, all tables are read. */
#define MAX_EVENTS 1024u
/* If differences make more places pending, messages were lost: all tables are dumped. */
#define MAX_SOON 4096u
/* A change may be read before its message is applied. Then the next try finds no difference. */
#define TRIES 3

/* ::/0, and the key of a table's last piece. */
static const struct prefix any, greatest = { .addr.halves = { ~0ull, ~0ull }, .len = 128 };

/* --- tables ----------------------------------------------------------------------------------- */

int audit_table_compare(const struct prefix *a, const struct prefix *b)
{
	const int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}

void audit_tables_free(struct audit *audit)
{
	struct radix_node *piece;

	for (size_t i = 0; i < audit->n_tables; i++)
		while ((piece = radix_first_under(&audit->tables[i].pieces, &any)))
			radix_remove(&audit->tables[i].pieces, piece);
	free(audit->tables);
}

/* A product moves bits only upwards. The shift lets upper halves change the lower bits, too. */
uint64_t audit_table_sum(uint64_t sum, const void *data, size_t bytes)
{
	const uint64_t *words = data;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		sum = sum * 0x9e3779b97f4a7c15 + (words[i] ^ words[i] >> 32);
	return sum;
}

struct radix_node *audit_table_node_after(const struct radix *radix,
					  const struct kernel_cursor *cursor)
{
	if (!radix)
		return NULL;
	return cursor->started ? radix_after(radix, &cursor->last) : radix_first_under(radix, &any);
}

/* 0: compare it always: it is cut, or has lifetimes, exceptions or next-hop objects. */
static uint64_t piece_sum(const struct kernel_cursor *from, const struct kernel_view *view)
{
	uint64_t sum = audit_table_sum(from->started + 2u * from->last.len, &from->last.addr,
				       sizeof(from->last.addr));

	for (uint32_t i = 0; i < view->n; i++) {
		if (view->cut || view->records[i].kind != KERNEL_RECORD_ROUTE ||
		    view->records[i].flags & RTF_EXPIRES)
			return 0;
		sum = audit_table_sum(sum, &view->records[i], sizeof(view->records[i]));
	}
	return sum;
}

bool audit_table_renew_piece(struct audit_table *table, const struct kernel_cursor *from,
			     const struct kernel_view *view)
{
	const struct prefix *last = view->end ? &greatest : &table->cursor.last;
	struct radix *pieces = &table->pieces;
	const uint64_t sum = piece_sum(from, view);
	struct audit_piece *piece;
	bool unchanged = sum != 0;

	while ((piece = (struct audit_piece *)audit_table_node_after(pieces, from)) &&
	       audit_table_compare(&piece->node.prefix, last) < 0) {
		radix_remove(pieces, &piece->node); /* no piece ends there any more */
		unchanged = false;
	}
	piece = (struct audit_piece *)radix_find(pieces, last)
			?: radix_add(pieces, last, sizeof(*piece));
	if (!piece)
		return false;
	unchanged &= sum == piece->sum;
	piece->sum = sum;
	return unchanged;
}

static struct audit_table *find_table(const struct audit *audit, uint32_t id)
{
	for (size_t i = 0; i < audit->n_tables; i++)
		if (audit->tables[i].id == id)
			return &audit->tables[i];
	return NULL;
}

void audit_table_invalidate(struct audit *audit, uint32_t id, const struct prefix *dst)
{
	const struct audit_table *table = find_table(audit, id);
	struct radix_node *piece = table ? radix_find(&table->pieces, dst) : NULL;

	if (table && !piece) /* then dst is not the last destination of its piece */
		piece = radix_after(&table->pieces, dst);
	if (piece)
		((struct audit_piece *)piece)->sum = 0;
}

static void add_table(void *ctx, uint32_t id)
{
	struct audit *audit = ctx;
	struct audit_table *list;

	if (find_table(audit, id))
		return;
	list = reallocarray(audit->tables, audit->n_tables + 1, sizeof(*list));
	if (!list) { /* the next listing tries again */
		audit->listed_ns = 0;
		return;
	}
	audit->tables = list;
	list[audit->n_tables++] = (struct audit_table){ .id = id };
}

void audit_tables_list(struct sync *sync)
{
	struct audit *audit = sync->audit;

	audit->listed_ns = sync->schedule.backlog ? audit->listed_ns : util_now_ns();
	rib_each_table(sync->stores.rib, add_table, audit);
	for (size_t i = 0; i < sync->stores.program.n; i++)
		/* 0: no lookup, or in the table of a VRF, which the RIB has */
		if (sync->stores.program.rules[i].table)
			add_table(audit, sync->stores.program.rules[i].table);
	if (nexthops_count(sync->stores.nexthops))
		add_table(audit, KERNEL_READER_OBJECTS);
}

struct audit_table *audit_tables_next(const struct audit *audit)
{
	struct audit_table *next = NULL;

	for (size_t i = 0; i < audit->n_tables; i++)
		if (!next || audit->tables[i].turn_ns < next->turn_ns)
			next = &audit->tables[i];
	return next;
}

/* The lowest read_since_ns: everything in all listed tables was read after this. */
static uint64_t oldest_read_ns(const struct audit *audit)
{
	uint64_t since_ns = audit->n_tables ? UINT64_MAX : 0;

	for (size_t i = 0; i < audit->n_tables; i++)
		since_ns = util_earlier(since_ns, audit->tables[i].read_since_ns);
	return since_ns;
}

/* Tables that are newer than the last listing have not been read. */
uint64_t audit_read_since_ns(const struct audit *audit)
{
	return util_earlier(oldest_read_ns(audit), audit->listed_ns);
}

void audit_table_end_pass(struct audit *audit, struct audit_table *table)
{
	const uint64_t now_ns = util_now_ns();

	if (!table->incomplete) {
		/* one walk may miss next-hop objects, two do not */
		table->read_since_ns =
			table->id == KERNEL_READER_OBJECTS ? table->before_ns : table->begin_ns;
		table->before_ns = table->begin_ns;
	}
	table->begin_ns = 0;
	/* a pass through all tables ends when all were read after the end of the last pass */
	if (audit_read_since_ns(audit) <= audit->passed_ns)
		return;
	audit->passes++;
	audit->pass_ns = now_ns - oldest_read_ns(audit);
	audit->passed_ns = now_ns;
}

/* --- one destination -------------------------------------------------------------------------- */

/* Read into audit->routes, and compare. 0 or -errno; -EAGAIN: the kernel is changing them. */
static int read_kernel(struct sync *sync, uint32_t table, const struct prefix *dst,
		       enum rib_difference *difference)
{
	struct kernel_routes *routes = &sync->audit->routes;
	char text[PREFIX_STRLEN];
	struct kernel_view view;
	int ret = kernel_reader_find(sync->audit->reader, table, dst, NULL, &view);

	if (!ret && view.cut)
		ret = -E2BIG;
	if (ret && ret != -EAGAIN)
		log_warning_limited("cannot compare the routes to %s with the kernel's own: %s",
				    prefix_format(dst, text),
				    ret == -E2BIG ? "there are too many" : strerror(-ret));
	if (ret)
		return ret;
	kernel_routes_fill(routes, &view, table, view.records, view.n);
	*difference = rib_compare(rib_find(sync->stores.rib, table, dst), routes->routes, routes->n,
				  view.now_ns);
	return 0;
}

void audit_place_store(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct kernel_routes *routes = &sync->audit->routes;
	bool by_object = false;

	for (size_t i = 0; i < routes->n; i++)
		by_object |= routes->routes[i].next_hop_id != 0;
	if (rib_put(sync->stores.rib, table, dst, routes->routes, routes->n))
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
	if (by_object)
		apply_flush_cached_routes(&sync->stores);
}

bool audit_place_read(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	enum rib_difference difference;
	int ret;

	if (!sync->audit->reader)
		return false;
	ret = read_kernel(sync, table, dst, &difference);
	if (ret == -EAGAIN)
		audit_place_read_soon(sync, table, dst);
	else if (!ret && difference != RIB_SAME)
		audit_place_store(sync, table, dst);
	return !ret || ret == -EAGAIN;
}

/*
 * Apply all messages, read a place, and take over the kernel's routes if they differ. Messages
 * about changes before the reading may come after it; the last one leads to the same routes.
 */
static void read_and_correct(struct sync *sync, const struct audit_place *place, bool counted)
{
	enum rib_difference difference = RIB_SAME;
	char text[PREFIX_STRLEN];

	for (int i = 0; i < TRIES; i++) {
		difference = RIB_SAME;
		/* if more messages wait, a difference may be due to them */
		if (!sockets_follow(sync))
			continue;
		if (read_kernel(sync, place->table, &place->dst, &difference) ||
		    difference == RIB_SAME)
			return;
	}
	if (difference == RIB_SAME) /* too many messages: left to the next pass */
		return;
	audit_place_store(sync, place->table, &place->dst);
	if (!counted || difference == RIB_RENEWED)
		return;
	sync->audit->corrected[difference]++;
	log_info_limited("audit: %s in table %u was not as the kernel has it (%s); corrected",
			 prefix_format(&place->dst, text), place->table,
			 rib_difference_names[difference]);
}

/* --- the places ------------------------------------------------------------------------------- */

static int compare_places(const void *x, const void *y)
{
	const struct audit_place *a = x, *b = y;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return audit_table_compare(&a->dst, &b->dst);
}

/* NULL: not there, or with add: out of memory. */
static struct audit_place *find_place(struct audit *audit, const struct audit_place *key, bool add)
{
	struct audit_place **found = tfind(key, &audit->places, compare_places), *place;

	if (found || !add)
		return found ? *found : NULL;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	*place = (struct audit_place){ .table = key->table, .dst = key->dst, .due_ns = UINT64_MAX };
	if (!tsearch(place, &audit->places, compare_places)) {
		free(place);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&audit->list, place, in_list);
	return place;
}

static void drop_place(struct audit *audit, struct audit_place *place)
{
	tdelete(place, &audit->places, compare_places);
	TAILQ_REMOVE(&audit->list, place, in_list);
	free(place);
}

void audit_places_free(struct audit *audit)
{
	while (!TAILQ_EMPTY(&audit->list))
		drop_place(audit, TAILQ_FIRST(&audit->list));
}

/* Due at due_ns, unless it is due earlier already. */
static void set_due(struct audit *audit, struct audit_place *place, uint64_t due_ns)
{
	uint64_t *next_ns = place->n_left ? &audit->next_pending_ns : &audit->next_check_ns;

	place->due_ns = util_earlier(place->due_ns, due_ns);
	*next_ns = util_earlier(*next_ns, place->due_ns);
}

/* When to check a lifetime: within RIB_RENEW_NS before its end. UINT64_MAX: never. */
static uint64_t lifetime_check_ns(uint64_t now_ns, uint64_t end_ns)
{
	const uint64_t from_ns = util_later(now_ns + RIB_RENEW_NS, end_ns) - RIB_RENEW_NS;

	return end_ns == UINT64_MAX ? UINT64_MAX : (from_ns / CHECK_NS + 1) * CHECK_NS;
}

/* --- pending places --------------------------------------------------------------------------- */

/* A place that becomes or is pending. NULL: max are pending already, or no memory. */
static struct audit_place *get_pending(struct audit *audit, uint32_t table,
				       const struct prefix *dst, size_t max)
{
	const struct audit_place key = { .table = table, .dst = *dst };
	struct audit_place *place = audit->n_pending < max ? find_place(audit, &key, true) : NULL;

	if (place && !place->n_left) {
		place->n_left = 1;
		audit->n_pending++;
		TAILQ_REMOVE(&audit->list, place, in_list);
		TAILQ_INSERT_HEAD(&audit->list, place, in_list);
	}
	return place;
}

void audit_place_read_soon(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	struct audit *audit = sync->audit;
	struct audit_place *place = NULL;

	if (!audit->reader) {
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
		return;
	}
	if (!audit->all.n_left)
		place = get_pending(audit, table, dst, MAX_EVENTS);
	if (!place)
		place = &audit->all;
	place->n_left = N_READINGS;
	set_due(audit, place, util_now_ns() + readings_ns[N_READINGS]);
}

int audit_place_add_difference(struct audit *audit, uint32_t table, const struct prefix *dst)
{
	struct audit_place *place = get_pending(audit, table, dst, MAX_SOON);

	audit_table_invalidate(audit, table, dst);
	if (!place)
		return -E2BIG;
	place->counted |= !audit->quiet;
	set_due(audit, place, 0);
	return 0;
}

void audit_place_begin(struct audit_place *place, uint64_t now_ns)
{
	place->n_left -= place->n_left > 0;
	place->due_ns = place->n_left ? now_ns + readings_ns[place->n_left] : UINT64_MAX;
}

/* --- routes that change without a message ----------------------------------------------------- */

/* How the routes of a place may change without a notification. */
struct outlook {
	bool unsteady;	 /* a route is unsteady (rib.h) */
	bool mtu;	 /* a route has an MTU */
	bool advertised; /* a transient route is on the given device */
	uint64_t end_ns; /* when the first route expires; UINT64_MAX: never */
};

static struct outlook outlook_of(const struct stores *stores, const struct audit_place *place,
				 uint32_t ifindex)
{
	const struct rib_dest *dest = rib_find(stores->rib, place->table, &place->dst);
	struct outlook outlook = { .end_ns = UINT64_MAX };

	for (const struct rib_route *at = dest ? dest->routes : NULL; at; at = at->next) {
		outlook.unsteady |= rib_route_is_unsteady(at);
		outlook.mtu |= at->mtu != 0;
		for (uint16_t i = 0; i < at->n_hops && rib_route_is_transient(at); i++)
			outlook.advertised |= at->hops[i].ifindex == ifindex;
		if (at->expires)
			outlook.end_ns = util_earlier(outlook.end_ns, at->expires_ns);
	}
	return outlook;
}

/* Routes by next-hop objects have no device in the RIB. Only the passes read them. */
void audit_place_read_unsteady(struct sync *sync, uint32_t ifindex)
{
	struct audit_place *place, *next;

	for (place = TAILQ_FIRST(&sync->audit->list); place; place = next) {
		const struct outlook outlook = outlook_of(&sync->stores, place, ifindex);

		next = TAILQ_NEXT(place, in_list); /* it may move to the head */
		if (ifindex ? outlook.advertised : outlook.mtu)
			audit_place_read_soon(sync, place->table, &place->dst);
	}
}

void audit_place_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst)
{
	const struct audit_place key = { .table = table, .dst = *dst };
	struct audit *audit = sync->audit;
	struct audit_place *place;
	bool unsteady;

	audit_table_invalidate(audit, table, dst);
	if (!audit->reader || (!rib_unsteady(sync->stores.rib) && !audit->places))
		return;
	unsteady = outlook_of(&sync->stores, &key, 0).unsteady;
	place = find_place(audit, &key, unsteady);
	if (place)
		set_due(audit, place, lifetime_check_ns(util_now_ns(), 0));
	else if (unsteady)
		schedule_tables(&sync->schedule, SCHEDULE_LATER_NS);
}

/* --- when ------------------------------------------------------------------------------------- */

/* A place is due: read it if it is pending, or if a lifetime is about to end. */
static void run_place(struct sync *sync, struct audit_place *place, uint64_t now_ns)
{
	struct audit *audit = sync->audit;
	const bool pending = place->n_left, counted = place->counted;
	struct outlook outlook = outlook_of(&sync->stores, place, 0);

	place->counted = false;
	audit_place_begin(place, now_ns);
	if (pending && !place->n_left) {
		audit->n_pending--;
		TAILQ_REMOVE(&audit->list, place, in_list);
		TAILQ_INSERT_TAIL(&audit->list, place, in_list);
	}
	if (pending || outlook.end_ns < now_ns + RIB_RENEW_NS)
		read_and_correct(sync, place, counted);
	outlook = outlook_of(&sync->stores, place, 0);
	set_due(audit, place, lifetime_check_ns(now_ns, outlook.end_ns));
	if (place->due_ns == UINT64_MAX && !outlook.unsteady)
		drop_place(audit, place);
}

/* Idle places are visited only if one may be due: pending ones come first in the list. */
void audit_places_run(struct sync *sync)
{
	struct audit *audit = sync->audit;
	const uint64_t now_ns = util_now_ns();
	const bool idle = now_ns >= audit->next_check_ns;
	struct audit_place *place, *next;

	if (!idle && now_ns < audit->next_pending_ns)
		return;
	audit->next_pending_ns = UINT64_MAX;
	if (idle)
		audit->next_check_ns = UINT64_MAX;
	for (place = TAILQ_FIRST(&audit->list); place && (idle || place->n_left); place = next) {
		next = TAILQ_NEXT(place, in_list);
		if (place->due_ns <= now_ns)
			run_place(sync, place, now_ns);
		else
			set_due(audit, place, place->due_ns); /* for the earliest of each kind */
	}
}
