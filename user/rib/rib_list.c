// SPDX-License-Identifier: GPL-2.0-only
/*
 * How messages change the routes of one destination, as fib6_add_rt2node and fib6_del_route do in
 * the kernel. Knows nothing of tables or listeners.
 *
 * Invariants
 * - A list is in ascending order of metric, equal metrics in the order of fib6.
 * - For each key (source prefix and metric) there is at most one multipath set. A single gateway is
 * a set of one. fib6 stores the hops of a set as linked routes.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "rib_list.h"
#include "rib_route.h"

/* A message has this route. */
static void confirm(const struct rib_counts *counts, struct rib_route *route)
{
	route->generation = counts->generation;
	route->run = counts->run;
}

/* by: 1 or -1, a route more. */
static void count_use(struct rib_counts *counts, const struct rib_route *route, int by)
{
	if (route->next_hop_id)
		rib_uses_count(&counts->uses, route, by);
	else if (route->n_hops == 1)
		counts->by_device[route->hops[0].ifindex % RIB_DEVICE_COUNTS] += (uint32_t)by;
}

void rib_list_insert(struct rib_counts *counts, struct rib_route **link, struct rib_route *route)
{
	confirm(counts, route);
	route->next = *link;
	*link = route;
	counts->routes++;
	counts->sources += route->src.len != 0;
	counts->unsteady += rib_route_is_unsteady(route);
	count_use(counts, route, 1);
}

void rib_list_remove(struct rib_route **link, struct rib_counts *counts)
{
	struct rib_route *route = *link;

	*link = route->next;
	counts->routes--;
	counts->sources -= route->src.len != 0;
	counts->unsteady -= rib_route_is_unsteady(route);
	count_use(counts, route, -1);
	free(route);
}

/* In this order, routes by one object that differ never seem equal in between. */
static void list_replace(struct rib_counts *counts, struct rib_route **link,
			 struct rib_route *route)
{
	rib_list_insert(counts, link, route);
	rib_list_remove(&route->next, counts);
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
static struct rib_route **list_reorder(const struct rib_counts *counts, struct rib_route **list,
				       struct rib_route **link)
{
	struct rib_route *route = *link, **at = list;

