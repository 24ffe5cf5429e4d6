// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a device's queues by the kernel's own interface (Linux 6.9, family "netdev"), which
 * drivers have come to use in place of counters in `ethtool -S`: virtio_net since 6.10. Its numbers
 * stand here since linux/netdev.h came with Linux 6.3, and these later.
 */
#include <errno.h>
#include <linux/genetlink.h>

#include "../../netlink/parse_attr.h"
#include "../../netlink/socket_features.h"
#include "nic_counts.h"

#define QSTATS_GET 12
#define SCOPE_QUEUE 1
#define TIMEOUT_MS 5000
#define REQUEST_BYTES 128

enum {
	QSTATS_IFINDEX = 1,
	QSTATS_SCOPE = 4,
	QSTATS_RX_PACKETS = 8,
	QSTATS_TX_PACKETS = 10,
};

static const struct attr_spec attrs[] = {
	[QSTATS_IFINDEX] = ATTR_U32,
	[QSTATS_RX_PACKETS] = ATTR_MIN(4),
	[QSTATS_TX_PACKETS] = ATTR_MIN(4),
};

struct sums {
	uint32_t ifindex;
	bool has_rx;
	uint32_t n_tx;
	uint64_t rx, tx;
};

static struct nlmsghdr *begin(char *buf, uint16_t type, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *body;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
	body->cmd = cmd;
	body->version = 1;
	return nlh;
}

/* Four bytes where these are enough, else eight. */
static bool add(const struct nlattr *attr, uint64_t *sum)
{
	if (!attr)
		return false;
	*sum += mnl_attr_get_payload_len(attr) >= sizeof(*sum) ? attr_u64(attr, 0)
							       : attr_u32(attr, 0);
	return true;
}

static int take_queue(const struct nlmsghdr *nlh, void *ctx)
{
	const struct nlattr *at[ARRAY_SIZE(attrs)];
	struct sums *sums = ctx;
	int ret;

	if (!attr_header(nlh, sizeof(struct genlmsghdr)))
		return -EBADMSG;
	ret = attr_walk_message(nlh, sizeof(struct genlmsghdr), attrs, ARRAY_SIZE(attrs), at, NULL);
	if (ret || attr_u32(at[QSTATS_IFINDEX], 0) != sums->ifindex)
		return ret;
	sums->has_rx |= add(at[QSTATS_RX_PACKETS], &sums->rx);
	sums->n_tx += add(at[QSTATS_TX_PACKETS], &sums->tx);
	return 0;
}

int nic_queue_counts_read(uint32_t ifindex, struct nic_counts *counts, uint32_t *n_tx)
{
	_cleanup_(nl_socket_freep) struct nl_socket *socket = NULL;
	char buf[REQUEST_BYTES] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct sums sums = { .ifindex = ifindex };
	struct nlmsghdr *nlh;
	struct nl_features_family family = { 0 };
	int ret = nl_socket_new(NETLINK_GENERIC, 0, &socket) ?: nl_features_family(socket, &family);

	if (ret || !family.id)
		return ret ? ret : -EOPNOTSUPP;
	nlh = begin(buf, family.id, QSTATS_GET);
	mnl_attr_put_u32(nlh, QSTATS_IFINDEX, ifindex);
	mnl_attr_put_u32(nlh, QSTATS_SCOPE, SCOPE_QUEUE);
	ret = nl_socket_dump(socket, nlh, take_queue, &sums, NULL, NULL, TIMEOUT_MS, NULL);
	if (!ret && (!sums.has_rx || !sums.n_tx))
		ret = -EOPNOTSUPP;
	if (ret)
		return ret;
	counts->queues_rx = sums.rx;
	counts->queues_tx = sums.tx;
	*n_tx = sums.n_tx;
	return 0;
}
