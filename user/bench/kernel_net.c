// SPDX-License-Identifier: GPL-2.0-only
/* See kernel_net.h. */
#include "kernel_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>

#define DEVICE "bench0"
#define METRIC4 1u
/* Messages of one send(): the kernel takes them one after the other, so more save nothing. */
#define BATCH_BYTES 32768u
#define MESSAGE_BYTES 256u

int bench_net_enter(int netns, int *back)
{
	*back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*back < 0 || (netns >= 0 ? setns(netns, CLONE_NEWNET) : unshare(CLONE_NEWNET)))
		return bench_fail(-errno, "network namespace");
	return 0;
}

int bench_net_leave(int *back)
{
	int ret = *back >= 0 && setns(*back, CLONE_NEWNET) ? -errno : 0;

	util_close(back);
	*back = -1;
	return ret ? bench_fail(ret, "network namespace") : 0;
}

/* --- requests ------------------------------------------------------------------------------- */

struct request {
	struct mnl_socket *socket;
	uint32_t seq;
	size_t used; /* of buf */
	char buf[BATCH_BYTES + MESSAGE_BYTES];
};

static struct request *request_new(void)
{
	struct request *request = calloc(1, sizeof(*request));

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

static void request_free(struct request *request)
{
	mnl_socket_close(request->socket);
	free(request);
}

/* Send what is there, and wait for the answer to the last of it, or the first error. */
static int request_send(struct request *request)
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
static struct nlmsghdr *request_begin(struct request *request, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(request->buf + request->used);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++request->seq;
	return nlh;
}

static int request_end(struct request *request, struct nlmsghdr *nlh, bool last)
{
	request->used += NLMSG_ALIGN(nlh->nlmsg_len);
	if (!last && request->used < BATCH_BYTES)
		return 0;
	nlh->nlmsg_flags |= NLM_F_ACK;
	return request_send(request);
}

/* --- the device ----------------------------------------------------------------------------- */

static int make_device(struct request *request)
{
	struct nlmsghdr *nlh = request_begin(request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, DEVICE);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	/* whose other end the kernel makes as well; there is no dummy in every kernel */
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	mnl_attr_nest_end(nlh, info);
	return request_end(request, nlh, true);
}

static int set_up(struct request *request, unsigned int ifindex)
{
	struct nlmsghdr *nlh = request_begin(request, RTM_NEWLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	ifi->ifi_flags = ifi->ifi_change = IFF_UP;
	return request_end(request, nlh, true);
}

/* Every device of the namespace, so both ends and the loopback. */
static int set_all_up(struct request *request)
{
	struct if_nameindex *list = if_nameindex();
	int ret = list ? 0 : -errno;

	for (const struct if_nameindex *at = list; at && at->if_index && !ret; at++)
		ret = set_up(request, at->if_index);
	if (list)
		if_freenameindex(list);
	return ret;
}

static int set_sysctl(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	return file && fputs("1", file) >= 0 && !fflush(file) ? 0 : -errno;
}

static int make(uint32_t *ifindex)
{
	struct request *request = request_new();
	int ret;

	if (!request)
		return -errno;
	ret = make_device(request) ?: set_all_up(request);
	request_free(request);
	/* of the namespace of who opens them */
	ret = ret ?: set_sysctl("/proc/sys/net/ipv6/conf/all/forwarding");
	ret = ret ?: set_sysctl("/proc/sys/net/ipv4/ip_forward");
	*ifindex = if_nametoindex(DEVICE);
	return ret;
}

int bench_net_make(uint32_t *ifindex)
{
	_cleanup_close_ int netns = -1;
	int back, ret = bench_net_enter(-1, &back);

	if (!ret) {
		ret = make(ifindex);
		netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		if (!ret && netns < 0)
			ret = -errno;
		if (ret)
			bench_fail(ret, "cannot make a network namespace with a veth device");
	}
	ret = ret ?: bench_net_leave(&back);
	return ret ?: util_take_fd(&netns);
}

/* --- routes --------------------------------------------------------------------------------- */

/* Both are on the link, though nothing has an address there. */
static void put_next_hop(struct nlmsghdr *nlh, int family, uint32_t ifindex)
{
	struct in6_addr gateway6 = { .s6_addr = { 0xfe, 0x80, [15] = 2 } };
	uint32_t gateway4 = htonl(0xa9fe0002); /* 169.254.0.2 */

	mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
	if (family == AF_INET6)
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway6), &gateway6);
	else
		mnl_attr_put_u32(nlh, RTA_GATEWAY, gateway4);
}

