// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts about the wire come from the device under all VLAN devices: whether our program runs there,
 * whether it takes redirected frames, and how large they may be. IPv6 settings are the device's
 * own.
 *
 * Invariant: anything unknown makes packets pass.
 */
#include "port.h"

#include <string.h>

#include "../netlink/parse.h"
#include "icmp_source.h"
#include "kind.h"
#include "slaves.h"

#define IPV6_MIN_MTU_BYTES 1280	      /* RFC 8200, section 5; ip6_forward raises a smaller one */
#define XDP_ACT_NDO_XMIT_SG (1u << 6) /* NETDEV_XDP_ACT_NDO_XMIT_SG of linux/netdev.h */
#define TAG_BYTES sizeof(union sixlane_tag)

/* The devices that a port depends on. */
struct facts {
	const struct links *links;
	const struct resolve_port_policy *policy;
	const struct device *device;
	const struct device *bottom; /* under all tags; NULL: unknown */
	const struct device *vrf, *bond;
	unsigned int n_tags;
	union sixlane_tag tags[2];
};

/* is() holds for the device, or for a known one on the way down to the bottom. */
static bool any_below(const struct facts *facts, bool (*is)(const struct device *device))
{
	const struct device *device = facts->device;

	for (unsigned int tags = facts->n_tags; device; tags--) {
		if (is(device))
			return true;
		device = tags ? links_find(facts->links, device->link.lower) : NULL;
	}
	return false;
}

static bool is_down(const struct device *device)
{
	return !(device->link.flags & IFF_UP) || !device->link.carrier || device->routes_stale;
}

static bool has_unknown_program(const struct device *device)
{
	return device->link.xdp_mode == XDP_MODE_UNKNOWN;
}

/* A NIC that strips the outer tag makes the inner one look like it. */
static bool must_pass(const struct device *device)
{
	return device->pass || device->strips_tags || has_unknown_program(device);
}

/* A rule's tun_id can match packets of these devices only. */
static bool is_external(const struct device *device)
{
	return device->link.is_external;
}

static bool is_assumed_to_xmit(const struct device *device)
{
	return device->assume_xmit;
}

/* The tags have a priority that only the kernel knows. */
static bool maps_priority(const struct device *device)
{
	return device->link.vlan_maps_priority;
}

/* reorder_hdr off: the lower device gets frames with the tag in them (vlan_dev_hard_header()). */
static bool has_tag_in_frame(const struct device *device)
{
	return !strcmp(device->link.kind, "vlan") && !device->link.vlan_reorders;
}

/* --- what comes in -------------------------------------------------------------------------- */

static bool is_vrf_member(const struct device *device)
{
	return device->link.master && !strcmp(device->link.master_kind, "vrf");
}

/* A VRF that is down takes its members' packets and routes none of them. */
static bool vrf_serves(const struct facts *facts)
{
	return facts->vrf && facts->vrf->has_link && (facts->vrf->link.flags & IFF_UP) &&
	       facts->vrf->link.vrf_table;
}

/*
 * Packets of a slave count as the bond's if the slave is active. Two cases are left to the kernel:
 * a slave with a MAC of its own accepts other frames than the bond, and VLAN devices on the slave
 * itself receive their frames before the bond does.
 */
static uint32_t slave_flags(const struct facts *facts)
{
	const struct device *device = facts->device, *bond = facts->bond;

	if (!bond || !bond->ours)
		return 0;
	if (!device->link.slave_active)
		return SIXLANE_PORT_BACKUP;
	if (memcmp(device->link.mac, bond->link.mac, sizeof(bond->link.mac)) != 0 ||
	    links_tags_taken(facts->links, device))
		return SIXLANE_PORT_UPPER;
	return SIXLANE_PORT_SLAVE;
}

/* Local senders leave checksums to these devices, which pass them on incomplete. */
static bool hands_on_open_checksums(const struct device *device)
{
	return device->open_checksums || !strcmp(device->link.kind, "veth") ||
	       !strcmp(device->link.kind, "tun");
}

/* Of a bond: of any of its slaves. */
static bool may_have_open_checksums(const struct facts *facts)
{
	const struct device *bottom = facts->bottom;

	if (any_below(facts, hands_on_open_checksums))
		return true;
	for (size_t i = 0; bottom && i < facts->links->n; i++) {
		const struct device *slave = &facts->links->devices[i];

		if (slave->has_link && slave->link.master == bottom->ifindex &&
		    hands_on_open_checksums(slave))
			return true;
	}
	return false;
}

