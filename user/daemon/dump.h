/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dump requests: every message of the answer goes to the callback of the sockets. Notifications are
 * queued meanwhile if schedule.dumping is set, and the guard is run. 0 or -errno as
 * nl_socket_dump().
 */
#ifndef USER_DAEMON_DUMP_H
#define USER_DAEMON_DUMP_H

struct sync;

int dump_links(struct sync *sync);
int dump_netconf(struct sync *sync);
int dump_neighs(struct sync *sync);
int dump_addrs(struct sync *sync);
/* Which frames each device takes. Nothing is asked before Linux 6.3. */
int dump_features(struct sync *sync);
/* Replaces the list of rules. */
int dump_rules(struct sync *sync);
/* Next-hop objects, and the buckets of resilient groups. */
int dump_next_hops(struct sync *sync);
/* Repeated while deletions may have made the kernel skip routes. */
int dump_routes(struct sync *sync);

#endif
