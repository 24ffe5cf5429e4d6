/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own IPv6 routes, exceptions and next-hop objects, read from its memory in bounded
 * calls: also what neither dumps nor notifications contain. Reads the network namespace of the
 * calling thread. Keeps nothing between calls.
 *
 * A route that exists during a whole walk is read exactly once. Of routes that change meanwhile
 * either state may be read. Functions return 0 or -errno.
 */
#ifndef USER_DAEMON_KERNEL_READER_H
#define USER_DAEMON_KERNEL_READER_H

#include <stddef.h>

#include "../rib/route.h"
#include "kernel_reader_abi.h"

struct kernel_reader;

/* Position of a walk. All zero: the beginning. */
struct kernel_cursor {
	struct prefix last;
	bool started;
};

/* How the program reads memory. */
enum kernel_reader_kind {
	KERNEL_READER_CAST,  /* by bpf_rdonly_cast(): Linux 6.2 and newer */
	KERNEL_READER_PROBE, /* by copies: any kernel; slower */
};

/*
 * Tries the kinds from first on. Needs the kernel's BTF, CAP_BPF and CAP_PERFMON. 0; or -errno, and
 * the reason in err (LOADER_ERR bytes).
 */
int kernel_reader_open(struct kernel_reader **out, enum kernel_reader_kind first, char *err);
void kernel_reader_close(struct kernel_reader *reader); /* NULL: nothing */
enum kernel_reader_kind kernel_reader_kind(const struct kernel_reader *reader);

/*
 * Read the destinations after the cursor, and move it. The order is that of radix_next_under(): by
 * address, shorter prefixes first. The call ends with the destination that reaches budget records.
 * It may end sooner, depending on a hash of the address, so that calls behind a changed route begin
 * where they did in the last walk. choice NULL: no exceptions. A table that does not exist is
 * empty. -EAGAIN (rare): the kernel is changing its trie there; the cursor has not moved.
 *
 * Table KERNEL_READER_OBJECTS holds the next-hop objects by id, each as a destination. Groups and
 * IPv4 objects have no exceptions. A walk may miss objects while the kernel rebalances their tree:
 * an object is gone only if two walks do not find it.
 */
int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view);

/* The routes of exactly this destination of a table. -EAGAIN as above. */
int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view);

/*
 * CLOCK_MONOTONIC at which a record of the view expires or expired; 0: never. Exact to a jiffy and
 * never late. The value differs between views: compare `expires` to detect a change.
 */
uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record);

/* --- kernel_routes.c: records as routes of the RIB. Pure. */

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
