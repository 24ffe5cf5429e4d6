// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: RTM_NEWLINK and RTM_DELLINK, with names, the attributes of their kinds (IFLA_LINKINFO)
 * and of IPv6 (IFLA_INET6_CONF), and RTM_NEWNETCONF. Newer kernels have more values at the end of
 * the array in IFLA_INET6_CONF: a value beyond its end is 0.
 */
#include "parse.h"

#include <arpa/inet.h>
#include <linux/if.h> /* IFF_LOWER_UP, which net/if.h lacks */
#include <linux/if_arp.h>
#include <linux/if_bonding.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/if_vlan.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "parse_attr.h"

#define DEVCONF_FORCE_FORWARDING_6_17 59 /* DEVCONF_FORCE_FORWARDING of Linux 6.17 */

static const struct attr_spec link_attrs[] = {
	[IFLA_ADDRESS] = ATTR_ANY,	 [IFLA_IFNAME] = ATTR_STRING(IFNAMSIZ),
	[IFLA_MTU] = ATTR_U32,		 [IFLA_LINK] = ATTR_U32,
	[IFLA_MASTER] = ATTR_U32,	 [IFLA_PROTINFO] = ATTR_NEST,
	[IFLA_LINKINFO] = ATTR_NEST,	 [IFLA_AF_SPEC] = ATTR_NEST,
	[IFLA_NUM_TX_QUEUES] = ATTR_U32, [IFLA_NUM_RX_QUEUES] = ATTR_U32,
	[IFLA_NEW_NETNSID] = ATTR_U32,	 [IFLA_NEW_IFINDEX] = ATTR_U32,
	[IFLA_LINK_NETNSID] = ATTR_U32,	 [IFLA_XDP] = ATTR_NEST,
};
#define N_LINK_ATTRS ARRAY_SIZE(link_attrs)

static const struct attr_spec link_info_attrs[] = {
	[IFLA_INFO_KIND] = ATTR_STRING(UINT16_MAX),
	[IFLA_INFO_DATA] = ATTR_ANY,
	[IFLA_INFO_SLAVE_KIND] = ATTR_STRING(UINT16_MAX),
	[IFLA_INFO_SLAVE_DATA] = ATTR_ANY,
};

static const struct attr_spec macvlan_attrs[] = {
	[IFLA_MACVLAN_MODE] = ATTR_U32,
};

static const struct attr_spec vlan_attrs[] = {
	[IFLA_VLAN_ID] = ATTR_U16,
	[IFLA_VLAN_FLAGS] = ATTR_MIN(sizeof(struct ifla_vlan_flags)),
	[IFLA_VLAN_EGRESS_QOS] = ATTR_NEST,
	[IFLA_VLAN_PROTOCOL] = ATTR_U16,
};

/* Tunnels without Ethernet headers are no ports. */
static const struct attr_spec vxlan_attrs[] = {
	[IFLA_VXLAN_COLLECT_METADATA] = ATTR_U8,
};

static const struct attr_spec geneve_attrs[] = {
	[IFLA_GENEVE_COLLECT_METADATA] = ATTR_ANY,
};

static const struct attr_spec gre_attrs[] = {
	[IFLA_GRE_COLLECT_METADATA] = ATTR_ANY,
};

static const struct attr_spec vrf_attrs[] = {
	[IFLA_VRF_TABLE] = ATTR_U32,
};

static const struct attr_spec bond_attrs[] = {
	[IFLA_BOND_MODE] = ATTR_U8,
	[IFLA_BOND_XMIT_HASH_POLICY] = ATTR_U8,
};

static const struct attr_spec bond_slave_attrs[] = {
	[IFLA_BOND_SLAVE_STATE] = ATTR_U8,
	[IFLA_BOND_SLAVE_MII_STATUS] = ATTR_U8,
};

static const struct attr_spec xdp_attrs[] = {
	[IFLA_XDP_ATTACHED] = ATTR_U8,	   [IFLA_XDP_PROG_ID] = ATTR_U32,
	[IFLA_XDP_DRV_PROG_ID] = ATTR_U32, [IFLA_XDP_SKB_PROG_ID] = ATTR_U32,
	[IFLA_XDP_HW_PROG_ID] = ATTR_U32,  [IFLA_XDP_FLAGS] = ATTR_U32,
};

