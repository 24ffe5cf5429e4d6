// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what is stored, who takes their frames, and what the datapath is told of them as ports.
 */
#include <linux/netconf.h>
#include <net/if_arp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/fib/resolve_port.h"
#include "../../user/netlink/parse.h"
#include "../../user/util.h"

static struct link make_link(uint32_t ifindex, const char *name, const char *kind)
{
	struct link link = {
		.ifindex = ifindex,
		.flags = IFF_UP | IFF_RUNNING,
		.mtu = 1500,
		.type = ARPHRD_ETHER,
		.mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex },
		.carrier = true,
	};

	strcpy(link.name, name);
	strcpy(link.kind, kind);
	return link;
}

static void set(struct links *links, const struct link *link)
{
	bool changed;

	assert_int_equal(links_set(links, link, &changed), 0);
}

static void test_store(void **state)
{
	struct links links = { 0 };
	struct link link;
	bool changed;

	(void)state;
	/* in an order that makes the array move */
	for (uint32_t i = 0; i < 100; i++) {
		char name[IFNAMSIZ];

		snprintf(name, sizeof(name), "p%u", i * 37 % 100);
		link = make_link(1 + i * 37 % 100, name, "");
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_true(changed);
		assert_int_equal(links_set(&links, &link, &changed), 0);
		assert_false(changed);
	}
	assert_int_equal(links.n, 100);
	assert_string_equal(links_find(&links, 43)->link.name, "p42");
	assert_null(links_find(&links, 101));
	links_delete(&links, 43);
	links_delete(&links, 43);
	assert_null(links_find(&links, 43));
	assert_non_null(links_find(&links, 44));
	links_mark(&links);
	link = make_link(7, "p6", "");
	set(&links, &link);
	assert_int_equal(links_sweep(&links), 98);
	assert_int_equal(links.n, 1);
	assert_non_null(links_find(&links, 7));
	links_clear(&links);
}

static void test_linkdown(void **state)
{
	struct links links = { 0 };
	struct link link = make_link(1, "p", "");
	struct link_ipv6 ipv6 = { .ifindex = 1, .mtu6 = 1500 };
	bool changed;

	(void)state;
	set(&links, &link);
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_false(links_ignored(&links, 1));
	link.carrier = false;
	set(&links, &link);
	assert_false(links_ignored(&links, 1));
	ipv6.ignore_linkdown = true;
	assert_int_equal(links_set_ipv6(&links, &ipv6, &changed), 0);
	assert_true(changed);
	assert_true(links_ignored(&links, 1));
	link.carrier = true;
	set(&links, &link);
	assert_false(links_ignored(&links, 1));
	link.flags &= ~(unsigned int)IFF_RUNNING; /* dormant */
	set(&links, &link);
	assert_true(links_ignored(&links, 1));
	assert_false(links_ignored(&links, 2));
	links_clear(&links);
}

