// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets forwarded in XDP do not touch the kernel's neighbour entries, which would go stale, never
 * be probed, and be collected under traffic. The datapath marks the neighbours that it uses, and
 * this tells the kernel so (NTF_USE: neigh_event_send, exactly what a packet forwarded by the
 * kernel does), so that its own timers and probes do the rest. The same for gateways of multipath
 * routes and of the operator's exceptions that wait to be resolved.
 */
#include "neigh_refresh.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "daemon.h"
#include "operator.h"
#include "parity.h"

/* Neighbours refreshed in one run, so that a table full of them does not hold up route changes. */
#define KEEP_BATCH 2048
#define KEEP_BUFFER_BYTES 32768
#define KEEP_MESSAGE_BYTES 128

static void mark_used(void *ctx, uint32_t slot)
{
	struct sync *sync = ctx;

	neigh_refresh_mark(&sync->refresh, slot);
	parity_add_neighbour(sync->parity, slot);
}

/*
 * Linux 6.17: found by others (of an EVPN, say), probed when in use, and kept if nobody answers.
 * The kernel takes it back from whom a message does not give it again.
 */
#define EXT_VALIDATED (1u << 2) /* NTF_EXT_EXT_VALIDATED */

/*
 * A reachable neighbour that is in use goes to DELAY and is probed, never stale. NTF_USE makes the
 * kernel forget NUD_PERMANENT (since 5.16): should an operator make a neighbour permanent between
 * the notifications just read and this message, it has to be resolved again.
 */
static bool wants_care(const struct neigh *neigh)
{
	return neigh->state == NUD_REACHABLE || neigh->state == NUD_STALE;
}

/* The kernel refreshes NTF_EXT_MANAGED ones itself, and NTF_USE would clear what is not known. */
static bool is_others(const struct neigh *neigh)
{
	return neigh->unknown_attr || neigh->flags_ext & ~EXT_VALIDATED;
}

/*
 * A gateway that packets are for and that nobody resolves: with a single next hop the packets
 * passed to the kernel would make it do so, but of a multipath route it may send them to another
 * member.
 */
static bool wants_resolving(const struct neigh *neigh)
{
	return !neigh || neigh->state == NUD_NONE || neigh->state == NUD_FAILED;
}

/* Without NLM_F_CREATE a neighbour that is gone stays gone. */
static void put_use(char *buf, const struct neigh *neigh, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *body;

	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body));
	body->ndm_family = AF_INET6;
	body->ndm_ifindex = (int)neigh->ifindex;
	body->ndm_flags = NTF_USE | (neigh->flags & (NTF_EXT_LEARNED | NTF_ROUTER));
	mnl_attr_put(nlh, NDA_DST, sizeof(neigh->addr), &neigh->addr);
	if (neigh->flags_ext)
		mnl_attr_put_u32(nlh, NDA_FLAGS_EXT, neigh->flags_ext);
}

/* Whether a slot without a MAC is a gateway's; what was on-link and is gone has no slot any more.
 */
static bool is_gateway(const struct sync *sync, uint32_t slot, const struct sixlane_neigh_key *key)
{
	return key->ifindex && maps_neigh_slot(sync->maps, key->ifindex, &key->addr) == slot;
}

/* Put into buf what the kernel should be told of a neighbour in use. Returns the bytes. */
static size_t put_care(struct sync *sync, uint32_t slot, char *buf)
{
	const struct sixlane_neigh_key *key = &sync->maps->neighbours[slot].key;
	const struct neigh *neigh = neighs_find(sync->stores.neighs, key->ifindex, &key->addr);
	const struct neigh unknown = {
		.ifindex = key->ifindex,
		.addr = key->addr,
		.flags = neigh ? neigh->flags : 0,
		.flags_ext = neigh ? neigh->flags_ext : 0,
	};

	if (neigh && is_others(neigh))
		return 0;
	if (neigh && wants_care(neigh))
		put_use(buf, neigh, 0);
	else if (wants_resolving(neigh) && is_gateway(sync, slot, key))
		put_use(buf, &unknown, NLM_F_CREATE);
	else
		return 0;
	return ((struct nlmsghdr *)buf)->nlmsg_len;
}

static void send_batch(struct sync *sync, const char *buf, size_t size)
{
	int ret = size ? nl_socket_send(sync->sockets.dump, buf, size) : 0;

	if (ret)
		log_warning_limited(
			"cannot refresh the neighbours in use: %s; they may become stale",
			strerror(-ret));
}

static void send_used(struct sync *sync)
{
	char buf[KEEP_BUFFER_BYTES];
	size_t size = 0;
	unsigned int n = 0;
	uint32_t slot = sync->refresh.from;

	for (uint32_t i = 0; i < SIXLANE_MAX_NEIGHBOURS && n < KEEP_BATCH; i++, slot++) {
		size_t more;

		slot %= SIXLANE_MAX_NEIGHBOURS;
		if (!sync->refresh.used[slot / 64]) {
			uint32_t skip = 63 - slot % 64;

			i += skip;
			slot += skip;
			continue;
		}
		if (!(sync->refresh.used[slot / 64] & 1ull << slot % 64))
			continue;
		sync->refresh.used[slot / 64] &= ~(1ull << slot % 64);
		more = put_care(sync, slot, buf + size);
		size += more;
		n += more != 0;
		if (size + KEEP_MESSAGE_BYTES > sizeof(buf)) {
			send_batch(sync, buf, size);
			size = 0;
		}
	}
	sync->refresh.from = slot % SIXLANE_MAX_NEIGHBOURS;
	send_batch(sync, buf, size);
}

void neigh_refresh_run(struct sync *sync)
{
	parity_reset_neighbours(sync->parity);
	maps_take_used(sync->maps, mark_used, sync);
	operator_mark_gateways(sync);
	send_used(sync);
}
