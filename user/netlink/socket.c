// SPDX-License-Identifier: GPL-2.0-only
/*
 * See socket.h. Knows only control messages: acknowledgement, error, end of dump, overrun.
 * NETLINK_NO_ENOBUFS is never set: without ENOBUFS nobody would notice lost notifications.
 */
#include "socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/*
 * Datagrams of a dump have up to 32 KiB if the buffer is that large. An attribute (RTA_MULTIPATH)
 * may have 64 KiB, and a notification somewhat more.
 */
#define BUFFER_BYTES (128 * 1024)
#define IDLE_SLICE_MS 10 /* the longest wait between calls of the idle callback */

/* One request and its reply. */
struct exchange {
	struct nl_socket *socket;
	nl_msg_fn fn;
	void *ctx;
	bool single; /* the reply is one message */
	bool done;
	bool interrupted; /* NLM_F_DUMP_INTR */
	bool filtered;	  /* every message so far had NLM_F_DUMP_FILTERED */
	unsigned int n_messages;
	int fn_result; /* fn's first negative result: the rest is read, but fn is not called */
	int error;     /* of the kernel */
};

struct nl_socket {
	struct mnl_socket *mnl;
	struct exchange pieces; /* for nl_socket_dump_next() */
	uint32_t sequence;	/* of the last dump or request; never 0, see nl_socket_send() */
	bool joined;
	bool busy;	/* during a dump or request */
	bool leftovers; /* replies may come that nobody waits for */
	bool overrun;	/* not reported to the caller yet */
	char buffer[BUFFER_BYTES] __attribute__((aligned(8)));
};

static void set_option(struct nl_socket *socket, int option)
{
	int on = 1;

	/* some kernels lack some of these options, and nothing depends on them */
	(void)mnl_socket_setsockopt(socket->mnl, option, &on, sizeof(on));
}

static int set_rcvbuf(struct nl_socket *socket, size_t bytes)
{
	int size = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
	int fd = mnl_socket_get_fd(socket->mnl);

	if (bytes == 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0)
		return 0;
	/* without CAP_NET_ADMIN: up to net.core.rmem_max */
	return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) < 0 ? -errno : 0;
}

static int socket_open(struct nl_socket *socket, int protocol, size_t rcvbuf_bytes)
{
	int r;

	socket->mnl = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	if (!socket->mnl)
		return -errno;
	set_option(socket, NETLINK_GET_STRICT_CHK);
	set_option(socket, NETLINK_CAP_ACK);
	r = set_rcvbuf(socket, rcvbuf_bytes);
	if (r < 0)
		return r;
	return mnl_socket_bind(socket->mnl, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
}

int nl_socket_new(int protocol, size_t rcvbuf_bytes, struct nl_socket **out)
{
	struct nl_socket *socket = calloc(1, sizeof(*socket));
	int r;

	if (!socket)
		return -ENOMEM;
	r = socket_open(socket, protocol, rcvbuf_bytes);
	if (r < 0) {
		nl_socket_free(socket);
		return r;
	}
	*out = socket;
	return 0;
}

void nl_socket_free(struct nl_socket *socket)
{
	if (!socket)
		return;
	if (socket->mnl)
		mnl_socket_close(socket->mnl);
	free(socket);
}

void nl_socket_freep(struct nl_socket **socket)
{
	nl_socket_free(*socket);
}

int nl_socket_fd(const struct nl_socket *socket)
{
	return mnl_socket_get_fd(socket->mnl);
}

int nl_socket_join(struct nl_socket *socket, unsigned int group)
{
	/* not by bind(), which knows only the groups up to 32 */
	if (mnl_socket_setsockopt(socket->mnl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return -errno;
	socket->joined = true;
	return 0;
}

/*
 * Reads one datagram without waiting. Returns its size, 0 for one that another process sent and
 * that is to be ignored, -EBADMSG for a truncated one, -EAGAIN, -ENOBUFS or another -errno.
 */
static ssize_t datagram_read(struct nl_socket *socket)
{
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { .iov_base = socket->buffer, .iov_len = sizeof(socket->buffer) };
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1
	};
	ssize_t size;

	do
		size = recvmsg(nl_socket_fd(socket), &msg, MSG_DONTWAIT);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if (msg.msg_namelen != sizeof(from) || from.nl_pid != 0)
		return 0;
	if (msg.msg_flags & MSG_TRUNC)
		return -EBADMSG;
	return size;
}

/* Calls fn for each message of the datagram. 0, -EBADMSG or fn's negative result. */
static int messages_walk(const struct nl_socket *socket, size_t size, nl_msg_fn fn, void *ctx)
{
	const struct nlmsghdr *nlh = (const void *)socket->buffer;
	int left = (int)size, r;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		r = fn(nlh, ctx);
		if (r < 0)
			return r;
	}
	/* the last message may lack its padding */
	return left > 0 ? -EBADMSG : 0;
}

struct notification {
	struct nl_socket *socket;
	nl_msg_fn fn;
	void *ctx;
};

static int notification_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct notification *n = ctx;

	if (nlh->nlmsg_type == NLMSG_OVERRUN)
		n->socket->overrun = true;
	/* other control messages are replies to nl_socket_send(), and dropped */
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
		return 0;
	return n->fn(nlh, n->ctx);
}