static void test_taken(void **state)
{
	static const struct {
		const char *kind;
		bool takes_frames, taken;
	} uppers[] = {
		{ "vlan", false, false },   { "macvlan", false, false },
		{ "macvlan", true, true },  { "macvtap", true, true },
		{ "ipvlan", false, true },  { "macsec", false, true },
		{ "vxlan", false, false },  { "veth", false, false },
		{ "ip6tnl", false, false }, { "invented", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(uppers); i++) {
		struct links links = { 0 };
		struct link port = make_link(1, "p", ""), upper = make_link(2, "u", uppers[i].kind);

		upper.lower = 1;
		upper.takes_frames = uppers[i].takes_frames;
		set(&links, &port);
		assert_false(links_taken(&links, links_find(&links, 1)));
		set(&links, &upper);
		assert_int_equal(links_taken(&links, links_find(&links, 1)), uppers[i].taken);
		assert_false(links_taken(&links, links_find(&links, 2)));
		links_delete(&links, 2);
		port.master = 3;
		set(&links, &port);
		assert_true(links_taken(&links, links_find(&links, 1)));
		links_clear(&links);
	}
}

/* A port with everything on; each row below changes one thing and says what flag follows. */
static void make_port(struct links *links, struct link *link, struct link_ipv6 *ipv6)
{
	*links = (struct links){ .forwarding = true };
	*link = make_link(1, "p", "");
	link->xdp_mode = XDP_MODE_NATIVE;
	link->xdp_prog_id = 9;
	*ipv6 = (struct link_ipv6){ .ifindex = 1, .mtu6 = 1400 };
}

static struct sixlane_port resolve(struct links *links, const struct link *link,
				   const struct link_ipv6 *ipv6, uint64_t features,
				   struct resolve_port_policy policy)
{
	struct sixlane_port port;
	struct device *device;
	bool changed;

	set(links, link);
	assert_int_equal(links_set_ipv6(links, ipv6, &changed), 0);
	assert_int_equal(links_set_features(links, link->ifindex, features, &changed), 0);
	device = links_find(links, link->ifindex);
	device->ours = device->program = true;
	resolve_port(links, device, &policy, &port);
	links_clear(links);
	return port;
}

#define GOOD                                                                                    \
	(SIXLANE_PORT_INGRESS | SIXLANE_PORT_IPV6 | SIXLANE_PORT_FORWARDING | SIXLANE_PORT_UP | \
	 SIXLANE_PORT_XMIT | SIXLANE_PORT_ETHER)
static const struct resolve_port_policy kernel_tells = { .kernel_tells = true };

static void test_port(void **state)
{
	struct sixlane_port port;
	struct links links;
	struct link link;
	struct link_ipv6 ipv6;

	(void)state;
	make_port(&links, &link, &ipv6);
	port = resolve(&links, &link, &ipv6, PARSE_XDP_ACT_NDO_XMIT, kernel_tells);
	assert_int_equal(port.ifindex, 1);
	assert_int_equal(port.flags, GOOD);
	assert_int_equal(port.mtu, 1400);
	assert_int_equal(port.table, SIXLANE_TABLE_MAIN);
	assert_memory_equal(port.mac.bytes, link.mac, 6);
}

#define ROW(statement, want)                                                                   \
	do {                                                                                   \
		struct resolve_port_policy policy = kernel_tells;                              \
		uint64_t features = PARSE_XDP_ACT_NDO_XMIT;                                    \
		struct links links;                                                            \
		struct link link;                                                              \
		struct link_ipv6 ipv6;                                                         \
                                                                                               \
		make_port(&links, &link, &ipv6);                                               \
		statement;                                                                     \
		(void)policy, (void)features;                                                  \
		assert_int_equal(resolve(&links, &link, &ipv6, features, policy).flags, want); \
	} while (0)

static void test_port_flags(void **state)
{
	(void)state;
	ROW(policy.pass = true, GOOD | SIXLANE_PORT_PASS);
	ROW(link.master = 5, GOOD | SIXLANE_PORT_UPPER);
	ROW(ipv6.disabled = true, GOOD & ~SIXLANE_PORT_IPV6);
	ROW(links.forwarding = false, GOOD & ~SIXLANE_PORT_FORWARDING);
	ROW((links.forwarding = false, ipv6.force_forwarding = true), GOOD);
	ROW(links.proxy_ndp = true, GOOD | SIXLANE_PORT_PROXY_NDP);
	ROW(link.flags = 0, GOOD & ~SIXLANE_PORT_UP);
	ROW(link.carrier = false, GOOD & ~SIXLANE_PORT_UP);
	ROW(features = 1, GOOD & ~SIXLANE_PORT_XMIT);
	ROW(link.xdp_mode = XDP_MODE_GENERIC, GOOD | SIXLANE_PORT_GENERIC);
	ROW(link.type = ARPHRD_NONE, GOOD & ~SIXLANE_PORT_ETHER);
	ROW(strcpy(link.kind, "bridge"), GOOD & ~SIXLANE_PORT_ETHER);
	ROW(strcpy(link.kind, "vlan"), GOOD & ~SIXLANE_PORT_ETHER);
	ROW(strcpy(link.kind, "veth"), GOOD);
	/* before Linux 6.3: a NIC's native program is believed, a veth is not, the operator is */
	ROW((policy.kernel_tells = false, features = 0), GOOD);
	ROW((policy.kernel_tells = false, strcpy(link.kind, "veth")), GOOD & ~SIXLANE_PORT_XMIT);
	ROW((policy.kernel_tells = false, policy.assume_xmit = true, strcpy(link.kind, "veth")),
	    GOOD);
	ROW((policy.kernel_tells = false, link.xdp_mode = XDP_MODE_GENERIC),
	    (GOOD & ~SIXLANE_PORT_XMIT) | SIXLANE_PORT_GENERIC);
}

/* What a device is remembered for beside its messages. */
static void test_port_marks(void **state)
{
	struct links links = { 0 };
	struct link link = make_link(1, "p", ""), upper = make_link(2, "u", "ipvlan");
	struct sixlane_port port;
	struct device *device;

	(void)state;
	set(&links, &link);
	upper.lower = 1;
	set(&links, &upper);
	device = links_find(&links, 1);
	device->doubtful = true;
	resolve_port(&links, device, &kernel_tells, &port);
	assert_int_equal(port.flags & SIXLANE_PORT_UP, 0);
	links_clear_doubts(&links);
	device->strips_tags = true;
	resolve_port(&links, device, &kernel_tells, &port);
	assert_int_equal(port.flags & (SIXLANE_PORT_UP | SIXLANE_PORT_PASS),
			 SIXLANE_PORT_UP | SIXLANE_PORT_PASS);
	links_note_moved(&links, &upper);
	links_delete(&links, 2);
	assert_true(links_taken(&links, links_find(&links, 1)));
	links_clear(&links);
}

static void test_port_mtu(void **state)
{
	struct links links;
	struct link link;
	struct link_ipv6 ipv6;

	(void)state;
	make_port(&links, &link, &ipv6);
	ipv6.mtu6 = 1000; /* ip6_forward never takes less than 1280 */
	assert_int_equal(resolve(&links, &link, &ipv6, 0, kernel_tells).mtu, 1280);
	make_port(&links, &link, &ipv6);
	link.mtu = 1300; /* the device's is smaller already, IPv6's will follow */
	assert_int_equal(resolve(&links, &link, &ipv6, 0, kernel_tells).mtu, 1300);
}

static void test_netconf(void **state)
{
	struct links links = { 0 };
	struct netconf all = { .ifindex = NETCONFA_IFINDEX_ALL,
			       .has_forwarding = true,
			       .forwarding = true };
	struct netconf device = { .ifindex = 4, .has_forwarding = true, .forwarding = false };

	(void)state;
	assert_true(links_set_netconf(&links, &all));
	assert_false(links_set_netconf(&links, &all));
	assert_true(links.forwarding);
	/* a port's own forwarding=0 does not stop the kernel from forwarding */
	assert_false(links_set_netconf(&links, &device));
	assert_true(links.forwarding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),	   cmocka_unit_test(test_linkdown),
		cmocka_unit_test(test_taken),	   cmocka_unit_test(test_port),
		cmocka_unit_test(test_port_flags), cmocka_unit_test(test_port_mtu),
		cmocka_unit_test(test_port_marks), cmocka_unit_test(test_netconf),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
