// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notifications that wait for the end of a dump, copied one after the other.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "state.h"

void queue_clear(struct sync_queue *queue)
{
	free(queue->bytes);
	*queue = (struct sync_queue){ 0 };
}

void queue_add(struct sync_queue *queue, const struct nlmsghdr *nlh)
{
	size_t size = NLMSG_ALIGN(nlh->nlmsg_len);

	if (queue->overflow)
		return;
	if (queue->used + size > queue->capacity) {
		size_t capacity = queue->capacity ? 2 * queue->capacity : 1u << 16;
		char *bytes;

		while (capacity < queue->used + size)
			capacity *= 2;
		bytes = capacity > SYNC_QUEUE_MAX ? NULL : realloc(queue->bytes, capacity);
		if (!bytes) {
			queue->overflow = true;
			return;
		}
		queue->bytes = bytes;
		queue->capacity = capacity;
	}
	memset(queue->bytes + queue->used + size - NLMSG_ALIGNTO, 0, NLMSG_ALIGNTO);
	memcpy(queue->bytes + queue->used, nlh, nlh->nlmsg_len);
	queue->used += size;
	queue->routes_added += nlh->nlmsg_type == RTM_NEWROUTE;
	queue->routes_deleted += nlh->nlmsg_type == RTM_DELROUTE;
}
