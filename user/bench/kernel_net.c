// SPDX-License-Identifier: GPL-2.0-only
/* See kernel_net.h. */
#include "kernel_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>

#include "progress.h"

#define DEVICE "bench0"
#define METRIC4 1u

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

union sixlane_addr bench_net_address(uint8_t subnet, uint16_t host)
{
	return (union sixlane_addr){ .bytes = { 0x20, 0x01, 0,
						2, [7] = subnet, [14] = (uint8_t)(host >> 8),
						(uint8_t)host } };
}

/* --- the device ----------------------------------------------------------------------------- */

static int make_device(struct bench_request *request)
{
	struct nlmsghdr *nlh = bench_request_begin(request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, DEVICE);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	/* whose other end the kernel makes as well; there is no dummy in every kernel */
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	mnl_attr_nest_end(nlh, info);
	return bench_request_end(request, nlh, true);
}

static int make(uint32_t *ifindex)
{
	struct bench_request *request = bench_request_new();
	int ret;

	if (!request)
		return -errno;
	ret = make_device(request) ?: bench_request_all_up(request);
	bench_request_free(request);
	/* of the namespace of who opens them */
	ret = ret ?: bench_set_sysctl("/proc/sys/net/ipv6/conf/all/forwarding", "1");
	ret = ret ?: bench_set_sysctl("/proc/sys/net/ipv4/ip_forward", "1");
	*ifindex = if_nametoindex(DEVICE);
	return ret;
}

int bench_net_make(uint32_t *ifindex)
{
	_cleanup_close_ int netns = -1;
	int back, left, ret = bench_net_enter(-1, &back);

	if (!ret) {
		ret = make(ifindex);
		netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		if (!ret && netns < 0)
			ret = -errno;
		if (ret)
			bench_fail(ret, "cannot make a network namespace with a veth device");
	}
	left = bench_net_leave(&back);
	ret = ret ?: left;
	return ret ?: util_take_fd(&netns);
}

/* --- routes --------------------------------------------------------------------------------- */

/* Both are on the link, though nothing has an address there. */
static const struct in6_addr gateway6 = { .s6_addr = { 0xfe, 0x80, [15] = 2 } };
static const uint8_t gateway4[] = { 169, 254, 0, 2 };

static void put_next_hop(struct nlmsghdr *nlh, const struct bench_net_routes *routes, size_t i)
{
	if (routes->next_hop) {
		mnl_attr_put_u32(nlh, RTA_NH_ID, routes->next_hop);
		return;
	}
	mnl_attr_put_u32(nlh, RTA_OIF, routes->ifindex);
	if (routes->family == AF_INET)
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway4), gateway4);
	else if (routes->n_gateways)
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway6),
			     &routes->gateways[i % routes->n_gateways]);
	else
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway6), &gateway6);
}

static uint32_t metric_of(const struct bench_net_routes *routes, size_t i)
{
	if (routes->family == AF_INET)
		return METRIC4;
	return routes->metric ?: (uint32_t)i + 1;
}

static int change_route(struct bench_request *request, const struct bench_net_routes *routes,
			const struct bench_table *table, size_t i, uint16_t type, uint16_t flags,
			bool last)
{
	const struct prefix *prefix = &table->prefixes[i];
	struct nlmsghdr *nlh = bench_request_begin(request, type, flags);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	*rtm = (struct rtmsg){
		.rtm_family = (unsigned char)routes->family,
		.rtm_dst_len = prefix->len,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = routes->next_hop ? 0 : RTNH_F_ONLINK,
	};
	mnl_attr_put(nlh, RTA_DST, routes->family == AF_INET6 ? 16 : 4, &prefix->addr);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, metric_of(routes, i));
	put_next_hop(nlh, routes, i);
	return bench_request_end(request, nlh, last);
}

static int add_route(struct bench_request *request, const struct bench_net_routes *routes,
		     const struct bench_table *table, size_t i, bool last)
{
	return change_route(request, routes, table, i, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
			    last);
}

int bench_net_replace_route(struct bench_request *request, const struct bench_net_routes *routes,
			    const struct bench_table *table, size_t i)
{
	return change_route(request, routes, table, i, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
			    true);
}

int bench_net_add_routes(const struct bench_net_routes *routes, const struct bench_table *table)
{
	struct bench_request *request = bench_request_new();
	int ret = request ? 0 : -errno;

	for (size_t i = 0; i < table->n && !ret; i++)
		ret = bench_interrupted() ? -EINTR
					  : add_route(request, routes, table, i, i + 1 == table->n);
	if (ret && ret != -EINTR)
		bench_fail(ret, "the kernel takes no more routes of table %s", table->name);
	bench_request_free(request);
	return ret;
}

int bench_net_fill(int netns, uint32_t ifindex, int family, const struct bench_table *table)
{
	const struct bench_net_routes routes = { .family = family, .ifindex = ifindex };
	int back, left, ret = bench_net_enter(netns, &back);

	ret = ret ?: bench_net_add_routes(&routes, table);
	left = bench_net_leave(&back);
	return ret ?: left;
}

struct bench_net_changes {
	struct bench_request *request;
	const struct bench_table *table;
	struct bench_net_routes routes;
};

struct bench_net_changes *bench_net_changes_new(int netns, uint32_t ifindex, int family,
						const struct bench_table *table)
{
	struct bench_net_changes *changes = calloc(1, sizeof(*changes));
	int back, ret = bench_net_enter(netns, &back);

	if (changes && !ret) {
		*changes = (struct bench_net_changes){
			.request = bench_request_new(),
			.table = table,
			.routes = { .family = family, .ifindex = ifindex },
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
	bench_request_free(changes->request);
	free(changes);
}

int bench_net_change(struct bench_net_changes *changes, size_t i, bool back)
{
	if (back)
		return add_route(changes->request, &changes->routes, changes->table, i, true);
	return change_route(changes->request, &changes->routes, changes->table, i, RTM_DELROUTE, 0,
			    true);
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
