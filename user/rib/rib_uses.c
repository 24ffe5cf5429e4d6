// SPDX-License-Identifier: GPL-2.0-only
/* Next-hop objects by id, see rib_uses.h. An id has an entry while a route names it. */
#include <errno.h>
#include <stdlib.h>

#include "rib_route.h"
#include "rib_uses.h"

static struct rib_use **bucket_of(struct rib_uses *uses, uint32_t id)
{
	return &uses->buckets[id % RIB_USE_BUCKETS];
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
	struct rib_use **bucket = bucket_of(uses, id), *use;

	if (rib_uses_find(uses, id))
		return 0;
	use = calloc(1, sizeof(*use));
	if (!use)
		return -ENOMEM;
	use->id = id;
	use->next = *bucket;
	*bucket = use;
	return 0;
}

void rib_uses_count(struct rib_uses *uses, const struct rib_route *route, int by)
{
	struct rib_use **link = bucket_of(uses, route->next_hop_id), *use;
	const struct value_sums one = value_sums_of(rib_route_cached_value(route));
	struct value_sums before, change;

	while ((*link)->id != route->next_hop_id)
		link = &(*link)->next;
	use = *link;
	before = value_sums_digest(&use->routes);
	value_sums_add(&use->routes, &one, by);
	change = value_sums_digest(&use->routes);
	value_sums_add(&change, &before, -1);
	if (uses->changed && (change.n || change.sum))
		uses->changed(uses->ctx, use->id, &change);
	if (use->routes.n)
		return;
	*link = use->next;
	free(use);
}
