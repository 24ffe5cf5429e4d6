// SPDX-License-Identifier: GPL-2.0-only
/*
 * Applies RTM_NEWROUTE and RTM_DELROUTE to the list of routes of a destination, with the same
 * result as fib6_add_rt2node() and fib6_del_route() in the kernel.
 *
 * Terms
 * - The key of a route is its source prefix and metric.
 * - A set is a multipath route that others of its key can join. fib6 stores its hops as linked
 *   routes. A route with one gateway is a set of one hop (rib_route_is_set()).
 * - All other routes are single.
 * - A stale set lacks something that a message or a dump did not show (rib.h).
 * - flags are those of a notification; 0: the message is part of a dump.
 * - A message confirms the stored route that it shows. A run is consecutive messages for one
 *   destination.
 *
 * Invariants
 * - A list is in ascending order of metric, equal metrics in the order of fib6.
 * - A list has at most one set for each key.
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

/* Insert first: between removal and insertion the object's other routes could seem all equal. */
static void list_replace(struct rib_table *table, struct rib_route **link, struct rib_route *route)
{
	rib_insert(table, link, route);
	rib_remove(table, &route->next);
}

/* Where fib6 inserts a new route: after all routes of this metric or a lower one. */
static struct rib_route **list_position(struct rib_route **list, uint32_t metric)
{
	struct rib_route **link = list;

	while (*link && (*link)->metric <= metric)
		link = &(*link)->next;
	return link;
}

/*
 * The message of a dump shows *link. A dump has fib6's order, but the list may not, if messages
 * were lost. So move *link: of its metric, after the routes that this run has confirmed, and before
 * the others. Returns its new link.
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

/* The first route with the key of `route`: the set, or with set false a single one. NULL: none. */
static struct rib_route **list_find_key(struct rib_route **list, const struct route *route,
					bool set)
{
	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if (rib_route_same_key(*link, route) && (*link)->set == set)
			return link;
	}
	return NULL;
}

/* The first single route that fib6 considers a duplicate of `route`. NULL: none. */
static struct rib_route **list_find_same(struct rib_route **list, const struct route *route)
{
	for (struct rib_route **link = list; *link; link = &(*link)->next) {
		if (!(*link)->set && rib_route_same(*link, route))
			return link;
	}
	return NULL;
}

/*
 * The single route that a dump's message shows: of the duplicates that this run has not confirmed,
 * an equal one, or else the first. There can be several, because fib6 does not look for duplicates
 * when it replaces a route. NULL: it is a new route.
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

/* Insert copy at link, or replace *link. Frees copy on errors. copy NULL: -ENOMEM. */
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
 * Store the message's hops in out, in fib6's order: old hops in their old order, then added ones. A
 * notification begins with the added hop instead, and has its attributes. But if one request
 * appended several hops, the notification begins with an old one.
 *
 * *missed: the message lacks an old hop. *added_first: it has the attributes of the added hop, or
 * adds none.
 */
static void order_hops(const struct rib_route *old, const struct route *route,
		       struct route_hop *out, bool *missed, bool *added_first)
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
	*added_first = !taken[0] || n == route->n_hops;
	for (uint16_t j = 0; j < route->n_hops; j++) {
		if (!taken[j])
			out[n++] = route->hops[j];
	}
}

/*
 * A message has all hops of a set, but the attributes of one hop only. The set becomes stale if
 * these may differ from those of other hops. From a dump it is stale if it has several hops.
 */
