// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers of devices and their settings on built messages: limits, what older kernels send, and
 * what captures.txt does not have.
 */

#include "../unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <string.h>

#include "messages.h"

/* Behind net/if.h, whose names they use or would repeat. */
#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>

static const uint8_t mac[20] = { 2, 4, 6, 8, 10, 12, 14 };
static char longest[128] = { [0 ... 126] = 'l' };

/* clang-format off */
#define LINK_IS "link 7 port mtu 1500 type 0 flags 0"
#define XDP(mode, ...) OPEN(IFLA_XDP), U8(IFLA_XDP_ATTACHED, mode), __VA_ARGS__, CLOSE
#define DRV(id) U32(IFLA_XDP_DRV_PROG_ID, id)
#define SKB(id) U32(IFLA_XDP_SKB_PROG_ID, id)
#define HW(id) U32(IFLA_XDP_HW_PROG_ID, id)
#define KIND(kind, ...) \
	OPEN(IFLA_LINKINFO), STRING(IFLA_INFO_KIND, kind), OPEN(IFLA_INFO_DATA), __VA_ARGS__
#define SLAVE(kind, ...) \
	U32(IFLA_MASTER, 9), OPEN(IFLA_LINKINFO), STRING(IFLA_INFO_SLAVE_KIND, kind), \
	OPEN(IFLA_INFO_SLAVE_DATA), __VA_ARGS__
#define VLAN(protocol, id) \
	KIND("vlan", U16(IFLA_VLAN_ID, id), \
	     U16(IFLA_VLAN_PROTOCOL, __builtin_bswap16(protocol)))