static const struct attr_spec family_attrs[] = {
	[AF_INET6] = ATTR_NEST,
};

/* Every kernel that sixlane supports has ignore_routes_with_linkdown. */
static const struct attr_spec inet6_attrs[] = {
	[IFLA_INET6_CONF] = ATTR_MIN((DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN + 1) * sizeof(int32_t)),
};

static void macvlan_fill(const struct nlattr **at, struct link *link)
{
	link->takes_frames =
		attr_u32(at[IFLA_MACVLAN_MODE], 0) & (MACVLAN_MODE_PASSTHRU | MACVLAN_MODE_SOURCE);
}

/* IFLA_VLAN_EGRESS_QOS is an empty nest if all entries were removed, or map to 0. */
static void vlan_fill(const struct nlattr **at, struct link *link)
{
	struct ifla_vlan_flags flags = { 0 };

	link->vlan_id = attr_u16(at[IFLA_VLAN_ID], 0);
	link->vlan_protocol = ntohs(attr_u16(at[IFLA_VLAN_PROTOCOL], htons(ETH_P_8021Q)));
	link->vlan_maps_priority =
		at[IFLA_VLAN_EGRESS_QOS] && mnl_attr_get_payload_len(at[IFLA_VLAN_EGRESS_QOS]) > 0;
	if (at[IFLA_VLAN_FLAGS])
		attr_copy(&flags, at[IFLA_VLAN_FLAGS], sizeof(flags));
	link->vlan_reorders = flags.flags & VLAN_FLAG_REORDER_HDR;
}

static void vxlan_fill(const struct nlattr **at, struct link *link)
{
	link->is_external = attr_u8(at[IFLA_VXLAN_COLLECT_METADATA], 0);
}

static void geneve_fill(const struct nlattr **at, struct link *link)
{
	link->is_external = at[IFLA_GENEVE_COLLECT_METADATA];
}

static void gre_fill(const struct nlattr **at, struct link *link)
{
	link->is_external = at[IFLA_GRE_COLLECT_METADATA];
}

static void vrf_fill(const struct nlattr **at, struct link *link)
{
	link->vrf_table = attr_u32(at[IFLA_VRF_TABLE], 0);
}

/*
 * How bond_xdp_get_xmit_slave() chooses. With encap3+4, bond_xmit_hash() uses the NIC's hash of the
 * received frame, which a redirected frame has lost. It refuses vlan+srcmac, and other modes.
 */
static enum bond_choice bond_choice(uint8_t mode, uint8_t policy)
{
	static const enum bond_choice hashes[] = {
		[BOND_XMIT_POLICY_LAYER2] = BOND_CHOICE_L2,
		[BOND_XMIT_POLICY_LAYER34] = BOND_CHOICE_L34,
		[BOND_XMIT_POLICY_LAYER23] = BOND_CHOICE_L23,
		[BOND_XMIT_POLICY_ENCAP23] = BOND_CHOICE_ENCAP23,
	};

	if (mode == BOND_MODE_ROUNDROBIN || mode == BOND_MODE_ACTIVEBACKUP)
		return BOND_CHOICE_STATE;
	if ((mode == BOND_MODE_XOR || mode == BOND_MODE_8023AD) && policy < ARRAY_SIZE(hashes))
		return hashes[policy];
	return BOND_CHOICE_UNKNOWN;
}

static void bond_fill(const struct nlattr **at, struct link *link)
{
	link->bond_choice = bond_choice(attr_u8(at[IFLA_BOND_MODE], UINT8_MAX),
					attr_u8(at[IFLA_BOND_XMIT_HASH_POLICY], UINT8_MAX));
}

static void bond_slave_fill(const struct nlattr **at, struct link *link)
{
	link->slave_active =
		attr_u8(at[IFLA_BOND_SLAVE_STATE], BOND_STATE_BACKUP) == BOND_STATE_ACTIVE;
	link->slave_link = attr_u8(at[IFLA_BOND_SLAVE_MII_STATUS], BOND_LINK_DOWN) == BOND_LINK_UP;
}

