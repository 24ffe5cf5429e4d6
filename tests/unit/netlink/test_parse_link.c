// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers of devices and their settings, on built messages: what no machine with captures was
 * brought to send, limits, and what older kernels say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/if_ether.h>
#include <net/if_arp.h>

#include "../unit.h"
#include "netlink_build.h"
#include "netlink_messages.h"

/* Behind net/if.h, of which they want names or which they would repeat. */
#include <linux/if_bonding.h>
#include <linux/if_tunnel.h>

static void link_below_another_namespace(void **state)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct link link;

	mnl_attr_put_u32(nlh, IFLA_LINK, 12);
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 12);
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 0);
	nlh = build_link(AF_UNSPEC);
	mnl_attr_put_u32(nlh, IFLA_LINK, 7); /* itself */
	assert_int_equal(PARSE(parse_link, nlh, &link), 0);
	assert_int_equal(link.lower, 0);
}

static void link_addresses(void **state)
{
	static const uint8_t zero[6], address[20] = { 2, 4, 6, 8, 10, 12, 14 };

	for (size_t size = 0; size <= sizeof(address); size++) {
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
		struct link link;

		mnl_attr_put(nlh, IFLA_ADDRESS, size, address);
		ifi->ifi_type = ARPHRD_ETHER;
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_memory_equal(link.mac, size == 6 ? address : zero, 6);
		ifi->ifi_type = ARPHRD_TUNNEL6;
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_memory_equal(link.mac, zero, 6);
	}
}

static void link_xdp(void **state)
{
	static const struct {
		uint8_t attached;
		uint32_t prog, drv, skb, hw;
		int expected;
		enum xdp_mode mode;
		uint32_t id;
	} cases[] = {
		{ XDP_ATTACHED_NONE, 0, 0, 0, 0, 0, XDP_MODE_NONE, 0 },
		{ XDP_ATTACHED_DRV, 4, 4, 0, 0, 0, XDP_MODE_NATIVE, 4 },
		{ XDP_ATTACHED_SKB, 5, 0, 5, 0, 0, XDP_MODE_GENERIC, 5 },
		{ XDP_ATTACHED_HW, 6, 0, 0, 6, 0, XDP_MODE_OFFLOAD, 6 },
		{ XDP_ATTACHED_MULTI, 0, 7, 8, 9, 0, XDP_MODE_MULTI, 7 },
		{ XDP_ATTACHED_MULTI, 0, 0, 8, 9, 0, XDP_MODE_MULTI, 8 },
		{ XDP_ATTACHED_MULTI + 1, 1, 1, 1, 1, 0, XDP_MODE_UNKNOWN, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t ids[] = { cases[i].prog, cases[i].drv, cases[i].skb, cases[i].hw };
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_XDP);
		struct link link;

		mnl_attr_put_u8(nlh, IFLA_XDP_ATTACHED, cases[i].attached);
		for (size_t id = 0; id < ARRAY_SIZE(ids); id++)
			if (ids[id])
				mnl_attr_put_u32(nlh, (uint16_t)(IFLA_XDP_PROG_ID + id), ids[id]);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link, nlh, &link), cases[i].expected);
		if (cases[i].expected < 0)
			continue;
		assert_int_equal(link.xdp_mode, cases[i].mode);
		assert_int_equal(link.xdp_prog_id, cases[i].id);
	}
}

/* One more program, perhaps; the rest of the message counts. Other attributes of devices do not. */
static void link_xdp_of_later_kernels(void **state)
{
	for (uint16_t type = 0; type < 32; type++) {
		bool known = type >= IFLA_XDP_ATTACHED && type <= IFLA_XDP_HW_PROG_ID;
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *nest;
		struct link link;

		mnl_attr_put_u32(nlh, 200, 1);
		mnl_attr_put_u32(nlh, IFLA_MASTER, 9);
		nest = mnl_attr_nest_start(nlh, IFLA_XDP);
		mnl_attr_put_u8(nlh, IFLA_XDP_ATTACHED, XDP_ATTACHED_DRV);
		if (type != IFLA_XDP_ATTACHED)
			mnl_attr_put_u32(nlh, type, 5);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_int_equal(link.unknown_attr, known ? 0 : type + 1);
		assert_int_equal(link.xdp_mode, known ? XDP_MODE_NATIVE : XDP_MODE_UNKNOWN);
		assert_int_equal(link.master, 9);
	}
}

