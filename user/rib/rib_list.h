/* SPDX-License-Identifier: GPL-2.0-only */
/* The routes of one destination as a list, and how messages change it. Private to rib/. */
#ifndef RIB_RIB_LIST_H
#define RIB_RIB_LIST_H

#include "rib_uses.h"

/* Counters of routes by device. Several devices share one; 0 means that none has routes. */
#define RIB_DEVICE_COUNTS 4096u

/* Shared by all lists of a RIB. */
struct rib_counts {
	size_t routes;
	size_t sources;	     /* routes that are source-specific */
	size_t unsteady;     /* see rib_unsteady() */
	uint16_t generation; /* set in every route that a message confirms */
	uint32_t run;	     /* counts runs of messages for one destination */
	struct rib_uses uses;
	uint32_t by_device[RIB_DEVICE_COUNTS]; /* of routes with one hop and no object */
};

/* The result of a message: 0 or -errno as in rib.h, and whether anything changed. */
struct rib_outcome {
	int err;
	bool changed;
};

struct rib_outcome rib_list_add(struct rib_route **list, struct rib_counts *counts,
				const struct route *route, uint16_t nlm_flags);
struct rib_outcome rib_list_del(struct rib_route **list, struct rib_counts *counts,
				const struct route *route);

/* Insert route before *link. rib_uses_reserve() was called for its object. */
void rib_list_insert(struct rib_counts *counts, struct rib_route **link, struct rib_route *route);
/* Remove and free *link. */
void rib_list_remove(struct rib_route **link, struct rib_counts *counts);

#endif