/* The layout of the data depends on the kind; data of other kinds is ignored. */
struct kind_parser {
	const char *kind;
	const struct attr_spec *specs;
	size_t n_specs;
	void (*fill)(const struct nlattr **at, struct link *link);
};

#define KIND(kind, name)                               \
	{                                              \
		kind, SPECS(name##_attrs), name##_fill \
	}
#define MAX_KIND_ATTRS 32

static const struct kind_parser kind_parsers[] = {
	KIND("macvlan", macvlan), KIND("macvtap", macvlan), KIND("vlan", vlan),
	KIND("vrf", vrf),	  KIND("vxlan", vxlan),	    KIND("geneve", geneve),
	KIND("gretap", gre),	  KIND("ip6gretap", gre),   KIND("erspan", gre),
	KIND("ip6erspan", gre),	  KIND("bond", bond),
};

static const struct kind_parser slave_parsers[] = {
	KIND("bond", bond_slave),
};

_Static_assert(ARRAY_SIZE(vxlan_attrs) <= MAX_KIND_ATTRS &&
		       ARRAY_SIZE(geneve_attrs) <= MAX_KIND_ATTRS &&
		       ARRAY_SIZE(gre_attrs) <= MAX_KIND_ATTRS &&
		       ARRAY_SIZE(bond_attrs) <= MAX_KIND_ATTRS,
	       "kind_data_parse() has room for the largest");

static int kind_data_parse(const struct kind_parser *parsers, size_t n_parsers, const char *kind,
			   const struct nlattr *data, struct link *link)
{
	const struct nlattr *at[MAX_KIND_ATTRS];

	for (size_t i = 0; i < n_parsers; i++) {
		const struct kind_parser *parser = &parsers[i];

		if (strcmp(parser->kind, kind) != 0)
			continue;
		if (attr_walk_nest(data, parser->specs, parser->n_specs, at) < 0)
			return -EBADMSG;
		parser->fill(at, link);
	}
	return 0;
}

static int info_parse(const struct nlattr *nest, struct link *link)
{
	const struct nlattr *at[ARRAY_SIZE(link_info_attrs)];
	int r = attr_walk_nest(nest, SPECS(link_info_attrs), at);

	if (r < 0)
		return r;
	if (at[IFLA_INFO_KIND])
		attr_copy_string(link->kind, sizeof(link->kind), at[IFLA_INFO_KIND]);
	if (at[IFLA_INFO_SLAVE_KIND])
		attr_copy_string(link->master_kind, sizeof(link->master_kind),
				 at[IFLA_INFO_SLAVE_KIND]);
	r = kind_data_parse(kind_parsers, ARRAY_SIZE(kind_parsers), link->kind, at[IFLA_INFO_DATA],
			    link);
	if (r < 0)
		return r;
	return kind_data_parse(slave_parsers, ARRAY_SIZE(slave_parsers), link->master_kind,
			       at[IFLA_INFO_SLAVE_DATA], link);
}

/* An unknown attribute or mode may mean another program, also on transmit. */
static int xdp_parse(const struct nlattr *nest, struct link *link)
{
	static const enum xdp_mode modes[] = {
		[XDP_ATTACHED_NONE] = XDP_MODE_NONE,   [XDP_ATTACHED_DRV] = XDP_MODE_NATIVE,
		[XDP_ATTACHED_SKB] = XDP_MODE_GENERIC, [XDP_ATTACHED_HW] = XDP_MODE_OFFLOAD,
		[XDP_ATTACHED_MULTI] = XDP_MODE_MULTI,
	};
	static const uint16_t id_types[] = { IFLA_XDP_PROG_ID, IFLA_XDP_DRV_PROG_ID,
					     IFLA_XDP_SKB_PROG_ID, IFLA_XDP_HW_PROG_ID };
	const struct nlattr *at[ARRAY_SIZE(xdp_attrs)];
	int r = attr_walk_whole_nest(nest, SPECS(xdp_attrs), at, &link->unknown_attr);
	uint8_t attached;

	if (r < 0)
		return r;
	attached = attr_u8(at[IFLA_XDP_ATTACHED], XDP_ATTACHED_NONE);
	if (attached >= ARRAY_SIZE(modes))
		link->unknown_attr = attr_unknown(IFLA_XDP_ATTACHED);
	link->xdp_mode = link->unknown_attr ? XDP_MODE_UNKNOWN : modes[attached];
	/* with several programs there is no IFLA_XDP_PROG_ID: the driver's comes first */
	for (size_t i = 0; i < ARRAY_SIZE(id_types) && link->xdp_prog_id == 0; i++)
		link->xdp_prog_id = attr_u32(at[id_types[i]], 0);
	return 0;
}

static void link_fill(const struct ifinfomsg *ifi, const struct nlattr **at, struct link *link)
{
	link->ifindex = (uint32_t)ifi->ifi_index;
	link->flags = ifi->ifi_flags;
	link->carrier = ifi->ifi_flags & IFF_LOWER_UP;
	link->type = ifi->ifi_type;
	link->mtu = attr_u32(at[IFLA_MTU], 0);
	link->master = attr_u32(at[IFLA_MASTER], 0);
	link->n_rx_queues = attr_u32(at[IFLA_NUM_RX_QUEUES], 0);
	link->n_tx_queues = attr_u32(at[IFLA_NUM_TX_QUEUES], 0);
	attr_copy_string(link->name, sizeof(link->name), at[IFLA_IFNAME]);
	link->moved = at[IFLA_NEW_NETNSID] || at[IFLA_NEW_IFINDEX];
	/* in another namespace the same number is another device */
	if (!at[IFLA_LINK_NETNSID])
		link->lower = attr_u32(at[IFLA_LINK], 0);
	if (link->lower == link->ifindex)
		link->lower = 0;
	if (at[IFLA_ADDRESS] && ifi->ifi_type == ARPHRD_ETHER &&
	    mnl_attr_get_payload_len(at[IFLA_ADDRESS]) == sizeof(link->mac))
		attr_copy(link->mac, at[IFLA_ADDRESS], sizeof(link->mac));
}

int parse_link(const struct nlmsghdr *nlh, struct link *out)
{
	const struct ifinfomsg *ifi = attr_header(nlh, sizeof(*ifi));
	const struct nlattr *at[N_LINK_ATTRS];
	struct link link = { 0 };
	int r;

	if (nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK)
		return -ENOMSG;
	if (!ifi)
		return -EBADMSG;
	if (ifi->ifi_family != AF_UNSPEC)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*ifi), SPECS(link_attrs), at, NULL);
	if (r < 0)
		return r;
	if (ifi->ifi_index <= 0)
		return -EBADMSG;
	/* a wireless event is an RTM_NEWLINK too, but does not describe the device */
	if (!at[IFLA_IFNAME] || !at[IFLA_MTU])
		return -ENOMSG;
	if (info_parse(at[IFLA_LINKINFO], &link) < 0 || xdp_parse(at[IFLA_XDP], &link) < 0)
		return -EBADMSG;
	link_fill(ifi, at, &link);
	*out = link;
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* struct link has one name only: a device may have any number, few of which matter. */
static const struct attr_spec name_attrs[] = {
	[IFLA_IFNAME] = ATTR_STRING(IFNAMSIZ),
	[IFLA_PROP_LIST] = ATTR_NEST,
};

