/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions to the kernel that are answered at once, by one message. 0 or -errno as
 * nl_socket_request_one().
 */
#ifndef USER_DAEMON_REQUEST_H
#define USER_DAEMON_REQUEST_H

#include "../../bpf/abi/neigh.h"
#include "sockets.h"

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
