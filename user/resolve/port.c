// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath should know of a port. What is asked of the wire (does a program of ours run
 * there, are redirected frames taken, how large may they be) is asked of the device under all VLAN
 * devices; what IPv6 or the operator says of a device is its own.
 *
 * Invariant: what is not known makes packets pass.
 */
#include "port.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <string.h>

#include "../lib/util.h"
#include "../netlink/parse.h"

#define IPV6_MIN_MTU_BYTES 1280	      /* RFC 8200, section 5; ip6_forward raises a smaller one */
#define XDP_ACT_NDO_XMIT_SG (1u << 6) /* NETDEV_XDP_ACT_NDO_XMIT_SG of linux/netdev.h */
#define TAG_BYTES sizeof(union sixlane_tag)

/* A port in the making, and the devices that it depends on. */
struct facts {
	const struct links *links;
	const struct resolve_port_policy *policy;
	const struct device *device;
	const struct device *bottom; /* under all tags; NULL: not known */
	const struct device *vrf, *bond;
	unsigned int n_tags;
	union sixlane_tag tags[2];
};

/* Whether something is true of the device or of one on the way down, as far as that is known. */
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
	return !(device->link.flags & IFF_UP) || !device->link.carrier || device->doubtful;
}

static bool has_unknown_program(const struct device *device)
{
	return device->link.xdp_mode == XDP_MODE_UNKNOWN;
}

/* Where a NIC takes the outer tag off, the inner one would be taken for it. */
static bool is_to_pass(const struct device *device)
{
	return device->pass || device->strips_tags || has_unknown_program(device);
}

/* A rule's tun_id may hold for its packets, as it does for no others. */
static bool keeps_tunnel(const struct device *device)
{
	return device->link.keeps_tunnel;
}

static bool is_assumed_to_take(const struct device *device)
{
	return device->assume_xmit;
}

/* Frames to the wire would carry a priority that only the kernel knows. */
static bool maps_priority(const struct device *device)
{
	return device->link.vlan_maps_priority;
}

/* reorder_hdr off: the device below gets frames with the tag in place (vlan_dev_hard_header()). */
static bool has_tag_in_frame(const struct device *device)
{
	return !strcmp(device->link.kind, "vlan") && !device->link.vlan_reorders;
}

/* --- what comes in -------------------------------------------------------------------------- */

static bool is_vrf_member(const struct device *device)
{
	return device->link.master && !strcmp(device->link.master_kind, "vrf");
}

/* A VRF that is down takes its members' packets and leads them nowhere. */
static bool vrf_serves(const struct facts *facts)
{
	return facts->vrf && facts->vrf->has_link && (facts->vrf->link.flags & IFF_UP) &&
	       facts->vrf->link.vrf_table;
}

/*
 * What comes in by a slave came in by its bond, if the bond listens to it. With another MAC than
 * the bond's, frames are for this router that are not sent to the bond's; and VLAN devices on the
 * slave itself take their tags off before the bond sees a frame.
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

/* Senders beside these leave checksums to the device, which hands them on as they are. */
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
	    !any_below(facts, keeps_tunnel))
		flags |= SIXLANE_PORT_INGRESS;
	if (any_below(facts, is_to_pass))
		flags |= SIXLANE_PORT_PASS;
	if (links_taken(facts->links, device) || (is_vrf_member(device) && !vrf_serves(facts)))
		flags |= SIXLANE_PORT_UPPER;
	/* The bond's port knows nothing of what holds for this slave alone. */
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
		flags |= SIXLANE_PORT_WAITS;
	return flags;
}

/* --- what leaves ---------------------------------------------------------------------------- */

static const struct {
	const char *kind; /* IFLA_INFO_KIND */
	uint32_t flag;
} kinds[] = {
	{ "bridge", SIXLANE_PORT_BRIDGE },    { "macvlan", SIXLANE_PORT_MACVLAN },
	{ "macvtap", SIXLANE_PORT_MACVLAN },  { "ipvlan", SIXLANE_PORT_MACVLAN },
	{ "ipvtap", SIXLANE_PORT_MACVLAN },   { "sit", SIXLANE_PORT_TUNNEL },
	{ "ip6tnl", SIXLANE_PORT_TUNNEL },    { "ipip", SIXLANE_PORT_TUNNEL },
	{ "gre", SIXLANE_PORT_TUNNEL },	      { "gretap", SIXLANE_PORT_TUNNEL },
	{ "ip6gre", SIXLANE_PORT_TUNNEL },    { "ip6gretap", SIXLANE_PORT_TUNNEL },
	{ "erspan", SIXLANE_PORT_TUNNEL },    { "ip6erspan", SIXLANE_PORT_TUNNEL },
	{ "vti", SIXLANE_PORT_TUNNEL },	      { "vti6", SIXLANE_PORT_TUNNEL },
	{ "xfrm", SIXLANE_PORT_TUNNEL },      { "vxlan", SIXLANE_PORT_TUNNEL },
	{ "geneve", SIXLANE_PORT_TUNNEL },    { "bareudp", SIXLANE_PORT_TUNNEL },
	{ "gtp", SIXLANE_PORT_TUNNEL },	      { "ppp", SIXLANE_PORT_TUNNEL },
	{ "wireguard", SIXLANE_PORT_TUNNEL }, { "ovpn", SIXLANE_PORT_TUNNEL },
	{ "tun", SIXLANE_PORT_TUNNEL }, /* without a link layer, see below */
};

