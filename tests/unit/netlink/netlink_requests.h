/* SPDX-License-Identifier: GPL-2.0-only */
/* For test_socket*.c: sockets, requests, and callbacks that count what they get. */
#ifndef NETLINK_REQUESTS_H
#define NETLINK_REQUESTS_H

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "../../../user/netlink/socket.h"

#define TIMEOUT_MS 5000
#define _cleanup_socket_ _cleanup_(nl_socket_freep)

struct seen {
	unsigned int messages, idles;
	unsigned int fail_at; /* return fail_with at this message; 0: never */
	int fail_with;
	uint16_t last_type;
	struct nl_socket *send_on; /* in idle */
};

static inline int count(const struct nlmsghdr *nlh, void *ctx)
{
	struct seen *seen = ctx;

	seen->last_type = nlh->nlmsg_type;
	return ++seen->messages == seen->fail_at ? seen->fail_with : 0;
}

static inline void idle(void *ctx)
{
	struct seen *seen = ctx;
	char buffer[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	seen->idles++;
	if (!seen->send_on)
		return;
	nlh->nlmsg_type = RTM_NEWNEIGH; /* malformed: the kernel answers with an error */
	nlh->nlmsg_flags = NLM_F_REQUEST;
	assert_int_equal(nl_socket_send(seen->send_on, nlh, nlh->nlmsg_len), 0);
}

static inline int dump(struct nl_socket *socket, struct nlmsghdr *nlh, struct seen *seen,
		       bool *filtered)
{
	return nl_socket_dump(socket, nlh, count, seen, idle, seen, TIMEOUT_MS, filtered);
}

static inline struct nlmsghdr *request(uint16_t type, size_t body)
{
	static char buffer[1024] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	uint8_t *header = mnl_nlmsg_put_extra_header(nlh, body);

	nlh->nlmsg_type = type;
	header[0] = AF_INET6;
	return nlh;
}

static inline struct nlmsghdr *link_dump(void)
{
	struct nlmsghdr *nlh = request(RTM_GETLINK, sizeof(struct ifinfomsg));

	*(uint8_t *)mnl_nlmsg_get_payload(nlh) = AF_UNSPEC;
	return nlh;
}

static inline struct nlmsghdr *route_dump(void)
{
	return request(RTM_GETROUTE, sizeof(struct rtmsg));
}

static inline struct nl_socket *new_socket(size_t rcvbuf)
{
	struct nl_socket *socket = NULL;

	assert_int_equal(nl_socket_new(NETLINK_ROUTE, rcvbuf, &socket), 0);
	assert_true(nl_socket_fd(socket) >= 0);
	return socket;
}

#endif
