// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath knows of a port that is a device by itself: how each fact about the device
 * shows.
 */
#include <net/if_arp.h>

#include "resolve_ports.h"

/* What differs from a plain NIC after a change: flags that are lost, and gained. */
#define PORT(what, change, lost, gained)                                                \
	do {                                                                            \
		struct links links = { 0 };                                             \
		struct device *device = ports_add(&links, 5, "");                       \
                                                                                        \
		device->ours = device->program = true;                                  \
		change;                                                                 \
		check(&links, what, (SERVED & ~(uint32_t)(lost)) | (uint32_t)(gained)); \
		links_clear(&links);                                                    \
	} while (0)

static void check(const struct links *links, const char *what, uint32_t flags)
{
	const struct sixlane_port port = ports_port(links, 5);

	if (port.flags != flags)
		fail_msg("%s: %#x", what, port.flags ^ flags);
	assert_int_equal(port.table, 254);
	assert_int_equal(port.iif, 5);
	assert_int_equal(port.tx_ifindex, 5);
	assert_int_equal(port.lower, 0);
	assert_int_equal(port.tag.word, 0);
	assert_int_equal(port.mtu, 1500);
	assert_memory_equal(port.mac.bytes, "\2\0\0\0\0\5", 6);
}

static void no_carrier(struct device *device)
{
	device->link.flags &= ~(uint32_t)IFF_RUNNING;
	device->link.carrier = false;
}

static void test_changes(void **state)
{
	ports_set_rules(true);
	PORT("a NIC", (void)device, 0, 0);
	PORT("not served", device->ours = false, P(INGRESS), 0);
	PORT("to pass", device->pass = true, 0, P(PASS));
	PORT("strips tags", device->strips_tags = true, 0, P(PASS));
	PORT("open checksums", device->open_checksums = true, 0, P(OPEN_CHECKSUMS));
	PORT("no IPv6", device->has_ipv6 = false, P(IPV6), 0);
	PORT("disable_ipv6", device->ipv6.disabled = true, P(IPV6), P(SKIP));
	PORT("no forwarding", links.forwarding = false, P(FORWARDING), 0);
	PORT("force_forwarding", links.forwarding = !(device->ipv6.force_forwarding = true), 0, 0);
	PORT("proxy_ndp", links.proxy_ndp = true, 0, P(PROXY_NDP));
	PORT("down", device->link.flags = 0, P(UP), P(SKIP) | P(SKIP_OBJECT));
	PORT("no carrier", no_carrier(device), P(UP), P(SKIP_OBJECT));
	PORT("no carrier, ignored", no_carrier(device);
	     device->ipv6.ignore_linkdown = true, P(UP), P(SKIP) | P(SKIP_OBJECT));
	PORT("dormant, ignored", device->link.flags &= ~(uint32_t)IFF_RUNNING;
	     device->ipv6.ignore_linkdown = true, 0, P(SKIP));
	PORT("stale routes", device->routes_stale = true, P(UP), 0);
	PORT("generic", device->link.xdp_mode = XDP_MODE_GENERIC, 0, P(GENERIC));
	PORT("an unknown program", device->link.xdp_mode = XDP_MODE_UNKNOWN, 0,
	     P(PASS) | P(UNSUPPORTED));
	PORT("features unknown", device->has_features = false, P(XMIT), 0);
	PORT("takes no frames", device->xdp_features = NDO_XMIT_SG, P(XMIT), 0);
	PORT("takes large frames", device->xdp_features = NDO_XMIT | NDO_XMIT_SG, 0, P(XMIT_FRAGS));
	PORT("takes no frames whatever the operator says", device->xdp_features = 0;
	     device->assume_xmit = true, P(XMIT), 0);
	PORT("in a bridge", ports_add(&links, 90, "bridge");
	     links_find(&links, 5)->link.master = 90, 0, P(UPPER));
	PORT("a VLAN on an unknown device", strcpy(device->link.kind, "vlan");
	     device->link.lower = 77, P(INGRESS) | P(UP) | P(XMIT), P(UNSUPPORTED));
}

