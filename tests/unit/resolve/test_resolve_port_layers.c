// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath knows of ports that stand above or below others: VLAN devices, members of a
 * VRF, slaves of a bond; and which of them walk the rules.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>

#include "resolve_ports.h"

/* After a change the port has these flags. */
#define AFTER(change, ifindex, expected)                                       \
	do {                                                                   \
		change;                                                        \
		assert_int_equal(ports_port(&links, ifindex).flags, expected); \
	} while (0)

/* --- VLAN devices ---------------------------------------------------------------------------- */

static void assert_tag(union sixlane_tag tag, uint16_t tpid, uint16_t id)
{
	assert_int_equal(ntohs(tag.tpid), tpid);
	assert_int_equal(ntohs(tag.tci), id);
}

static void test_vlan(void **state)
{
	struct links links = { 0 };
	struct sixlane_port port;

	ports_set_rules(true);
	ports_add(&links, 5, "")->ours = true;
	ports_add_vlan(&links, 6, 5, 100);
	port = ports_port(&links, 6);
	assert_int_equal(port.flags, TO_VLAN);
	assert_int_equal(port.lower, 5);
	assert_int_equal(port.tx_ifindex, 5);
	assert_int_equal(port.iif, 6);
	assert_tag(port.tag, ETH_P_8021Q, 100);
	assert_tag(port.tags[0], ETH_P_8021Q, 100);
	assert_int_equal(port.tags[1].word, 0);
	assert_memory_equal(port.mac.bytes, "\2\0\0\0\0\6", 6);
	/* What is said of the NIC holds for it. */
	AFTER(links_find(&links, 5)->link.xdp_mode = XDP_MODE_GENERIC, 6, TO_VLAN | P(GENERIC));
	AFTER(links_find(&links, 5)->link.xdp_mode = XDP_MODE_NATIVE;
	      links_find(&links, 5)->strips_tags = true, 6, TO_VLAN | P(PASS));
	AFTER(links_find(&links, 5)->strips_tags = false;
	      links_find(&links, 5)->open_checksums = true, 6, TO_VLAN | P(OPEN_CHECKSUMS));
	AFTER(links_find(&links, 5)->open_checksums = false;
	      links_find(&links, 5)->xdp_features = 0;
	      links_find(&links, 6)->link.vlan_maps_priority = true, 6,
	      (TO_VLAN & ~P(XMIT)) | P(UNSUPPORTED));
	links_find(&links, 5)->link.carrier = false;
	links_find(&links, 5)->ours = false;
	assert_int_equal(ports_port(&links, 6).flags & (P(UP) | P(INGRESS) | P(SKIP)), 0);
	links_find(&links, 5)->link.master = 90; /* whose frames are not the tagged ones */
	assert_int_equal(ports_port(&links, 6).flags & P(UPPER), 0);
	links_clear(&links);
}

static void test_vlan_in_vlan(void **state)
{
	struct links links = { 0 };
	struct sixlane_port port;

	ports_set_rules(true);
	ports_add(&links, 5, "bond")->ours = true;
	ports_add_vlan(&links, 6, 5, 100)->link.vlan_protocol = ETH_P_8021AD;
	ports_add_vlan(&links, 7, 6, 200);
	ports_add_vlan(&links, 8, 7, 300);
	port = ports_port(&links, 7);
	assert_int_equal(port.flags, TO_VLAN);
	assert_int_equal(port.lower, 6);
	assert_int_equal(port.tx_ifindex, 5);
	assert_tag(port.tag, ETH_P_8021Q, 200);
	assert_tag(port.tags[0], ETH_P_8021AD, 100);
	assert_tag(port.tags[1], ETH_P_8021Q, 200);
	/* A frame of two tags and 1500 bytes is lost on the way to a device of MTU 1500. */
	assert_int_equal(port.mtu, 1496);
	assert_int_equal(ports_port(&links, 6).mtu, 1500);
	AFTER(links_find(&links, 6)->pass = true, 7, TO_VLAN | P(PASS));
	AFTER(links_find(&links, 6)->pass = false;
	      links_find(&links, 6)->link.flags = 0, 7, TO_VLAN & ~P(UP));
	AFTER(links_find(&links, 6)->link.vlan_maps_priority = true, 7,
	      (TO_VLAN & ~P(UP)) | P(UNSUPPORTED));
	/* More tags than can be written. */
	assert_int_equal(ports_port(&links, 8).flags, P(IPV6) | P(FORWARDING) | P(UNSUPPORTED));
	assert_int_equal(ports_port(&links, 8).tag.word, 0);
	links_clear(&links);
}

