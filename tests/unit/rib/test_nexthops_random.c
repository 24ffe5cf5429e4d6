// SPDX-License-Identifier: GPL-2.0-only
/*
 * Next-hop objects at random: beside the store there is a kernel in small (net/ipv4/nexthop.c),
 * which also does without a word what the kernel does. The store must say what the kernel
 * has, and whoever listens must have heard of every id that means something else than before.
 * Routes by the objects come and go, and of what they share the store knows as much as a look at
 * all.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "nexthops_store.h"

/* Ids are 1 to IDS. */
#define IDS 12u
#define MEMBERS 4u
#define ROUTES 10u

struct kernel_object {
	bool there;
	enum next_hop_kind kind;
	uint32_t ifindex;
	uint32_t n;
	uint32_t member[MEMBERS], weight[MEMBERS];
};

/* Two for each destination, of metrics of their own. */
struct kernel_route {
	uint32_t id; /* of its object; 0: it is not there */
	uint32_t mtu;
	uint8_t type;
};

struct kernel {
	struct kernel_object objects[IDS + 1];
	struct kernel_route routes[ROUTES];
	uint32_t cached[IDS + 1]; /* at a hop since fib6 has its number: kinds of routes */
	bool was_mixed[IDS + 1];  /* since nexthops_cache_flushed() */
	struct store *store;
	uint32_t seed;
	bool muted;	 /* nobody hears of what is done */
	bool new_number; /* fib6 has one since the step before */
};

static size_t n_mixed; /* seen */

static uint32_t draw(struct kernel *kernel, uint32_t below)
{
	kernel->seed = kernel->seed * 1664525u + 1013904223u;
	return (kernel->seed >> 8) % below;
}

static bool is_hop(const struct kernel_object *object)
{
	return object->kind == NEXT_HOP_ONE || object->kind == NEXT_HOP_BLACKHOLE;
}

static void kernel_announce(const struct kernel *kernel, uint32_t id)
{
	const struct kernel_object *object = &kernel->objects[id];
	char text[STORE_TEXT];
	int at = 0;

	if (kernel->muted)
		return;
	if (object->kind == NEXT_HOP_ONE)
		snprintf(text, sizeof(text), "%u via %u", id, object->ifindex);
	else if (object->kind != NEXT_HOP_GROUP)
		snprintf(text, sizeof(text), "%u %s", id,
			 object->kind == NEXT_HOP_OTHER ? "other" : "blackhole");
	else
		at = snprintf(text, sizeof(text), "%u group", id);
	for (uint32_t i = 0; i < object->n; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " %u*%u", object->member[i],
			       object->weight[i]);
	store_apply(kernel->store, text);
}

static void kernel_remove(struct kernel *kernel, uint32_t id)
{
	kernel->objects[id].there = false;
	kernel->cached[id] = 0;
	kernel->was_mixed[id] = false;
	for (uint32_t g = 1; g <= IDS; g++) {
		struct kernel_object *group = &kernel->objects[g];
		uint32_t kept = 0;

		if (!group->there || group->kind != NEXT_HOP_GROUP)
			continue;
		for (uint32_t i = 0; i < group->n; i++) {
			group->member[kept] = group->member[i];
			group->weight[kept] = group->weight[i];
			kept += group->member[i] != id;
		}
		group->n = kept;
		group->there = kept;
	}
}

/* Routes are deleted with their object, without a message. */
static void kernel_drop_routes(struct kernel *kernel)
{
	for (uint32_t i = 0; i < ROUTES; i++) {
		if (!kernel->objects[kernel->routes[i].id].there)
			kernel->routes[i].id = 0;
	}
}

