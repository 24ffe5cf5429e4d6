// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets forwarded in XDP do not touch the kernel's neighbour entries, which would go stale, never
 * be probed, and be collected under traffic. The datapath marks the neighbours that it uses, and
 * this tells the kernel so (NTF_USE: neigh_event_send, exactly what a packet forwarded by the
 * kernel does), so that its own timers and probes do the rest.
 */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "state.h"

/* Neighbours refreshed in one run, so that a table full of them does not hold up route changes. */
#define KEEP_BATCH 2048
#define KEEP_BUFFER_BYTES 32768
#define KEEP_MESSAGE_BYTES 128

#define USED_WORDS (SIXLANE_MAX_NEIGHBOURS / 64)

static void mark_used(void *ctx, uint32_t slot)
{
	uint64_t *used = ctx;

	used[slot / 64] |= 1ull << slot % 64;
}

/*
 * A reachable neighbour that is in use goes to DELAY and is probed, never stale. NTF_USE makes the
 * kernel forget NUD_PERMANENT (since 5.16): should an operator make a neighbour permanent between
 * the notifications just read and this message, it has to be resolved again.
 */
static bool wants_care(const struct neigh *neigh)
{
	return (neigh->state == NUD_REACHABLE || neigh->state == NUD_STALE) && !neigh->extended;
}

static void put_use(char *buf, const struct neigh *neigh)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *body;

	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST; /* no NLM_F_CREATE: a neighbour that is gone stays gone */
	body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
	body->ndm_family = AF_INET6;
	body->ndm_ifindex = (int)neigh->ifindex;
	body->ndm_flags = NTF_USE | (neigh->flags & (NTF_EXT_LEARNED | NTF_ROUTER));
	mnl_attr_put(nlh, NDA_DST, sizeof(neigh->addr), &neigh->addr);
}

static void send_batch(struct sync *sync, const char *buf, size_t size)
{
	int ret = size ? nl_socket_send(sync->dump, buf, size) : 0;

	if (ret)
		log_warning_limited(
			"cannot tell the kernel which neighbours are in use: %s; they may go stale",
			strerror(-ret));
}

static void send_used(struct sync *sync)
{
	char buf[KEEP_BUFFER_BYTES];
	size_t size = 0;
	unsigned int n = 0;
	uint32_t slot = sync->used_from;

	for (uint32_t i = 0; i < SIXLANE_MAX_NEIGHBOURS && n < KEEP_BATCH; i++, slot++) {
		const struct neigh *neigh;

		slot %= SIXLANE_MAX_NEIGHBOURS;
		if (!sync->used[slot / 64]) {
			uint32_t skip = 63 - slot % 64;

			i += skip;
			slot += skip;
			continue;
		}
		if (!(sync->used[slot / 64] & 1ull << slot % 64))
			continue;
		sync->used[slot / 64] &= ~(1ull << slot % 64);
		neigh = neighs_find(sync->neighs, sync->maps->neighbours[slot].key.ifindex,
				    &sync->maps->neighbours[slot].key.addr);
		if (!neigh || !wants_care(neigh))
			continue;
		put_use(buf + size, neigh);
		size += ((struct nlmsghdr *)(buf + size))->nlmsg_len;
		n++;
		if (size + KEEP_MESSAGE_BYTES > sizeof(buf)) {
			send_batch(sync, buf, size);
			size = 0;
		}
	}
	sync->used_from = slot % SIXLANE_MAX_NEIGHBOURS;
	send_batch(sync, buf, size);
}

void keeper_run(struct sync *sync)
{
	maps_take_used(sync->maps, mark_used, sync->used);
	send_used(sync);
}