static uint32_t ingress_flags(const struct facts *facts)
{
	const struct device *device = facts->device, *bottom = facts->bottom;
	uint32_t flags = slave_flags(facts);

	if (((bottom && bottom->ours) || (facts->bond && facts->bond->ours)) &&
	    !any_below(facts, is_external))
		flags |= SIXLANE_PORT_INGRESS;
	if (any_below(facts, must_pass))
		flags |= SIXLANE_PORT_PASS;
	if (links_frames_taken(facts->links, device) ||
	    (is_vrf_member(device) && !vrf_serves(facts)))
		flags |= SIXLANE_PORT_UPPER;
	/* The bond's port does not have these flags of one slave. */
	if (flags & (SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER))
		flags &= ~SIXLANE_PORT_SLAVE;
	if (bottom && bottom->link.xdp_mode == XDP_MODE_GENERIC)
		flags |= SIXLANE_PORT_GENERIC;
	if (device->has_ipv6 && !device->ipv6.disabled)
		flags |= SIXLANE_PORT_IPV6;
	if (facts->links->forwarding || (device->has_ipv6 && device->ipv6.force_forwarding))
		flags |= SIXLANE_PORT_FORWARDING;
	if (may_have_open_checksums(facts))
		flags |= SIXLANE_PORT_OPEN_CHECKSUMS;
	if (facts->links->proxy_ndp)
		flags |= SIXLANE_PORT_PROXY_NDP;
	if (device->refused_mtu)
		flags |= SIXLANE_PORT_ATTACH_PENDING;
	return flags;
}

/* --- what leaves ---------------------------------------------------------------------------- */

/* A veth, or a bond with a veth among its slaves. */
static bool ends_in_veth(const struct links *links, const struct device *device)
{
	if (!strcmp(device->link.kind, "veth"))
		return true;
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == device->ifindex &&
		    !strcmp(slave->link.kind, "veth"))
			return true;
	}
	return false;
}

/*
 * Before Linux 6.3 no message says whether a driver takes redirected frames. Drivers of NICs do
 * while they run a native program. A veth does only if its peer runs one or has GRO on, which
 * cannot be seen from here, so that it is assumed not to. xdp_do_redirect() of these kernels drops
 * frames of several buffers.
 */
static uint32_t xmit_flags(const struct facts *facts)
{
	const struct device *bottom = facts->bottom;
	uint32_t flags = 0;

	if (facts->policy->features_announced) {
		if (!bottom->has_features || !(bottom->xdp_features & PARSE_XDP_ACT_NDO_XMIT))
			return 0;
		flags = SIXLANE_PORT_XMIT;
		if (bottom->xdp_features & XDP_ACT_NDO_XMIT_SG)
			flags |= SIXLANE_PORT_XMIT_FRAGS;
		return flags;
	}
	if (any_below(facts, is_assumed_to_xmit) ||
	    (bottom->program && bottom->link.xdp_mode == XDP_MODE_NATIVE &&
	     !ends_in_veth(facts->links, bottom)))
		flags = SIXLANE_PORT_XMIT;
	return flags;
}

/*
 * A frame must leave by the slave that the kernel uses for its flow, or packets are reordered. For
 * tagged frames bond_xmit_hash_xdp() hashes the tag, and bond_xmit_hash() the packet, because the
 * kernel keeps the tag out of band until then. So the datapath selects the slave of tagged frames.
 */
static uint32_t bond_flags(const struct facts *facts, struct sixlane_port *out)
{
	const struct device *bottom = facts->bottom;

	if (strcmp(bottom->link.kind, "bond") != 0)
		return 0;
	if (!resolve_slaves_are_plain(facts->links, bottom))
		return SIXLANE_PORT_UNSUPPORTED;
	if (bottom->link.bond_choice == BOND_CHOICE_STATE)
		return 0;
	if (bottom->link.bond_choice != BOND_CHOICE_UNKNOWN && !facts->n_tags)
		return 0;
	if (facts->policy->old_bonds || any_below(facts, has_tag_in_frame) ||
	    !resolve_slaves(facts->links, bottom, facts->n_tags, facts->tags, out))
		return SIXLANE_PORT_UNSUPPORTED;
	return SIXLANE_PORT_SLAVES;
}