static void kernel_announce_route(struct kernel *kernel, uint32_t index, bool del, uint16_t flags)
{
	const struct kernel_route *said = &kernel->routes[index];
	const struct route_hop loopback = { .ifindex = 1 };
	struct route route = {
		.dst = { .addr.bytes = { 0x20, 0x01, (uint8_t)(index / 2) }, .len = 64 },
		.table = RT_TABLE_MAIN,
		.metric = 1 + index % 2,
		.next_hop_id = said->id,
		.mtu = said->mtu,
		.type = said->type,
		.n_hops = said->type == RTN_BLACKHOLE, /* by an object that discards */
		.hops = &loopback,
	};

	if (del)
		assert_int_equal(rib_del(kernel->store->rib, &route, &(bool){ 0 }), 0);
	else
		assert_int_equal(rib_add(kernel->store->rib, &route, flags, &(bool){ 0 }), 0);
}

static bool leads_by(const struct kernel_object *objects, uint32_t id, uint32_t hop)
{
	for (uint32_t i = 0; i < objects[id].n; i++) {
		if (objects[id].member[i] == hop)
			return true;
	}
	return id == hop;
}

/* Routes by what discards are unicast. */
static uint32_t cached_kind(const struct kernel_route *route)
{
	return 1u << ((route->mtu != 0) + 2 * (route->type == RTN_UNREACHABLE));
}

/* A bit for each kind of route that may go by the hop, also by groups with unknown members. */
static uint32_t kinds_by(const struct kernel *kernel, uint32_t hop)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < ROUTES; i++) {
		const struct kernel_route *route = &kernel->routes[i];

		if (route->id && (leads_by(kernel->objects, route->id, hop) ||
				  kernel->objects[route->id].kind == NEXT_HOP_OTHER))
			kinds |= cached_kind(route);
	}
	return kinds;
}

static bool is_several(uint32_t kinds)
{
	return kinds & (kinds - 1);
}

/* While one route takes another's place packets meet either, with the new number. */
static void meet_both(struct kernel *kernel, const uint32_t kinds_before[IDS + 1])
{
	for (uint32_t id = 1; id <= IDS; id++) {
		const struct kernel_object *object = &kernel->objects[id];

		if (!object->there || !is_hop(object))
			continue;
		kernel->cached[id] = kinds_before[id] | kinds_by(kernel, id);
		kernel->was_mixed[id] |= is_several(kernel->cached[id]);
	}
}

static void kernel_route(struct kernel *kernel)
{
	static const uint8_t types[] = { RTN_UNICAST, RTN_UNICAST,   RTN_UNICAST,
					 RTN_UNICAST, RTN_BLACKHOLE, RTN_UNREACHABLE };
	uint32_t index = draw(kernel, ROUTES), id = 1 + draw(kernel, IDS);
	struct kernel_route *route = &kernel->routes[index];
	uint32_t kinds[IDS + 1];
	bool replaces;

	for (uint32_t hop = 1; hop <= IDS; hop++)
		kinds[hop] = kinds_by(kernel, hop);
	if (route->id && draw(kernel, 3) == 0) {
		kernel_announce_route(kernel, index, true, 0);
		route->id = 0;
	} else if (kernel->objects[id].there) {
		replaces = route->id;
		*route = (struct kernel_route){ .id = id,
						.mtu = draw(kernel, 4) ? 0 : 1300,
						.type = types[draw(kernel, sizeof(types))] };
		kernel_announce_route(kernel, index, false,
				      replaces ? NLM_F_REPLACE : NLM_F_CREATE);
		if (replaces) {
			meet_both(kernel, kinds);
			return;
		}
		kernel->new_number = true;
		nexthops_cache_flushed(kernel->store->nexthops);
		memset(kernel->was_mixed, 0, sizeof(kernel->was_mixed));
	}
}

