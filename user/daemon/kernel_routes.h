/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the kernel reader's records of one destination to routes as the RIB has them. Pure.
 */
#ifndef USER_DAEMON_KERNEL_ROUTES_H
#define USER_DAEMON_KERNEL_ROUTES_H

#include <stddef.h>

#include "../rib/route.h"
#include "kernel_reader.h"

/* Room for all routes of a view. Zeroed: none. */
struct kernel_routes {
	size_t n, n_hops;
	struct route routes[KERNEL_READER_RECORDS];
	struct route_hop hops[KERNEL_READER_RECORDS];
};

/*
 * Replace out by the routes of n records of one destination of a table. The hops of a multipath
 * route become one route, at the place of the first hop, with its attributes and the earliest
 * lifetime. It is marked if the hops differ. Exceptions are ignored.
 */
void kernel_routes_fill(struct kernel_routes *out, const struct kernel_view *view, uint32_t table,
			const struct kernel_record *records, size_t n);

/* The destination of a record. */
struct prefix kernel_routes_dst(const struct kernel_record *record);

#endif
