// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts about the wire come from the device under all VLAN devices: whether our program runs there,
 * whether it takes redirected frames, and how large they may be. IPv6 settings are the device's
 * own.
 *
 * Invariant: anything unknown makes packets pass, or leaves their transmission to the kernel.
 */
#include "port.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <string.h>

#include "../lib/util.h"
#include "../netlink/parse.h"

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

/* is() holds for a slave of the bond. */
static bool any_slave(const struct links *links, const struct device *bond,
		      bool (*is)(const struct device *slave))
{
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == bond->ifindex && is(slave))
			return true;
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

static bool may_have_open_checksums(const struct facts *facts)
{
	return any_below(facts, hands_on_open_checksums) ||
	       (facts->bottom && any_slave(facts->links, facts->bottom, hands_on_open_checksums));
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

/* A kind that is not listed is left to the kernel. */
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
	{ "tun", SIXLANE_PORT_TUNNEL }, /* without a link layer */
};

/* These transmit frames unchanged; a bond, by the slave that it selects. */
static const char *const plain_kinds[] = { "", "veth", "tun", "bond" };

/* 0: frames leave unchanged; else one of SIXLANE_PORT_NO_XMIT. */
static uint32_t kind_flag(const struct link *link)
{
	for (size_t i = 0; link->type == ARPHRD_ETHER && i < ARRAY_SIZE(plain_kinds); i++) {
		if (!strcmp(link->kind, plain_kinds[i]))
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(link->kind, kinds[i].kind))
			return kinds[i].flag;
	}
	return SIXLANE_PORT_UNSUPPORTED;
}

static bool is_veth(const struct device *device)
{
	return !strcmp(device->link.kind, "veth");
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
	    (bottom->program && bottom->link.xdp_mode == XDP_MODE_NATIVE && !is_veth(bottom) &&
	     !any_slave(facts->links, bottom, is_veth)))
		flags = SIXLANE_PORT_XMIT;
	return flags;
}

/* bond_slave_can_tx() */
static bool is_used(const struct link *slave)
{
	return slave->slave_active && slave->slave_link && slave->carrier && slave->flags & IFF_UP;
}

/* Its position is known, and it has the bond's MTU: a packet too big for one is so for all. */
static bool is_expressible(const struct device *slave, const struct device *bond)
{
	return slave->slave_place && slave->link.mtu == bond->link.mtu;
}

/* Keep the bond's order. False: too many. */
static bool insert(const struct device *found[SIXLANE_MAX_SLAVES], uint32_t *n,
		   const struct device *slave)
{
	uint32_t at = *n;

	if (*n == SIXLANE_MAX_SLAVES)
		return false;
	for (; at > 0 && found[at - 1]->slave_place > slave->slave_place; at--)
		found[at] = found[at - 1];
	found[at] = slave;
	++*n;
	return true;
}

static bool fill_list(const struct links *links, const struct device *bond,
		      struct sixlane_port *out)
{
	const struct device *found[SIXLANE_MAX_SLAVES];
	uint32_t n = 0;

	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (!slave->has_link || slave->link.master != bond->ifindex)
			continue;
		if (!is_expressible(slave, bond))
			return false;
		if (is_used(&slave->link) && !insert(found, &n, slave))
			return false;
	}
	for (uint32_t i = 0; i < n; i++)
		out->slaves[i] = found[i]->ifindex;
	out->n_slaves = n;
	return true;
}

/* A bond in a bond hashes redirected frames again, and a program may change them. */
static bool changes_frames(const struct device *slave)
{
	return kind_flag(&slave->link) || !strcmp(slave->link.kind, "bond") ||
	       has_unknown_program(slave);
}

/*
 * Set the hash by which a bond selects the slave for a frame (bond_update_slave_arr()), and the
 * list of slaves. False: only the kernel knows.
 */
static bool set_slaves(const struct facts *facts, struct sixlane_port *out)
{
	static const uint16_t hashes[] = {
		[BOND_CHOICE_L2] = SIXLANE_SLAVES_BY_L2,
		[BOND_CHOICE_L23] = SIXLANE_SLAVES_BY_L23,
		[BOND_CHOICE_L34] = SIXLANE_SLAVES_BY_L34,
	};
	const enum bond_choice choice = facts->bottom->link.bond_choice;

	if (choice < BOND_CHOICE_L2 || choice >= ARRAY_SIZE(hashes) ||
	    !fill_list(facts->links, facts->bottom, out))
		return false;
	/* An inner tag is part of the frame, and the kernel parses nothing after it. */
	out->slaves_by = facts->n_tags == 2 ? SIXLANE_SLAVES_BY_L2 : hashes[choice];
	out->slaves_type = facts->n_tags == 2 ? ntohs(facts->tags[1].tpid) : ETH_P_IPV6;
	return true;
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
	if (any_slave(facts->links, bottom, changes_frames))
		return SIXLANE_PORT_UNSUPPORTED;
	if (bottom->link.bond_choice == BOND_CHOICE_STATE ||
	    (bottom->link.bond_choice != BOND_CHOICE_UNKNOWN && !facts->n_tags))
		return 0;
	if (facts->policy->old_bonds || any_below(facts, has_tag_in_frame) ||
	    !set_slaves(facts, out))
		return SIXLANE_PORT_UNSUPPORTED;
	return SIXLANE_PORT_SLAVES;
}

static uint32_t egress_flags(const struct facts *facts, struct sixlane_port *out)
{
	uint32_t flags;

	if (!facts->bottom)
		return SIXLANE_PORT_UNSUPPORTED;
	flags = kind_flag(&facts->bottom->link) | xmit_flags(facts) | bond_flags(facts, out);
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