static void kernel_add(struct kernel *kernel)
{
	uint32_t id = 1 + draw(kernel, IDS);
	struct kernel_object object = { .there = true };

	if (draw(kernel, 2) && (!kernel->objects[id].there || !is_hop(&kernel->objects[id]))) {
		object.kind = NEXT_HOP_GROUP;
		for (uint32_t m = 1; m <= IDS && object.n < MEMBERS; m++) {
			if (m == id || !kernel->objects[m].there || draw(kernel, 2) ||
			    kernel->objects[m].kind != NEXT_HOP_ONE)
				continue;
			object.member[object.n] = m;
			object.weight[object.n++] = 1 + draw(kernel, 3);
		}
		if (!object.n)
			return;
		if (draw(kernel, 8) == 0) /* too many, say */
			object = (struct kernel_object){ .there = true, .kind = NEXT_HOP_OTHER };
	} else {
		if (kernel->objects[id].there && !is_hop(&kernel->objects[id]))
			return;
		object.kind = draw(kernel, 8) ? NEXT_HOP_ONE : NEXT_HOP_BLACKHOLE;
		if (object.kind == NEXT_HOP_ONE)
			object.ifindex = 1 + draw(kernel, 4);
	}
	/* fib6_update_sernum() for each route by it; a hop is another than before. */
	for (uint32_t i = 0; i < ROUTES; i++)
		kernel->new_number |= kernel->routes[i].id == id;
	kernel->objects[id] = object;
	kernel->cached[id] = 0;
	kernel_announce(kernel, id);
}

/* RTM_DELNEXTHOP, then RTM_NEWNEXTHOP of the groups that shrank, or the other way round. */
static void kernel_delete(struct kernel *kernel)
{
	uint32_t id = 1 + draw(kernel, IDS);

	if (!kernel->objects[id].there)
		return;
	kernel_remove(kernel, id);
	kernel_drop_routes(kernel);
	nexthops_delete(kernel->store->nexthops, id);
	for (uint32_t g = 1; g <= IDS && draw(kernel, 2); g++) {
		if (kernel->objects[g].there && kernel->objects[g].kind == NEXT_HOP_GROUP)
			kernel_announce(kernel, g);
	}
}

/* A device goes down without a message, ids may be reused, and then all is dumped. */
static void kernel_flush(struct kernel *kernel)
{
	uint32_t ifindex = 1 + draw(kernel, 4);

	for (uint32_t id = 1; id <= IDS; id++) {
		if (kernel->objects[id].there && kernel->objects[id].kind == NEXT_HOP_ONE &&
		    kernel->objects[id].ifindex == ifindex)
			kernel_remove(kernel, id);
	}
	kernel_drop_routes(kernel);
	kernel->muted = draw(kernel, 2);
	while (draw(kernel, 3))
		kernel_add(kernel);
	kernel->muted = false;
	nexthops_mark(kernel->store->nexthops);
	for (uint32_t id = 1; id <= IDS; id++) {
		if (kernel->objects[id].there)
			kernel_announce(kernel, id);
	}
	nexthops_sweep(kernel->store->nexthops);
	rib_mark(kernel->store->rib);
	for (uint32_t i = 0; i < ROUTES; i++) {
		if (kernel->routes[i].id)
			kernel_announce_route(kernel, i, false, 0);
	}
	rib_sweep(kernel->store->rib);
	nexthops_cache_set_stale(kernel->store->nexthops);
	assert_true(nexthops_cache_is_stale(kernel->store->nexthops));
	kernel->new_number = true;
	nexthops_cache_flushed(kernel->store->nexthops);
	memset(kernel->was_mixed, 0, sizeof(kernel->was_mixed));
	assert_false(nexthops_cache_is_stale(kernel->store->nexthops));
}

/* --- what is compared ------------------------------------------------------------------------- */

/* Packets come by all routes. */
static void fill_caches(struct kernel *kernel)
{
	for (uint32_t id = 1; id <= IDS; id++) {
		const struct kernel_object *object = &kernel->objects[id];
		uint32_t kinds = object->there && is_hop(object) ? kinds_by(kernel, id) : 0;

		kernel->cached[id] = kinds | (kernel->new_number ? 0 : kernel->cached[id]);
		kernel->was_mixed[id] |= is_several(kinds);
		/* What may be cached is known for what it is. */
		assert_true(kernel->was_mixed[id] || !is_several(kernel->cached[id]));
	}
	kernel->new_number = false;
}

