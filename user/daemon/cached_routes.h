/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flushes the routes that the kernel caches at hops of next-hop objects, see nexthops_set_rib().
 */
#ifndef USER_DAEMON_CACHED_ROUTES_H
#define USER_DAEMON_CACHED_ROUTES_H

struct stores;

/* Without next-hop objects nothing is done. On failure routes with objects become punts, logged. */
void cached_routes_flush(struct stores *stores);

#endif
