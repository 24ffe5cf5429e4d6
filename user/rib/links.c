// SPDX-License-Identifier: GPL-2.0-only
/* An array sorted by ifindex: devices are few, looked up often, and change rarely. */
#include "links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netconf.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"

/*
 * Upper devices (by IFLA_LINK) that do not receive frames sent to the lower device's own MAC. They
 * receive tagged frames, frames for another MAC, or packets addressed to this machine. A veth names
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
	       a->carrier == b->carrier && a->takes_frames == b->takes_frames &&
	       a->is_external == b->is_external && !strcmp(a->master_kind, b->master_kind) &&
	       a->slave_active == b->slave_active && a->slave_link == b->slave_link &&
	       a->bond_choice == b->bond_choice && a->vrf_table == b->vrf_table &&
	       a->vlan_protocol == b->vlan_protocol && a->vlan_id == b->vlan_id &&
	       a->vlan_maps_priority == b->vlan_maps_priority &&
	       a->vlan_reorders == b->vlan_reorders;
}

int links_set(struct links *links, const struct link *link, bool *changed)
{
	struct device *device = find_or_add(links, link->ifindex);

	if (!device)
		return -ENOMEM;
	*changed = !device->has_link || !link_equal(&device->link, link);
	device->mtu_moves |= device->has_link && device->link.mtu != link->mtu;
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
		   device->ipv6.force_forwarding != ipv6->force_forwarding ||
		   device->ipv6.own_addrs_only != ipv6->own_addrs_only ||
		   device->ipv6.hop_limit != ipv6->hop_limit;
	device->has_ipv6 = true;
	device->ipv6 = *ipv6;
	device->mtu_moves &= device->link.mtu != ipv6->mtu6;
	return 0;
}

bool links_mtu_pending(const struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].has_ipv6 && links->devices[i].mtu_moves)
			return true;
	return false;
}

void links_mtu_clear(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		links->devices[i].mtu_moves = false;
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

/* addrconf_forward_change() of Linux 6.17 does this without a message. */
static void clear_force_forwarding(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		links->devices[i].ipv6.force_forwarding = false;
}

bool links_set_netconf(struct links *links, const struct netconf *netconf)
{
	bool forwarding = links->forwarding, proxy_ndp = links->proxy_ndp;

	if (netconf->ifindex != NETCONFA_IFINDEX_ALL)
		return false;
	if (forwarding && netconf->has_forwarding && !netconf->forwarding)
		clear_force_forwarding(links);
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

void links_sweep(struct links *links)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].generation == links->generation)
			links->devices[kept++] = links->devices[i];
	links->n = kept;
}

/*
 * Only the device's setting matters. Writing net.ipv6.conf.all's overwrites those of all devices
 * (addrconf_linkdown_change), which can then be changed one by one.
 */
bool links_ignored(const struct links *links, uint32_t ifindex)
{
	const struct device *device = links_find(links, ifindex);

	/* without IFF_RUNNING the device is dormant, which has the same effect */
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

/* Members of VRFs and bonds name them as their master, which links_frames_taken() handles. */
bool links_upper_takes(const struct link *upper)
{
	if (!upper)
		return true;
	return strcmp(upper->kind, "vrf") != 0 && strcmp(upper->kind, "bond") != 0 &&
	       !harmless_upper(upper);
}

const struct device *links_find_name(const struct links *links, const char *name)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].has_link && !strcmp(links->devices[i].link.name, name))
			return &links->devices[i];
	return NULL;
}

void links_set_moved(struct links *links, const struct link *link)
{
	struct device *lower = link->lower ? links_find(links, link->lower) : NULL;

	if (lower && !harmless_upper(link))
		lower->taken_elsewhere = true;
	if (lower && !strcmp(link->kind, "vlan"))
		lower->tags_elsewhere = true;
}

void links_clear_stale(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		links->devices[i].routes_stale = false;
}

/* The master, if it is known and of this kind. */
static const struct device *master_of(const struct links *links, const struct device *device,
				      const char *kind)
{
	const struct device *master =
		device->link.master ? links_find(links, device->link.master) : NULL;

	return master && !strcmp(master->link.kind, kind) ? master : NULL;
}

const struct device *links_vrf(const struct links *links, const struct device *device)
{
	const struct device *vrf = master_of(links, device, "vrf");

	return vrf && vrf->link.vrf_table ? vrf : NULL;
}

const struct device *links_bond(const struct links *links, const struct device *device)
{
	return master_of(links, device, "bond");
}

static bool is_vlan(const struct device *device)
{
	return !strcmp(device->link.kind, "vlan");
}

const struct device *links_bottom(const struct links *links, const struct device *device,
				  unsigned int *n_tags, union sixlane_tag tags[2])
{
	*n_tags = 0;
	tags[0].word = tags[1].word = 0;
	while (device && is_vlan(device)) {
		if (*n_tags == 2 || !device->link.vlan_protocol)
			return NULL;
		/* the lower device adds its tag later, so that it is the outer one */
		tags[1] = tags[0];
		tags[0].tpid = htons(device->link.vlan_protocol);
		tags[0].tci = htons(device->link.vlan_id);
		++*n_tags;
		device = links_find(links, device->link.lower);
	}
	return device && device->has_link ? device : NULL;
}

/* Links are announced one by one, so that they may form a loop for a moment. */
#define MAX_DEPTH 8u

static bool depends(const struct links *links, const struct device *device, uint32_t ifindex,
		    unsigned int depth)
{
	const uint32_t below[] = { device->link.master, is_vlan(device) ? device->link.lower : 0 };

	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		const struct device *next;

		if (!below[i])
			continue;
		if (below[i] == ifindex)
			return true;
		next = depth ? links_find(links, below[i]) : NULL;
		if (next && depends(links, next, ifindex, depth - 1))
			return true;
	}
	return false;
}

void links_each_dependent(const struct links *links, uint32_t ifindex,
			  void (*fn)(void *ctx, uint32_t ifindex), void *ctx)
{
	for (size_t i = 0; i < links->n; i++) {
		const struct device *device = &links->devices[i];

		if (device->ifindex != ifindex && depends(links, device, ifindex, MAX_DEPTH))
			fn(ctx, device->ifindex);
	}
}

bool links_tags_taken(const struct links *links, const struct device *device)
{
	for (size_t i = 0; i < links->n; i++) {
		const struct device *upper = &links->devices[i];

		if (upper->has_link && upper->link.lower == device->ifindex && is_vlan(upper))
			return true;
	}
	return device->tags_elsewhere;
}

/* A VRF routes what its members receive. Frames of a served bond are handled at its slaves. */
static bool master_takes(const struct links *links, const struct device *device)
{
	const struct device *bond = links_bond(links, device);

	return device->link.master && !links_vrf(links, device) && !(bond && bond->ours);
}

bool links_frames_taken(const struct links *links, const struct device *device)
{
	if (master_takes(links, device) || device->taken_elsewhere || device->owner[0])
		return true;
	for (size_t i = 0; i < links->n; i++) {
		const struct link *upper = &links->devices[i].link;

		if (links->devices[i].has_link && upper->lower == device->ifindex &&
		    upper->ifindex != device->ifindex && !harmless_upper(upper))
			return true;
	}
	return false;
}
