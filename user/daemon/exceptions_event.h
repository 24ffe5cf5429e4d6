/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes that make exceptions stale: of routes, neighbours and MTUs. Affected destinations are
 * punt before the change takes effect, and are read again.
 */
#ifndef USER_DAEMON_EXCEPTIONS_EVENT_H
#define USER_DAEMON_EXCEPTIONS_EVENT_H

#include "../rib/radix.h"

struct fib_target;
struct sync;

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

/* Checks whether IPv6 has taken over a device's new MTU. */
void exceptions_mtu_run(struct sync *sync, uint64_t now_ns);

#endif
