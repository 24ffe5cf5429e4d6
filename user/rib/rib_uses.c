// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which next-hop objects routes name, see rib_uses.h. An id has an entry while a route names it.
 */
#include <errno.h>
#include <stdlib.h>

#include "rib_route.h"
#include "rib_uses.h"

static struct rib_use **link_of(struct rib_uses *uses, uint32_t id)
{
	struct rib_use **link = &uses->buckets[id % RIB_USE_BUCKETS];

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

const struct rib_use *rib_uses_find(const struct rib_uses *uses, uint32_t id)
{
	const struct rib_use *use = uses->buckets[id % RIB_USE_BUCKETS];

	while (use && use->id != id)
		use = use->next;
	return use;
}

int rib_uses_reserve(struct rib_uses *uses, uint32_t id)
{
	struct rib_use **link = link_of(uses, id);

	if (*link)
		return 0;
	*link = calloc(1, sizeof(**link));
	if (!*link)
		return -ENOMEM;
	(*link)->id = id;
	return 0;
}

void rib_uses_count(struct rib_uses *uses, const struct rib_route *route, int by)
{
	struct rib_use **link = link_of(uses, route->next_hop_id), *use = *link;
	const struct mixture one = mixture_of(rib_route_kept(route));
	const struct mixture before = mixture_digest(&use->routes);
	struct mixture change;

	mixture_add(&use->routes, &one, by);
	change = mixture_digest(&use->routes);
	mixture_add(&change, &before, -1);
	if (uses->changed && (change.n || change.sum))
		uses->changed(uses->ctx, use->id, &change);
	if (use->routes.n)
		return;
	*link = use->next;
	free(use);
}
