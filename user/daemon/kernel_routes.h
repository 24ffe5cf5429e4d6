/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel reader's records of one destination as routes, in the form that the RIB has them.
 * Pure.
 */
#ifndef USER_DAEMON_KERNEL_ROUTES_H
#define USER_DAEMON_KERNEL_ROUTES_H

#include <stddef.h>

#include "../rib/route.h"
#include "kernel_reader.h"

/* Room for all that a view can have. Zeroed: none. */
struct kernel_routes {
	size_t n, n_hops;
	struct route routes[KERNEL_READER_RECORDS];
	struct route_hop hops[KERNEL_READER_RECORDS];
};

/*
 * The routes of n records, all of one destination of a table, in place of what is there. A
 * multipath set is one route, at its first hop's place: of unlike hops it says so, and has the
 * first hop's attributes and the earliest end. Exceptions among them do not count.
 */
void kernel_routes_fill(struct kernel_routes *out, const struct kernel_view *view, uint32_t table,
			const struct kernel_record *records, size_t n);

/* The destination of a record. */
struct prefix kernel_routes_dst(const struct kernel_record *record);

#endif
