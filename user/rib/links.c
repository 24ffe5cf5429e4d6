// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices, in an array sorted by ifindex: few, looked up often, changed seldom.
 */
#include "links.h"

#include <errno.h>
#include <linux/netconf.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

/*
 * Upper devices (by IFLA_LINK) that leave frames sent to the lower device's own MAC alone: they
 * take only tagged frames, another MAC's, or packets addressed to this machine. A veth names
 * its peer in IFLA_LINK.
 */
static const char *const harmless_uppers[] = {
	"vlan",	  "veth",   "macvlan", "macvtap",   "vxlan",	 "geneve", "gre",
	"gretap", "erspan", "ip6gre",  "ip6gretap", "ip6erspan", "ipip",   "sit",
	"ip6tnl", "vti",    "vti6",    "xfrm",	    "dummy",	 "netkit",
};

void links_clear(struct links *links)
{
	free(links->devices);
	*links = (struct links){ 0 };
}

static size_t lower_bound(const struct links *links, uint32_t ifindex)
{
	size_t low = 0, high = links->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (links->devices[middle].ifindex < ifindex)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct device *links_find(const struct links *links, uint32_t ifindex)
{
	size_t at = lower_bound(links, ifindex);

	return at < links->n && links->devices[at].ifindex == ifindex ? &links->devices[at] : NULL;
}

static struct device *find_or_add(struct links *links, uint32_t ifindex)
{
	size_t at = lower_bound(links, ifindex);

	if (at < links->n && links->devices[at].ifindex == ifindex)
		return &links->devices[at];
	if (links->n == links->capacity) {
		size_t capacity = links->capacity ? 2 * links->capacity : 16;
		struct device *devices =
			reallocarray(links->devices, capacity, sizeof(*links->devices));

		if (!devices)
			return NULL;
		links->devices = devices;
		links->capacity = capacity;
	}
	memmove(&links->devices[at + 1], &links->devices[at],
		(links->n - at) * sizeof(*links->devices));
	links->n++;
	links->devices[at] = (struct device){ .ifindex = ifindex, .generation = links->generation };
	return &links->devices[at];
}

static bool link_equal(const struct link *a, const struct link *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->kind, b->kind) && a->flags == b->flags &&
	       a->mtu == b->mtu && a->master == b->master && a->lower == b->lower &&
	       a->xdp_prog_id == b->xdp_prog_id && a->n_rx_queues == b->n_rx_queues &&
	       a->n_tx_queues == b->n_tx_queues && a->type == b->type &&
	       !memcmp(a->mac, b->mac, sizeof(a->mac)) && a->xdp_mode == b->xdp_mode &&
	       a->carrier == b->carrier && a->takes_frames == b->takes_frames;
}

int links_set(struct links *links, const struct link *link, bool *changed)
{
	struct device *device = find_or_add(links, link->ifindex);

	if (!device)
		return -ENOMEM;
	*changed = !device->has_link || !link_equal(&device->link, link);
	device->has_link = true;
	device->generation = links->generation;
	device->link = *link;
	return 0;
}

int links_set_ipv6(struct links *links, const struct link_ipv6 *ipv6, bool *changed)
{
	struct device *device = find_or_add(links, ipv6->ifindex);

	if (!device)
		return -ENOMEM;
	*changed = !device->has_ipv6 || device->ipv6.mtu6 != ipv6->mtu6 ||
		   device->ipv6.disabled != ipv6->disabled ||
		   device->ipv6.ignore_linkdown != ipv6->ignore_linkdown ||
		   device->ipv6.force_forwarding != ipv6->force_forwarding;
	device->has_ipv6 = true;
	device->ipv6 = *ipv6;
	return 0;
}

bool links_clear_ipv6(struct links *links, uint32_t ifindex)
{
	struct device *device = links_find(links, ifindex);
	bool had = device && device->has_ipv6;

	if (had)
		device->has_ipv6 = false;
	return had;
}

int links_set_features(struct links *links, uint32_t ifindex, uint64_t features, bool *changed)
{
	struct device *device = find_or_add(links, ifindex);

	if (!device)
		return -ENOMEM;
	*changed = !device->has_features || device->xdp_features != features;
	device->has_features = true;
	device->xdp_features = features;
	return 0;
}

bool links_set_netconf(struct links *links, const struct netconf *netconf)
{
	bool forwarding = links->forwarding, proxy_ndp = links->proxy_ndp;

	if (netconf->ifindex != NETCONFA_IFINDEX_ALL)
		return false;
	if (netconf->has_forwarding)
		links->forwarding = netconf->forwarding;
	if (netconf->has_proxy_ndp)
		links->proxy_ndp = netconf->proxy_ndp;
	return forwarding != links->forwarding || proxy_ndp != links->proxy_ndp;
}

void links_delete(struct links *links, uint32_t ifindex)
{
	struct device *device = links_find(links, ifindex);
	size_t at;

	if (!device)
		return;
	at = (size_t)(device - links->devices);
	links->n--;
	memmove(device, device + 1, (links->n - at) * sizeof(*device));
}

void links_mark(struct links *links)
{
	links->generation++;
}

size_t links_sweep(struct links *links)
{
	size_t kept = 0, gone;

	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].generation == links->generation)
			links->devices[kept++] = links->devices[i];
	gone = links->n - kept;
	links->n = kept;
	return gone;
}

bool links_ignored(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	/* without IFF_RUNNING the device is dormant, which counts as well */
	if (!device || !device->has_link ||
	    (device->link.carrier && (device->link.flags & IFF_RUNNING)))
		return false;
	return device->has_ipv6 && device->ipv6.ignore_linkdown;
}

static bool harmless_upper(const struct link *upper)
{
	if (upper->takes_frames)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(harmless_uppers); i++)
		if (!strcmp(upper->kind, harmless_uppers[i]))
			return true;
	return false;
}

void links_note_moved(struct links *links, const struct link *link)
{
	struct device *lower = link->lower ? links_find(links, link->lower) : NULL;

	if (lower && !harmless_upper(link))
		lower->taken_elsewhere = true;
}

void links_clear_doubts(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		links->devices[i].doubtful = false;
}

bool links_taken(const struct links *links, const struct device *device)
{
	if (device->link.master || device->taken_elsewhere)
		return true;
	for (size_t i = 0; i < links->n; i++) {
		const struct link *upper = &links->devices[i].link;

		if (links->devices[i].has_link && upper->lower == device->ifindex &&
		    upper->ifindex != device->ifindex && !harmless_upper(upper))
			return true;
	}
	return false;
}