int nl_socket_read(struct nl_socket *socket, nl_msg_fn fn, void *ctx)
{
	struct notification n = { .socket = socket, .fn = fn, .ctx = ctx };
	ssize_t size;
	int count = 0, r;

	/* after an overrun to the end, see socket.h; the kernel adds nothing until then */
	while (socket->overrun || count < NL_SOCKET_READ_MAX) {
		size = datagram_read(socket);
		if (size == -EAGAIN)
			break;
		if (size == -ENOBUFS) {
			socket->overrun = true;
			continue;
		}
		if (size < 0)
			return (int)size;
		r = messages_walk(socket, (size_t)size, notification_message, &n);
		if (r < 0)
			return r;
		count++;
	}
	if (socket->overrun) {
		socket->overrun = false;
		return -ENOBUFS;
	}
	return count;
}

/* Read and drop what is left of earlier exchanges, also what an unfinished dump still has. */
static void leftovers_drop(struct nl_socket *socket)
{
	ssize_t size;

	if (!socket->leftovers || socket->joined || socket->busy)
		return;
	do
		size = datagram_read(socket);
	while (size >= 0 || size == -ENOBUFS || size == -EBADMSG);
	socket->leftovers = false;
}

static int message_send(struct nl_socket *socket, const void *data, size_t size)
{
	static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t sent;

	do
		sent = sendto(nl_socket_fd(socket), data, size, 0, (const struct sockaddr *)&kernel,
			      sizeof(kernel));
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == size ? 0 : -EMSGSIZE;
}

int nl_socket_send(struct nl_socket *socket, const void *data, size_t size)
{
	leftovers_drop(socket);
	socket->leftovers = true;
	return message_send(socket, data, size);
}

static int error_message(struct exchange *x, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*err))
		return -EBADMSG;
	x->error = err->error;
	x->done = true;
	return 0;
}

static int done_message(struct exchange *x, const struct nlmsghdr *nlh)
{
	int32_t error = 0;

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(error))
		memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	x->error = error < 0 ? error : 0;
	x->done = true;
	/* a dump without messages has the flag in its end */
	if (x->n_messages == 0)
		x->filtered = nlh->nlmsg_flags & NLM_F_DUMP_FILTERED;
	return 0;
}

static int exchange_message(const struct nlmsghdr *nlh, void *ctx)
{
	struct exchange *x = ctx;
	int r;

	if (nlh->nlmsg_seq != x->socket->sequence || x->done)
		return 0;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR && nlh->nlmsg_type != NLMSG_ERROR)
		x->interrupted = true;
	switch (nlh->nlmsg_type) {
	case NLMSG_ERROR:
		return error_message(x, nlh);
	case NLMSG_DONE:
		return done_message(x, nlh);
	case NLMSG_NOOP:
		return 0;
	case NLMSG_OVERRUN:
		return -ENOBUFS;
	}
	x->n_messages++;
	x->done = x->single;
	x->filtered &= !!(nlh->nlmsg_flags & NLM_F_DUMP_FILTERED);
	if (!x->fn || x->fn_result < 0)
		return 0;
	r = x->fn(nlh, x->ctx);
	if (r < 0)
		x->fn_result = r;
	return 0;
}

/* Waits for a datagram and calls idle meanwhile. 0, -ETIMEDOUT or -errno. */
static int datagram_wait(const struct nl_socket *socket, void (*idle)(void *), void *idle_ctx,
			 int timeout_ms)
{
	uint64_t deadline = util_now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd pfd = { .fd = nl_socket_fd(socket), .events = POLLIN };
	int r;

	for (;;) {
		r = poll(&pfd, 1, timeout_ms < IDLE_SLICE_MS ? timeout_ms : IDLE_SLICE_MS);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (idle)
			idle(idle_ctx);
		if (util_now_ns() >= deadline)
			return -ETIMEDOUT;
	}
}

