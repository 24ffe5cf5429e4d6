/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel reader's records of one destination as routes, in the form that the RIB has them.
 * Pure.
 */
#ifndef USER_DAEMON_KERNEL_ROUTES_H
#define USER_DAEMON_KERNEL_ROUTES_H

#include "../rib/object.h"
#include "kernel_reader.h"

/* Zeroed: none. Owns the memory that routes and their hops are in. */
struct kernel_routes {
	struct route *routes;
	size_t n;
	struct route_hop *hops;
	size_t n_hops;
};

/*
 * The routes of n records, all of one destination of a table, in place of what is there. A
 * multipath set is one route, at its first hop's place: of unlike hops it says so, and has the
 * first hop's attributes and the earliest end. Exceptions among them do not count. 0 or -ENOMEM.
 */
int kernel_routes_fill(struct kernel_routes *out, const struct kernel_view *view, uint32_t table,
		       const struct kernel_record *records, size_t n);
void kernel_routes_free(struct kernel_routes *routes);

/* The destination of a record. */
struct prefix kernel_routes_dst(const struct kernel_record *record);

#endif
