/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The daemon's netlink sockets, and the notifications that are queued during a dump. Hands each
 * message to the handler of its type, and does not know what it means. A message that cannot be
 * applied is counted, logged, and followed by another synchronisation.
 */
#ifndef USER_DAEMON_SOCKETS_H
#define USER_DAEMON_SOCKETS_H

#include <linux/rtnetlink.h>

#include "../netlink/socket.h"

struct statistics;
struct sync;

/* What is done with messages of one type. */
struct sockets_handler {
	int (*apply)(struct sync *sync, const struct nlmsghdr *nlh); /* 0 or -errno */
	const char *object;					     /* for the log */
};
#define SOCKETS_N_TYPES (RTM_MAX + 1)

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
	uint64_t sent_after_ns; /* earliest time at which the message being applied was sent */
	const struct sockets_handler *handlers; /* [SOCKETS_N_TYPES], by nlmsg_type */
	int (*apply_features)(struct sync *sync, const struct nlmsghdr *nlh); /* as a handler */
};

/* Open and subscribe; the handlers are set. 0 or -errno; close it in any case. */
int sockets_open(struct sockets *sockets, uint32_t rcvbuf_bytes);
void sockets_close(struct sockets *sockets);

/*
 * Apply the notifications that have come. False: more may be waiting, or some were lost. Lost ones
 * are counted, and all tables are scheduled to be read again.
 */
bool sockets_follow(struct sync *sync);
/* Apply one message; the second function those of genetlink's "netdev". ctx: struct sync. Errors
 * are reported; both return 0. */
int sockets_apply(const struct nlmsghdr *nlh, void *ctx);
int sockets_apply_features(const struct nlmsghdr *nlh, void *ctx);

/* Move the notifications that have come to the queue. */
void sockets_enqueue(struct sockets *sockets);
/* Apply the queue and empty it. False: messages were lost. */
bool sockets_replay(struct sync *sync);

/* Objects whose unknown attributes are logged, each attribute once. */
enum report_object {
	REPORT_ROUTE,
	REPORT_NEXT_HOP,
	REPORT_RULE,
	REPORT_DEVICE,
	REPORT_NEIGHBOUR,
	REPORT_ADDRESS,
	REPORT_N_OBJECTS,
};
/* unknown_attr: 1 + its number; 0: none. */
void sockets_report_attr(struct statistics *statistics, enum report_object object,
			 uint16_t unknown_attr);

#endif
