// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages change the routes of a destination as fib6_add_rt2node and fib6_del_route do in the
 * kernel.
 *
 * Invariants
 * - A list is in ascending order of metric, equal metrics in the order of fib6.
 * - For each key (source prefix and metric) there is at most one multipath set. A single gateway is
 *   a set of one. fib6 stores the hops of a set as linked routes.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "rib_table.h"

/* The result of a message: 0 or -errno as in rib.h, and whether anything changed. */
struct outcome {
	int err;
	bool changed;
};

/* In this order, routes by one object that differ never seem equal in between. */
static void list_replace(struct rib_table *table, struct rib_route **link, struct rib_route *route)
{
	rib_insert(table, link, route);
	rib_remove(table, &route->next);
}

/* After the last one of this metric or a lower one, where fib6 inserts a new route. */
static struct rib_route **list_end(struct rib_route **list, uint32_t metric)
{
	struct rib_route **link = list;

	while (*link && (*link)->metric <= metric)
		link = &(*link)->next;
	return link;
}

/*
 * A dump has the routes of a key in fib6's order, which may have changed while messages were lost.
 * Move *link, its current route, after those that this run has confirmed, and before the rest.
 */
static struct rib_route **list_reorder(const struct rib_table *table, struct rib_route **list,
				       struct rib_route **link)
{
	struct rib_route *route = *link, **at = list;

	if (route->run == table->rib->run)
		return link;
	*link = route->next;
	while (*at && (*at)->metric < route->metric)
		at = &(*at)->next;
	for (link = at; *link && (*link)->metric == route->metric; link = &(*link)->next) {
		if ((*link)->run == table->rib->run)
			at = &(*link)->next;
	}
	route->next = *at;
	*at = route;
	return at;
}

/* The first with route's key that is a set, or that is none. NULL: there is none. */
static struct rib_route **list_find_kind(struct rib_route **list, const struct route *route,
					 bool set)
{
	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if (rib_route_same_key(*link, route) && (*link)->set == set)
			return link;
	}
	return NULL;
}

/* The first that fib6 considers the same as route, which is not a set. NULL: none. */
static struct rib_route **list_find_same(struct rib_route **list, const struct route *route)
{
	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if (!(*link)->set && rib_route_same(*link, route))
			return link;
	}
	return NULL;
}

/*
 * The route that a dump's message means, among those that this run has not confirmed: an equal one,
 * else any. A route that replaced its twin exists twice. NULL: it is a new route.
 */
static struct rib_route **list_find_dumped(struct rib_route **list, const struct route *route,
					   uint32_t run)
{
	struct rib_route **found = NULL;

	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if ((*link)->set || (*link)->run == run || !rib_route_same(*link, route))
			continue;
		if (rib_route_equal(*link, route))
			return link;
		if (!found)
			found = link;
	}
	return found;
}

/* Set whether a set is stale (rib.h). True if that changed. */
static bool set_stale(struct rib_route *set, bool stale)
{
	const bool changed = set->stale != stale;

	set->stale = stale;
	return changed;
}

/* --- RTM_NEWROUTE ----------------------------------------------------------------------------- */

/* Insert copy at link, or replace *link. Frees copy on errors. */
static struct outcome put(struct rib_table *table, struct rib_route **link, bool replace,
			  struct rib_route *copy)
{
	if (!copy || (copy->next_hop_id && rib_use_reserve(table->rib, copy->next_hop_id))) {
		free(copy);
		return (struct outcome){ .err = -ENOMEM };
	}
	if (replace)
		list_replace(table, link, copy);
	else
		rib_insert(table, link, copy);
	return (struct outcome){ .changed = true };
}

/*
 * The message's hops in fib6's order. An announcement starts with the added hop, which fib6 has
 * last; known hops keep their order. *missed: an old hop is missing. *complete: the attributes are
 * those of the added hop, which comes first. Several hops appended at once are announced with the
 * attributes of an old one.
 */
static void order_hops(const struct rib_route *old, const struct route *route,
		       struct route_hop *out, bool *missed, bool *complete)
{
	bool taken[ROUTE_MAX_HOPS] = { false };
	uint16_t n = 0;

	*missed = false;
	for (uint16_t i = 0; i < old->n_hops; i++) {
		uint16_t j = rib_hop_match(route, taken, &old->hops[i], false);

		if (j == route->n_hops)
			*missed = true;
		else
			out[n++] = route->hops[j];
	}
	*complete = !taken[0] || n == route->n_hops;
	for (uint16_t j = 0; j < route->n_hops; j++) {
		if (!taken[j])
			out[n++] = route->hops[j];
	}
}

/*
 * A set is announced with all hops, and the attributes of one. The set is stale if these differ
 * from the known ones, or if a dump has several hops.
 */