static struct outcome set_update(struct rib_table *table, struct rib_route **link,
				 const struct route *route, uint16_t flags)
{
	struct rib_route *old = *link, *copy;
	struct route_hop hops[ROUTE_MAX_HOPS];
	struct outcome outcome = { 0 };
	bool missed, added_first, stale;

	order_hops(old, route, hops, &missed, &added_first);
	if (flags)
		stale = old->stale || old->unlike || !added_first ||
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

/* For routes with the same number of hops. */
static bool same_order(const struct rib_route *a, const struct route *b)
{
	for (uint16_t i = 0; i < b->n_hops; i++) {
		if (!rib_hop_equal(&a->hops[i], &b->hops[i]))
			return false;
	}
	return true;
}

/* fib6 replaces the set of the key, with all its siblings, or else the first single route. */
static struct outcome set_replace(struct rib_table *table, struct rib_route **list,
				  const struct route *route)
{
	struct rib_route **link = list_find_key(list, route, true);
	struct outcome outcome = { 0 };
	struct rib_route *copy;
	bool stale;

	if (!link)
		link = list_find_key(list, route, false);
	/* a dump may have left out routes next to the set */
	stale = link && (*link)->stale;
	if (link && rib_route_equal(*link, route) && same_order(*link, route)) {
		rib_confirm(table, *link);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(table, link ? link : list_position(list, route->metric), link, copy);
		if (outcome.err)
			return outcome;
		outcome.changed |= set_stale(copy, stale);
	}
	if (stale)
		outcome.err = -EINPROGRESS;
	/* With one path NLM_F_REPLACE proves that a route was replaced, with several it does not.
	 */
	else if (!link && route->n_hops == 1)
		outcome.err = -EAGAIN;
	return outcome;
}

/*
 * A daemon's routes of RTPROT_RA join a set, but look single until there are two hops
 * (rib_route_is_set()). Remove the single ones that are hops of the set now.
 */
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
	struct rib_route **link = list_find_key(list, route, true), *copy;
	struct outcome outcome;

	if (!flags && link)
		link = list_reorder(table, list, link);
	if (flags & NLM_F_REPLACE) {
		outcome = set_replace(table, list, route);
	} else if (link) {
		outcome = set_update(table, link, route, flags);
	} else {
		copy = rib_route_new(route, route->hops, route->n_hops);
		outcome = put(table, list_position(list, route->metric), false, copy);
		if (!outcome.err && !flags && set_stale(copy, route->n_hops > 1))
			outcome.err = -EINPROGRESS;
	}
	if (route->protocol == RTPROT_RA && outcome.err != -ENOMEM)
		drop_hops_of_set(table, list, route);
	return outcome;
}

/*
 * The stored route that the single `route` has replaced in fib6. If a next-hop object changes, the
 * kernel notifies of its routes as if they replaced themselves. NULL: none.
 *
 * *reread: the destination must be read from the kernel. Several routes may be the replaced one, or
 * a stale set may hide it. If there is none, the message may be older than the last dump, and
 * `route` deleted since.
 */
static struct rib_route **find_replaced(struct rib_route **list, const struct route *route,
					bool *reread)
{
	struct rib_route **link = route->next_hop_id ? list_find_same(list, route) : NULL;
	struct rib_route **set = list_find_key(list, route, true);
	struct rib_route **first = list_find_key(list, route, false);
	const bool stale = set && (*set)->stale;

	*reread = stale || (first && list_find_key(&(*first)->next, route, false));
	if (!link)
		link = first;
	if (!link && !stale)
		link = set;
	*reread |= !link;
	return link;
}

/* They look like duplicates, but fib6 may have both: the RIB does not store all that differs. */
static bool may_be_distinct(const struct rib_route *a, const struct route *b)
{
	return b->encap || b->unknown || a->unknown;
}

static struct outcome add_single(struct rib_table *table, struct rib_route **list,
				 const struct route *route, uint16_t flags)
{
	struct rib_route **link, *old;
	struct outcome outcome = { 0 };
	bool reread = false;

	if (flags & NLM_F_REPLACE) {
		link = find_replaced(list, route, &reread);
	} else if (flags) {
		link = list_find_same(list, route);
		reread = link && may_be_distinct(*link, route);
	} else {
		link = list_find_dumped(list, route, table->rib->run);
		if (link)
			link = list_reorder(table, list, link);
	}
	old = link ? *link : NULL;
	if (old && rib_route_equal(old, route)) {
		rib_confirm(table, old);
	} else {
		link = old ? link : list_position(list, route->metric);
		outcome = put(table, link, old, rib_route_new(route, route->hops, route->n_hops));
	}
	if (!outcome.err && reread)
		outcome.err = -EAGAIN;
	return outcome;
}

