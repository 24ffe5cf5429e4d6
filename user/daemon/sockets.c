// SPDX-License-Identifier: GPL-2.0-only
/* See sockets.h. Dumps have a socket of their own, so that notifications stay in their order. */
#include "sockets.h"

#include <linux/rtnetlink.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "schedule.h"
#include "statistics.h"

static const unsigned int groups[] = {
	RTNLGRP_LINK,	      RTNLGRP_NEIGH,	   RTNLGRP_IPV6_IFADDR,
	RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV6_IFINFO, RTNLGRP_IPV6_RULE,
	RTNLGRP_IPV6_NETCONF, RTNLGRP_NEXTHOP,	   RTNLGRP_IPV6_PREFIX,
};

/* The "netdev" family reports which frames devices take. A kernel without it is no error. */
static int open_genl(struct sockets *sockets)
{
	struct nl_features_family family;
	int ret = nl_socket_new(NETLINK_GENERIC, 0, &sockets->genl);

	if (ret)
		return ret;
	ret = nl_features_family(sockets->genl, &family);
	if (ret || !family.id)
		return ret;
	ret = nl_socket_new(NETLINK_GENERIC, 0, &sockets->genl_notify);
	if (ret)
		return ret;
	ret = nl_socket_join(sockets->genl_notify, family.group);
	if (!ret)
		sockets->netdev_family = family.id;
	return ret;
}

int sockets_open(struct sockets *sockets, uint32_t rcvbuf_bytes)
{
	int ret = nl_socket_new(NETLINK_ROUTE, rcvbuf_bytes, &sockets->notify);

	if (!ret)
		ret = nl_socket_new(NETLINK_ROUTE, 0, &sockets->dump);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(groups); i++)
		ret = nl_socket_join(sockets->notify, groups[i]);
	return ret ? ret : open_genl(sockets);
}

void sockets_close(struct sockets *sockets)
{
	nl_socket_free(sockets->notify);
	nl_socket_free(sockets->dump);
	nl_socket_free(sockets->genl_notify);
	nl_socket_free(sockets->genl);
	free(sockets->queue.bytes);
}

bool sockets_follow(struct sockets *sockets, struct schedule *schedule,
		    struct statistics *statistics)
{
	uint64_t start_ns = util_now_ns();
	int ret = nl_socket_read(sockets->notify, sockets->apply, sockets->ctx);
	const bool all = ret >= 0 && ret < NL_SOCKET_READ_MAX;

	sockets->sent_after_ns = start_ns;
	if (ret < 0) {
		statistics->overruns++;
		schedule_tables(schedule, 0);
		log_warning_limited(
			"the kernel dropped notifications (%s): reading all tables again; raise rcvbuf if this repeats",
			strerror(-ret));
	}
	if (!sockets->genl_notify)
		return all;
	ret = nl_socket_read(sockets->genl_notify, sockets->apply_genl, sockets->ctx);
	if (ret < 0)
		schedule_tables(schedule, 0);
	return all;
}

static int add_to_queue(const struct nlmsghdr *nlh, void *ctx)
{
	struct sockets_queue *queue = ctx;
	size_t size = NLMSG_ALIGN(nlh->nlmsg_len);

	if (queue->overflow)
		return 0;
	if (queue->used + size > queue->capacity) {
		size_t capacity = queue->capacity ? 2 * queue->capacity : 1u << 16;
		char *bytes;

		while (capacity < queue->used + size)
			capacity *= 2;
		bytes = capacity > SOCKETS_QUEUE_MAX ? NULL : realloc(queue->bytes, capacity);
		if (!bytes) {
			queue->overflow = true;
			return 0;
		}
		queue->bytes = bytes;
		queue->capacity = capacity;
	}
	memset(queue->bytes + queue->used + size - NLMSG_ALIGNTO, 0, NLMSG_ALIGNTO);
	memcpy(queue->bytes + queue->used, nlh, nlh->nlmsg_len);
	queue->used += size;
	queue->routes_added += nlh->nlmsg_type == RTM_NEWROUTE;
	queue->routes_deleted += nlh->nlmsg_type == RTM_DELROUTE;
	return 0;
}

void sockets_enqueue(struct sockets *sockets)
{
	if (nl_socket_read(sockets->notify, add_to_queue, &sockets->queue) < 0)
		sockets->queue.overflow = true;
}

bool sockets_replay(struct sockets *sockets)
{
	struct sockets_queue *queue = &sockets->queue;
	const bool all = !queue->overflow;

	for (size_t at = 0; at < queue->used;) {
		const struct nlmsghdr *nlh = (const void *)(queue->bytes + at);

		sockets->apply(nlh, sockets->ctx);
		at += NLMSG_ALIGN(nlh->nlmsg_len);
	}
	free(queue->bytes);
	*queue = (struct sockets_queue){ 0 };
	return all;
}