/* Parse a device of a kind with one attribute in its data. */
static void link_of_kind(const char *kind, uint16_t type, size_t size, const void *value,
			 struct link *link)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put(nlh, type, size, value);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	memset(link, 0xa5, sizeof(*link));
	assert_int_equal(PARSE(parse_link, nlh, link), 0);
}

static bool link_takes_frames(const char *kind, uint32_t mode, char *got_kind)
{
	struct link link;

	link_of_kind(kind, IFLA_MACVLAN_MODE, sizeof(mode), &mode, &link);
	strcpy(got_kind, link.kind);
	return link.takes_frames;
}

static void link_kinds(void **state)
{
	char kind[16];

	assert_true(link_takes_frames("macvlan", MACVLAN_MODE_PASSTHRU, kind));
	assert_true(link_takes_frames("macvtap", MACVLAN_MODE_PASSTHRU, kind));
	assert_true(link_takes_frames("macvlan", MACVLAN_MODE_SOURCE, kind));
	assert_false(link_takes_frames("macvlan", MACVLAN_MODE_BRIDGE, kind));
	assert_false(link_takes_frames("ipvlan", MACVLAN_MODE_PASSTHRU, kind));
	assert_string_equal(kind, "ipvlan");
	assert_false(link_takes_frames("an_out_of_tree_driver", MACVLAN_MODE_PASSTHRU, kind));
	assert_string_equal(kind, "an_out_of_tree_");
}

static bool link_keeps_tunnel(const char *kind, uint16_t type, size_t size, uint8_t value)
{
	struct link link;

	link_of_kind(kind, type, size, &value, &link);
	return link.keeps_tunnel;
}

static void link_external_tunnels(void **state)
{
	static const char *const gre[] = { "gretap", "ip6gretap", "erspan", "ip6erspan" };

	assert_true(link_keeps_tunnel("vxlan", IFLA_VXLAN_COLLECT_METADATA, 1, 1));
	assert_false(link_keeps_tunnel("vxlan", IFLA_VXLAN_COLLECT_METADATA, 1, 0));
	assert_false(link_keeps_tunnel("vxlan", IFLA_VXLAN_LEARNING, 1, 1));
	assert_true(link_keeps_tunnel("geneve", IFLA_GENEVE_COLLECT_METADATA, 0, 0));
	assert_false(link_keeps_tunnel("geneve", IFLA_GENEVE_TTL, 1, 1));
	for (size_t i = 0; i < ARRAY_SIZE(gre); i++) {
		assert_true(link_keeps_tunnel(gre[i], IFLA_GRE_COLLECT_METADATA, 0, 0));
		assert_false(link_keeps_tunnel(gre[i], IFLA_GRE_TTL, 1, 1));
	}
	assert_false(link_keeps_tunnel("veth", IFLA_VXLAN_COLLECT_METADATA, 1, 1));
}

struct link_vlan {
	uint16_t id, protocol; /* protocol 0: not said */
	size_t qos_bytes;      /* SIZE_MAX: no map at all */
	uint16_t expected_protocol;
	bool maps_priority;
	int flags; /* -1: not said */
	bool reorders;
};

