/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink sockets: one for notifications, others for dumps and requests. Sends requests, and
 * detects lost messages and inconsistent dumps. Does not know what messages mean.
 */
#ifndef NETLINK_SOCKET_H
#define NETLINK_SOCKET_H

#include <libmnl/libmnl.h>

#include <stdbool.h>

#include "../lib/util.h"

struct nl_socket;

/* Called for each message but control messages. A negative result is passed on. */
typedef int (*nl_msg_fn)(const struct nlmsghdr *nlh, void *ctx);

/*
 * protocol: NETLINK_ROUTE or NETLINK_GENERIC. rcvbuf_bytes: desired size of the receive buffer;
 * 0: the system's default. Strict checking of dump requests is on. 0 and *out, which is to be freed
 * by nl_socket_free(), or -errno.
 */
int nl_socket_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out);
void nl_socket_free(struct nl_socket *socket);
void nl_socket_freep(struct nl_socket **socket);
int nl_socket_fd(const struct nl_socket *socket);

/*
 * Joins a multicast group. 0 or -errno (-EINVAL: the kernel lacks the group). From then on the
 * socket is only for nl_socket_read(): dumps and requests would lose notifications and get -EINVAL.
 */
int nl_socket_join(struct nl_socket *socket, unsigned int group);

/*
 * Reads the pending datagrams without blocking, and calls fn for their messages in order. Returns
 * the number of datagrams or:
 * -ENOBUFS  the kernel dropped some; fn was called for all that were read
 * -EBADMSG  a datagram was truncated or malformed
 * < 0       fn's negative result
 *
 * Stops after NL_SOCKET_READ_MAX datagrams, so that a storm does not block the caller: call again
 * if it returns that many. -ENOBUFS is returned only when the receive buffer is empty: until then
 * the kernel drops more without reporting it, and a dump that is begun earlier would miss changes.
 */
#define NL_SOCKET_READ_MAX 16384
int nl_socket_read(struct nl_socket *socket, nl_msg_fn fn, void *ctx);

/*
 * Sends a dump request and calls fn for each message of the reply. nlh: type, flags and body from
 * the caller; the sequence number and NLM_F_DUMP are set here. idle(idle_ctx), which may be NULL,
 * is called between datagrams, so that the caller can read notifications meanwhile. Returns 0 or:
 * -EINTR      the kernel reports that the dump is inconsistent (NLM_F_DUMP_INTR): ask again
 * -ETIMEDOUT  no datagram for timeout_ms
 * < 0         the kernel's error, or fn's negative result
 *
 * *filtered, which may be NULL: every message had NLM_F_DUMP_FILTERED. For IPv6 routes it means
 * nothing: they always have it, because strict checking excludes exceptions (rt6_dump_route()).
 */
int nl_socket_dump(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		   void (*idle)(void *idle_ctx), void *idle_ctx, int timeout_ms, bool *filtered);

/*
 * A dump in pieces, for a caller that has other work between them. Until its end the socket can
 * only be read on or freed. The kernel composes a piece when the one before it is read.
 */
int nl_socket_dump_start(struct nl_socket *socket, struct nlmsghdr *nlh);
/* Calls fn for the next datagram. 1: more will follow; 0: the end; else as nl_socket_dump(). */
int nl_socket_dump_next(struct nl_socket *socket, nl_msg_fn fn, void *ctx);

/*
 * Sends one request, calls fn, which may be NULL, for the messages of the reply, and waits for the
 * acknowledgement. 0 or the kernel's -errno.
 */
int nl_socket_request(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		      int timeout_ms);

/*
 * The same for a request whose reply is one message or an error, such as RTM_GETROUTE of a
 * destination. It requests no acknowledgement, which halves the time.
 */
int nl_socket_request_one(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
			  int timeout_ms);

/*
 * Sends without an acknowledgement and without waiting. 0 or -errno. The next call on this socket
 * drops the kernel's error replies. nlmsg_seq must be 0, so that an error is not taken for the
 * reply to a dump whose idle callback sends.
 */
int nl_socket_send(struct nl_socket *socket, const void *data, size_t size);

#endif