static int alt_names_each(const struct nlattr *nest, link_name_fn fn, void *ctx)
{
	struct attr_iterator iterator = attr_iterate(nest);
	const struct nlattr *attr;
	size_t size;
	int r;

	while ((r = attr_next(&iterator, &attr)) > 0) {
		if (mnl_attr_get_type(attr) != IFLA_ALT_IFNAME)
			continue;
		size = mnl_attr_get_payload_len(attr);
		if (size > ALTIFNAMSIZ || !memchr(mnl_attr_get_payload(attr), '\0', size))
			return -EBADMSG;
		fn(ctx, mnl_attr_get_str(attr));
	}
	return r;
}

int parse_link_names(const struct nlmsghdr *nlh, link_name_fn fn, void *ctx)
{
	const struct nlattr *at[ARRAY_SIZE(name_attrs)];
	int r = attr_walk_message(nlh, sizeof(struct ifinfomsg), SPECS(name_attrs), at, NULL);

	if (r < 0)
		return r;
	if (at[IFLA_IFNAME])
		fn(ctx, mnl_attr_get_str(at[IFLA_IFNAME]));
	return alt_names_each(at[IFLA_PROP_LIST], fn, ctx);
}

/* --- settings --------------------------------------------------------------------------------- */

/* The parent of IFLA_INET6_CONF depends on the message's family. */
static int inet6_nest(const struct ifinfomsg *ifi, const struct nlattr **at,
		      const struct nlattr **nest)
{
	const struct nlattr *families[ARRAY_SIZE(family_attrs)];
	int r;

	if (ifi->ifi_family == AF_INET6) {
		*nest = at[IFLA_PROTINFO];
		return 0;
	}
	r = attr_walk_nest(at[IFLA_AF_SPEC], SPECS(family_attrs), families);
	if (r < 0)
		return r;
	*nest = families[AF_INET6];
	return 0;
}

