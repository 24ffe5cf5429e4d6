// SPDX-License-Identifier: GPL-2.0-only
/* Compares a destination with the kernel's own table, and replaces it. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "rib_table.h"

/* Two readings of one end may differ by jiffies and by the delay of a message. */
#define SLACK_NS 100000000u

const char *const rib_difference_names[RIB_N_DIFFERENCES] = {
	[RIB_SAME] = "same",   [RIB_RENEWED] = "renewed",	[RIB_LIFETIME] = "lifetime",
	[RIB_MTU] = "mtu",     [RIB_ATTRIBUTES] = "attributes", [RIB_REPLACED] = "replaced",
	[RIB_EXTRA] = "extra", [RIB_MISSING] = "missing",
};

/* --- comparison ------------------------------------------------------------------------------- */

/* A lifetime without an end has expires_ns 0. */
static enum rib_difference compare_lifetime(const struct rib_route *known,
					    const struct route *route, uint64_t now_ns)
{
	if (known->expires != route->expires || route->expires_ns + SLACK_NS < known->expires_ns)
		return RIB_LIFETIME;
	return known->expires_ns < now_ns + RIB_RENEW_NS &&
			       known->expires_ns + SLACK_NS < route->expires_ns
		       ? RIB_RENEWED
		       : RIB_SAME;
}

/* Not compared for a route by an object: its type and hops are the object's. */
static bool same_route(const struct rib_route *known, const struct route *route)
{
	if (!rib_route_same_key(known, route) || known->next_hop_id != route->next_hop_id)
		return false;
	return known->next_hop_id ||
	       (known->encap == route->encap && rib_route_same_hops(known, route));
}

static bool same_attributes(const struct rib_route *known, const struct route *route)
{
	return known->preference == (route->preference & 3) && known->protocol == route->protocol &&
	       (known->type == route->type || known->next_hop_id) &&
	       known->own_source == route->own_source && known->unlike == route->unlike &&
	       known->truncated == route->truncated;
}

static enum rib_difference compare_route(const struct rib_route *known, const struct route *route,
					 uint64_t now_ns)
{
	if (!same_route(known, route))
		return RIB_REPLACED;
	if (!same_attributes(known, route))
		return RIB_ATTRIBUTES;
	if (known->mtu != route->mtu || known->mtu_locked != route->mtu_locked)
		return RIB_MTU;
	return known->stale ? RIB_RENEWED : compare_lifetime(known, route, now_ns);
}

/* The first one of this source, from list on. */
static const struct rib_route *of_source(const struct rib_route *list, const struct prefix *src)
{
	while (list && !prefix_equal(&list->src, src))
		list = list->next;
	return list;
}

static size_t count(const struct rib_route *list)
{
	size_t n = 0;

	for (; list; list = list->next)
		n++;
	return n;
}

/* The kernel groups routes by source; the order of sources does not matter. */
enum rib_difference rib_compare(const struct rib_dest *dest, const struct route *routes, size_t n,
				uint64_t now_ns)
{
	const struct rib_route *list = dest ? dest->routes : NULL, *known = NULL;
	enum rib_difference worst = RIB_SAME, difference;

	if (count(list) != n)
		return count(list) < n ? RIB_MISSING : RIB_EXTRA;
	for (size_t i = 0; i < n; i++) {
		const bool same_source = i && prefix_equal(&routes[i].src, &routes[i - 1].src);

		known = of_source(same_source ? known->next : list, &routes[i].src);
		if (!known)
			return RIB_REPLACED;
		difference = compare_route(known, &routes[i], now_ns);
		if (difference > worst)
			worst = difference;
	}
	return worst;
}

/* --- replacement ------------------------------------------------------------------------------ */

/*
 * Type and hops of a route by an object, and whether it has an unknown attribute, are copied from
 * the known route: only messages show them. NULL: no memory.
 */
static struct rib_route *copy_of(const struct rib_route *known, const struct route *read)
{
	struct route route = *read;

	for (; known; known = known->next) {
		if (!rib_route_same_key(known, read))
			continue;
		route.unknown |= known->unknown;
		if (!read->next_hop_id || known->next_hop_id != read->next_hop_id)
			continue;
		route.type = known->type;
		route.encap = known->encap;
		route.n_hops = known->n_hops;
		route.hops = known->hops;
	}
	return rib_route_new(&route, route.hops, route.n_hops);
}

/*
 * 0, or -ENOMEM: nothing changed. New routes are added before old ones are removed, so that no
 * object seems unused in between.
 */
static int replace(struct rib_table *table, struct rib_route **list, const struct route *routes,
		   size_t n)
{
	struct rib_route *const old = *list, **link = list;

	for (size_t i = 0; i < n; i++) {
		const uint32_t id = routes[i].next_hop_id;
		struct rib_route *copy = copy_of(old, &routes[i]);

		if (!copy || (id && rib_use_reserve(table->rib, id))) {
			free(copy);
			while (*list != old)
				rib_remove(table, list);
			return -ENOMEM;
		}
		if (i && routes[i].metric < routes[i - 1].metric) /* of another source */
			link = list;
		while (*link != old && (*link)->metric <= routes[i].metric)
			link = &(*link)->next;
		rib_insert(table, link, copy);
		link = &copy->next;
	}
	while (*link != old)
		link = &(*link)->next;
	while (*link)
		rib_remove(table, link);
	return 0;
}

int rib_put(struct rib *rib, uint32_t table_id, const struct prefix *dst,
	    const struct route *routes, size_t n)
{
	struct rib_table *table;
	struct rib_dest *dest = rib_dest_open(rib, table_id, dst, n > 0, &table);
	int err;

	if (!dest)
		return n ? -ENOMEM : 0;
	err = replace(table, &dest->routes, routes, n);
	for (size_t i = 0; !err && i < n; i++)
		rib->object_sources |= routes[i].next_hop_id && routes[i].own_source;
	if (err)
		rib_dest_close(table, dest);
	else
		rib_dest_close_changed(table, dest);
	return err;
}