static bool hop_is_mixed(const struct kernel *kernel, uint32_t id)
{
	return kernel->objects[id].kind == NEXT_HOP_ONE && kernel->was_mixed[id];
}

static bool is_mixed(const struct kernel *kernel, uint32_t id)
{
	const struct kernel_object *object = &kernel->objects[id];
	bool mixed = hop_is_mixed(kernel, id);

	for (uint32_t i = 0; i < object->n; i++)
		mixed |= hop_is_mixed(kernel, object->member[i]);
	return mixed;
}

static void kernel_text(const struct kernel *kernel, uint32_t id, char out[STORE_TEXT])
{
	const struct kernel_object *object = &kernel->objects[id];
	int at = 0;

	if (!object->there) {
		strcpy(out, "none");
	} else if (object->kind == NEXT_HOP_OTHER) {
		strcpy(out, "other");
	} else if (object->kind == NEXT_HOP_BLACKHOLE) {
		strcpy(out, "blackhole");
	} else if (object->kind == NEXT_HOP_ONE) {
		snprintf(out, STORE_TEXT, "via %u", object->ifindex);
	} else {
		at = snprintf(out, STORE_TEXT, "group");
		for (uint32_t i = 0; i < object->n; i++)
			at += snprintf(out + at, STORE_TEXT - (size_t)at, " %u*%u",
				       kernel->objects[object->member[i]].ifindex,
				       object->weight[i]);
	}
	if (object->there && is_mixed(kernel, id))
		strcat(out, " mixed");
}

static bool is_among(const char *ids, uint32_t id)
{
	char padded[STORE_TEXT + 2], word[16];

	snprintf(padded, sizeof(padded), " %.*s ", STORE_TEXT - 1, ids);
	snprintf(word, sizeof(word), " %u ", id);
	return strstr(padded, word);
}

/*
 * The store says what the kernel has; whoever listens knows of every id that changed. exact: what
 * is mixed before and after was so on the way.
 */
static void compare(struct kernel *kernel, char before[IDS + 1][STORE_TEXT], bool exact)
{
	struct store *store = kernel->store;
	uint32_t n = 0;

	fill_caches(kernel);
	for (uint32_t id = 1; id <= IDS; id++) {
		char want[STORE_TEXT], got[STORE_TEXT];

		kernel_text(kernel, id, want);
		assert_string_equal(store_text(store, id, got), want);
		n += kernel->objects[id].there;
		if (strcmp(before[id], want) != 0)
			assert_true(is_among(store->reported, id));
		else if (exact && strstr(want, "mixed"))
			assert_false(is_among(store->alike, id));
		n_mixed += strstr(want, "mixed") != NULL;
		strcpy(before[id], want);
	}
	assert_int_equal(nexthops_count(store->nexthops), n);
	store->reported[0] = store->alike[0] = '\0';
}

static void test_random(void **state)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		static char before[IDS + 1][STORE_TEXT];
		struct store store;
		struct kernel kernel = { .store = &store, .seed = seed };

		store_open(&store);
		for (uint32_t id = 1; id <= IDS; id++)
			strcpy(before[id], "none");
		for (int step = 0; step < 200; step++) {
			uint32_t what = draw(&kernel, 20);

			if (what < 9)
				kernel_route(&kernel);
			else if (what < 16)
				kernel_add(&kernel);
			else if (what < 18)
				kernel_delete(&kernel);
			else
				kernel_flush(&kernel);
			compare(&kernel, before, what < 16);
		}
		store_close(&store);
	}
	assert_true(n_mixed > 1000);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests_name("nexthops at random", tests, NULL, NULL);
}
