/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon's netlink sockets, and the notifications that are queued during a dump. Hands messages
 * to a callback for each protocol and does not know what they mean.
 */
#ifndef USER_DAEMON_SOCKETS_H
#define USER_DAEMON_SOCKETS_H

#include "../netlink/socket.h"

struct schedule;
struct statistics;

/* Notifications in their order, back to back. */
struct sockets_queue {
	char *bytes;
	size_t used, capacity;
	size_t routes_added, routes_deleted; /* RTM_NEWROUTE and RTM_DELROUTE messages in it */
	bool overflow; /* over SOCKETS_QUEUE_MAX or out of memory: messages were lost */
};
#define SOCKETS_QUEUE_MAX (256u << 20)

struct sockets {
	struct nl_socket *notify, *dump;      /* NETLINK_ROUTE */
	struct nl_socket *genl_notify, *genl; /* NETLINK_GENERIC; NULL before Linux 6.3 */
	uint16_t netdev_family;		      /* generic netlink "netdev"; 0: not in this kernel */
	struct sockets_queue queue;
	uint64_t sent_after_ns;	     /* earliest time at which the message being applied was sent */
	nl_msg_fn apply, apply_genl; /* get every message, in order */
	void *ctx;
};

/* Open and subscribe; apply, apply_genl and ctx are set. 0 or -errno; close it in any case. */
int sockets_open(struct sockets *sockets, uint32_t rcvbuf_bytes);
void sockets_close(struct sockets *sockets);

/*
 * Apply the notifications that have come. False: more may be waiting, or some were lost. Lost ones
 * are counted, and all tables are scheduled to be read again.
 */
bool sockets_follow(struct sockets *sockets, struct schedule *schedule,
		    struct statistics *statistics);

/* Move the notifications that have come to the queue. */
void sockets_enqueue(struct sockets *sockets);
/* Apply the queue and empty it. False: messages were lost. */
bool sockets_replay(struct sockets *sockets);

#endif
