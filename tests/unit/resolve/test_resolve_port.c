// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath knows of a port that is a device by itself: how each fact about the device
 * shows.
 */
#include <net/if_arp.h>

#include "resolve_ports.h"

#define PORT(what_, devices_, lost_, gained_, ...)                               \
	{                                                                        \
		.what = what_, .devices = devices_, .ifindex = 5, .lost = lost_, \
		.gained = gained_, __VA_ARGS__                                   \
	}
#define NIC "5 ours program "
#define WITHOUT_FEATURES .kernel = KERNEL_WITHOUT_FEATURES

static const struct port_row rows[] = {
	PORT("a NIC", NIC, 0, 0),
	PORT("not served", "5 program", P(INGRESS), 0),
	PORT("to pass", NIC "pass", 0, P(PASS)),
	PORT("strips tags", NIC "strips_tags", 0, P(PASS)),
	PORT("open checksums", NIC "open_checksums", 0, P(OPEN_CHECKSUMS)),
	PORT("no IPv6", NIC "no_ipv6", P(IPV6), 0),
	PORT("disable_ipv6", NIC "disable_ipv6", P(IPV6), P(SKIP)),
	PORT("down", NIC "down", P(UP), P(SKIP) | P(SKIP_OBJECT)),
	PORT("no carrier", NIC "dormant no_carrier", P(UP), P(SKIP_OBJECT)),
	PORT("no carrier, ignored", NIC "dormant no_carrier ignore_linkdown", P(UP),
	     P(SKIP) | P(SKIP_OBJECT)),
	PORT("dormant, ignored", NIC "dormant ignore_linkdown", 0, P(SKIP)),
	PORT("stale routes", NIC "routes_stale", P(UP), 0),
	PORT("generic", NIC "generic", 0, P(GENERIC)),
	PORT("an unknown program", NIC "unknown_program", 0, P(PASS) | P(UNSUPPORTED)),
	PORT("an MTU that the program does not fit", NIC "refused_mtu=9000", 0, P(ATTACH_PENDING)),
	PORT("features unknown", NIC "no_features", P(XMIT), 0),
	PORT("takes no frames", NIC "features=64", P(XMIT), 0),
	PORT("takes large frames", NIC "features=68", 0, P(XMIT_FRAGS)),
	PORT("takes no frames whatever the operator says", NIC "features=0 assume_xmit", P(XMIT),
	     0),
	PORT("in a bridge", NIC "master=90; 90 kind=bridge", 0, P(UPPER)),
	PORT("a VLAN on an unknown device", NIC "kind=vlan lower=77", P(INGRESS) | P(UP) | P(XMIT),
	     P(UNSUPPORTED)),
	PORT("a device that is not announced", NIC "no_link", SERVED, 0, .rest = "mtu 0"),

	/* lower: a veth's peer, say, in another namespace */
	PORT("a veth", NIC "kind=veth lower=5", 0, P(OPEN_CHECKSUMS)),
	PORT("a tap", NIC "kind=tun lower=5", 0, P(OPEN_CHECKSUMS)),
	PORT("a bond", NIC "kind=bond lower=5", 0, 0),
	PORT("a tun", NIC "kind=tun type=0xfffe", 0, P(TUNNEL) | P(OPEN_CHECKSUMS)),
	PORT("a sit", NIC "kind=sit type=776", 0, P(TUNNEL)),
	PORT("a gretap", NIC "kind=gretap", 0, P(TUNNEL)),
	PORT("a WireGuard device", NIC "kind=wireguard type=0xfffe", 0, P(TUNNEL)),
	PORT("a bridge", NIC "kind=bridge", 0, P(BRIDGE)),
	PORT("a macvlan", NIC "kind=macvlan", 0, P(MACVLAN)),
	PORT("an ipvlan", NIC "kind=ipvlan", 0, P(MACVLAN)),
	PORT("a dummy", NIC "kind=dummy", 0, P(UNSUPPORTED)),
	PORT("a VRF", NIC "kind=vrf", 0, P(UNSUPPORTED)),
	PORT("lo", NIC "type=772", 0, P(UNSUPPORTED)),
	PORT("InfiniBand", NIC "type=32", 0, P(UNSUPPORTED)),

	PORT("a NIC without a program", "5 ours", P(XMIT), 0, WITHOUT_FEATURES),
	PORT("… whose program has no mode", NIC, P(XMIT), 0, WITHOUT_FEATURES),
	PORT("… with a native one", NIC "native", 0, 0, WITHOUT_FEATURES),
	PORT("a bond, the same", NIC "native kind=bond; 7 slave=5", 0, 0, WITHOUT_FEATURES),
	PORT("a veth", NIC "native kind=veth", P(XMIT), P(OPEN_CHECKSUMS), WITHOUT_FEATURES),
	PORT("a veth in a bond", NIC "native kind=bond; 7 slave=5 kind=veth", P(XMIT),
	     P(OPEN_CHECKSUMS), WITHOUT_FEATURES),
	PORT("… that the operator trusts", NIC "native kind=bond assume_xmit; 7 slave=5 kind=veth",
	     0, P(OPEN_CHECKSUMS), WITHOUT_FEATURES),
	PORT("a veth that the operator trusts", "5 ours kind=veth assume_xmit", 0,
	     P(OPEN_CHECKSUMS), WITHOUT_FEATURES),
};

static void test_rows(void **state)
{
	ports_set_rules(true);
	ports_check(rows, ARRAY_SIZE(rows));
}

static void test_rules(void **state)
{
	static const struct port_row walk[] = { PORT("more rules", NIC, 0, P(RULES)) };

	ports_set_rules(false);
	ports_check(walk, 1);
}

/* Settings of all devices. */
static void test_settings(void **state)
{
	struct links links = { 0 };

	ports_set_rules(true);
	devices_set(&links, NIC);
	assert_int_equal(ports_port(&links, 5, KERNEL_NEW).flags, SERVED & ~P(FORWARDING));
	devices_set(&links, "5 force_forwarding");
	assert_int_equal(ports_port(&links, 5, KERNEL_NEW).flags, SERVED);
	links.proxy_ndp = true;
	assert_int_equal(ports_port(&links, 5, KERNEL_NEW).flags, SERVED | P(PROXY_NDP));
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
