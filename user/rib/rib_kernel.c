// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel's own table has at a destination, beside what messages told of it: in what the
 * two differ, and the one in place of the other. Knows neither who reads that table nor why.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "rib_list.h"
#include "rib_route.h"

/* By so much two readings of one end may differ: jiffies, and the time a message was under way. */
#define SLACK_NS 100000000u

const char *const rib_difference_names[RIB_N_DIFFERENCES] = {
	[RIB_SAME] = "same",   [RIB_RENEWED] = "renewed",	[RIB_LIFETIME] = "lifetime",
	[RIB_MTU] = "mtu",     [RIB_ATTRIBUTES] = "attributes", [RIB_REPLACED] = "replaced",
	[RIB_EXTRA] = "extra", [RIB_MISSING] = "missing",
};

/* --- comparison ------------------------------------------------------------------------------- */

/* One that never ends has an end of 0. */
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

/* Of a route by an object messages tell the object's type and hops. */
static bool same_way(const struct rib_route *known, const struct route *route)
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
	if (!same_way(known, route))
		return RIB_REPLACED;
	if (!same_attributes(known, route))
		return RIB_ATTRIBUTES;
	if (known->mtu != route->mtu || known->mtu_locked != route->mtu_locked)
		return RIB_MTU;
	return known->stale ? RIB_RENEWED : compare_lifetime(known, route, now_ns);
}

/* The next one of the source, from there on. */
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

/* The kernel has those of one source together; between sources the order means nothing. */
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
 * Of a route by an object messages tell type and hops, and an attribute that is not known is seen
 * by who reads messages, not by who reads the table. NULL: no memory.
 */
static struct rib_route *copy_of(const struct rib_route *told, const struct route *read)
{
	struct route route = *read;

	for (; told; told = told->next) {
		if (!rib_route_same_key(told, read))
			continue;
		route.unknown |= told->unknown;
		if (!read->next_hop_id || told->next_hop_id != read->next_hop_id)
			continue;
		route.type = told->type;
		route.encap = told->encap;
		route.n_hops = told->n_hops;
		route.hops = told->hops;
	}
	return rib_route_new(&route, route.hops, route.n_hops);
}

/* The new ones come first: uses of an object are never fewer on the way than before and after. */
int rib_list_put(struct rib_route **list, struct rib_counts *counts, const struct route *routes,
		 size_t n)
{
	struct rib_route *const old = *list, **link = list;

	for (size_t i = 0; i < n; i++) {
		const uint32_t id = routes[i].next_hop_id;
		struct rib_route *copy = copy_of(old, &routes[i]);

		if (!copy || (id && rib_uses_reserve(&counts->uses, id))) {
			free(copy);
			while (*list != old)
				rib_list_remove(list, counts);
			return -ENOMEM;
		}
		if (i && routes[i].metric < routes[i - 1].metric) /* of another source */
			link = list;
		while (*link != old && (*link)->metric <= routes[i].metric)
			link = &(*link)->next;
		rib_list_insert(counts, link, copy);
		link = &copy->next;
	}
	while (*link != old)
		link = &(*link)->next;
	while (*link)
		rib_list_remove(link, counts);
	return 0;
}