static void test_vlan_on_others(void **state)
{
	static const struct {
		const char *kind;
		uint32_t flag;
	} lower[] = {
		{ "bridge", P(BRIDGE) },    { "macvlan", P(MACVLAN) },	   { "gretap", P(TUNNEL) },
		{ "team", P(UNSUPPORTED) }, { "veth", P(OPEN_CHECKSUMS) }, { "bond", 0 },
	};

	ports_set_rules(true);
	for (size_t i = 0; i < ARRAY_SIZE(lower); i++) {
		struct links links = { 0 };

		ports_add(&links, 5, lower[i].kind)->ours = true;
		ports_add_vlan(&links, 6, 5, 100);
		assert_int_equal(ports_port(&links, 6).flags, TO_VLAN | lower[i].flag);
		links_clear(&links);
	}
}

/* Links are announced one by one: for a moment they may form a loop. */
static void test_vlan_ring(void **state)
{
	struct links links = { 0 };

	ports_set_rules(true);
	ports_add_vlan(&links, 5, 6, 100);
	ports_add_vlan(&links, 6, 5, 100);
	assert_int_equal(ports_port(&links, 5).flags, P(IPV6) | P(FORWARDING) | P(UNSUPPORTED));
	links_clear(&links);
}

static void test_mtu(void **state)
{
	struct links links = { 0 };
	struct device *device;

	ports_set_rules(true);
	ports_add(&links, 5, "");
	ports_add_vlan(&links, 6, 5, 100);
	ports_add_vlan(&links, 7, 6, 100);
	device = links_find(&links, 7);
	device->ipv6.mtu6 = 1400;
	assert_int_equal(ports_port(&links, 7).mtu, 1400);
	device->ipv6.mtu6 = 9000;
	assert_int_equal(ports_port(&links, 7).mtu, 1496);
	device->link.mtu = 1300;
	assert_int_equal(ports_port(&links, 7).mtu, 1300);
	device->link.mtu = 1000;
	assert_int_equal(ports_port(&links, 7).mtu, 1280);
	links_find(&links, 5)->link.mtu = 1280;
	assert_int_equal(ports_port(&links, 7).mtu, 1276);
	links_find(&links, 5)->link.mtu = 2;
	assert_int_equal(ports_port(&links, 7).mtu, 0);
	assert_int_equal(ports_port(&links, 5).mtu, 1280);
	links_clear(&links);
}

/* --- VRFs, rules, bonds ---------------------------------------------------------------------- */

static void test_vrf(void **state)
{
	struct links links = { 0 };
	struct sixlane_port port;

	ports_set_rules(true);
	ports_add(&links, 5, "")->ours = true;
	ports_add(&links, 9, "vrf")->link.vrf_table = 700;
	links_find(&links, 5)->link.master = 9;
	strcpy(links_find(&links, 5)->link.master_kind, "vrf");
	port = ports_port(&links, 5);
	assert_int_equal(port.flags, SERVED | P(VRF) | P(RULES));
	assert_int_equal(port.table, 700);
	assert_int_equal(port.iif, 9);
	assert_int_equal(ports_port(&links, 9).flags & P(UNSUPPORTED), P(UNSUPPORTED));
	links_find(&links, 9)->link.flags = 0;
	port = ports_port(&links, 5);
	assert_int_equal(port.flags, SERVED | P(UPPER));
	assert_int_equal(port.table, 254);
	assert_int_equal(port.iif, 5);
	AFTER(links_find(&links, 9)->link.flags = IFF_UP;
	      links_find(&links, 9)->link.vrf_table = 0, 5, SERVED | P(UPPER));
	links_delete(&links, 9);
	assert_int_equal(ports_port(&links, 5).flags, SERVED | P(UPPER));
	links_clear(&links);
}

