// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store: a table is a trie of destinations, each with a list of routes. rib_message.c applies
 * messages to it, and rib_kernel.c what was read from the kernel's own table. Knows neither netlink
 * nor what a best path is.
 *
 * Invariant: no list is empty. A destination is removed with its last route.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "link.h"
#include "rib_table.h"

_Static_assert(offsetof(struct rib_dest, node) == 0, "radix_remove() frees the whole");
_Static_assert(sizeof(struct rib_route) <= 64, "a full table has hundreds of thousands");

static struct rib_dest *dest_of(struct radix_node *node)
{
	return node ? container_of(node, struct rib_dest, node) : NULL;
}

/* --- tables and destinations --------------------------------------------------------------- */

static struct rib_table *table_find(const struct rib *rib, uint32_t id)
{
	struct rib_table *table = rib->tables[id % RIB_TABLE_BUCKETS];

	while (table && table->id != id)
		table = table->next;
	return table;
}

static struct rib_table *table_add(struct rib *rib, uint32_t id)
{
	struct rib_table **bucket = &rib->tables[id % RIB_TABLE_BUCKETS];
	struct rib_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	*table = (struct rib_table){ .next = *bucket, .rib = rib, .id = id };
	*bucket = table;
	return table;
}

struct rib_dest *rib_dest_open(struct rib *rib, uint32_t id, const struct prefix *dst, bool create,
			       struct rib_table **table)
{
	struct rib_dest *dest;

	*table = table_find(rib, id);
	if (!*table && create)
		*table = table_add(rib, id);
	if (!*table)
		return NULL;
	dest = dest_of(radix_find(&(*table)->radix, dst));
	return dest || !create ? dest : radix_add(&(*table)->radix, dst, sizeof(*dest));
}

void rib_dest_close(struct rib_table *table, struct rib_dest *dest)
{
	if (!dest->routes)
		radix_remove(&table->radix, &dest->node);
}

void rib_dest_close_changed(struct rib_table *table, struct rib_dest *dest)
{
	const struct prefix dst = dest->node.prefix;
	const struct rib *rib = table->rib;

	rib_dest_close(table, dest);
	if (rib->changed)
		rib->changed(rib->ctx, table->id, &dst);
}

/* --- next-hop objects ------------------------------------------------------------------------- */

static struct rib_use *use_find(const struct rib *rib, uint32_t id)
{
	struct rib_use *use = rib->uses[id % RIB_USE_BUCKETS];

	while (use && use->id != id)
		use = use->next;
	return use;
}

int rib_use_reserve(struct rib *rib, uint32_t id)
{
	struct rib_use **bucket = &rib->uses[id % RIB_USE_BUCKETS], *use;

	if (use_find(rib, id))
		return 0;
	use = calloc(1, sizeof(*use));
	if (!use)
		return -ENOMEM;
	*use = (struct rib_use){ .next = *bucket, .id = id };
	*bucket = use;
	return 0;
}

static uint64_t cached_value(const struct rib_route *route)
{
	uint8_t type = rib_route_is_by_discard(route) ? RTN_UNICAST : route->type;

	return (uint64_t)route->mtu_locked << 40 | (uint64_t)type << 32 | route->mtu;
}

/* by: 1 for an added route, -1 for a deleted one. */
static void count_use(struct rib *rib, const struct rib_route *route, int by)
{
	struct rib_use **link = &rib->uses[route->next_hop_id % RIB_USE_BUCKETS], *use;
	const struct value_sums one = value_sums_of(cached_value(route));
	struct value_sums before, change;

	while ((*link)->id != route->next_hop_id)
		link = &(*link)->next;
	use = *link;
	before = value_sums_digest(&use->routes);
	value_sums_add(&use->routes, &one, by);
	change = value_sums_digest(&use->routes);
	value_sums_add(&change, &before, -1);
	if (rib->used && (change.n || change.sum))
		rib->used(rib->used_ctx, use->id, &change);
	if (use->routes.n)
		return;
	*link = use->next;
	free(use);
}