static struct outcome set_update(struct rib_table *table, struct rib_route **link,
				 const struct route *route, uint16_t flags)
{
	struct rib_route *old = *link, *copy;
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct outcome outcome = { 0 };
	bool missed, complete, stale;

	order_hops(old, route, hops, &missed, &complete);
	if (flags)
		stale = old->stale || old->unlike || !complete ||
			!rib_route_same_attributes(old, route);
	else
		stale = route->n_hops > 1;
	rib_confirm(table, old);
	if (!rib_route_equal(old, route)) {
		copy = rib_route_new(route, hops, route->n_hops);
		outcome = put(table, link, true, copy);
		if (outcome.err)
			return outcome;
		old = copy;
	}
	outcome.changed |= set_stale(old, stale);
	if (flags && missed)
		outcome.err = -EAGAIN;
	else if (stale)
		outcome.err = -EINPROGRESS;
	return outcome;
}

static bool same_order(const struct rib_route *a, const struct route *b)
{
	for (uint16_t i = 0; i < b->n_hops; i++) {
		if (!rib_hop_equal(&a->hops[i], &b->hops[i]))
			return false;
	}
	return true;
}

/* fib6 replaces the first set, with all its siblings, else the first route. */
static struct outcome set_replace(struct rib_table *table, struct rib_route **list,
				  const struct route *route)
{
	struct rib_route **link = list_find_kind(list, route, true);
	struct outcome outcome = { 0 };
	struct rib_route *copy;
	bool stale;

	if (!link)
		link = list_find_kind(list, route, false);
	/* a dump may have left out routes beside a set */
	stale = link && (*link)->stale;
	if (link && rib_route_equal(*link, route) && same_order(*link, route)) {
		rib_confirm(table, *link);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(table, link ? link : list_end(list, route->metric), link, copy);
		if (outcome.err)
			return outcome;
		outcome.changed |= set_stale(copy, stale);
	}
	if (stale)
		outcome.err = -EINPROGRESS;
	/* Multipath requests always set "replace", single-path ones only if they replaced. */
	else if (!link && route->n_hops == 1)
		outcome.err = -EAGAIN;
	return outcome;
}

/* Remove gateways of router advertisements that are hops of a set, see rib_route_is_set(). */
static void drop_hops_of_set(struct rib_table *table, struct rib_route **list,
			     const struct route *route)
{
	struct rib_route **link = list;

	while (*link) {
		const struct rib_route *other = *link;
		bool taken[ROUTE_MAX_HOPS] = { false };

		if (rib_route_same_key(other, route) && !other->set && !other->next_hop_id &&
		    other->n_hops == 1 && other->hops[0].has_gateway &&
		    rib_hop_match(route, taken, &other->hops[0], false) < route->n_hops)
			rib_remove(table, link);
		else
			link = &(*link)->next;
	}
}

static struct outcome add_set(struct rib_table *table, struct rib_route **list,
			      const struct route *route, uint16_t flags)
{
	struct rib_route **link = list_find_kind(list, route, true), *copy;
	struct outcome outcome;

	if (!flags && link)
		link = list_reorder(table, list, link);
	if (flags & NLM_F_REPLACE) {
		outcome = set_replace(table, list, route);
	} else if (link) {
		outcome = set_update(table, link, route, flags);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(table, list_end(list, route->metric), false, copy);
		if (!outcome.err && !flags && set_stale(copy, route->n_hops > 1))
			outcome.err = -EINPROGRESS;
	}
	if (route->protocol == RTPROT_RA && outcome.err != -ENOMEM)
		drop_hops_of_set(table, list, route);
	return outcome;
}

/*
 * The victim of a replacement by a route that is no set. Routes by a next-hop object that changed
 * are announced as replaced by themselves. *again: the destination must be read, because several
 * routes could be the victim, or because a stale set may hide some. An old message that is replayed
 * after a newer dump can bring back a deleted route.
 */
static struct rib_route **single_victim(struct rib_route **list, const struct route *route,
					bool *again)
{
	struct rib_route **link = route->next_hop_id ? list_find_same(list, route) : NULL;
	struct rib_route **set = list_find_kind(list, route, true);
	struct rib_route **first = list_find_kind(list, route, false);
	const bool stale = set && (*set)->stale;

	*again = stale || (first && list_find_kind(&(*first)->next, route, false));
	if (!link)
		link = first;
	if (!link && !stale)
		link = set;
	*again |= !link;
	return link;
}

/* They seem the same, but fib6 may have both. */
static bool may_be_unlike(const struct rib_route *a, const struct route *b)
{
	return b->encap || b->unknown || a->unknown;
}

static struct outcome add_single(struct rib_table *table, struct rib_route **list,
				 const struct route *route, uint16_t flags)
{
	struct rib_route **link, *old;
	struct outcome outcome = { 0 };
	bool again = false;

	if (flags & NLM_F_REPLACE) {
		link = single_victim(list, route, &again);
	} else if (flags) {
		link = list_find_same(list, route);
		again = link && may_be_unlike(*link, route);
	} else {
		link = list_find_dumped(list, route, table->rib->run);
		if (link)
			link = list_reorder(table, list, link);
	}
	old = link ? *link : NULL;
	if (old && rib_route_equal(old, route)) {
		rib_confirm(table, old);
	} else {
		link = old ? link : list_end(list, route->metric);
		outcome = put(table, link, old, rib_route_new(route, route->hops, route->n_hops));
	}
	if (!outcome.err && again)
		outcome.err = -EAGAIN;
	return outcome;
}

