// SPDX-License-Identifier: GPL-2.0-only
/* See request.h. */
#include "request.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "../lib/util.h"

/* Messages of one send(): the kernel takes them one after the other, so more save nothing. */
#define BATCH_BYTES 32768u
#define MESSAGE_BYTES 512u

struct bench_request {
	struct mnl_socket *socket;
	uint32_t seq;
	size_t used; /* of buf */
	char buf[BATCH_BYTES + MESSAGE_BYTES];
};

struct bench_request *bench_request_new(void)
{
	struct bench_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (request->socket && !mnl_socket_bind(request->socket, 0, MNL_SOCKET_AUTOPID))
		return request;
	if (request->socket)
		mnl_socket_close(request->socket);
	free(request);
	return NULL;
}

void bench_request_free(struct bench_request *request)
{
	if (!request)
		return;
	mnl_socket_close(request->socket);
	free(request);
}

/* Send what is there, and wait for the answer to the last of it, or the first error. */
static int request_send(struct bench_request *request)
{
	char answer[8192];
	ssize_t n;

	if (!request->used)
		return 0;
	if (mnl_socket_sendto(request->socket, request->buf, request->used) < 0)
		return -errno;
	request->used = 0;
	while ((n = mnl_socket_recvfrom(request->socket, answer, sizeof(answer))) > 0) {
		const struct nlmsghdr *nlh = (const void *)answer;

		for (int left = (int)n; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type == NLMSG_ERROR &&
			    (err->error || nlh->nlmsg_seq == request->seq))
				return err->error;
		}
	}
	return n < 0 ? -errno : -EPROTO;
}

/* The next message. Every message is answered if it fails; the last one of a send() in any case. */
struct nlmsghdr *bench_request_begin(struct bench_request *request, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(request->buf + request->used);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++request->seq;
	return nlh;
}

int bench_request_end(struct bench_request *request, struct nlmsghdr *nlh, bool last)
{
	request->used += NLMSG_ALIGN(nlh->nlmsg_len);
	if (!last && request->used < BATCH_BYTES)
		return 0;
	nlh->nlmsg_flags |= NLM_F_ACK;
	return request_send(request);
}

static int set_up(struct bench_request *request, unsigned int ifindex)
{
	struct nlmsghdr *nlh = bench_request_begin(request, RTM_NEWLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	ifi->ifi_flags = ifi->ifi_change = IFF_UP;
	return bench_request_end(request, nlh, true);
}

int bench_request_all_up(struct bench_request *request)
{
	struct if_nameindex *list = if_nameindex();
	int ret = list ? 0 : -errno;

	for (const struct if_nameindex *at = list; at && at->if_index && !ret; at++)
		ret = set_up(request, at->if_index);
	if (list)
		if_freenameindex(list);
	return ret;
}

int bench_request_add_address(struct bench_request *request, uint32_t ifindex,
			      union sixlane_addr addr)
{
	struct nlmsghdr *nlh = bench_request_begin(request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));

	*ifa = (struct ifaddrmsg){ .ifa_family = AF_INET6,
				   .ifa_prefixlen = 64,
				   .ifa_flags = IFA_F_NODAD,
				   .ifa_index = ifindex };
	mnl_attr_put(nlh, IFA_LOCAL, sizeof(addr), &addr);
	mnl_attr_put(nlh, IFA_ADDRESS, sizeof(addr), &addr);
	return bench_request_end(request, nlh, true);
}

static struct nlmsghdr *begin_neighbour(struct bench_request *request, uint16_t type,
					uint16_t flags, uint32_t ifindex, union sixlane_addr addr)
{
	struct nlmsghdr *nlh = bench_request_begin(request, type, flags);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));

	/* a gateway that says it is none: its Path MTUs are forgotten at the collector's next run
	 */
	*ndm = (struct ndmsg){ .ndm_family = AF_INET6,
			       .ndm_ifindex = (int)ifindex,
			       .ndm_state = NUD_PERMANENT,
			       .ndm_flags = NTF_ROUTER };
	mnl_attr_put(nlh, NDA_DST, sizeof(addr), &addr);
	return nlh;
}

int bench_request_add_neighbour(struct bench_request *request, uint32_t ifindex,
				union sixlane_addr addr, const uint8_t mac[6])
{
	struct nlmsghdr *nlh =
		begin_neighbour(request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, ifindex, addr);

	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return bench_request_end(request, nlh, true);
}

int bench_request_delete_neighbour(struct bench_request *request, uint32_t ifindex,
				   union sixlane_addr addr)
{
	struct nlmsghdr *nlh = begin_neighbour(request, RTM_DELNEIGH, 0, ifindex, addr);

	return bench_request_end(request, nlh, true);
}

int bench_set_sysctl(const char *path, const char *value)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	return file && fputs(value, file) >= 0 && !fflush(file) ? 0 : -errno;
}
