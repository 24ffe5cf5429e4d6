/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which next-hop objects routes name, and whether those that name one are alike to a packet.
 * Private to rib/.
 */
#ifndef RIB_RIB_USES_H
#define RIB_RIB_USES_H

#include "rib.h"

#define RIB_USE_BUCKETS 4096u

struct rib_use {
	struct rib_use *next;
	uint32_t id;
	struct value_sums routes; /* what fib6 would keep of each: as rib_by_object() has it */
};

/* Zeroed: none. */
struct rib_uses {
	rib_used_fn changed; /* may be NULL */
	void *ctx;
	struct rib_use *buckets[RIB_USE_BUCKETS];
};

/* NULL: no route names it. */
const struct rib_use *rib_uses_find(const struct rib_uses *uses, uint32_t id);
/* So that the next route that names id can be counted. 0, or -ENOMEM. */
int rib_uses_reserve(struct rib_uses *uses, uint32_t id);
/* by: 1 for a route that came, which must have been reserved for; -1 for one that went. */
void rib_uses_count(struct rib_uses *uses, const struct rib_route *route, int by);

#endif