/* A message for another destination than the last one begins a run. */
static void count_run(struct rib *rib, const struct route *route)
{
	if (rib->last_table == route->table && prefix_equal(&rib->last_dst, &route->dst))
		return;
	rib->last_table = route->table;
	rib->last_dst = route->dst;
	rib->run++;
}

int rib_add(struct rib *rib, const struct route *route, uint16_t nlm_flags, bool *changed)
{
	uint16_t flags = nlm_flags & (NLM_F_REPLACE | NLM_F_EXCL | NLM_F_CREATE | NLM_F_APPEND);
	struct rib_table *table;
	struct rib_dest *dest;
	struct outcome outcome;

	*changed = false;
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
	rib_dest_close(table, dest);
	*changed = outcome.changed;
	return outcome.err;
}

/* --- RTM_DELROUTE ----------------------------------------------------------------------------- */

/* Store in left the hops of from that gone lacks. *extra: gone has hops that from lacks. */
static uint16_t subtract_hops(const struct rib_route *from, const struct route *gone,
			      struct route_hop *left, bool *extra)
{
	bool taken[ROUTE_MAX_HOPS] = { false };
	uint16_t n = 0, matched = 0;

	for (uint16_t i = 0; i < from->n_hops; i++) {
		if (rib_hop_match(gone, taken, &from->hops[i], false) == gone->n_hops)
			left[n++] = from->hops[i];
		else
			matched++;
	}
	*extra = matched < gone->n_hops;
	return n;
}

/*
 * Reduce a set to the n hops in left. It becomes stale if hops may differ in their attributes: the
 * message does not show those of the hops left. n is 0 only for a stale set: rib_route_is_trace().
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
		outcome.err = n > 1 ? -EINPROGRESS : -EAGAIN; /* a dump shows one hop in full */
	return outcome;
}

/* Delete hops of a set. */
static struct outcome del_hops(struct rib_table *table, struct rib_route **link,
			       const struct route *route)
{
	struct rib_route *old = *link;
	struct route_hop left[ROUTE_MAX_HOPS];
	struct outcome outcome = { .changed = true };
	bool extra, missed;
	uint16_t n;

	n = subtract_hops(old, route, left, &extra);
	if (n == old->n_hops)
		return (struct outcome){ .err = -EAGAIN };
	/* fib6 deletes one hop, or all: else a message was missed, or the set is truncated */
	missed = extra || (n && (old->truncated || route->n_hops > 1));
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
		set = list_find_key(list, route, true);
	/* If the message names no hop of the set, it is about a single route. */
	if (set)
		outcome = del_hops(table, set, route);
	if (outcome.changed || outcome.err != -EAGAIN)
		return outcome;
	link = list_find_same(list, route);
	if (!link)
		return outcome;
	/* fib6 may have deleted either of two duplicates */
	outcome.err = list_find_same(&(*link)->next, route) ? -EAGAIN : 0;
	outcome.changed = true;
	rib_remove(table, link);
	return outcome;
}

int rib_del(struct rib *rib, const struct route *route, bool *changed)
{
	struct rib_table *table;
	struct rib_dest *dest;
	struct outcome outcome;

	*changed = false;
	if (route->cloned)
		return 0;
	dest = rib_dest_open(rib, route->table, &route->dst, false, &table);
	if (!dest)
		return -EAGAIN;
	outcome = del(table, &dest->routes, route);
	rib_dest_close(table, dest);
	*changed = outcome.changed;
	return outcome.err;
}