#define FLAGS(flags) U64(IFLA_VLAN_FLAGS, 0xffffffffull << 32 | (flags))
#define BOND(mode, policy) \
	KIND("bond", U8(IFLA_BOND_MODE, BOND_MODE_##mode), \
	     U8(IFLA_BOND_XMIT_HASH_POLICY, BOND_XMIT_POLICY_##policy))
/* Settings of IPv6; those not named are 0. */
#define CONF(...) \
	OPEN(IFLA_PROTINFO), DATA(IFLA_INET6_CONF, 256, ((const int32_t[64]){ __VA_ARGS__ }))

static const struct built_case cases[] = {
	{ "plain device", LINK, { { 0 } }, LINK_IS },
	{ "lower device", LINK, { U32(IFLA_LINK, 12) }, LINK_IS " lower 12" },
	{ "... in another namespace", LINK, { U32(IFLA_LINK, 12), U32(IFLA_LINK_NETNSID, 0) },
	  LINK_IS },
	{ "... itself", LINK, { U32(IFLA_LINK, 7) }, LINK_IS },
	{ "moved to a namespace", LINK, { SET_TYPE(RTM_DELLINK), U32(IFLA_NEW_NETNSID, 1) },
	  LINK_IS " moved" },
	{ "... with another number", LINK, { U32(IFLA_NEW_IFINDEX, 1) }, LINK_IS " moved" },
	{ "attribute to come", LINK, { U32(200, 1), U32(IFLA_MASTER, 9) }, LINK_IS " master 9" },
	{ "no device", LINK, { SET(ifinfomsg, ifi_index, 0) }, "EBADMSG" },
	{ "of a bridge", LINK, { SET(ifinfomsg, ifi_family, AF_BRIDGE) }, "ENOMSG" },
	{ "wireless event", LINK_AF_SPEC, { STRING(IFLA_IFNAME, "wlan0"), DATA(IFLA_WIRELESS, 8,
	  mac) }, "ENOMSG" },

	{ "no XDP", LINK, { XDP(XDP_ATTACHED_NONE, DRV(0)) }, LINK_IS },
	{ "XDP in the driver", LINK, { XDP(XDP_ATTACHED_DRV, U32(IFLA_XDP_PROG_ID, 4), DRV(4)) },
	  LINK_IS " xdp native 4" },
	{ "... generic", LINK, { XDP(XDP_ATTACHED_SKB, U32(IFLA_XDP_PROG_ID, 5), SKB(5)) },
	  LINK_IS " xdp generic 5" },
	{ "... offloaded", LINK, { XDP(XDP_ATTACHED_HW, U32(IFLA_XDP_PROG_ID, 6), HW(6)) },
	  LINK_IS " xdp offload 6" },
	{ "... several: the driver's", LINK, { XDP(XDP_ATTACHED_MULTI, DRV(7), SKB(8), HW(9)) },
	  LINK_IS " xdp multi 7" },
	{ "... without the driver's", LINK, { XDP(XDP_ATTACHED_MULTI, SKB(8), HW(9)) },
	  LINK_IS " xdp multi 8" },
	{ "... mode to come", LINK, { XDP(XDP_ATTACHED_MULTI + 1, DRV(1)) },
	  LINK_IS " xdp unknown 1 unknown 3" },

	{ "macvlan, passthru", LINK, { KIND("macvlan", U32(IFLA_MACVLAN_MODE,
	  MACVLAN_MODE_PASSTHRU)) },
	  LINK_IS " kind macvlan takes_frames" },
	{ "macvtap, passthru", LINK, { KIND("macvtap", U32(IFLA_MACVLAN_MODE,
	  MACVLAN_MODE_PASSTHRU)) },
	  LINK_IS " kind macvtap takes_frames" },
	{ "macvlan, source", LINK, { KIND("macvlan", U32(IFLA_MACVLAN_MODE, MACVLAN_MODE_SOURCE)) },
	  LINK_IS " kind macvlan takes_frames" },
	{ "macvlan, bridge", LINK, { KIND("macvlan", U32(IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE)) },
	  LINK_IS " kind macvlan" },
	{ "data of another kind", LINK, { KIND("ipvlan", U32(IFLA_MACVLAN_MODE,
	  MACVLAN_MODE_PASSTHRU)) },
	  LINK_IS " kind ipvlan" },
	{ "... of another size", LINK, { KIND("gre", U8(IFLA_VRF_TABLE, 1)) },
	  LINK_IS " kind gre" },
	{ "kind that begins another", LINK, { KIND("gre", EMPTY(IFLA_GRE_COLLECT_METADATA)) },
	  LINK_IS " kind gre" },
	{ "long kind", LINK, { KIND("an_out_of_tree_driver", U32(IFLA_MACVLAN_MODE, 8)) },
	  LINK_IS " kind an_out_of_tree_" },
	{ "vrf", LINK, { KIND("vrf", U32(IFLA_VRF_TABLE, 70000)) }, LINK_IS " kind vrf vrf 70000" },

	{ "vxlan, external", LINK, { KIND("vxlan", U8(IFLA_VXLAN_COLLECT_METADATA, 1)) },
	  LINK_IS " kind vxlan external" },
	{ "vxlan, not external", LINK, { KIND("vxlan", U8(IFLA_VXLAN_COLLECT_METADATA, 0)) },
	  LINK_IS " kind vxlan" },
	{ "vxlan, something else", LINK, { KIND("vxlan", U8(IFLA_VXLAN_LEARNING, 1)) },
	  LINK_IS " kind vxlan" },
	{ "geneve, external", LINK, { KIND("geneve", EMPTY(IFLA_GENEVE_COLLECT_METADATA)) },
	  LINK_IS " kind geneve external" },
	{ "geneve, something else", LINK, { KIND("geneve", U8(IFLA_GENEVE_TTL, 1)) },
	  LINK_IS " kind geneve" },
	{ "gretap, external", LINK, { KIND("gretap", EMPTY(IFLA_GRE_COLLECT_METADATA)) },
	  LINK_IS " kind gretap external" },
	{ "gretap, something else", LINK, { KIND("gretap", U8(IFLA_GRE_TTL, 1)) },
	  LINK_IS " kind gretap" },
	{ "ip6gretap, external", LINK, { KIND("ip6gretap", EMPTY(IFLA_GRE_COLLECT_METADATA)) },
	  LINK_IS " kind ip6gretap external" },
	{ "erspan, external", LINK, { KIND("erspan", EMPTY(IFLA_GRE_COLLECT_METADATA)) },
	  LINK_IS " kind erspan external" },
	{ "ip6erspan, external", LINK, { KIND("ip6erspan", EMPTY(IFLA_GRE_COLLECT_METADATA)) },
	  LINK_IS " kind ip6erspan external" },
	{ "veth", LINK, { KIND("veth", U8(IFLA_VXLAN_COLLECT_METADATA, 1)) },
	  LINK_IS " kind veth" },
	{ "malformed data", LINK, { KIND("vxlan", U16(IFLA_VXLAN_COLLECT_METADATA, 1)) },
	  "EBADMSG" },

	{ "vlan 0", LINK, { VLAN(ETH_P_8021Q, 0), FLAGS(1) },
	  LINK_IS " kind vlan vlan 8100:0 reorders" },
	{ "vlan of 802.1ad", LINK, { VLAN(ETH_P_8021AD, 1), FLAGS(0) },
	  LINK_IS " kind vlan vlan 88a8:1" },
	{ "vlan, priorities mapped", LINK, { VLAN(ETH_P_8021Q, 4094), FLAGS(0xff),
	  DATA(IFLA_VLAN_EGRESS_QOS, 12, "\14\0\1\0\1\0\0\0\5\0\0") },
	  LINK_IS " kind vlan vlan 8100:4094 maps_priority reorders" },
	{ "vlan, empty map", LINK, { VLAN(ETH_P_8021Q, 100), FLAGS(0xfe),
	  EMPTY(IFLA_VLAN_EGRESS_QOS) },
	  LINK_IS " kind vlan vlan 8100:100" },
	{ "vlan without a protocol", LINK, { KIND("vlan", U16(IFLA_VLAN_ID, 100)) },
	  LINK_IS " kind vlan vlan 8100:100" },

	{ "bond: round robin", LINK, { BOND(ROUNDROBIN, LAYER2) }, LINK_IS " kind bond state" },
	{ "... active-backup", LINK, { BOND(ACTIVEBACKUP, ENCAP34) }, LINK_IS " kind bond state" },
	{ "... without a policy", LINK, { KIND("bond", U8(IFLA_BOND_MODE,
	  BOND_MODE_ACTIVEBACKUP)) },
	  LINK_IS " kind bond state" },
	{ "... xor, layer2", LINK, { BOND(XOR, LAYER2) }, LINK_IS " kind bond l2" },
	{ "... xor, layer3+4", LINK, { BOND(XOR, LAYER34) }, LINK_IS " kind bond l34" },
	{ "... 802.3ad, layer2+3", LINK, { BOND(8023AD, LAYER23) }, LINK_IS " kind bond l23" },
	{ "... 802.3ad, encap2+3", LINK, { BOND(8023AD, ENCAP23) }, LINK_IS " kind bond encap23" },
	{ "... 802.3ad, encap3+4", LINK, { BOND(8023AD, ENCAP34) }, LINK_IS " kind bond" },
	{ "... xor, vlan+srcmac", LINK, { BOND(XOR, VLAN_SRCMAC) }, LINK_IS " kind bond" },
	{ "... xor, policy to come", LINK, { BOND(XOR, VLAN_SRCMAC + 1) }, LINK_IS " kind bond" },
	{ "... xor, no policy", LINK, { KIND("bond", U8(IFLA_BOND_MODE, BOND_MODE_XOR)) },
	  LINK_IS " kind bond" },
	{ "... broadcast", LINK, { BOND(BROADCAST, LAYER2) }, LINK_IS " kind bond" },
	{ "... balance-tlb", LINK, { BOND(TLB, LAYER2) }, LINK_IS " kind bond" },
	{ "... balance-alb", LINK, { BOND(ALB, LAYER2) }, LINK_IS " kind bond" },
	{ "... no mode", LINK, { KIND("bond", U8(IFLA_BOND_XMIT_HASH_POLICY,
	  BOND_XMIT_POLICY_LAYER2)) },
	  LINK_IS " kind bond" },

	{ "slave: active, link down", LINK, { SLAVE("bond", U8(IFLA_BOND_SLAVE_STATE,
	  BOND_STATE_ACTIVE),
	  U8(IFLA_BOND_SLAVE_MII_STATUS, BOND_LINK_DOWN)) },
	  LINK_IS " master 9 of bond slave_active" },
	{ "... backup, link up", LINK, { SLAVE("bond", U8(IFLA_BOND_SLAVE_STATE, BOND_STATE_BACKUP),
	  U8(IFLA_BOND_SLAVE_MII_STATUS, BOND_LINK_UP)) }, LINK_IS " master 9 of bond slave_link" },
	{ "... active, link coming up", LINK, { SLAVE("bond", U8(IFLA_BOND_SLAVE_STATE,
	  BOND_STATE_ACTIVE),
	  U8(IFLA_BOND_SLAVE_MII_STATUS, BOND_LINK_BACK)) },
	  LINK_IS " master 9 of bond slave_active" },
	{ "... no state", LINK, { SLAVE("bond", EMPTY(200)) }, LINK_IS " master 9 of bond" },
	{ "... of a VRF", LINK, { SLAVE("vrf", U8(IFLA_BOND_SLAVE_STATE, BOND_STATE_ACTIVE)) },
	  LINK_IS " master 9 of vrf" },
	{ "... of a long kind", LINK, { SLAVE("an_out_of_tree_master", U8(IFLA_BOND_SLAVE_STATE,
	  0)) },
	  LINK_IS " master 9 of an_out_of_tree_" },

	{ "names; other properties are none", LINK, { OPEN(IFLA_PROP_LIST | NLA_F_NESTED),
	  STRING(IFLA_ALT_IFNAME, "uplink"), STRING(IFLA_IFALIAS, "no name"),
	  DATA(IFLA_ALT_IFNAME, sizeof(longest), longest) },
	  LINK_IS " names port uplink "
	  "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll"
	  "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll"
	  " " },

	{ "IPv6: hop limit 1", LINK_INET6, { CONF([DEVCONF_HOPLIMIT] = 1) },
	  "ipv6 7 mtu 0 hop_limit 1" },
	{ "... 255", LINK_INET6, { CONF([DEVCONF_HOPLIMIT] = 255) }, "ipv6 7 mtu 0 hop_limit 255" },
	{ "... 0", LINK_INET6, { CONF([DEVCONF_HOPLIMIT] = 0) }, "ipv6 7 mtu 0 hop_limit 0" },
	{ "... -1", LINK_INET6, { CONF([DEVCONF_HOPLIMIT] = -1) }, "ipv6 7 mtu 0 hop_limit 0" },
	{ "... 257", LINK_INET6, { CONF([DEVCONF_HOPLIMIT] = 257) }, "ipv6 7 mtu 0 hop_limit 0" },
	{ "... own addresses only", LINK_INET6, { CONF([DEVCONF_USE_OIF_ADDRS_ONLY] = 1) },
	  "ipv6 7 mtu 0 hop_limit 0 own_addrs_only" },
	{ "... none on the device", LINK_AF_SPEC, { { 0 } }, "ENOMSG" },
	{ "... no device", LINK_INET6, { SET(ifinfomsg, ifi_index, 0) }, "EBADMSG" },
	{ "... deleted", LINK_AF_SPEC, { SET_TYPE(RTM_DELLINK) }, "ENOMSG" },
	{ "... of a bridge", LINK_AF_SPEC, { SET(ifinfomsg, ifi_family, AF_BRIDGE) }, "ENOMSG" },

	{ "device that lost IPv6", NETCONF, { SET_TYPE(RTM_DELNETCONF) }, "netconf 7" },
	{ "netconf of IPv4", NETCONF, { SET(netconfmsg, ncm_family, AF_INET) }, "ENOMSG" },
};
/* clang-format on */

static void documented(void **state)
{
	assert_cases(cases);
}

static void addresses(void **state)
{
	static const uint8_t none[6];

	for (unsigned int size = 0; size <= sizeof(mac); size++) {
		const uint8_t *expected = size == 6 ? mac : none;

		assert_memory_equal(BUILT(LINK, SET(ifinfomsg, ifi_type, ARPHRD_ETHER),
					  DATA(IFLA_ADDRESS, size, mac))
					    ->link.mac,
				    expected, 6);
		assert_memory_equal(BUILT(LINK, SET(ifinfomsg, ifi_type, ARPHRD_TUNNEL6),
					  DATA(IFLA_ADDRESS, size, mac))
					    ->link.mac,
				    none, 6);
	}
}

/* Older kernels have fewer values in IFLA_INET6_CONF. */
static void settings_of_older_kernels(void **state)
{
	const int32_t conf[64] = { [DEVCONF_MTU6] = 1280,
				   [DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN] = 1,
				   [59 /* DEVCONF_FORCE_FORWARDING */] = 1 };

	for (size_t n = DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN + 1; n <= 64; n++) {
		const struct parsed *p = BUILT(LINK_INET6, OPEN(IFLA_PROTINFO),
					       DATA(IFLA_INET6_CONF, n * sizeof(conf[0]), conf));

		assert_int_equal(p->result, 0);
		assert_int_equal(p->link_ipv6.mtu6, 1280);
		assert_true(p->link_ipv6.ignore_linkdown);
		assert_int_equal(p->link_ipv6.force_forwarding, n > 59);
	}
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documented),
		cmocka_unit_test(addresses),
		cmocka_unit_test(settings_of_older_kernels),
	};

	return cmocka_run_group_tests_name("parse_link", tests, NULL, NULL);
}
