/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's notifications of rules, policies or qdiscs: which groups they come by, and whether
 * one of them may have changed what was read. Does not know what was read.
 */
#ifndef GUARD_NOTIFICATIONS_H
#define GUARD_NOTIFICATIONS_H

#include "../netlink/socket.h"

struct notifications {
	int protocol;		/* NETLINK_* */
	unsigned int groups[2]; /* 0: none */
	/* ctx: of the caller of notifications_read(). */
	bool (*is_change)(const struct nlmsghdr *nlh, const void *ctx);
};

/*
 * rcvbuf_bytes: 0 for the system's default. 0 or -errno. *out is to be freed with nl_socket_free();
 * NULL: this kernel has no such protocol.
 */
int notifications_open(const struct notifications *what, size_t rcvbuf_bytes,
		       struct nl_socket **out);
/* Reads those that are pending. True: one is a change, or some were lost. socket: may be NULL. */
bool notifications_read(const struct notifications *what, struct nl_socket *socket,
			const void *ctx);

#endif