struct value_sums rib_by_object(const struct rib *rib, uint32_t next_hop_id)
{
	const struct rib_use *use = use_find(rib, next_hop_id);

	return use ? value_sums_digest(&use->routes) : (struct value_sums){ 0 };
}

void rib_set_used_fn(struct rib *rib, rib_used_fn used, void *ctx)
{
	rib->used = used;
	rib->used_ctx = ctx;
}

/* --- stored routes ---------------------------------------------------------------------------- */

void rib_confirm(const struct rib_table *table, struct rib_route *route)
{
	route->generation = table->rib->generation;
	route->run = table->rib->run;
}

/* by: 1 or -1, a route more. */
static void count_route(struct rib_table *table, const struct rib_route *route, int by)
{
	struct rib *rib = table->rib;

	rib->routes += (size_t)by;
	table->sources += route->src.len ? (size_t)by : 0;
	rib->unsteady += rib_route_is_unsteady(route) ? (size_t)by : 0;
	if (route->next_hop_id)
		count_use(rib, route, by);
	else if (route->n_hops == 1)
		rib->by_device[route->hops[0].ifindex % RIB_DEVICE_COUNTS] += (uint32_t)by;
}

void rib_insert(struct rib_table *table, struct rib_route **link, struct rib_route *route)
{
	rib_confirm(table, route);
	route->next = *link;
	*link = route;
	count_route(table, route, 1);
}

void rib_remove(struct rib_table *table, struct rib_route **link)
{
	struct rib_route *route = *link;

	*link = route->next;
	count_route(table, route, -1);
	free(route);
}

struct rib_route *rib_route_new(const struct route *route, const struct route_hop *hops,
				uint16_t n_hops)
{
	struct rib_route *copy = malloc(sizeof(*copy) + n_hops * sizeof(copy->hops[0]));

	if (!copy)
		return NULL;
	*copy = (struct rib_route){
		.src = route->src,
		.expires_ns = route->expires ? route->expires_ns : 0,
		.metric = route->metric,
		.next_hop_id = route->next_hop_id,
		.mtu = route->mtu,
		.mtu_locked = route->mtu_locked,
		.own_source = route->own_source,
		.n_hops = n_hops,
		.type = route->type,
		.protocol = route->protocol,
		.preference = route->preference & 3,
		.encap = route->encap,
		.unknown = route->unknown,
		.expires = route->expires,
		.truncated = route->truncated,
		.set = rib_route_is_set(route),
		.unlike = route->unlike,
	};
	if (n_hops)
		memcpy(copy->hops, hops, n_hops * sizeof(copy->hops[0]));
	return copy;
}

struct route rib_route_view(const struct rib_route *stored, uint32_t table,
			    const struct prefix *dst)
{
	return (struct route){
		.dst = *dst,
		.src = stored->src,
		.expires_ns = stored->expires_ns,
		.table = table,
		.metric = stored->metric,
		.next_hop_id = stored->next_hop_id,
		.mtu = stored->mtu,
		.mtu_locked = stored->mtu_locked,
		.own_source = stored->own_source,
		.type = stored->type,
		.protocol = stored->protocol,
		.preference = stored->preference,
		.encap = stored->encap,
		.unknown = stored->unknown,
		.expires = stored->expires,
		.truncated = stored->truncated,
		.unlike = stored->unlike,
		.n_hops = stored->n_hops,
		.hops = stored->hops,
	};
}

bool rib_route_is_by_discard(const struct rib_route *route)
{
	return route->next_hop_id && route->type == RTN_BLACKHOLE && route->n_hops &&
	       route->hops[0].ifindex == LOOPBACK_IFINDEX;
}

bool rib_route_is_trace(const struct rib_route *route)
{
	return route->stale && !route->n_hops;
}

