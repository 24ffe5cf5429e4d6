// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the datapath is told of a port that is a device by itself: how each fact about the device
 * shows.
 */
#include <net/if_arp.h>

#include "resolve_ports.h"

/* --- one device: what differs from a plain NIC ----------------------------------------------- */

struct row {
	const char *what;
	void (*change)(struct links *links, struct device *device);
	uint32_t lost, gained;
};

#define CHANGE(name)                                                  \
	static void name(struct links *links __attribute__((unused)), \
			 struct device *device __attribute__((unused)))

CHANGE(nothing)
{
}

CHANGE(not_ours)
{
	device->ours = false;
}

CHANGE(pass)
{
	device->pass = true;
}

CHANGE(open_checksums)
{
	device->open_checksums = true;
}

CHANGE(strips_tags)
{
	device->strips_tags = true;
}

CHANGE(no_ipv6)
{
	device->has_ipv6 = false;
}

CHANGE(ipv6_disabled)
{
	device->ipv6.disabled = true;
}

CHANGE(no_forwarding)
{
	links->forwarding = false;
}

CHANGE(forced_forwarding)
{
	links->forwarding = false;
	device->ipv6.force_forwarding = true;
}

CHANGE(proxy_ndp)
{
	links->proxy_ndp = true;
}

CHANGE(down)
{
	device->link.flags = 0;
}

CHANGE(no_carrier)
{
	device->link.flags &= ~(uint32_t)IFF_RUNNING;
	device->link.carrier = false;
}

CHANGE(no_carrier_ignored)
{
	no_carrier(links, device);
	device->ipv6.ignore_linkdown = true;
}

CHANGE(dormant_ignored)
{
	device->link.flags &= ~(uint32_t)IFF_RUNNING;
	device->ipv6.ignore_linkdown = true;
}

CHANGE(doubtful)
{
	device->doubtful = true;
}

CHANGE(generic)
{
	device->link.xdp_mode = XDP_MODE_GENERIC;
}

CHANGE(unknown_program)
{
	device->link.xdp_mode = XDP_MODE_UNKNOWN;
}

CHANGE(no_features)
{
	device->has_features = false;
}

CHANGE(no_xmit)
{
	device->xdp_features = NDO_XMIT_SG;
}

CHANGE(frags)
{
	device->xdp_features = NDO_XMIT | NDO_XMIT_SG;
}

CHANGE(assumed)
{
	device->xdp_features = 0; /* the kernel's word counts */
	device->assume_xmit = true;
}

CHANGE(in_bridge)
{
	ports_add(links, 90, "bridge");
	links_find(links, device->ifindex)->link.master = 90;
}

CHANGE(unknown_vlan)
{
	strcpy(device->link.kind, "vlan");
	device->link.lower = 77;
}

static const struct row rows[] = {
	{ "a NIC", nothing, 0, 0 },
	{ "not served", not_ours, P(INGRESS), 0 },
	{ "to pass", pass, 0, P(PASS) },
	{ "strips tags", strips_tags, 0, P(PASS) },
	{ "open checksums", open_checksums, 0, P(OPEN_CHECKSUMS) },
	{ "no IPv6", no_ipv6, P(IPV6), 0 },
	{ "disable_ipv6", ipv6_disabled, P(IPV6), P(SKIP) },
	{ "no forwarding", no_forwarding, P(FORWARDING), 0 },
	{ "force_forwarding", forced_forwarding, 0, 0 },
	{ "proxy_ndp", proxy_ndp, 0, P(PROXY_NDP) },
	{ "down", down, P(UP), P(SKIP) | P(SKIP_OBJECT) },
	{ "no carrier", no_carrier, P(UP), P(SKIP_OBJECT) },
	{ "no carrier, ignored", no_carrier_ignored, P(UP), P(SKIP) | P(SKIP_OBJECT) },
	{ "dormant, ignored", dormant_ignored, 0, P(SKIP) },
	{ "doubtful", doubtful, P(UP), 0 },
	{ "generic", generic, 0, P(GENERIC) },
	{ "a program of which not all is known", unknown_program, 0, P(PASS) | P(STRANGE) },
	{ "features unknown", no_features, P(XMIT), 0 },
	{ "takes no frames", no_xmit, P(XMIT), 0 },
	{ "takes large frames", frags, 0, P(XMIT_FRAGS) },
	{ "takes no frames whatever the operator says", assumed, P(XMIT), 0 },
	{ "in a bridge", in_bridge, 0, P(UPPER) },
	{ "a VLAN on nobody knows what", unknown_vlan, P(INGRESS) | P(UP) | P(XMIT), P(STRANGE) },
};

static void test_rows(void **state)
{
	ports_set_rules(true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct links links = { 0 };
		struct device *device = ports_add(&links, 5, "");
		struct sixlane_port port;

		device->ours = device->program = true;
		rows[i].change(&links, device);
		port = ports_port(&links, 5);
		if (port.flags != ((SERVED & ~rows[i].lost) | rows[i].gained))
			fail_msg("%s: %#x", rows[i].what,
				 port.flags ^ ((SERVED & ~rows[i].lost) | rows[i].gained));
		assert_int_equal(port.table, 254);
		assert_int_equal(port.iif, 5);
		assert_int_equal(port.tx_ifindex, 5);
		assert_int_equal(port.lower, 0);
		assert_int_equal(port.tag.word, 0);
		assert_int_equal(port.mtu, 1500);
		assert_memory_equal(port.mac.bytes, "\2\0\0\0\0\5", 6);
		links_clear(&links);
	}
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
		{ "dummy", ARPHRD_ETHER, P(STRANGE) },
		{ "vrf", ARPHRD_ETHER, P(STRANGE) },
		{ "", ARPHRD_LOOPBACK, P(STRANGE) },
		{ "", ARPHRD_INFINIBAND, P(STRANGE) },
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

static void test_kernel_does_not_tell(void **state)
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
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_unknown_device),
		cmocka_unit_test(test_kernel_does_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
