// SPDX-License-Identifier: GPL-2.0-only
/*
 * See neigh_refresh.h. Packets forwarded in XDP do not touch the kernel's neighbour entries. These
 * would go stale, never be probed, and be collected under traffic. The datapath marks the
 * neighbours that it uses. For each of them a message with NTF_USE has the same effect as a packet
 * that the kernel forwards (neigh_event_send), so that the kernel's own timers and probes do the
 * rest. Gateways of multipath routes and of the operator's exceptions that are not resolved get the
 * same message.
 */
#include "neigh_refresh.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "daemon.h"
#include "operator.h"
#include "parity.h"

/* Neighbours refreshed in one run: a full table of them must not delay route changes. */
#define REFRESH_BATCH 2048
#define REFRESH_BUFFER_BYTES 32768
#define REFRESH_MESSAGE_BYTES 128

static void mark_used(void *ctx, uint32_t slot)
{
	struct sync *sync = ctx;

	neigh_refresh_mark(&sync->refresh, slot);
	parity_add_neighbour(sync->parity, slot);
}

/*
 * Linux 6.17: learned from elsewhere (an EVPN, say), probed when in use, and kept if nobody
 * answers. A message without the flag clears it.
 */
#define EXT_VALIDATED (1u << 2) /* NTF_EXT_EXT_VALIDATED */

/*
 * A reachable neighbour in use goes to DELAY and is probed; it never becomes stale. NTF_USE clears
 * NUD_PERMANENT (since Linux 5.16): a neighbour that an operator made permanent since the last
 * notification must be resolved again.
 */
static bool needs_refresh(const struct neigh *neigh)
{
	return neigh->state == NUD_REACHABLE || neigh->state == NUD_STALE;
}

/* The kernel refreshes NTF_EXT_MANAGED entries itself, and NTF_USE would clear unknown flags. */
static bool is_managed_elsewhere(const struct neigh *neigh)
{
	return neigh->unknown_attr || neigh->flags_ext & ~EXT_VALIDATED;
}

/*
 * A gateway that packets need and that nobody resolves. With a single next hop the passed packets
 * make the kernel resolve it; of a multipath route it may send them by another member.
 */
static bool needs_resolving(const struct neigh *neigh)
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

/* Whether the slot is in use. Neighbours on a link that are gone have no slot any more. */
static bool has_slot(const struct maps *maps, uint32_t slot, const struct sixlane_neigh_key *key)
{
	return key->ifindex && maps_neigh_slot(maps, key->ifindex, &key->addr) == slot;
}

/* Put the message about a neighbour in use, if it needs one. Returns its bytes. */
static size_t put_message(struct sync *sync, uint32_t slot, char *buf)
{
	const struct sixlane_neigh_key *key = &sync->maps->neighbours[slot].key;
	const struct neigh *neigh = neighs_find(sync->stores.neighs, key->ifindex, &key->addr);
	const struct neigh unknown = {
		.ifindex = key->ifindex,
		.addr = key->addr,
		.flags = neigh ? neigh->flags : 0,
		.flags_ext = neigh ? neigh->flags_ext : 0,
	};

	if (neigh && is_managed_elsewhere(neigh))
		return 0;
	if (neigh && needs_refresh(neigh))
		put_use(buf, neigh, 0);
	else if (needs_resolving(neigh) && has_slot(sync->maps, slot, key))
		put_use(buf, &unknown, NLM_F_CREATE);
	else
		return 0;
	return ((struct nlmsghdr *)buf)->nlmsg_len;
}

static void send_batch(struct sockets *sockets, const char *buf, size_t size)
{
	int ret = size ? nl_socket_send(sockets->dump, buf, size) : 0;

	if (ret)
		log_warning_limited(
			"cannot refresh the neighbours in use: %s; they may become stale",
			strerror(-ret));
}

static void send_used(struct sync *sync)
{
	const uint32_t n_words = SIXLANE_MAX_NEIGHBOURS / 64;
	char buf[REFRESH_BUFFER_BYTES];
	size_t size = 0;
	unsigned int n = 0;
	uint32_t word = sync->refresh.from;

	for (uint32_t i = 0; i < n_words && n + 64 <= REFRESH_BATCH; i++) {
		uint64_t *used = &sync->refresh.used[word];

		for (; *used; *used &= *used - 1) {
			const uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(*used);
			const size_t more = put_message(sync, slot, buf + size);

			size += more;
			n += more != 0;
			if (size + REFRESH_MESSAGE_BYTES > sizeof(buf)) {
				send_batch(&sync->sockets, buf, size);
				size = 0;
			}
		}
		word = (word + 1) % n_words;
	}
	sync->refresh.from = word;
	send_batch(&sync->sockets, buf, size);
}

void neigh_refresh_run(struct sync *sync)
{
	parity_reset_neighbours(sync->parity);
	maps_take_used(sync->maps, mark_used, sync);
	operator_mark_gateways(sync);
	send_used(sync);
}