bool rib_route_is_transient(const struct rib_route *route)
{
	return route->expires || route->protocol == RTPROT_RA;
}

bool rib_route_is_unsteady(const struct rib_route *route)
{
	return route->mtu || rib_route_is_transient(route);
}

bool rib_route_is_set(const struct route *route)
{
	if (route->next_hop_id || !route->n_hops)
		return false;
	if (route->n_hops > 1 || route->truncated)
		return true;
	return route->hops[0].has_gateway && route->protocol != RTPROT_RA;
}

bool rib_route_same_key(const struct rib_route *a, const struct route *b)
{
	return a->metric == b->metric && prefix_equal(&a->src, &b->src);
}

bool rib_hop_equal(const struct route_hop *a, const struct route_hop *b)
{
	return a->ifindex == b->ifindex && a->has_gateway == b->has_gateway &&
	       a->gateway.halves[0] == b->gateway.halves[0] &&
	       a->gateway.halves[1] == b->gateway.halves[1];
}

uint16_t rib_hop_match(const struct route *route, bool *taken, const struct route_hop *hop,
		       bool weighted)
{
	uint16_t i = 0;

	while (i < route->n_hops && (taken[i] || !rib_hop_equal(hop, &route->hops[i]) ||
				     (weighted && hop->weight != route->hops[i].weight)))
		i++;
	if (i < route->n_hops)
		taken[i] = true;
	return i;
}

bool rib_route_same(const struct rib_route *a, const struct route *b)
{
	if (!rib_route_same_key(a, b) || a->next_hop_id != b->next_hop_id)
		return false;
	/* With net.ipv4.nexthop_compat_mode, messages also have the object's hops, which may have
	 * changed. */
	if (a->next_hop_id)
		return true;
	if (a->encap != b->encap || a->n_hops != b->n_hops)
		return false;
	return !a->n_hops || rib_hop_equal(&a->hops[0], &b->hops[0]);
}

/* Whether both may be announcements of the same lifetime. */
static bool same_lifetime(const struct rib_route *a, const struct route *b)
{
	if (!a->expires || !b->expires)
		return a->expires == b->expires;
	return util_later(a->expires_ns, b->expires_ns) -
		       util_earlier(a->expires_ns, b->expires_ns) <
	       RIB_LIFETIME_SLACK_NS;
}

bool rib_route_same_attributes(const struct rib_route *a, const struct route *b)
{
	return a->mtu == b->mtu && a->mtu_locked == b->mtu_locked &&
	       a->own_source == b->own_source && a->type == b->type && a->protocol == b->protocol &&
	       a->preference == (b->preference & 3) && a->encap == b->encap &&
	       a->unknown == b->unknown && same_lifetime(a, b) && a->truncated == b->truncated &&
	       a->next_hop_id == b->next_hop_id;
}

bool rib_route_same_hops(const struct rib_route *a, const struct route *b)
{
	bool taken[ROUTE_MAX_HOPS];

	if (a->n_hops != b->n_hops || a->n_hops > ROUTE_MAX_HOPS)
		return false;
	memset(taken, 0, a->n_hops);
	for (uint16_t i = 0; i < a->n_hops; i++) {
		if (rib_hop_match(b, taken, &a->hops[i], true) == b->n_hops)
			return false;
	}
	return true;
}