static void link_vlans(void **state)
{
	static const struct link_vlan cases[] = {
		{ 0, ETH_P_8021Q, SIZE_MAX, ETH_P_8021Q, false, 1, true },
		{ 1, ETH_P_8021AD, SIZE_MAX, ETH_P_8021AD, false, 0, false },
		{ 4094, ETH_P_8021Q, 12, ETH_P_8021Q, true, 0xff, true },
		{ 100, ETH_P_8021Q, 0, ETH_P_8021Q, false, 0xfe, false },
		{ 100, 0, SIZE_MAX, ETH_P_8021Q, false, -1, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;
		struct link link;

		mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
		data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
		if (cases[i].protocol)
			mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL, htons(cases[i].protocol));
		mnl_attr_put_u16(nlh, IFLA_VLAN_ID, cases[i].id);
		if (cases[i].flags >= 0) {
			const struct ifla_vlan_flags flags = {
				.flags = (uint32_t)cases[i].flags,
				.mask = ~0u,
			};

			mnl_attr_put(nlh, IFLA_VLAN_FLAGS, sizeof(flags), &flags);
		}
		if (cases[i].qos_bytes != SIZE_MAX)
			mnl_attr_put(nlh, IFLA_VLAN_EGRESS_QOS, cases[i].qos_bytes,
				     "\14\0\1\0\1\0\0\0\5\0\0");
		mnl_attr_nest_end(nlh, data);
		mnl_attr_nest_end(nlh, info);
		memset(&link, 0xa5, sizeof(link));
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_string_equal(link.kind, "vlan");
		assert_int_equal(link.vlan_id, cases[i].id);
		assert_int_equal(link.vlan_protocol, cases[i].expected_protocol);
		assert_int_equal(link.vlan_maps_priority, cases[i].maps_priority);
		assert_int_equal(link.vlan_reorders, cases[i].reorders);
		assert_int_equal(link.vrf_table, 0);
		assert_false(link.takes_frames || link.slave_active);
	}
}

static void link_vrf(void **state)
{
	const uint32_t table = 70000;
	struct link link;

	link_of_kind("vrf", IFLA_VRF_TABLE, sizeof(table), &table, &link);
	assert_int_equal(link.vrf_table, table);
	/* The same number is another thing in the data of another kind, of whatever size. */
	link_of_kind("ipvlan", IFLA_VRF_TABLE, sizeof(table), &table, &link);
	assert_int_equal(link.vrf_table, 0);
	link_of_kind("gre", IFLA_VRF_TABLE, 1, &table, &link);
	assert_int_equal(link.vrf_table | link.vlan_id | link.vlan_protocol, 0);
}

static void link_bonds(void **state)
{
	static const struct {
		int mode, policy; /* IFLA_BOND_MODE, IFLA_BOND_XMIT_HASH_POLICY; -1: not said */
		enum bond_choice choice;
	} cases[] = {
		{ BOND_MODE_ROUNDROBIN, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_STATE },
		{ BOND_MODE_ACTIVEBACKUP, BOND_XMIT_POLICY_ENCAP34, BOND_CHOICE_STATE },
		{ BOND_MODE_ACTIVEBACKUP, -1, BOND_CHOICE_STATE },
		{ BOND_MODE_XOR, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_L2 },
		{ BOND_MODE_XOR, BOND_XMIT_POLICY_LAYER34, BOND_CHOICE_L34 },
		{ BOND_MODE_8023AD, BOND_XMIT_POLICY_LAYER23, BOND_CHOICE_L23 },
		{ BOND_MODE_8023AD, BOND_XMIT_POLICY_ENCAP23, BOND_CHOICE_ENCAP23 },
		{ BOND_MODE_8023AD, BOND_XMIT_POLICY_ENCAP34, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_XOR, BOND_XMIT_POLICY_VLAN_SRCMAC, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_XOR, BOND_XMIT_POLICY_VLAN_SRCMAC + 1, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_XOR, -1, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_BROADCAST, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_TLB, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_UNKNOWN },
		{ BOND_MODE_ALB, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_UNKNOWN },
		{ -1, BOND_XMIT_POLICY_LAYER2, BOND_CHOICE_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *info, *data;
		struct link link;

		info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
		mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "bond");
		data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
		if (cases[i].mode >= 0)
			mnl_attr_put_u8(nlh, IFLA_BOND_MODE, (uint8_t)cases[i].mode);
		if (cases[i].policy >= 0)
			mnl_attr_put_u8(nlh, IFLA_BOND_XMIT_HASH_POLICY, (uint8_t)cases[i].policy);
		mnl_attr_nest_end(nlh, data);
		mnl_attr_nest_end(nlh, info);
		memset(&link, 0xa5, sizeof(link));
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		if (link.bond_choice != cases[i].choice)
			fail_msg("mode %d, policy %d: %d", cases[i].mode, cases[i].policy,
				 link.bond_choice);
	}
}

