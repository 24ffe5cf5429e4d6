// SPDX-License-Identifier: GPL-2.0-only
#include "resolve_ports.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>

struct rules_program ports_program;
struct addrs ports_addrs;
static const struct resolve_port_policy policy = {
	.features_announced = true,
	.rules = &ports_program,
	.addrs = &ports_addrs,
};

void ports_set_rules(bool default_ones)
{
	const struct rule local = { .priority = 0, .table = 255, .action = 1, .suppress_len = -1 };
	const struct rule other = { .priority = 9, .table = 100, .action = 1, .suppress_len = -1 };
	const struct rule main_rule = {
		.priority = 32766, .table = 254, .action = 1, .suppress_len = -1
	};
	struct rules rules = { 0 };
	struct links links = { 0 };

	assert_int_equal(rules_add(&rules, &local), 0);
	if (!default_ones)
		assert_int_equal(rules_add(&rules, &other), 0);
	assert_int_equal(rules_add(&rules, &main_rule), 0);
	rules_compile(&rules, &links, &ports_program);
	rules_clear(&rules);
}

struct device *ports_add(struct links *links, uint32_t ifindex, const char *kind)
{
	struct link link = {
		.ifindex = ifindex,
		.flags = IFF_UP | IFF_RUNNING,
		.mtu = 1500,
		.type = ARPHRD_ETHER,
		.mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex },
		.carrier = true,
		.bond_choice = BOND_CHOICE_STATE,
	};
	const struct link_ipv6 ipv6 = { .ifindex = ifindex, .mtu6 = 1500, .hop_limit = 64 };
	bool changed;

	strcpy(link.kind, kind);
	assert_int_equal(links_set(links, &link, &changed), 0);
	assert_int_equal(links_set_ipv6(links, &ipv6, &changed), 0);
	assert_int_equal(links_set_features(links, ifindex, NDO_XMIT, &changed), 0);
	links->forwarding = true;
	return links_find(links, ifindex);
}

struct device *ports_add_vlan(struct links *links, uint32_t ifindex, uint32_t lower, uint16_t id)
{
	struct device *device = ports_add(links, ifindex, "vlan");

	device->link.lower = lower;
	device->link.vlan_protocol = ETH_P_8021Q;
	device->link.vlan_id = id;
	device->link.vlan_reorders = true;
	return device;
}

struct device *ports_add_slave(struct links *links, uint32_t ifindex, uint32_t bond)
{
	struct device *device = ports_add(links, ifindex, "");

	device->link.master = bond;
	strcpy(device->link.master_kind, "bond");
	device->link.slave_active = device->link.slave_link = true;
	device->slave_place = ifindex;
	memset(device->link.mac, 0xaa, sizeof(device->link.mac));
	return device;
}

struct sixlane_port ports_port(const struct links *links, uint32_t ifindex)
{
	struct sixlane_port port;

	memset(&port, 0xa5, sizeof(port));
	resolve_port(links, links_find(links, ifindex), &policy, &port);
	assert_int_equal(port.ifindex, ifindex);
	for (size_t i = 0; i < ARRAY_SIZE(port.reserved); i++)
		assert_int_equal(port.reserved[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(port.reserved1); i++)
		assert_int_equal(port.reserved1[i], 0);
	return port;
}