/* An earlier end replaces the stored one, or repeated messages could shorten it unnoticed. */
bool rib_route_equal(const struct rib_route *a, const struct route *b)
{
	if (a->expires && b->expires && b->expires_ns < a->expires_ns)
		return false;
	return rib_route_same_key(a, b) && rib_route_same_attributes(a, b) &&
	       rib_route_same_hops(a, b);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct rib *rib_new(rib_changed_fn changed, void *ctx)
{
	struct rib *rib = calloc(1, sizeof(*rib));

	if (!rib)
		return NULL;
	rib->changed = changed;
	rib->ctx = ctx;
	return rib;
}

/* Which routes to delete: those that fn says, else all, or all that are outdated. */
struct picker {
	bool (*fn)(const struct route *route, void *ctx);
	void *ctx;
	bool outdated;
};

static bool is_picked(const struct picker *picker, const struct rib_table *table,
		      const struct rib_route *route, const struct prefix *dst)
{
	struct route view;

	if (!picker->fn)
		return !picker->outdated || route->generation != table->rib->generation;
	view = rib_route_view(route, table->id, dst);
	return picker->fn(&view, picker->ctx);
}

static void prune_table(struct rib_table *table, const struct picker *picker)
{
	static const struct prefix all;
	struct radix_node *node, *next;

	for (node = radix_first_under(&table->radix, &all); node; node = next) {
		struct rib_dest *dest = dest_of(node);
		struct rib_route **link = &dest->routes;
		size_t routes = table->rib->routes;

		next = radix_next_under(node, &all);
		while (*link) {
			if (is_picked(picker, table, *link, &node->prefix))
				rib_remove(table, link);
			else
				link = &(*link)->next;
		}
		if (table->rib->routes != routes)
			rib_dest_close_changed(table, dest);
	}
}

static void prune(struct rib *rib, const struct picker *picker)
{
	for (size_t i = 0; i < RIB_TABLE_BUCKETS; i++) {
		for (struct rib_table *table = rib->tables[i]; table; table = table->next)
			prune_table(table, picker);
	}
}

void rib_free(struct rib *rib)
{
	if (!rib)
		return;
	rib->changed = NULL;
	rib_set_used_fn(rib, NULL, NULL);
	prune(rib, &(struct picker){ 0 });
	for (size_t i = 0; i < RIB_TABLE_BUCKETS; i++) {
		for (struct rib_table *table = rib->tables[i], *next; table; table = next) {
			next = table->next;
			free(table);
		}
	}
	free(rib);
}

void rib_prune(struct rib *rib, bool (*fn)(const struct route *route, void *ctx), void *ctx)
{
	prune(rib, &(struct picker){ .fn = fn, .ctx = ctx });
}

void rib_mark(struct rib *rib)
{
	rib->generation++;
	rib->run++;
}

void rib_dump_again(struct rib *rib)
{
	rib->run++;
}

void rib_sweep(struct rib *rib)
{
	prune(rib, &(struct picker){ .outdated = true });
}

/* --- queries ---------------------------------------------------------------------------------- */

bool rib_object_sources(const struct rib *rib)
{
	return rib->object_sources;
}

bool rib_may_use_device(const struct rib *rib, uint32_t ifindex)
{
	return rib->by_device[ifindex % RIB_DEVICE_COUNTS];
}

size_t rib_routes(const struct rib *rib)
{
	return rib->routes;
}

size_t rib_unsteady(const struct rib *rib)
{
	return rib->unsteady;
}

const struct radix *rib_table(const struct rib *rib, uint32_t table)
{
	const struct rib_table *found = table_find(rib, table);

	return found && found->radix.entries ? &found->radix : NULL;
}

void rib_each_table(const struct rib *rib, void (*fn)(void *ctx, uint32_t table), void *ctx)
{
	for (size_t i = 0; i < RIB_TABLE_BUCKETS; i++) {
		for (const struct rib_table *table = rib->tables[i]; table; table = table->next) {
			if (table->radix.entries)
				fn(ctx, table->id);
		}
	}
}

bool rib_table_has_sources(const struct rib *rib, uint32_t table)
{
	const struct rib_table *found = table_find(rib, table);

	return found && found->sources;
}

const struct rib_dest *rib_find(const struct rib *rib, uint32_t table, const struct prefix *dst)
{
	const struct radix *radix = rib_table(rib, table);

	return radix ? dest_of(radix_find(radix, dst)) : NULL;
}
