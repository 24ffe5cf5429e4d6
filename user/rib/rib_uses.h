/* SPDX-License-Identifier: GPL-2.0-only */
/* Which next-hop objects routes name, and what fib6 would cache of these. Private to rib/. */
#ifndef RIB_RIB_USES_H
#define RIB_RIB_USES_H

#include "rib.h"

#define RIB_USE_BUCKETS 4096u

struct rib_use {
	struct rib_use *next;
	uint32_t id;
	struct value_sums routes; /* rib_route_cached_value() of each */
};

/* Zeroed: none. */
struct rib_uses {
	rib_used_fn changed; /* may be NULL */
	void *ctx;
	struct rib_use *buckets[RIB_USE_BUCKETS];
};

/* NULL: no route names it. */
const struct rib_use *rib_uses_find(const struct rib_uses *uses, uint32_t id);
/* Needed before the next rib_uses_count() of a route that names id. 0, or -ENOMEM. */
int rib_uses_reserve(struct rib_uses *uses, uint32_t id);
/* by: 1 for an added route, -1 for a deleted one. */
void rib_uses_count(struct rib_uses *uses, const struct rib_route *route, int by);

#endif