	if (route->run == counts->run)
		return link;
	*link = route->next;
	while (*at && (*at)->metric < route->metric)
		at = &(*at)->next;
	for (link = at; *link && (*link)->metric == route->metric; link = &(*link)->next) {
		if ((*link)->run == counts->run)
			at = &(*link)->next;
	}
	route->next = *at;
	*at = route;
	return at;
}

/* It has route's key, and is a set, or is none. */
static bool is_kind(const struct rib_route *r, const struct route *route, bool set)
{
	return rib_route_same_key(r, route) && r->set == set;
}

/* The first of a kind; NULL: none. */
static struct rib_route **list_find_kind(struct rib_route **list, const struct route *route,
					 bool set)
{
	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if (is_kind(*link, route, set))
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

static size_t list_count_kind(struct rib_route *const *list, const struct route *route, bool set)
{
	size_t n = 0;

	for (const struct rib_route *r = *list; r; r = r->next)
		n += is_kind(r, route, set);
	return n;
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
static struct rib_outcome put(struct rib_counts *counts, struct rib_route **link, bool replace,
			      struct rib_route *copy)
{
	if (!copy || (copy->next_hop_id && rib_uses_reserve(&counts->uses, copy->next_hop_id))) {
		free(copy);
		return (struct rib_outcome){ .err = -ENOMEM };
	}
	if (replace)
		list_replace(counts, link, copy);
	else
		rib_list_insert(counts, link, copy);
	return (struct rib_outcome){ .changed = true };
}

/* Index of a hop of route that equals hop and is not taken, which it is then; n_hops: none. */
static uint16_t match_hop(const struct route *route, bool *taken, const struct route_hop *hop)
{
	uint16_t i = 0;

	while (i < route->n_hops && (taken[i] || !rib_hop_equal(hop, &route->hops[i])))
		i++;
	if (i < route->n_hops)
		taken[i] = true;
	return i;
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
		uint16_t j = match_hop(route, taken, &old->hops[i]);

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
static struct rib_outcome set_update(struct rib_counts *counts, struct rib_route **link,
				     const struct route *route, uint16_t flags)
{
	struct rib_route *old = *link, *copy;
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct rib_outcome outcome = { 0 };
	bool missed, complete, stale;

	order_hops(old, route, hops, &missed, &complete);
	if (flags)
		stale = old->stale || old->unlike || !complete ||
			!rib_route_same_attributes(old, route);
	else
		stale = route->n_hops > 1;
	confirm(counts, old);
	if (!rib_route_equal(old, route)) {
		copy = rib_route_new(route, hops, route->n_hops);
		outcome = put(counts, link, true, copy);
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
static struct rib_outcome set_replace(struct rib_counts *counts, struct rib_route **list,
				      const struct route *route)
{
	struct rib_route **link = list_find_kind(list, route, true);
	struct rib_outcome outcome = { 0 };
	struct rib_route *copy;
	bool stale;

	if (!link)
		link = list_find_kind(list, route, false);
	/* a dump may have left out routes beside a set */
	stale = link && (*link)->stale;
	if (link && rib_route_equal(*link, route) && same_order(*link, route)) {
		confirm(counts, *link);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(counts, link ? link : list_end(list, route->metric), link, copy);
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
static void drop_hops_of_set(struct rib_counts *counts, struct rib_route **list,
			     const struct route *route)
{
	struct rib_route **link = list;

	while (*link) {
		const struct rib_route *other = *link;

		if (rib_route_same_key(other, route) && !other->set && !other->next_hop_id &&
		    other->n_hops == 1 && other->hops[0].has_gateway &&
		    rib_hop_find(route->hops, route->n_hops, &other->hops[0]) >= 0)
			rib_list_remove(link, counts);
		else
			link = &(*link)->next;
	}
}

static struct rib_outcome add_set(struct rib_counts *counts, struct rib_route **list,
				  const struct route *route, uint16_t flags)
{
	struct rib_route **link = list_find_kind(list, route, true), *copy;
	struct rib_outcome outcome;

	if (!flags && link)
		link = list_reorder(counts, list, link);
	if (flags & NLM_F_REPLACE) {
		outcome = set_replace(counts, list, route);
	} else if (link) {
		outcome = set_update(counts, link, route, flags);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(counts, list_end(list, route->metric), false, copy);
		if (!outcome.err && !flags && set_stale(copy, route->n_hops > 1))
			outcome.err = -EINPROGRESS;
	}
	if (route->protocol == RTPROT_RA && outcome.err != -ENOMEM)
		drop_hops_of_set(counts, list, route);
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
	const bool stale = set && (*set)->stale;

	*again = list_count_kind(list, route, false) > 1 || stale;
	if (!link)
		link = list_find_kind(list, route, false);
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

static struct rib_outcome add_single(struct rib_counts *counts, struct rib_route **list,
				     const struct route *route, uint16_t flags)
{
	struct rib_route **link, *old;
	struct rib_outcome outcome = { 0 };
	bool again = false;

	if (flags & NLM_F_REPLACE) {
		link = single_victim(list, route, &again);
	} else if (flags) {
		link = list_find_same(list, route);
		again = link && may_be_unlike(*link, route);
	} else {
		link = list_find_dumped(list, route, counts->run);
		if (link)
			link = list_reorder(counts, list, link);
	}
	old = link ? *link : NULL;
	if (old && rib_route_equal(old, route)) {
		confirm(counts, old);
	} else {
		link = old ? link : list_end(list, route->metric);
		outcome = put(counts, link, old, rib_route_new(route, route->hops, route->n_hops));
	}
	if (!outcome.err && again)
		outcome.err = -EAGAIN;
	return outcome;
}

struct rib_outcome rib_list_add(struct rib_route **list, struct rib_counts *counts,
				const struct route *route, uint16_t nlm_flags)
{
	uint16_t flags = nlm_flags & (NLM_F_REPLACE | NLM_F_EXCL | NLM_F_CREATE | NLM_F_APPEND);

	return rib_route_is_set(route) ? add_set(counts, list, route, flags)
				       : add_single(counts, list, route, flags);
}

/* --- RTM_DELROUTE ----------------------------------------------------------------------------- */

/* Store in left the hops of from that are not in gone. *unknown: gone has other hops. */
static uint16_t subtract_hops(const struct rib_route *from, const struct route *gone,
			      struct route_hop *left, bool *unknown)
{
	bool taken[ROUTE_MAX_HOPS] = { false };
	uint16_t n = 0, matched = 0;

	for (uint16_t i = 0; i < from->n_hops; i++) {
		if (match_hop(gone, taken, &from->hops[i]) == gone->n_hops)
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
static struct rib_outcome set_shrink(struct rib_counts *counts, struct rib_route **link,
				     const struct route *route, const struct route_hop *left,
				     uint16_t n)
{
	const struct rib_route *old = *link;
	const struct route view = rib_route_view(old, route->table, &route->dst);
	const bool stale = old->stale || old->unlike || old->encap || old->unknown;
	struct rib_route *copy = rib_route_new(&view, left, n);
	struct rib_outcome outcome = put(counts, link, true, copy);

	if (outcome.err)
		return outcome;
	set_stale(copy, stale);
	if (stale)
		outcome.err = n > 1 ? -EINPROGRESS : -EAGAIN; /* a dump is right about one hop */
	return outcome;
}

/* Delete hops of a set. */
static struct rib_outcome del_hops(struct rib_counts *counts, struct rib_route **link,
				   const struct route *route)
{
	struct rib_route *old = *link;
	struct route_hop left[ROUTE_MAX_HOPS];
	struct rib_outcome outcome = { .changed = true };
	bool unknown, missed;
	uint16_t n;

	n = subtract_hops(old, route, left, &unknown);
	if (n == old->n_hops)
		return (struct rib_outcome){ .err = -EAGAIN };
	missed = unknown || (n && (old->truncated || route->n_hops > 1));
	if (!n && !old->stale) {
		missed |= old->truncated && !route->truncated;
		rib_list_remove(link, counts);
	} else {
		outcome = set_shrink(counts, link, route, left, n);
	}
	if (missed && outcome.err != -ENOMEM)
		outcome.err = -EAGAIN;
	return outcome;
}

struct rib_outcome rib_list_del(struct rib_route **list, struct rib_counts *counts,
				const struct route *route)
{
	struct rib_route **set = NULL, **link = NULL;
	struct rib_outcome outcome = { .err = -EAGAIN };

	if (!route->next_hop_id && route->n_hops)
		set = list_find_kind(list, route, true);
	/* If the message names no hop of the set, it means another route. */
	if (set)
		outcome = del_hops(counts, set, route);
	if (outcome.changed || outcome.err != -EAGAIN)
		return outcome;
	link = list_find_same(list, route);
	if (!link)
		return outcome;
	/* of two that look the same either may be gone */
	outcome.err = list_find_same(&(*link)->next, route) ? -EAGAIN : 0;
	outcome.changed = true;
	rib_list_remove(link, counts);
	return outcome;
}