static int change_route(struct request *request, uint32_t ifindex, int family,
			const struct bench_table *table, size_t i, bool add, bool last)
{
	const struct prefix *prefix = &table->prefixes[i];
	struct nlmsghdr *nlh = request_begin(request, add ? RTM_NEWROUTE : RTM_DELROUTE,
					     add ? NLM_F_CREATE | NLM_F_EXCL : 0);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	*rtm = (struct rtmsg){
		.rtm_family = (unsigned char)family,
		.rtm_dst_len = prefix->len,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = RTNH_F_ONLINK,
	};
	mnl_attr_put(nlh, RTA_DST, family == AF_INET6 ? 16 : 4, &prefix->addr);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, family == AF_INET6 ? (uint32_t)i + 1 : METRIC4);
	put_next_hop(nlh, family, ifindex);
	return request_end(request, nlh, last);
}

int bench_net_fill(int netns, uint32_t ifindex, int family, const struct bench_table *table)
{
	struct request *request = NULL;
	int back, left, ret = bench_net_enter(netns, &back);

	if (!ret) {
		request = request_new();
		ret = request ? 0 : -errno;
		for (size_t i = 0; i < table->n && !ret; i++)
			ret = change_route(request, ifindex, family, table, i, true,
					   i + 1 == table->n);
		if (ret)
			bench_fail(ret, "the kernel takes no more routes of table %s", table->name);
		if (request)
			request_free(request);
	}
	left = bench_net_leave(&back);
	return ret ?: left;
}

struct bench_net_changes {
	struct request *request;
	const struct bench_table *table;
	uint32_t ifindex;
	int family;
};

struct bench_net_changes *bench_net_changes_new(int netns, uint32_t ifindex, int family,
						const struct bench_table *table)
{
	struct bench_net_changes *changes = calloc(1, sizeof(*changes));
	int back, ret = bench_net_enter(netns, &back);

	if (changes && !ret) {
		*changes = (struct bench_net_changes){
			.request = request_new(),
			.table = table,
			.ifindex = ifindex,
			.family = family,
		};
		if (!changes->request)
			ret = bench_fail(-errno, "netlink");
	}
	if ((bench_net_leave(&back) || ret) && changes) {
		bench_net_changes_free(changes);
		changes = NULL;
	}
	return changes;
}

void bench_net_changes_free(struct bench_net_changes *changes)
{
	if (!changes)
		return;
	if (changes->request)
		request_free(changes->request);
	free(changes);
}

int bench_net_change(struct bench_net_changes *changes, size_t i, bool back)
{
	return change_route(changes->request, changes->ifindex, changes->family, changes->table, i,
			    back, true);
}

/* --- what the kernel says of them ----------------------------------------------------------- */

/* Of the table main, which has that of the machine's own addresses within it. */
static uint32_t read_depth4(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/thread-self/net/fib_triestat", "re");
	uint32_t depth, deepest = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " Max depth: %u", &depth) == 1 && depth > deepest)
			deepest = depth;
	return deepest;
}

uint32_t bench_net_depth4(int netns)
{
	int back, ret = bench_net_enter(netns, &back);
	uint32_t depth = ret ? 0 : read_depth4();

	return bench_net_leave(&back) ? 0 : depth;
}
