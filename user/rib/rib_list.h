/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The routes of one destination as a list, and what a message does to it. Private to rib/.
 */
#ifndef RIB_RIB_LIST_H
#define RIB_RIB_LIST_H

#include "rib_uses.h"

/*
 * Routes by the device they use, several in one count: 0 says that none does, without a walk
 * through a full table.
 */
#define RIB_DEVICE_COUNTS 4096u

/* What all lists of a RIB share. */
struct rib_counts {
	size_t routes;
	size_t sources;	     /* routes that are source-specific */
	size_t unsteady;     /* see rib_unsteady() */
	uint16_t generation; /* given to every route that a message confirms */
	uint32_t visit;	     /* counts runs of messages for one destination */
	struct rib_uses uses;
	uint32_t by_device[RIB_DEVICE_COUNTS]; /* the only hop's, of those by no object */
};

/* What became of a message: 0 or -errno as in rib.h, and whether anything changed. */
struct rib_outcome {
	int err;
	bool changed;
};

struct rib_outcome rib_list_add(struct rib_route **list, struct rib_counts *counts,
				const struct route *route, uint16_t nlm_flags);
struct rib_outcome rib_list_del(struct rib_route **list, struct rib_counts *counts,
				const struct route *route);

/* Put route in at link, before what stands there. Its use of an object is reserved. */
void rib_list_insert(struct rib_counts *counts, struct rib_route **link, struct rib_route *route);
/* rib_kernel.c: the list is these routes, see rib_put(). 0 or -ENOMEM: nothing changed. */
int rib_list_put(struct rib_route **list, struct rib_counts *counts, const struct route *routes,
		 size_t n);

/* Take out and free *link. */
void rib_list_remove(struct rib_route **link, struct rib_counts *counts);

#endif
