// SPDX-License-Identifier: GPL-2.0-only
/* See sockets.h. Dumps have a socket of their own, so that notifications stay in their order. */
#include "sockets.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../lib/log.h"
#include "../netlink/socket_query.h"
#include "daemon.h"

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

/* --- messages --------------------------------------------------------------------------------- */

/* ret: 0, -ENOMSG (not for us), or -errno of a parser or store. object: for the log. */
static void report(struct sync *sync, const char *object, int ret)
{
	uint64_t delay_ns = 0;

	if (!ret || ret == -ENOMSG)
		return;
	if (ret == -EBADMSG) {
		sync->statistics.malformed++;
		log_warning_limited(
			"the kernel sent a malformed %s message; sixlaned ignores it and reads all tables again",
			object);
	}
	/* Nothing may be swept: the object is not in a store, and yet not gone. */
	if (ret == -EBADMSG || ret == -ENOMEM)
		sync->schedule.dump_damaged = true;
	/* Under a busy feed some replayed message never fits; at once would mean without end. */
	if (sync->schedule.replaying || ret == -ENOMEM)
		delay_ns = SCHEDULE_LATER_NS;
	schedule_tables(&sync->schedule, delay_ns);
}

/* Attributes are few: those from 63 on share a bit. */
void sockets_report_attr(struct statistics *statistics, enum report_object object,
			 uint16_t unknown_attr)
{
	static const char *const names[] = {
		[REPORT_ROUTE] = "route",	  [REPORT_NEXT_HOP] = "next hop",
		[REPORT_RULE] = "rule",		  [REPORT_DEVICE] = "device's XDP program",
		[REPORT_NEIGHBOUR] = "neighbour", [REPORT_ADDRESS] = "address",
	};
	uint64_t *reported = &statistics->unknown_reported[object];
	unsigned int attr = unknown_attr - 1u;
	uint64_t bit = 1ull << (attr < 63 ? attr : 63);

	if (!unknown_attr || *reported & bit)
		return;
	*reported |= bit;
	log_warning(
		"a %s has an unsupported attribute (number %u, or one nested in it): packets that depend on it pass to the kernel",
		names[object], attr);
}

/* Other types come from groups that we joined, and are of no consequence here. */
int sockets_apply(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;
	const struct sockets_handler *handler;

	if (nlh->nlmsg_type >= SOCKETS_N_TYPES)
		return 0;
	handler = &sync->sockets.handlers[nlh->nlmsg_type];
	if (handler->apply)
		report(sync, handler->object, handler->apply(sync, nlh));
	return 0;
}

int sockets_apply_features(const struct nlmsghdr *nlh, void *ctx)
{
	struct sync *sync = ctx;

	if (nlh->nlmsg_type == sync->sockets.netdev_family)
		report(sync, "device", sync->sockets.apply_features(sync, nlh));
	return 0;
}

bool sockets_follow(struct sync *sync)
{
	struct sockets *sockets = &sync->sockets;
	uint64_t start_ns = util_now_ns();
	int ret = nl_socket_read(sockets->notify, sockets_apply, sync);
	const bool all = ret >= 0 && ret < NL_SOCKET_READ_MAX;

	sockets->sent_after_ns = start_ns;
	if (ret < 0) {
		sync->statistics.overruns++;
		schedule_tables(&sync->schedule, 0);
		log_warning_limited(
			"the kernel dropped notifications (%s): reading all tables again; raise rcvbuf if this repeats",
			strerror(-ret));
	}
	if (!sockets->genl_notify)
		return all;
	ret = nl_socket_read(sockets->genl_notify, sockets_apply_features, sync);
	if (ret < 0)
		schedule_tables(&sync->schedule, 0);
	return all;
}

/* --- the queue of a dump ---------------------------------------------------------------------- */

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

bool sockets_replay(struct sync *sync)
{
	struct sockets_queue *queue = &sync->sockets.queue;
	const bool all = !queue->overflow;

	for (size_t at = 0; at < queue->used;) {
		const struct nlmsghdr *nlh = (const void *)(queue->bytes + at);

		sockets_apply(nlh, sync);
		at += NLMSG_ALIGN(nlh->nlmsg_len);
	}
	free(queue->bytes);
	*queue = (struct sockets_queue){ 0 };
	return all;
}