static void link_slaves(void **state)
{
	static const struct {
		const char *kind, *expected_kind;
		int slave_state; /* IFLA_BOND_SLAVE_STATE; -1: not said */
		int mii_status;	 /* IFLA_BOND_SLAVE_MII_STATUS; -1: not said */
		bool active, link;
	} cases[] = {
		{ "bond", "bond", BOND_STATE_ACTIVE, BOND_LINK_DOWN, true, false },
		{ "bond", "bond", BOND_STATE_BACKUP, BOND_LINK_UP, false, true },
		{ "bond", "bond", BOND_STATE_ACTIVE, BOND_LINK_BACK, true, false },
		{ "bond", "bond", -1, -1, false, false },
		{ "vrf", "vrf", 0, 0, false, false },
		{ "bridge", "bridge", 0, 0, false, false },
		{ "an_out_of_tree_master", "an_out_of_tree_", 0, 0, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nlmsghdr *nlh = build_link(AF_UNSPEC);
		struct nlattr *info, *data;
		struct link link;

		mnl_attr_put_u32(nlh, IFLA_MASTER, 9);
		/* of hardware there is no IFLA_INFO_KIND */
		info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
		mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, cases[i].kind);
		data = mnl_attr_nest_start(nlh, IFLA_INFO_SLAVE_DATA);
		if (cases[i].slave_state >= 0)
			mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_STATE, (uint8_t)cases[i].slave_state);
		if (cases[i].mii_status >= 0)
			mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_MII_STATUS,
					(uint8_t)cases[i].mii_status);
		mnl_attr_nest_end(nlh, data);
		mnl_attr_nest_end(nlh, info);
		memset(&link, 0xa5, sizeof(link));
		assert_int_equal(PARSE(parse_link, nlh, &link), 0);
		assert_string_equal(link.kind, "");
		assert_string_equal(link.master_kind, cases[i].expected_kind);
		assert_int_equal(link.master, 9);
		assert_int_equal(link.slave_active, cases[i].active);
		assert_int_equal(link.slave_link, cases[i].link);
	}
}

struct names {
	char text[4096];
	size_t n;
};

static void name_add(void *ctx, const char *name)
{
	struct names *names = ctx;

	names->n++;
	strcat(strcat(names->text, name), " ");
}

static void link_names_captured(void **state)
{
	_cleanup_free_ struct nlmsghdr *nlh = capture_message("link_alt_names");
	struct names names = { 0 };

	assert_int_equal(parse_link_names(nlh, name_add, &names), 0);
	assert_string_equal(names.text, "six0 uplink a:name-of-more-than-15-characters ");
}

/* As many as there are, in order; what else the list may hold one day is no name. */
static void link_names(void **state)
{
	char longest[128], expected[256];
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct names names = { 0 };
	struct nlattr *list;

	assert_int_equal(PARSE(parse_link_names, nlh, name_add, &names), 0);
	assert_string_equal(names.text, "port ");
	memset(longest, 'l', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	list = mnl_attr_nest_start(nlh, IFLA_PROP_LIST | NLA_F_NESTED);
	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "uplink");
	mnl_attr_put_strz(nlh, IFLA_IFALIAS, "no name");
	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, longest);
	mnl_attr_nest_end(nlh, list);
	names = (struct names){ 0 };
	assert_int_equal(PARSE(parse_link_names, nlh, name_add, &names), 0);
	snprintf(expected, sizeof(expected), "port uplink %s ", longest);
	assert_string_equal(names.text, expected);
	assert_int_equal(names.n, 3);
}

