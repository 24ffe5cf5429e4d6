/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's exceptions (Path MTUs, redirects): when they are read, and what makes them stale.
 * Destinations that a change affects are punt before it takes effect, and are read again.
 */
#ifndef USER_DAEMON_EXCEPTIONS_H
#define USER_DAEMON_EXCEPTIONS_H

#include "../rib/radix.h"

struct exceptions;
struct fib_target;
struct kernel_record;
struct kernel_view;
struct sixlane_meta;
struct sync;

struct exceptions *exceptions_new(void);
void exceptions_free(struct exceptions *exceptions);

/*
 * At the end of the first full synchronisation: exceptions_start(), audit_read_all(), then
 * exceptions_check(). From then on exceptions_run() when it is due or anything happens.
 */
void exceptions_start(struct sync *sync);
void exceptions_check(struct sync *sync);
void exceptions_run(struct sync *sync);
uint64_t exceptions_due_ns(const struct sync *sync);
void exceptions_write_meta(const struct sync *sync, struct sixlane_meta *meta);

/*
 * Store what the kernel reader returned. records: routes of one destination of a table, or next-hop
 * objects, each followed by its exceptions. 0, or -E2BIG: the view is cut; what it has was stored.
 */
int exceptions_note(struct sync *sync, uint32_t table, const struct kernel_view *view,
		    const struct kernel_record *records, size_t n);
/* Something remains punt until the audit has read everything. */
bool exceptions_need_pass(const struct sync *sync);

/* ICMPv6 messages that the datapath saw. Until their destinations are read, sl_fresh punts them. */
struct icmp_events {
	struct maps_ring *ring;
	uint64_t next_read_ns; /* 0: as soon as there are events */
	uint64_t until_ns;     /* all events of before this time were read */
};

/* Read the events. _fd: -1 while they are left to wait. */
void exceptions_fresh_read(struct sync *sync);
int exceptions_fresh_fd(const struct icmp_events *events);
uint64_t exceptions_fresh_read_due_ns(const struct icmp_events *events);

/*
 * The FIB is about to get this target for a prefix (NULL: none). Destinations that keep their route
 * as it was stay exact.
 */
void exceptions_target_changes(struct sync *sync, uint32_t table, const struct prefix *dst,
			       const struct fib_target *target);
/* A message about routes of this prefix came: the kernel may have dropped exceptions with one. */
void exceptions_route_changed(struct sync *sync, uint32_t table, const struct prefix *dst);
/*
 * A neighbour is no router any more (rt6_clean_tohost()), or is unreachable: a packet that waited
 * for it in vain takes the exception of its destination with it (ip6_link_failure()).
 */
void exceptions_neigh_changed(struct sync *sync, uint32_t ifindex, const union sixlane_addr *addr);
/* A device has another MTU. */
void exceptions_mtu_changed(struct sync *sync);

/* The kernel has an exception for dst, or may have one: the operator's does not apply. */
bool exceptions_override(const struct sync *sync, const union sixlane_addr *dst);
/* An exception of the operator was removed. */
void exceptions_operator_removed(struct sync *sync);

#endif
