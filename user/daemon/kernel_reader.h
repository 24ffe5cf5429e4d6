/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own IPv6 routes, exceptions and next-hop objects, read from its memory in bounded
 * calls: also what no dump says and no notification announces. Reads the network namespace of the
 * thread that calls. Knows neither the RIB nor netlink, and keeps nothing between calls.
 *
 * A route that stands all the while is read exactly once a walk, whatever changes beside it. Of
 * what comes, goes or changes meanwhile either state may be read. Functions return 0 or -errno.
 */
#ifndef USER_DAEMON_KERNEL_READER_H
#define USER_DAEMON_KERNEL_READER_H

#include "../rib/prefix.h"
#include "kernel_reader_abi.h"

struct kernel_reader;

/* Where a walk goes on. All zero: at the beginning. */
struct kernel_cursor {
	struct prefix last;
	bool started;
};

/* What the program is built for. */
enum kernel_reader_kind {
	KERNEL_READER_CAST,  /* by bpf_rdonly_cast(): Linux 6.2 and newer */
	KERNEL_READER_PROBE, /* copies what it looks at: any; slower */
};

/*
 * By the first kind from there on that this kernel takes. Needs the kernel's BTF, CAP_BPF and
 * CAP_PERFMON. 0, or -errno and why in words, in err (LOADER_ERR bytes).
 */
int kernel_reader_open(struct kernel_reader **out, enum kernel_reader_kind first, char *err);
void kernel_reader_close(struct kernel_reader *reader); /* NULL: nothing */
enum kernel_reader_kind kernel_reader_kind(const struct kernel_reader *reader);

/*
 * The destinations of a table behind the cursor, which moves, in the order of radix_next_under():
 * by address, the shorter prefix first. The call ends at a destination's end once budget records
 * are written, or sooner, by a hash of its address, so that calls behind a route that came or went
 * begin where they did. choice NULL: no exceptions. A table that does not exist is empty. -EAGAIN,
 * which is rare: the kernel is changing something just there; the cursor has not moved.
 *
 * Table KERNEL_READER_OBJECTS are the next-hop objects by id, each of them a destination. A group,
 * or one of IPv4, has no exceptions. While the kernel rebalances their tree a walk may miss some:
 * what is missing is gone only if another walk does not find it either.
 */
int kernel_reader_walk(struct kernel_reader *reader, uint32_t table, uint32_t budget,
		       const struct kernel_choice *choice, struct kernel_cursor *cursor,
		       struct kernel_view *view);

/* The routes of exactly this destination of a table. -EAGAIN as above. */
int kernel_reader_find(struct kernel_reader *reader, uint32_t table, const struct prefix *dst,
		       const struct kernel_choice *choice, struct kernel_view *view);

/*
 * CLOCK_MONOTONIC at which a record of the view expires, in the past if it has; 0: never. Exact to
 * a jiffy and never late. It is another one in each view: compare `expires` to see a change.
 */
uint64_t kernel_reader_expires_ns(const struct kernel_view *view,
				  const struct kernel_record *record);

#endif