/* Frames given to these reach the wire, or the slave that the bond chooses, as they are. */
static const char *const plain_kinds[] = { "", "veth", "tun", "bond" };

uint32_t resolve_kind(const struct link *link)
{
	for (size_t i = 0; link->type == ARPHRD_ETHER && i < ARRAY_SIZE(plain_kinds); i++) {
		if (!strcmp(link->kind, plain_kinds[i]))
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(link->kind, kinds[i].kind))
			return kinds[i].flag;
	}
	return SIXLANE_PORT_STRANGE;
}

/* Of a veth, or a bond with one among its slaves. */
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
 * Before Linux 6.3 nothing says whether a driver takes redirected frames. Drivers of real NICs do
 * while they run a native program. A veth does only if its peer runs one or has GRO on,
 * which cannot be seen from here: in doubt no. Frames of several buffers are not redirected at all
 * then: xdp_do_redirect() drops them.
 */
static uint32_t xmit_flags(const struct facts *facts)
{
	const struct device *bottom = facts->bottom;
	uint32_t flags = 0;

	if (facts->policy->kernel_tells) {
		if (!bottom->has_features || !(bottom->xdp_features & PARSE_XDP_ACT_NDO_XMIT))
			return 0;
		flags = SIXLANE_PORT_XMIT;
		if (bottom->xdp_features & XDP_ACT_NDO_XMIT_SG)
			flags |= SIXLANE_PORT_XMIT_FRAGS;
		return flags;
	}
	if (any_below(facts, is_assumed_to_take) ||
	    (bottom->program && bottom->link.xdp_mode == XDP_MODE_NATIVE &&
	     !ends_in_veth(facts->links, bottom)))
		flags = SIXLANE_PORT_XMIT;
	return flags;
}

/*
 * A frame that leaves by another slave than the kernel's others of its flow overtakes them.
 * bond_xmit_hash_xdp() sees a tag where bond_xmit_hash() sees the packet: the kernel keeps the tag
 * beside the frame until it has chosen. So the datapath chooses the slave of a tagged frame.
 */
static uint32_t bond_flags(const struct facts *facts, struct sixlane_port *out)
{
	const struct device *bottom = facts->bottom;

	if (strcmp(bottom->link.kind, "bond") != 0)
		return 0;
	if (!resolve_slaves_are_plain(facts->links, bottom))
		return SIXLANE_PORT_STRANGE;
	if (bottom->link.bond_choice == BOND_CHOICE_STATE)
		return 0;
	if (bottom->link.bond_choice != BOND_CHOICE_UNKNOWN && !facts->n_tags)
		return 0;
	if (any_below(facts, has_tag_in_frame) ||
	    !resolve_slaves(facts->links, bottom, facts->policy, facts->n_tags, facts->tags, out))
		return SIXLANE_PORT_STRANGE;
	return SIXLANE_PORT_SLAVES;
}

static uint32_t egress_flags(const struct facts *facts, struct sixlane_port *out)
{
	uint32_t flags;

	if (!facts->bottom)
		return SIXLANE_PORT_STRANGE;
	flags = resolve_kind(&facts->bottom->link) | xmit_flags(facts) | bond_flags(facts, out);
	if (any_below(facts, maps_priority) || any_below(facts, has_unknown_program))
		flags |= SIXLANE_PORT_STRANGE;
	if (!any_below(facts, is_down))
		flags |= SIXLANE_PORT_UP;
	if (facts->n_tags)
		flags |= SIXLANE_PORT_TAGGED;
	return flags;
}

/*
 * Whom fib6 leaves out when it hashes over a set (RTNH_F_DEAD: also while disable_ipv6 is set), and
 * who vanishes with its next-hop object (nexthop_flush_dev()).
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
 * An announcement of a smaller device MTU may still carry the old one of IPv6: the smaller counts.
 * A redirected frame may be a tag longer than the MTU of the device that it is given to
 * (xdp_ok_fwd_dev()); what is over that is lost, where the kernel would have tried to send it.
 */
static uint32_t port_mtu(const struct facts *facts)
{
	const struct device *device = facts->device;
	uint32_t mtu = device->link.mtu, taken;

	if (device->has_ipv6 && device->ipv6.mtu6 < mtu)
		mtu = device->ipv6.mtu6;
	if (mtu < IPV6_MIN_MTU_BYTES)
		mtu = IPV6_MIN_MTU_BYTES;
	if (!facts->n_tags)
		return mtu;
	taken = facts->bottom->link.mtu + TAG_BYTES;
	taken -= taken < facts->n_tags * TAG_BYTES ? taken : facts->n_tags * TAG_BYTES;
	return mtu < taken ? mtu : taken;
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
	out->flags |= resolve_answer(links, device, policy, out);
	out->mtu = port_mtu(&facts);
	memcpy(out->mac.bytes, device->link.mac, sizeof(out->mac.bytes));
	set_tables(&facts, out);
	set_wire(&facts, out);
}
