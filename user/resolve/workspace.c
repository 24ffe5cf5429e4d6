// SPDX-License-Identifier: GPL-2.0-only
/* The memory in which targets are built, see workspace.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"

int resolve_reserve(struct resolve_array *array, size_t n, size_t size)
{
	size_t capacity = array->capacity ? array->capacity : 16;
	void *items;

	if (n <= array->capacity)
		return 0;
	while (capacity < n)
		capacity *= 2;
	items = reallocarray(array->items, capacity, size);
	if (!items)
		return -ENOMEM;
	array->items = items;
	array->capacity = capacity;
	return 0;
}

void resolve_clear(struct resolve *resolve)
{
	resolve->n_items = 0;
	resolve->n_hops = 0;
	resolve->n_hops_gathered = 0;
}

int resolve_gather(struct resolve *resolve, const struct rib_dest *dest, uint8_t cover, bool all)
{
	uint32_t order = 0;
	int ret;

	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		struct resolve_item item = { .route = r, .order = order, .cover = cover };

		order++;
		if (r->src.len && !all)
			continue;
		ret = resolve_reserve(&resolve->items, resolve->n_items + 1, sizeof(item));
		if (ret)
			return ret;
		((struct resolve_item *)resolve->items.items)[resolve->n_items++] = item;
		resolve->n_hops_gathered += r->n_hops;
	}
	return resolve_reserve(&resolve->hops, resolve->n_hops_gathered, sizeof(struct fib_hop));
}

bool resolve_has_sources(const struct rib_dest *dest)
{
	for (const struct rib_route *r = dest->routes; r; r = r->next) {
		if (r->src.len)
			return true;
	}
	return false;
}

int resolve_compare(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : a->len - b->len;
}
