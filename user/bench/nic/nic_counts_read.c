// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a NIC counts, from the kernel (stats64, ICMPv6 of the device) and from the driver (`ethtool
 * -S`). The kernel's names mean the same everywhere; the driver's do not, so what is known of each
 * driver stands in tables here. Of one that is in none, only the kernel's counts are used.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/ethtool.h"
#include "../../netlink/parse_attr.h"
#include "../../netlink/socket.h"
#include "nic_counts.h"

#define TIMEOUT_MS 5000
#define REQUEST_BYTES 128

/* --- the kernel's --------------------------------------------------------------------------- */

static int take_stats(const struct nlmsghdr *nlh, void *ctx)
{
	static const struct attr_spec attrs[] = {
		/* up to what is used here: it grows at its end */
		[IFLA_STATS_LINK_64] =
			ATTR_MIN(offsetof(struct rtnl_link_stats64, tx_aborted_errors)),
	};
	const struct nlattr *at[ARRAY_SIZE(attrs)];
	struct rtnl_link_stats64 stats = { 0 };
	struct nic_counts *counts = ctx;
	int ret;

	if (!attr_header(nlh, sizeof(struct if_stats_msg)))
		return -EBADMSG;
	ret = attr_walk_message(nlh, sizeof(struct if_stats_msg), attrs, ARRAY_SIZE(attrs), at,
				NULL);
	if (ret)
		return ret;
	if (!at[IFLA_STATS_LINK_64])
		return -EBADMSG;
	attr_copy(&stats, at[IFLA_STATS_LINK_64],
		  offsetof(struct rtnl_link_stats64, tx_aborted_errors));
	counts->rx = stats.rx_packets;
	counts->tx = stats.tx_packets;
	counts->rx_missed = stats.rx_missed_errors;
	return 0;
}

static int read_kernel(uint32_t ifindex, struct nic_counts *counts)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct if_stats_msg *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));

	nlh->nlmsg_type = RTM_GETSTATS;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	body->ifindex = ifindex;
	body->filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
	return nl_socket_new(NETLINK_ROUTE, 0, &socket)
		       ?: nl_socket_ask(socket, nlh, take_stats, counts, TIMEOUT_MS);
}

/* A device without IPv6 has no such file, and its kernel sends nothing of that. */
static void read_icmp6(const char *dev, struct nic_counts *counts)
{
	char path[64 + IFNAMSIZ], line[128], name[64];
	unsigned long long value;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/thread-self/net/dev_snmp6/%s", dev);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu", name, &value) != 2)
			continue;
		if (!strcmp(name, "Icmp6InMsgs"))
			counts->icmp6_rx = value;
		if (!strcmp(name, "Icmp6OutMsgs"))
			counts->icmp6_tx = value;
	}
}

/* --- the driver's --------------------------------------------------------------------------- */

static bool find(const struct nic_stats *stats, const char *name, uint64_t *value)
{
	for (size_t i = 0; i < stats->n; i++)
		if (!strncmp(stats->names[i], name, ETH_GSTRING_LEN)) {
			*value = stats->values[i];
			return true;
		}
	return false;
}

/* Of a queue and all behind it, which are called by their numbers. How many there are. */
static uint32_t sum_queues_from(const struct nic_stats *stats, uint32_t first, const char *before,
				const char *behind, uint64_t *sum)
{
	char name[ETH_GSTRING_LEN + 1];
	uint64_t value;

	*sum = 0;
	for (uint32_t n = first;; n++) {
		snprintf(name, sizeof(name), "%s%u%s", before, n, behind);
		if (!find(stats, name, &value))
			return n - first;
		*sum += value;
	}
}

static uint32_t sum_queues(const struct nic_stats *stats, const char *before, const char *behind,
			   uint64_t *sum)
{
	return sum_queues_from(stats, 0, before, behind, sum);
}

/* How drivers name their queues' packets; the sums are what they give the kernel. */
static const struct {
	const char *before_rx, *before_tx, *behind_rx, *behind_tx;
} queue_names[] = {
	/* igb, ixgbe, ice, virtio_net before Linux 6.10 */
	{ "rx_queue_", "tx_queue_", "_packets", "_packets" },
	/* i40e, iavf */
	{ "rx-", "tx-", ".packets", ".packets" },
	/* mlx5, mlx4, virtio_net */
	{ "rx", "tx", "_packets", "_packets" },
	/* ena */
	{ "queue_", "queue_", "_rx_cnt", "_tx_cnt" },
};

static void read_queues(const struct nic_stats *stats, struct nic_port *port)
{
	struct nic_counts *counts = &port->counts;

	for (size_t i = 0; i < ARRAY_SIZE(queue_names) && !port->tells_queues; i++)
		port->tells_queues = sum_queues(stats, queue_names[i].before_rx,
						queue_names[i].behind_rx, &counts->queues_rx) &&
				     sum_queues(stats, queue_names[i].before_tx,
						queue_names[i].behind_tx, &counts->queues_tx);
}

/* mlx5 counts packets of XDP apart from the others, and not among them. */
static void read_mlx5(const struct nic_stats *stats, uint32_t told_queues, struct nic_port *port)
{
	static const char *const rx[] = { "rx_xdp_drop", "rx_xdp_redirect", "rx_xdp_tx_xmit" };
	uint64_t value;

	(void)told_queues;
	for (size_t i = 0; i < ARRAY_SIZE(rx); i++)
		if (find(stats, rx[i], &value))
			port->counts.xdp_rx += value;
	if (find(stats, "tx_xdp_xmit", &value))
		port->counts.xdp_tx = value;
	/* tx_xdp_full is how often its queue was full, not for how many packets */
}

/* With XDP it has further queues for what is redirected to it, of which the kernel does not tell.
 */
static void add_virtio_xdp(const struct nic_stats *stats, uint32_t queues, const char *before,
			   struct nic_counts *counts)
{
	uint64_t sent, dropped;

	sum_queues_from(stats, queues, before, "_xdp_tx", &sent);
	sum_queues_from(stats, queues, before, "_xdp_tx_drops", &dropped);
	counts->queues_tx += sent - dropped;
}

static void read_virtio(const struct nic_stats *stats, uint32_t told_queues, struct nic_port *port)
{
	static const char *const names[] = { "tx_queue_", "tx" }; /* since Linux 6.10 the second */
	struct ethtool_ringparam rings;
	struct ethtool_channels channels;
	uint64_t *drops = &port->counts.xdp_tx_drops;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !port->tells_tx_drops; i++) {
		port->tells_tx_drops = sum_queues(stats, names[i], "_xdp_tx_drops", drops);
		port->tells_redirected = port->tells_tx_drops && told_queues;
		if (port->tells_redirected)
			add_virtio_xdp(stats, told_queues, names[i], &port->counts);
	}
	if (!ethtool_get_rings(port->name, &rings) && !ethtool_get_channels(port->name, &channels))
		port->tx_unnoticed = rings.tx_pending * channels.combined_count;
}

static const struct {
	const char *driver;
	/* told_queues: so many tx queues' packets the kernel has told; 0: it does not */
	void (*read)(const struct nic_stats *stats, uint32_t told_queues, struct nic_port *port);
} drivers[] = {
	{ "mlx5_core", read_mlx5 },
	{ "virtio_net", read_virtio },
};

static int read_driver(uint32_t told_queues, struct nic_port *port)
{
	struct nic_stats stats;
	char driver[32];
	int ret = ethtool_get_stats(port->name, &stats);

	if (ret)
		return ret == -EOPNOTSUPP ? 0 : ret;
	ethtool_driver(port->name, driver);
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i].driver, driver))
			drivers[i].read(&stats, told_queues, port);
	if (!port->tells_queues)
		read_queues(&stats, port);
	nic_stats_free(&stats);
	return 0;
}

int nic_counts_read(const char *dev, struct nic_port *port)
{
	struct nic_port read = *port;
	uint32_t told_queues = 0;
	uint32_t ifindex = if_nametoindex(dev);
	int ret;

	if (!ifindex)
		return -ENODEV;
	memset(&read.counts, 0, sizeof(read.counts));
	read.tells_queues = read.tells_tx_drops = read.tells_redirected = false;
	read.tx_unnoticed = 0;
	snprintf(read.name, sizeof(read.name), "%s", dev);
	read.tells_queues = !nic_queue_counts_read(ifindex, &read.counts, &told_queues);
	ret = read_kernel(ifindex, &read.counts) ?: read_driver(told_queues, &read);
	if (ret)
		return ret;
	read_icmp6(dev, &read.counts);
	*port = read;
	return 0;
}
