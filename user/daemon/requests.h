/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the kernel. 0 or -errno.
 *
 * Every message of a dump's answer goes to its handler (sockets.h). Notifications are queued
 * meanwhile if schedule.dumping is set, and the guard is run. Questions are answered at once, by
 * one message.
 */
#ifndef USER_DAEMON_REQUESTS_H
#define USER_DAEMON_REQUESTS_H

#include "../../bpf/abi/neigh.h"
#include "sockets.h"

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

/*
 * The route of a forwarded packet: the hop that its flow takes, or with whole_route all hops. The
 * -errno of an unreachable, prohibit, blackhole or throw route is an answer, too.
 */
int request_packet(struct sockets *sockets, const struct sixlane_sample *packet, bool whole_route,
		   nl_msg_fn fn, void *ctx);
/* Whether such a request can name this protocol, so that rules with protocols match. */
bool request_takes_protocol(uint8_t protocol);
/* RTM_NEWNEXTHOP of one object. */
int request_next_hop(struct sockets *sockets, uint32_t id, nl_msg_fn fn, void *ctx);
/* RTM_NEWLINK of the device of this name. */
int request_link(struct sockets *sockets, const char *name, nl_msg_fn fn, void *ctx);

#endif