/* Consecutive messages for one destination are one run. */
static void count_run(struct rib *rib, const struct route *route)
{
	if (rib->last_table == route->table && prefix_equal(&rib->last_dst, &route->dst))
		return;
	rib->last_table = route->table;
	rib->last_dst = route->dst;
	rib->run++;
}

int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags)
{
	uint16_t flags = nlm_flags & (NLM_F_REPLACE | NLM_F_EXCL | NLM_F_CREATE | NLM_F_APPEND);
	struct rib_table *table;
	struct rib_dest *dest;
	struct outcome outcome;

	if (route->cloned)
		return 0;
	dest = rib_dest_open(rib, route->table, &route->dst, true, &table);
	if (!dest)
		return -ENOMEM;
	count_run(rib, route);
	rib->object_sources |= route->next_hop_id && route->own_source;
	if (rib_route_is_set(route))
		outcome = add_set(table, &dest->routes, route, flags);
	else
		outcome = add_single(table, &dest->routes, route, flags);
	rib_dest_close(table, dest, outcome.changed);
	return outcome.err;
}

/* --- RTM_DELROUTE ----------------------------------------------------------------------------- */

/* Store in left the hops of from that are not in gone. *unknown: gone has other hops. */
static uint16_t subtract_hops(const struct rib_route *from, const struct route *gone,
			      struct route_hop *left, bool *unknown)
{
	bool taken[ROUTE_MAX_HOPS] = { false };
	uint16_t n = 0, matched = 0;

	for (uint16_t i = 0; i < from->n_hops; i++) {
		if (rib_hop_match(gone, taken, &from->hops[i], false) == gone->n_hops)
			left[n++] = from->hops[i];
		else
			matched++;
	}
	*unknown = matched < gone->n_hops;
	return n;
}

/*
 * Reduce a set to the hops that are left. If they may be unlike, their attributes are unknown. A
 * stale set without hops stays as a trace.
 */
static struct outcome set_shrink(struct rib_table *table, struct rib_route **link,
				 const struct route *route, const struct route_hop *left,
				 uint16_t n)
{
	const struct rib_route *old = *link;
	const struct route view = rib_route_view(old, route->table, &route->dst);
	const bool stale = old->stale || old->unlike || old->encap || old->unknown;
	struct rib_route *copy = rib_route_new(&view, left, n);
	struct outcome outcome = put(table, link, true, copy);

	if (outcome.err)
		return outcome;
	set_stale(copy, stale);
	if (stale)
		outcome.err = n > 1 ? -EINPROGRESS : -EAGAIN; /* a dump is right about one hop */
	return outcome;
}

/* Delete hops of a set. */
static struct outcome del_hops(struct rib_table *table, struct rib_route **link,
			       const struct route *route)
{
	struct rib_route *old = *link;
	struct route_hop left[ROUTE_MAX_HOPS];
	struct outcome outcome = { .changed = true };
	bool unknown, missed;
	uint16_t n;

	n = subtract_hops(old, route, left, &unknown);
	if (n == old->n_hops)
		return (struct outcome){ .err = -EAGAIN };
	missed = unknown || (n && (old->truncated || route->n_hops > 1));
	if (!n && !old->stale) {
		missed |= old->truncated && !route->truncated;
		rib_remove(table, link);
	} else {
		outcome = set_shrink(table, link, route, left, n);
	}
	if (missed && outcome.err != -ENOMEM)
		outcome.err = -EAGAIN;
	return outcome;
}

static struct outcome del(struct rib_table *table, struct rib_route **list,
			  const struct route *route)
{
	struct rib_route **set = NULL, **link = NULL;
	struct outcome outcome = { .err = -EAGAIN };

	if (!route->next_hop_id && route->n_hops)
		set = list_find_kind(list, route, true);
	/* If the message names no hop of the set, it means another route. */
	if (set)
		outcome = del_hops(table, set, route);
	if (outcome.changed || outcome.err != -EAGAIN)
		return outcome;
	link = list_find_same(list, route);
	if (!link)
		return outcome;
	/* of two that look the same either may be gone */
	outcome.err = list_find_same(&(*link)->next, route) ? -EAGAIN : 0;
	outcome.changed = true;
	rib_remove(table, link);
	return outcome;
}

int rib_del(struct rib *rib, const struct route *route)
{
	struct rib_table *table;
	struct rib_dest *dest;
	struct outcome outcome;

	if (route->cloned)
		return 0;
	dest = rib_dest_open(rib, route->table, &route->dst, false, &table);
	if (!dest)
		return -EAGAIN;
	outcome = del(table, &dest->routes, route);
	rib_dest_close(table, dest, outcome.changed);
	return outcome.err;
}