static void test_rules(void **state)
{
	struct links links = { 0 };

	ports_add(&links, 5, "")->ours = true;
	ports_set_rules(false);
	assert_int_equal(ports_port(&links, 5).flags, SERVED | P(RULES));
	ports_set_rules(true);
	assert_int_equal(ports_port(&links, 5).flags, SERVED);
	links_clear(&links);
}

static void test_bond(void **state)
{
	struct links links = { 0 };
	struct device *master, *slave;
	struct sixlane_port port;

	ports_set_rules(true);
	ports_add(&links, 5, "bond");
	ports_add_slave(&links, 6, 5);
	master = links_find(&links, 5);
	slave = links_find(&links, 6);
	memset(master->link.mac, 0xaa, sizeof(master->link.mac));
	/* The program is on the slave alone. */
	AFTER(slave->ours = true, 6, SERVED | P(UPPER));
	slave->ours = false;
	master->ours = true;
	port = ports_port(&links, 6);
	assert_int_equal(port.flags, SERVED | P(SLAVE));
	assert_int_equal(port.lower, 5);
	assert_int_equal(port.tx_ifindex, 6);
	assert_int_equal(ports_port(&links, 5).flags, SERVED);
	assert_int_equal(ports_port(&links, 5).tx_ifindex, 5);
	AFTER(slave->link.slave_active = false, 6, SERVED | P(BACKUP));
	assert_int_equal(ports_port(&links, 6).lower, 0);
	AFTER(slave->link.slave_active = true; slave->link.mac[5]++, 6, SERVED | P(UPPER));
	AFTER(slave->link.mac[5]--; slave->pass = true, 6, SERVED | P(PASS));
	slave->pass = false;
	strcpy(ports_add(&links, 7, "macsec")->link.name, "takes");
	AFTER(links_find(&links, 7)->link.lower = 6, 6, SERVED | P(UPPER));
	links_delete(&links, 7);
	assert_int_equal(ports_port(&links, 6).flags, SERVED | P(SLAVE));
	/* Its tags never get to the bond, wherever the device that takes them is. */
	ports_add_vlan(&links, 8, 6, 10);
	assert_int_equal(ports_port(&links, 6).flags, SERVED | P(UPPER));
	assert_int_equal(ports_port(&links, 8).flags & P(INGRESS), 0);
	links_set_moved(&links, &links_find(&links, 8)->link);
	links_delete(&links, 8);
	assert_int_equal(ports_port(&links, 6).flags, SERVED | P(UPPER));
	links_find(&links, 6)->tags_elsewhere = false;
	ports_add_vlan(&links, 9, 5, 10);
	assert_int_equal(ports_port(&links, 6).flags, SERVED | P(SLAVE));
	links_delete(&links, 5);
	assert_int_equal(ports_port(&links, 6).flags, (SERVED & ~P(INGRESS)) | P(UPPER));
	links_clear(&links);
}

/* Rules see the tunnel of what came in by such a device, and XDP does not. */
static void test_external_tunnel(void **state)
{
	struct links links = { 0 };

	ports_set_rules(true);
	ports_add(&links, 5, "vxlan")->ours = true;
	ports_add_vlan(&links, 6, 5, 100);
	assert_true(ports_port(&links, 5).flags & P(INGRESS));
	assert_true(ports_port(&links, 6).flags & P(INGRESS));
	links_find(&links, 5)->link.is_external = true;
	assert_false(ports_port(&links, 5).flags & P(INGRESS));
	assert_false(ports_port(&links, 6).flags & P(INGRESS));
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_vlan_in_vlan),
		cmocka_unit_test(test_vlan_on_others),
		cmocka_unit_test(test_vlan_ring),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_vrf),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_bond),
		cmocka_unit_test(test_external_tunnel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