static void link_not_described(void **state)
{
	struct nlmsghdr *nlh = message_start();
	struct ifinfomsg *ifi;
	struct link link;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = header_put(nlh, sizeof(*ifi), AF_UNSPEC);
	ifi->ifi_index = 7;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "wlan0");
	mnl_attr_put(nlh, IFLA_WIRELESS, 8, "\1\2\3\4\5\6\7");
	assert_int_equal(PARSE(parse_link, nlh, &link), -ENOMSG);
	nlh = build_link(AF_UNSPEC);
	ifi = mnl_nlmsg_get_payload(nlh);
	ifi->ifi_index = 0;
	assert_int_equal(PARSE(parse_link, nlh, &link), -EBADMSG);
	ifi->ifi_index = 7;
	ifi->ifi_family = AF_BRIDGE;
	assert_int_equal(PARSE(parse_link, nlh, &link), -ENOMSG);
}

static void link_conf_of_older_kernels(void **state)
{
	for (size_t n = DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN + 1; n <= 64; n++) {
		struct nlmsghdr *nlh = build_link(AF_INET6);
		struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
		struct link_ipv6 out;
		int32_t conf[64] = { [DEVCONF_MTU6] = 1280, [59] = 1 };

		conf[DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN] = 1;
		mnl_attr_put(nlh, IFLA_INET6_CONF, n * sizeof(conf[0]), conf);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), 0);
		assert_int_equal(out.mtu6, 1280);
		assert_true(out.ignore_linkdown);
		assert_int_equal(out.force_forwarding, n > 59);
	}
}

static void link_hop_limits(void **state)
{
	static const struct {
		int32_t told;
		uint8_t hop_limit;
	} rows[] = { { 1, 1 }, { 64, 64 }, { 255, 255 }, { 0, 0 }, { -1, 0 }, { 256, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nlmsghdr *nlh = build_link(AF_INET6);
		struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
		int32_t conf[64] = { [DEVCONF_HOPLIMIT] = rows[i].told };
		struct link_ipv6 out;

		conf[DEVCONF_USE_OIF_ADDRS_ONLY] = i % 2;
		mnl_attr_put(nlh, IFLA_INET6_CONF, sizeof(conf), conf);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), 0);
		assert_int_equal(out.hop_limit, rows[i].hop_limit);
		assert_int_equal(out.own_addrs_only, i % 2);
	}
}

static void link_without_ipv6(void **state)
{
	struct nlmsghdr *nlh = build_link(AF_UNSPEC);
	struct link_ipv6 out;

	assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), -ENOMSG);
	nlh->nlmsg_type = RTM_DELLINK;
	assert_int_equal(PARSE(parse_link_ipv6, nlh, &out), -ENOMSG);
}

static void netconf_of_a_device_that_lost_ipv6(void **state)
{
	struct nlmsghdr *nlh = build_netconf();
	struct netconf out;

	nlh->nlmsg_type = RTM_DELNETCONF;
	assert_int_equal(PARSE(parse_netconf, nlh, &out), 0);
	assert_int_equal(out.ifindex, 7);
	assert_false(out.has_forwarding || out.has_proxy_ndp || out.has_ignore_linkdown);
	nlh = message_start();
	nlh->nlmsg_type = RTM_NEWNETCONF;
	header_put(nlh, sizeof(struct netconfmsg), AF_INET6);
	assert_int_equal(PARSE(parse_netconf, nlh, &out), -EBADMSG);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_below_another_namespace),
		cmocka_unit_test(link_addresses),
		cmocka_unit_test(link_xdp),
		cmocka_unit_test(link_xdp_of_later_kernels),
		cmocka_unit_test(link_kinds),
		cmocka_unit_test(link_external_tunnels),
		cmocka_unit_test(link_vlans),
		cmocka_unit_test(link_vrf),
		cmocka_unit_test(link_bonds),
		cmocka_unit_test(link_slaves),
		cmocka_unit_test(link_names),
		cmocka_unit_test(link_names_captured),
		cmocka_unit_test(link_not_described),
		cmocka_unit_test(link_conf_of_older_kernels),
		cmocka_unit_test(link_hop_limits),
		cmocka_unit_test(link_without_ipv6),
		cmocka_unit_test(netconf_of_a_device_that_lost_ipv6),
	};

	return cmocka_run_group_tests_name("parse_link", tests, NULL, NULL);
}