/*
 * Reads until the exchange is done. An error is remembered and returned only at the end: the kernel
 * refuses a dump on this socket while another one is unfinished (EBUSY).
 */
static int exchange_read(struct exchange *x, void (*idle)(void *), void *idle_ctx, int timeout_ms)
{
	struct nl_socket *socket = x->socket;
	int error = 0, r;
	ssize_t size;

	while (!x->done) {
		size = datagram_read(socket);
		if (size == -EAGAIN) {
			r = datagram_wait(socket, idle, idle_ctx, timeout_ms);
			if (r < 0)
				return error < 0 ? error : r;
			continue;
		}
		if (size == -EBADMSG || size == -ENOBUFS)
			r = (int)size;
		else if (size < 0)
			return (int)size;
		else
			r = messages_walk(socket, (size_t)size, exchange_message, x);
		if (r < 0 && error == 0)
			error = r;
		if (idle)
			idle(idle_ctx);
	}
	if (x->fn_result < 0)
		return x->fn_result;
	return error < 0 ? error : x->error;
}

static int exchange_finish(struct exchange *x, void (*idle)(void *), void *idle_ctx, int timeout_ms)
{
	int r;

	x->socket->busy = true;
	r = exchange_read(x, idle, idle_ctx, timeout_ms);
	x->socket->busy = false;
	x->socket->leftovers |= !x->done;
	return r;
}

static int exchange_start(struct nl_socket *socket, struct nlmsghdr *nlh, uint16_t flags)
{
	if (socket->joined || socket->busy)
		return -EINVAL;
	if (++socket->sequence == 0)
		socket->sequence = 1;
	nlh->nlmsg_seq = socket->sequence;
	nlh->nlmsg_flags |= NLM_F_REQUEST | flags;
	leftovers_drop(socket);
	return message_send(socket, nlh, nlh->nlmsg_len);
}

int nl_socket_dump(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		   void (*idle)(void *idle_ctx), void *idle_ctx, int timeout_ms, bool *filtered)
{
	struct exchange x = { .socket = socket, .fn = fn, .ctx = ctx, .filtered = true };
	int r = exchange_start(socket, nlh, NLM_F_DUMP);

	if (r < 0)
		return r;
	r = exchange_finish(&x, idle, idle_ctx, timeout_ms);
	if (r < 0)
		return r;
	if (filtered)
		*filtered = x.filtered;
	return x.interrupted ? -EINTR : 0;
}

int nl_socket_dump_start(struct nl_socket *socket, struct nlmsghdr *nlh)
{
	int r = exchange_start(socket, nlh, NLM_F_DUMP);

	if (r < 0)
		return r;
	socket->pieces = (struct exchange){ .socket = socket };
	socket->busy = true;
	return 0;
}

int nl_socket_dump_next(struct nl_socket *socket, nl_msg_fn fn, void *ctx)
{
	struct exchange *x = &socket->pieces;
	ssize_t size = datagram_read(socket);
	int r;

	if (size == -EAGAIN)
		return 1;
	if (size < 0)
		return (int)size;
	x->fn = fn;
	x->ctx = ctx;
	r = messages_walk(socket, (size_t)size, exchange_message, x);
	if (r < 0 || x->fn_result < 0)
		return r < 0 ? r : x->fn_result;
	if (!x->done)
		return 1;
	socket->busy = false;
	return x->error < 0 || !x->interrupted ? x->error : -EINTR;
}

static int request(struct nl_socket *socket, struct nlmsghdr *nlh, bool single, nl_msg_fn fn,
		   void *ctx, int timeout_ms)
{
	struct exchange x = { .socket = socket, .single = single, .fn = fn, .ctx = ctx };
	int r = exchange_start(socket, nlh, single ? 0 : NLM_F_ACK);

	if (r < 0)
		return r;
	return exchange_finish(&x, NULL, NULL, timeout_ms);
}

int nl_socket_request(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
		      int timeout_ms)
{
	return request(socket, nlh, false, fn, ctx, timeout_ms);
}

int nl_socket_request_one(struct nl_socket *socket, struct nlmsghdr *nlh, nl_msg_fn fn, void *ctx,
			  int timeout_ms)
{
	return request(socket, nlh, true, fn, ctx, timeout_ms);
}