static void test_kinds(void **state)
{
	static const struct {
		const char *kind;
		uint16_t type;
		uint32_t flag;
	} kinds[] = {
		{ "veth", ARPHRD_ETHER, P(OPEN_CHECKSUMS) },
		{ "tun", ARPHRD_ETHER, P(OPEN_CHECKSUMS) },
		{ "bond", ARPHRD_ETHER, 0 },
		{ "tun", ARPHRD_NONE, P(TUNNEL) | P(OPEN_CHECKSUMS) },
		{ "sit", ARPHRD_SIT, P(TUNNEL) },
		{ "gretap", ARPHRD_ETHER, P(TUNNEL) },
		{ "wireguard", ARPHRD_NONE, P(TUNNEL) },
		{ "bridge", ARPHRD_ETHER, P(BRIDGE) },
		{ "macvlan", ARPHRD_ETHER, P(MACVLAN) },
		{ "ipvlan", ARPHRD_ETHER, P(MACVLAN) },
		{ "dummy", ARPHRD_ETHER, P(UNSUPPORTED) },
		{ "vrf", ARPHRD_ETHER, P(UNSUPPORTED) },
		{ "", ARPHRD_LOOPBACK, P(UNSUPPORTED) },
		{ "", ARPHRD_INFINIBAND, P(UNSUPPORTED) },
	};

	ports_set_rules(true);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct links links = { 0 };
		struct device *device = ports_add(&links, 5, kinds[i].kind);

		device->ours = true;
		device->link.type = kinds[i].type;
		device->link.lower = 5; /* a veth's peer, say, in another namespace */
		if (ports_port(&links, 5).flags != (SERVED | kinds[i].flag))
			fail_msg("%s: %#x", kinds[i].kind, ports_port(&links, 5).flags);
		links_clear(&links);
	}
}

static void test_unknown_device(void **state)
{
	struct links links = { 0 };
	struct sixlane_port port;
	bool changed;

	assert_int_equal(links_set_features(&links, 5, NDO_XMIT, &changed), 0);
	port = ports_port(&links, 5);
	assert_int_equal(port.flags, 0);
	assert_int_equal(port.mtu, 0);
	links_clear(&links);
}

/* Before Linux 6.3. */
static bool takes_frames(struct links *links, uint32_t ifindex)
{
	const struct resolve_port_policy old = { .rules = &ports_program, .addrs = &ports_addrs };
	struct sixlane_port port;

	resolve_port(links, links_find(links, ifindex), &old, &port);
	assert_false(port.flags & P(XMIT_FRAGS));
	return port.flags & P(XMIT);
}

static void test_features_unannounced(void **state)
{
	struct links links = { 0 };

	ports_set_rules(true);
	ports_add(&links, 5, "");
	ports_add(&links, 6, "bond");
	ports_add_slave(&links, 7, 6);
	ports_add_vlan(&links, 8, 6, 10);
	assert_false(takes_frames(&links, 5));
	links_find(&links, 5)->program = links_find(&links, 6)->program = true;
	assert_false(takes_frames(&links, 5));
	links_find(&links, 5)->link.xdp_mode = XDP_MODE_NATIVE;
	links_find(&links, 6)->link.xdp_mode = XDP_MODE_NATIVE;
	assert_true(takes_frames(&links, 5));
	assert_true(takes_frames(&links, 6));
	assert_true(takes_frames(&links, 8));
	strcpy(links_find(&links, 5)->link.kind, "veth");
	strcpy(links_find(&links, 7)->link.kind, "veth");
	assert_false(takes_frames(&links, 5));
	assert_false(takes_frames(&links, 6));
	assert_false(takes_frames(&links, 8));
	links_find(&links, 5)->assume_xmit = links_find(&links, 6)->assume_xmit = true;
	assert_true(takes_frames(&links, 5));
	assert_true(takes_frames(&links, 8));
	links_clear(&links);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_unknown_device),
		cmocka_unit_test(test_features_unannounced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