static int32_t conf_value(const struct nlattr *conf, unsigned int index)
{
	int32_t value = 0;

	if (mnl_attr_get_payload_len(conf) >= (index + 1) * sizeof(value))
		memcpy(&value, (const char *)mnl_attr_get_payload(conf) + index * sizeof(value),
		       sizeof(value));
	return value;
}

int parse_link_ipv6(const struct nlmsghdr *nlh, struct link_ipv6 *out)
{
	const struct ifinfomsg *ifi = attr_header(nlh, sizeof(*ifi));
	const struct nlattr *at[N_LINK_ATTRS], *inet6[ARRAY_SIZE(inet6_attrs)];
	const struct nlattr *nest, *conf;
	int32_t hop_limit;
	int r;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return -ENOMSG;
	if (!ifi)
		return -EBADMSG;
	if (ifi->ifi_family != AF_UNSPEC && ifi->ifi_family != AF_INET6)
		return -ENOMSG;
	r = attr_walk_message(nlh, sizeof(*ifi), SPECS(link_attrs), at, NULL);
	if (r == 0)
		r = inet6_nest(ifi, at, &nest);
	if (r == 0)
		r = attr_walk_nest(nest, SPECS(inet6_attrs), inet6);
	if (r != 0)
		return r;
	if (ifi->ifi_index <= 0)
		return -EBADMSG;
	conf = inet6[IFLA_INET6_CONF];
	if (!conf)
		return -ENOMSG;
	hop_limit = conf_value(conf, DEVCONF_HOPLIMIT);
	*out = (struct link_ipv6){
		.ifindex = (uint32_t)ifi->ifi_index,
		.mtu6 = (uint32_t)conf_value(conf, DEVCONF_MTU6),
		.disabled = conf_value(conf, DEVCONF_DISABLE_IPV6),
		.ignore_linkdown = conf_value(conf, DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN),
		.force_forwarding = conf_value(conf, DEVCONF_FORCE_FORWARDING_6_17),
		.own_addrs_only = conf_value(conf, DEVCONF_USE_OIF_ADDRS_ONLY),
		.hop_limit = hop_limit > 0 && hop_limit <= UINT8_MAX ? (uint8_t)hop_limit : 0,
	};
	return 0;
}

static const struct attr_spec netconf_attrs[] = {
	[NETCONFA_IFINDEX] = ATTR_U32,
	[NETCONFA_FORWARDING] = ATTR_U32,
	[NETCONFA_PROXY_NEIGH] = ATTR_U32,
};

int parse_netconf(const struct nlmsghdr *nlh, struct netconf *out)
{
	const struct nlattr *at[ARRAY_SIZE(netconf_attrs)];
	int r = attr_walk_inet6(nlh, RTM_NEWNETCONF, sizeof(struct netconfmsg),
				SPECS(netconf_attrs), at, NULL);

	if (r < 0)
		return r;
	if (!at[NETCONFA_IFINDEX])
		return -EBADMSG;
	*out = (struct netconf){
		.ifindex = (int32_t)attr_u32(at[NETCONFA_IFINDEX], 0),
		.has_forwarding = at[NETCONFA_FORWARDING],
		.forwarding = attr_u32(at[NETCONFA_FORWARDING], 0),
		.has_proxy_ndp = at[NETCONFA_PROXY_NEIGH],
		.proxy_ndp = attr_u32(at[NETCONFA_PROXY_NEIGH], 0),
	};
	return 0;
}
