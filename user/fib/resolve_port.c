// SPDX-License-Identifier: GPL-2.0-only
#include "resolve_port.h"

#include <net/if_arp.h>
#include <string.h>

#include "../netlink/parse.h"

#define IPV6_MIN_MTU_BYTES 1280 /* RFC 8200, section 5; ip6_forward raises a smaller one to it */

/*
 * Frames given to these reach the wire as they are. A bond, bridge, VLAN, macvlan or tunnel changes
 * or steers them, which the datapath does not do yet.
 */
static bool plain_ethernet(const struct link *link)
{
	return link->type == ARPHRD_ETHER &&
	       (!*link->kind || !strcmp(link->kind, "veth") || !strcmp(link->kind, "tun"));
}

/*
 * Before Linux 6.3 nothing says whether a driver takes redirected frames. Drivers of real NICs do
 * while they run a native program. A veth does only if its peer runs one or has GRO on,
 * which cannot be seen from here: in doubt no.
 */
static bool takes_redirected(const struct device *device, const struct resolve_port_policy *policy)
{
	if (policy->kernel_tells)
		return device->has_features && (device->xdp_features & PARSE_XDP_ACT_NDO_XMIT);
	if (policy->assume_xmit)
		return true;
	return device->program && device->link.xdp_mode == XDP_MODE_NATIVE &&
	       strcmp(device->link.kind, "veth") != 0;
}

static uint32_t port_flags(const struct links *links, const struct device *device,
			   const struct resolve_port_policy *policy)
{
	const struct link *link = &device->link;
	uint32_t flags = 0;

	if (device->ours)
		flags |= SIXLANE_PORT_INGRESS;
	if (policy->pass || device->strips_tags)
		flags |= SIXLANE_PORT_PASS;
	if (links_taken(links, device))
		flags |= SIXLANE_PORT_UPPER;
	if (device->has_ipv6 && !device->ipv6.disabled)
		flags |= SIXLANE_PORT_IPV6;
	if (links->forwarding || (device->has_ipv6 && device->ipv6.force_forwarding))
		flags |= SIXLANE_PORT_FORWARDING;
	if ((link->flags & IFF_UP) && link->carrier && !device->doubtful)
		flags |= SIXLANE_PORT_UP;
	if (takes_redirected(device, policy))
		flags |= SIXLANE_PORT_XMIT;
	if (plain_ethernet(link))
		flags |= SIXLANE_PORT_ETHER;
	if (link->xdp_mode == XDP_MODE_GENERIC)
		flags |= SIXLANE_PORT_GENERIC;
	if (links->proxy_ndp)
		flags |= SIXLANE_PORT_PROXY_NDP;
	return flags;
}

/* An announcement of a smaller device MTU may still carry the old one of IPv6: the smaller counts.
 */
static uint32_t port_mtu(const struct device *device)
{
	uint32_t mtu = device->link.mtu;

	if (device->has_ipv6 && device->ipv6.mtu6 < mtu)
		mtu = device->ipv6.mtu6;
	return mtu < IPV6_MIN_MTU_BYTES ? IPV6_MIN_MTU_BYTES : mtu;
}

void resolve_port(const struct links *links, const struct device *device,
		  const struct resolve_port_policy *policy, struct sixlane_port *out)
{
	*out = (struct sixlane_port){ .ifindex = device->ifindex, .table = SIXLANE_TABLE_MAIN };
	if (!device->has_link)
		return;
	out->flags = port_flags(links, device, policy);
	out->mtu = port_mtu(device);
	memcpy(out->mac.bytes, device->link.mac, sizeof(out->mac.bytes));
}
