// SPDX-License-Identifier: GPL-2.0-only
/* See forward_net.h. */
#include "forward_net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../loader/loader.h"
#include "../kernel_net.h"
#include "../own_mounts.h"
#include "../request.h"

#define METRIC 1024u
#define CONF "/proc/sys/net/ipv6/conf/"

/* --- devices ------------------------------------------------------------------------------ */

struct end {
	const char *name;
	const uint8_t *mac;
	int netns; /* -1: the caller's */
};

/* A queue a CPU: veth sends by that of the CPU's number. */
static void put_end(struct nlmsghdr *nlh, const struct end *end, uint32_t mtu)
{
	uint32_t queues = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, end->name);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, end->mac);
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, queues);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, queues);
	if (end->netns >= 0)
		mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)end->netns);
}

static int make_link(struct bench_request *request, struct end here, struct end there, uint32_t mtu)
{
	struct nlmsghdr *nlh = bench_request_begin(request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data, *peer;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	put_end(nlh, &here, mtu);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	put_end(nlh, &there, mtu);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return bench_request_end(request, nlh, true);
}

/* veth takes redirected frames only with XDP or GRO; with GRO always on, the kernel gets the frames
 * in the same way whoever is measured. */
static int set_gro(const char *device)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_value value = { .cmd = ETHTOOL_SGRO, .data = 1 };
	struct ifreq request = { .ifr_data = (void *)&value };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	return fd < 0 || ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

/*
 * What the stack sends leaves by the queue of the CPU that it is on, as what XDP redirects does: a
 * flow's queue is another CPU's otherwise, which would be given more than it can take. A kernel
 * that cannot do that has lost packets to tell of then, if any.
 */
static int spread(const char *device)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	char path[96], mask[512];
	int ret = 0;

	for (long cpu = 0; cpu < n && n > 1 && !ret; cpu++) {
		int used = snprintf(mask, sizeof(mask), "%x", 1u << (cpu % 32));

		for (long word = cpu / 32; word > 0 && used < (int)sizeof(mask); word--)
			used += snprintf(mask + used, sizeof(mask) - (size_t)used, ",00000000");
		snprintf(path, sizeof(path), "/sys/class/net/%s/queues/tx-%ld/xps_cpus", device,
			 cpu);
		ret = bench_set_sysctl(path, mask);
	}
	return ret == -ENOENT ? 0 : ret;
}

/* --- namespaces --------------------------------------------------------------------------- */

/* Nobody is to be heard of but the generator. */
static int be_quiet(void)
{
	return bench_set_sysctl(CONF "default/accept_dad", "0")
		       ?: bench_set_sysctl(CONF "default/router_solicitations", "0")
		       ?: bench_set_sysctl(CONF "default/addr_gen_mode", "1");
}

/* A namespace with nothing in it. */
static int make_host(int *out)
{
	int back, left, ret = bench_net_enter(-1, &back);

	if (!ret) {
		*out = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		ret = *out < 0 ? -errno : be_quiet();
		if (ret)
			bench_fail(ret, "network namespace of a host");
	}
	left = bench_net_leave(&back);
	return ret ?: left;
}

static int set_up_host(int netns, uint32_t *ifindex)
{
	int back, left, ret = bench_net_enter(netns, &back);

	if (!ret) {
		struct bench_request *request = bench_request_new();

		ret = request ? bench_request_all_up(request) : -errno;
		bench_request_free(request);
		*ifindex = if_nametoindex("h0");
		ret = ret ?: set_gro("h0");
		if (ret)
			bench_fail(ret, "devices of a host");
	}
	left = bench_net_leave(&back);
	return ret ?: left;
}

static int make_links(struct bench_request *request, struct forward_net *net, uint32_t mtu)
{
	struct end p0 = { "p0", net->p0_mac, -1 }, p1 = { "p1", net->p1_mac, -1 };
	struct end a = { "h0", net->a_mac, net->a }, b = { "h0", net->b_mac, net->b };
	int ret = be_quiet() ?: make_link(request, p0, a, mtu) ?: make_link(request, p1, b, mtu);

	net->p0 = if_nametoindex("p0");
	net->p1 = if_nametoindex("p1");
	return ret ?: bench_request_all_up(request);
}

static int configure(struct bench_request *request, const struct forward_net *net)
{
	int ret = bench_request_add_address(request, net->p0, bench_net_address(0xa, 1))
			  ?: bench_request_add_address(request, net->p1, net->p1_addr);

	for (unsigned int i = 0; i < FORWARD_GATEWAYS && !ret; i++)
		ret = bench_request_add_neighbour(request, net->p1, net->gateways[i], net->b_mac);
	return ret ?: bench_request_add_neighbour(request, net->p0, net->a_addr, net->a_mac)
			       ?: set_gro("p0")
			       ?: spread("p0")
			       ?: spread("p1")
			       ?: bench_set_sysctl(CONF "all/forwarding", "1");
}

static int make_router(struct forward_net *net, uint32_t mtu)
{
	struct bench_request *request = bench_request_new();
	int ret = request ? make_links(request, net, mtu) ?: configure(request, net) : -errno;

	bench_request_free(request);
	return ret ? bench_fail(ret, "devices of the router") : 0;
}

int forward_net_open(uint32_t mtu, struct forward_net *out)
{
	struct forward_net net = {
		.back = -1,
		.a = -1,
		.b = -1,
		.p0_mac = { 2, 0, 0, 0, 0xa, 1 },
		.a_mac = { 2, 0, 0, 0, 0xa, 2 },
		.p1_mac = { 2, 0, 0, 0, 0xb, 1 },
		.b_mac = { 2, 0, 0, 0, 0xb, 2 },
		.a_addr = bench_net_address(0xa, 2),
		.p1_addr = bench_net_address(0xb, 1),
	};
	int ret;

	for (unsigned int i = 0; i < FORWARD_GATEWAYS; i++)
		net.gateways[i] = bench_net_address(0xb, (uint16_t)(0x11 + i));
	ret = bench_net_enter(-1, &net.back) ?: bench_mounts_open() ?: make_host(&net.a)
				  ?: make_host(&net.b)
				  ?: make_router(&net, mtu)
				  ?: set_up_host(net.a, &net.a_h0)
				  ?: set_up_host(net.b, &net.b_h0);
	if (ret)
		forward_net_close(&net);
	else
		*out = net;
	return ret;
}

void forward_net_close(struct forward_net *net)
{
	if (net->back >= 0)
		bench_net_leave(&net->back);
	util_close(&net->a);
	util_close(&net->b);
	bench_mounts_close();
	*net = (struct forward_net){ .back = -1, .a = -1, .b = -1 };
}

int forward_net_fill(const struct forward_net *net, const struct bench_table *table)
{
	const struct bench_net_routes routes = { .family = AF_INET6,
						 .ifindex = net->p1,
						 .gateways = net->gateways,
						 .n_gateways = FORWARD_GATEWAYS,
						 .metric = METRIC };

	return bench_net_add_routes(&routes, table);
}

int forward_net_counter(const char *name, uint64_t *out)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/thread-self/net/snmp6", "re");
	unsigned long long value;
	char found[64];

	while (file && fscanf(file, "%63s %llu", found, &value) == 2)
		if (!strcmp(found, name)) {
			*out = value;
			return 0;
		}
	return bench_fail(file ? -EPROTO : -errno, "/proc/thread-self/net/snmp6");
}