static uint32_t egress_flags(const struct facts *facts, struct sixlane_port *out)
{
	uint32_t flags;

	if (!facts->bottom)
		return SIXLANE_PORT_UNSUPPORTED;
	flags = resolve_kind(&facts->bottom->link) | xmit_flags(facts) | bond_flags(facts, out);
	if (any_below(facts, maps_priority) || any_below(facts, has_unknown_program))
		flags |= SIXLANE_PORT_UNSUPPORTED;
	if (!any_below(facts, is_down))
		flags |= SIXLANE_PORT_UP;
	if (facts->n_tags)
		flags |= SIXLANE_PORT_TAGGED;
	return flags;
}

/*
 * SKIP: fib6 skips the device when it hashes over a multipath route (RTNH_F_DEAD, also set by
 * disable_ipv6). SKIP_OBJECT: next-hop objects of the device are deleted (nexthop_flush_dev()).
 */
static uint32_t skip_flags(const struct facts *facts)
{
	const struct device *device = facts->device;
	bool up = device->link.flags & IFF_UP;
	uint32_t flags = 0;

	if (!up || (device->has_ipv6 && device->ipv6.disabled) ||
	    links_ignored(facts->links, device->ifindex))
		flags |= SIXLANE_PORT_SKIP;
	if (!up || !device->link.carrier)
		flags |= SIXLANE_PORT_SKIP_OBJECT;
	return flags;
}

/*
 * A message with a smaller device MTU may still have the old IPv6 MTU, so that the smaller counts.
 * A redirected frame may exceed the device's MTU by one tag (xdp_ok_fwd_dev()); a larger one is
 * dropped, where the kernel would try to send it.
 */
static uint32_t port_mtu(const struct facts *facts)
{
	const struct device *device = facts->device;
	uint32_t mtu = device->link.mtu, limit;

	if (device->has_ipv6 && device->ipv6.mtu6 < mtu)
		mtu = device->ipv6.mtu6;
	if (mtu < IPV6_MIN_MTU_BYTES)
		mtu = IPV6_MIN_MTU_BYTES;
	if (!facts->n_tags)
		return mtu;
	limit = facts->bottom->link.mtu + TAG_BYTES;
	limit -= limit < facts->n_tags * TAG_BYTES ? limit : facts->n_tags * TAG_BYTES;
	return mtu < limit ? mtu : limit;
}

/* --- both ------------------------------------------------------------------------------------- */

static void set_tables(const struct facts *facts, struct sixlane_port *out)
{
	bool member = vrf_serves(facts);

	if (member) {
		out->flags |= SIXLANE_PORT_VRF;
		out->table = facts->vrf->link.vrf_table;
		out->iif = facts->vrf->ifindex;
	}
	if (rules_program_walk(facts->policy->rules, out->iif, member))
		out->flags |= SIXLANE_PORT_RULES;
}

static void set_wire(const struct facts *facts, struct sixlane_port *out)
{
	if (facts->n_tags) {
		out->tx_ifindex = facts->bottom->ifindex;
		out->lower = facts->device->link.lower;
		out->tag = facts->tags[facts->n_tags - 1];
		memcpy(out->tags, facts->tags, sizeof(out->tags));
	} else if (out->flags & SIXLANE_PORT_SLAVE) {
		out->lower = facts->bond->ifindex;
	}
}

void resolve_port(const struct links *links, const struct device *device,
		  const struct resolve_port_policy *policy, struct sixlane_port *out)
{
	struct facts facts = { .links = links, .policy = policy, .device = device };

	memset(out, 0, sizeof(*out));
	out->ifindex = out->iif = out->tx_ifindex = device->ifindex;
	out->table = SIXLANE_TABLE_MAIN;
	if (!device->has_link)
		return;
	facts.bottom = links_bottom(links, device, &facts.n_tags, facts.tags);
	if (!facts.bottom)
		facts.n_tags = 0;
	facts.vrf = links_vrf(links, device);
	facts.bond = links_bond(links, device);
	out->flags |= ingress_flags(&facts) | egress_flags(&facts, out) | skip_flags(&facts);
	out->flags |= resolve_icmp_source(links, device, policy->addrs, policy->rules, out);
	out->mtu = port_mtu(&facts);
	memcpy(out->mac.bytes, device->link.mac, sizeof(out->mac.bytes));
	set_tables(&facts, out);
	set_wire(&facts, out);
}
