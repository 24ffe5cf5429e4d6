/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netlink sockets: one for notifications, others for dumps and requests. Mechanism only: knows
 * how to ask and how to notice that something was lost, not what messages mean.
 */
#ifndef NETLINK_SOCKET_H
#define NETLINK_SOCKET_H

#include <libmnl/libmnl.h>

#include <stdbool.h>

#include "../lib/util.h"

struct nl_socket;

/* Called with each message of a family's payload; a negative return ends the walk with it. */
typedef int (*nl_msg_fn)(const struct nlmsghdr *nlh, void *ctx);

/*
 * protocol: NETLINK_ROUTE or NETLINK_GENERIC. rcvbuf_bytes: wish for the receive buffer, by
 * SO_RCVBUFFORCE; 0: the system's default. Strict checking of dump requests is on.
 * Returns 0 and *out (free with nl_socket_free) or -errno.
 */
int nl_socket_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out);
void nl_socket_free(struct nl_socket *socket);
void nl_socket_freep(struct nl_socket **socket);
int nl_socket_fd(const struct nl_socket *socket);

/*
 * Join a multicast group. 0 or -errno (-EINVAL: this kernel lacks the group). From then on the
 * socket is for nl_socket_read: dumps and requests, which would swallow notifications, get -EINVAL.
 */
int nl_socket_join(struct nl_socket *socket, unsigned int group);

/*
 * Read what is there without blocking and hand it to fn in order. Returns the number of
 * datagrams read (0: nothing there), -ENOBUFS when the kernel dropped some (also those read
 * before are handed on), -EBADMSG when a datagram was truncated or malformed in its
 * framing, or fn's negative return. It stops after NL_SOCKET_READ_MAX datagrams, so that a storm
 * cannot keep the caller from its other work: call it again when it returns that many.
 *
 * -ENOBUFS comes when the receive buffer is empty again. Until then the kernel drops without
 * saying so again, so that a dump begun earlier would miss those changes for good.
 */
#define NL_SOCKET_READ_MAX 16384
int nl_socket_read(struct nl_socket *socket, nl_msg_fn fn, void *ctx);

/*
 * Send a dump request (nlh: type, flags and body by the caller; sequence and NLM_F_DUMP are
 * set here) and hand each message of the answer to fn. idle is called with idle_ctx between
 * datagrams, so that notifications can be kept from overflowing meanwhile; it may be NULL. Returns
 * 0, -EINTR when the kernel says that the dump is inconsistent (NLM_F_DUMP_INTR: ask again), the
 * kernel's -errno, -ETIMEDOUT after timeout_ms without a datagram, or fn's negative return.
 * *filtered (may be NULL): every message carried NLM_F_DUMP_FILTERED. Those of IPv6 routes always
 * do, since strict checking leaves out the exceptions (rt6_dump_route): it says nothing of routes.
 */
int nl_socket_dump(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		   void (*idle)(void *idle_ctx), void *idle_ctx, int timeout_ms, bool *filtered);

/*
 * A dump in pieces, so that the caller can see to other things between them. From start to end the
 * socket is for nothing else, and it cannot be ended early but by nl_socket_free(). What a piece
 * begins with the kernel has put down at the end of the one before it.
 */
int nl_socket_dump_start(struct nl_socket *socket, struct nlmsghdr *nlh);
/* Hand on the next datagram. 1: there is more to come; 0 at the end; else as nl_socket_dump(). */
int nl_socket_dump_next(struct nl_socket *socket, nl_msg_fn fn, void *ctx);

/*
 * Send one request and wait for its answer (messages to fn, which may be NULL) and
 * acknowledgement. 0 or the kernel's -errno.
 */
int nl_socket_request(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		      int timeout_ms);

/*
 * The same of a request that the kernel answers with one message or an error, such as
 * RTM_GETROUTE of a destination: without an acknowledgement that would say no more, in half the
 * time.
 */
int nl_socket_ask(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		  int timeout_ms);

/*
 * Send without asking for an acknowledgement and without waiting. 0 or -errno. Errors that the
 * kernel answers are read and dropped by the next call on this socket. nlmsg_seq is to be 0, so
 * that they are no answer to a dump whose idle callback sends.
 */
int nl_socket_send(struct nl_socket *socket, const void *data, size_t size);

/* What the kernel said of the last dump's or request's error in its own words, or "". */
const char *nl_socket_error(const struct nl_socket *socket);

#endif
