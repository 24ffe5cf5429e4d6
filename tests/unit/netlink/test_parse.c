// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink parsers on what a kernel really sent (netlink_captures.h): every field they fill.
 * Rules and next hops: test_parse_rule.c, test_parse_nexthop.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include "../unit.h"
#include "netlink_messages.h"

struct route_case {
	const char *capture;
	const char *dst; /* with dst_len; NULL: :: */
	const char *src;
	const char *gateways[2]; /* NULL: none */
	struct route expected;	 /* but for prefixes' addresses and hops; preference 0: 2 */
	struct route_hop hops[2];
};

/* Of a route by `ip route add` that says no more. */
#define PLAIN .table = 254, .metric = 1024, .type = RTN_UNICAST, .protocol = RTPROT_BOOT
#define SIX0 3 /* ifindex */
#define SIX1 2

static const struct route_case route_cases[] = {
	{ .capture = "route_on_link",
	  .dst = "2001:db8:1::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_gateway",
	  .dst = "2001:db8:2::",
	  .gateways = { "fe80::1" },
	  .expected = { .table = 70000,
			.metric = 70000,
			.type = RTN_UNICAST,
			.protocol = RTPROT_BIRD,
			.dst.len = 48,
			.n_hops = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_default",
	  .gateways = { "fe80::1" },
	  .expected = { PLAIN, .n_hops = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_expires",
	  .dst = "2001:db8:3::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .expires = true,
			.lifetime_ms = 1000000 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_expired",
	  .dst = "2001:db8:10::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .expires = true },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_pref_high",
	  .dst = "2001:db8:e::",
	  .gateways = { "fe80::1" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .preference = 3 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_pref_low",
	  .dst = "2001:db8:f::",
	  .gateways = { "fe80::1" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .preference = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_mtu_lock",
	  .dst = "2001:db8:4::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .mtu = 1300, .mtu_locked = true },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_mtu",
	  .dst = "2001:db8:5::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .mtu = 1300 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_source",
	  .dst = "2001:db8:6::",
	  .src = "2001:db8::",
	  .expected = { PLAIN, .dst.len = 48, .src.len = 40, .n_hops = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_blackhole",
	  .dst = "2001:db8:7::",
	  .expected = { .table = 254,
			.metric = 1024,
			.type = RTN_BLACKHOLE,
			.protocol = RTPROT_BOOT,
			.dst.len = 48,
			.n_hops = 1 },
	  .hops = { { .ifindex = 1, .weight = 1 } } },
	{ .capture = "route_unreachable",
	  .dst = "2001:db8:8::",
	  .expected = { .table = 254,
			.metric = 1024,
			.type = RTN_UNREACHABLE,
			.protocol = RTPROT_BOOT,
			.dst.len = 48,
			.n_hops = 1 },
	  .hops = { { .ifindex = 1, .weight = 1 } } },
	{ .capture = "route_encap",
	  .dst = "2001:db8:9::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1, .encap = true },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_multipath",
	  .dst = "2001:db8:a::",
	  .gateways = { "fe80::1", "fe80::2" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 2 },
	  .hops = { { .ifindex = SIX0, .weight = 256 }, { .ifindex = SIX1, .weight = 1 } } },
	{ .capture = "route_multipath_encap",
	  .dst = "2001:db8:b::",
	  .gateways = { "fe80::1", "fe80::2" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 2, .encap = true },
	  .hops = { { .ifindex = SIX0, .weight = 1 }, { .ifindex = SIX1, .weight = 1 } } },
	{ .capture = "route_del",
	  .dst = "2001:db8:1::",
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 1 },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
	{ .capture = "route_del_multipath",
	  .dst = "2001:db8:a::",
	  .gateways = { "fe80::1", "fe80::2" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 2 },
	  .hops = { { .ifindex = SIX0, .weight = 256 }, { .ifindex = SIX1, .weight = 1 } } },
	{ .capture = "route_nhid",
	  .dst = "2001:db8:c::",
	  .gateways = { "fe80::1", "fe80::2" },
	  .expected = { PLAIN, .dst.len = 48, .n_hops = 2, .next_hop_id = 9 },
	  .hops = { { .ifindex = SIX0, .weight = 1 }, { .ifindex = SIX1, .weight = 1 } } },
	{ .capture = "route_nhid_only",
	  .dst = "2001:db8:d::",
	  .expected = { PLAIN, .dst.len = 48, .next_hop_id = 9 } },
	{ .capture = "route_local",
	  .dst = "::1",
	  .expected = { .table = 255,
			.type = RTN_LOCAL,
			.protocol = RTPROT_KERNEL,
			.dst.len = 128,
			.n_hops = 1 },
	  .hops = { { .ifindex = 1, .weight = 1 } } },
	{ .capture = "route_get",
	  .dst = "2001:db8:4::1",
	  .expected = { PLAIN, .dst.len = 128, .src.len = 128, .n_hops = 1, .mtu = 1300,
			.mtu_locked = true, .own_source = true },
	  .hops = { { .ifindex = SIX0, .weight = 1 } } },
};

static void assert_route(const struct route_case *c, const struct route *route)
{
	const struct route *e = &c->expected;

	assert_true(addr_is(&route->dst.addr, c->dst));
	assert_true(addr_is(&route->src.addr, c->src));
	assert_int_equal(route->dst.len, e->dst.len);
	assert_int_equal(route->src.len, e->src.len);
	assert_int_equal(route->table, e->table);
	assert_int_equal(route->metric, e->metric);
	assert_int_equal(route->next_hop_id, e->next_hop_id);
	assert_int_equal(route->mtu, e->mtu);
	assert_int_equal(route->mtu_locked, e->mtu_locked);
	assert_int_equal(route->own_source, e->own_source);
	assert_int_equal(route->type, e->type);
	assert_int_equal(route->protocol, e->protocol);
	assert_int_equal(route->preference, e->preference ? e->preference : 2);
	assert_int_equal(route->lifetime_ms, e->lifetime_ms);
	assert_int_equal(route->expires_ns, 0);
	assert_int_equal(route->encap, e->encap);
	assert_int_equal(route->expires, e->expires);
	assert_int_equal(route->cloned, e->cloned);
	assert_int_equal(route->truncated, e->truncated);
	assert_int_equal(route->n_hops, e->n_hops);
	for (unsigned int i = 0; i < e->n_hops; i++) {
		assert_int_equal(route->hops[i].ifindex, c->hops[i].ifindex);
		assert_int_equal(route->hops[i].weight, c->hops[i].weight);
		assert_int_equal(route->hops[i].has_gateway, c->gateways[i] != NULL);
		assert_true(addr_is(&route->hops[i].gateway, c->gateways[i]));
	}
}

static void routes(void **state)
{
	static struct route_hop hops[ROUTE_MAX_HOPS];

	for (size_t i = 0; i < ARRAY_SIZE(route_cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(route_cases[i].capture);
		struct route route;

		print_message("%s\n", route_cases[i].capture);
		memset(hops, 0xa5, sizeof(hops));
		memset(&route, 0xa5, sizeof(route));
		assert_int_equal(parse_route(nlh, &route, hops), 0);
		assert_route(&route_cases[i], &route);
	}
}

struct link_case {
	const char *capture;
	struct link expected; /* xdp_prog_id: 1 for "some" */
};

static const struct link_case link_cases[] = {
	{ "link_loopback",
	  { .name = "lo",
	    .ifindex = 1,
	    .mtu = 65536,
	    .n_rx_queues = 1,
	    .n_tx_queues = 1,
	    .type = ARPHRD_LOOPBACK,
	    .carrier = true } },
	{ "link_veth_xdp_native",
	  { .name = "six0",
	    .kind = "veth",
	    .ifindex = SIX0,
	    .mtu = 1500,
	    .lower = SIX1,
	    .xdp_prog_id = 1,
	    .n_rx_queues = 2,
	    .n_tx_queues = 3,
	    .type = ARPHRD_ETHER,
	    .mac = { 2, 0, 0, 0, 0, 0x10 },
	    .xdp_mode = XDP_MODE_NATIVE,
	    .carrier = true } },
	{ "link_veth_xdp_generic",
	  { .name = "six0",
	    .kind = "veth",
	    .ifindex = SIX0,
	    .mtu = 1500,
	    .lower = SIX1,
	    .xdp_prog_id = 1,
	    .n_rx_queues = 2,
	    .n_tx_queues = 3,
	    .type = ARPHRD_ETHER,
	    .mac = { 2, 0, 0, 0, 0, 0x10 },
	    .xdp_mode = XDP_MODE_GENERIC,
	    .carrier = true } },
	{ "link_macvlan_passthru",
	  { .name = "six2",
	    .kind = "macvlan",
	    .ifindex = 4,
	    .mtu = 1500,
	    .lower = SIX0,
	    .n_rx_queues = 1,
	    .n_tx_queues = 1,
	    .type = ARPHRD_ETHER,
	    .mac = { 2, 0, 0, 0, 0, 0x10 },
	    .takes_frames = true } },
	{ "link_del",
	  { .name = "six2",
	    .kind = "macvlan",
	    .ifindex = 4,
	    .mtu = 1500,
	    .lower = SIX0,
	    .n_rx_queues = 1,
	    .n_tx_queues = 1,
	    .type = ARPHRD_ETHER,
	    .mac = { 2, 0, 0, 0, 0, 0x10 },
	    .takes_frames = true } },
	{ "link_with_master",
	  { .name = "six0",
	    .kind = "veth",
	    .ifindex = SIX0,
	    .mtu = 1500,
	    .master = 5,
	    .master_kind = "bridge",
	    .lower = SIX1,
	    .n_rx_queues = 2,
	    .n_tx_queues = 3,
	    .type = ARPHRD_ETHER,
	    .mac = { 2, 0, 0, 0, 0, 0x10 },
	    .carrier = true } },
};

static void links(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(link_cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(link_cases[i].capture);
		const struct link *e = &link_cases[i].expected;
		struct link link;

		print_message("%s\n", link_cases[i].capture);
		memset(&link, 0xa5, sizeof(link));
		assert_int_equal(parse_link(nlh, &link), 0);
		assert_string_equal(link.name, e->name);
		assert_string_equal(link.kind, e->kind);
		assert_int_equal(link.ifindex, e->ifindex);
		assert_int_equal(link.mtu, e->mtu);
		assert_int_equal(link.master, e->master);
		assert_int_equal(link.lower, e->lower);
		assert_int_equal(link.xdp_prog_id != 0, e->xdp_prog_id != 0);
		assert_int_equal(link.n_rx_queues, e->n_rx_queues);
		assert_int_equal(link.n_tx_queues, e->n_tx_queues);
		assert_int_equal(link.type, e->type);
		assert_memory_equal(link.mac, e->mac, sizeof(link.mac));
		assert_int_equal(link.xdp_mode, e->xdp_mode);
		assert_int_equal(link.carrier, e->carrier);
		assert_int_equal(!!(link.flags & IFF_UP), e->ifindex != 4);
		assert_int_equal(link.takes_frames, e->takes_frames);
		assert_string_equal(link.master_kind, e->master_kind);
		assert_false(link.slave_active || link.vlan_maps_priority);
		assert_int_equal(link.vrf_table | link.vlan_protocol | link.vlan_id, 0);
	}
}

/* Devices that need modules: see netlink_captures_lan.h. */
static void lan_links(void **state)
{
	static const struct {
		const char *capture;
		struct link expected;
	} cases[] = {
		{ "link_vlan",
		  { .name = "six100",
		    .kind = "vlan",
		    .lower = SIX0,
		    .vlan_protocol = 0x8100,
		    .vlan_id = 100 } },
		{ "link_vlan_ad",
		  { .name = "six4094",
		    .kind = "vlan",
		    .lower = SIX0,
		    .vlan_protocol = 0x88a8,
		    .vlan_id = 4094 } },
		{ "link_vlan_qos",
		  { .name = "six101",
		    .kind = "vlan",
		    .lower = SIX0,
		    .vlan_protocol = 0x8100,
		    .vlan_id = 101,
		    .vlan_maps_priority = true } },
		{ "link_vlan_qos_gone",
		  { .name = "six101",
		    .kind = "vlan",
		    .lower = SIX0,
		    .vlan_protocol = 0x8100,
		    .vlan_id = 101 } },
		{ "link_vrf", { .name = "sixvrf", .kind = "vrf", .vrf_table = 70000 } },
		{ "link_in_vrf",
		  { .name = "six1",
		    .kind = "veth",
		    .lower = SIX0,
		    .master = 7,
		    .master_kind = "vrf" } },
		{ "link_bond",
		  { .name = "sixbond", .kind = "bond", .bond_choice = BOND_CHOICE_STATE } },
		{ "link_slave_active",
		  { .name = "six0",
		    .kind = "veth",
		    .lower = SIX1,
		    .master = 8,
		    .master_kind = "bond",
		    .slave_active = true } },
		{ "link_slave_backup",
		  { .name = "six2",
		    .kind = "veth",
		    .lower = 9,
		    .master = 8,
		    .master_kind = "bond" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		const struct link *e = &cases[i].expected;
		struct link link;

		print_message("%s\n", cases[i].capture);
		memset(&link, 0xa5, sizeof(link));
		assert_int_equal(parse_link(nlh, &link), 0);
		assert_string_equal(link.name, e->name);
		assert_string_equal(link.kind, e->kind);
		assert_int_equal(link.lower, e->lower);
		assert_int_equal(link.master, e->master);
		assert_string_equal(link.master_kind, e->master_kind);
		assert_int_equal(link.slave_active, e->slave_active);
		assert_int_equal(link.slave_link, !strcmp(e->master_kind, "bond"));
		assert_int_equal(link.bond_choice, e->bond_choice);
		assert_int_equal(link.vrf_table, e->vrf_table);
		assert_int_equal(link.vlan_protocol, e->vlan_protocol);
		assert_int_equal(link.vlan_id, e->vlan_id);
		assert_int_equal(link.vlan_maps_priority, e->vlan_maps_priority);
		assert_int_equal(link.vlan_reorders, !strcmp(e->kind, "vlan"));
	}
}

static void links_of_ipv6(void **state)
{
	static const struct {
		const char *capture;
		struct link_ipv6 expected;
	} cases[] = {
		{ "link_ipv6_disabled", { SIX0, 1500, .disabled = true } },
		{ "link_ipv6_mtu_1400", { SIX0, 1400, .disabled = false } },
		{ "link_ipv6_force_forwarding", { SIX0, 1400, .force_forwarding = true } },
		{ "link_veth_xdp_native", { SIX0, 1500, .disabled = false } },
		{ "link_loopback", { 1, 65536, .disabled = false } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		struct link_ipv6 out;

		print_message("%s\n", cases[i].capture);
		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_link_ipv6(nlh, &out), 0);
		assert_int_equal(out.ifindex, cases[i].expected.ifindex);
		assert_int_equal(out.mtu6, cases[i].expected.mtu6);
		assert_int_equal(out.disabled, cases[i].expected.disabled);
		assert_int_equal(out.ignore_linkdown, false);
		assert_int_equal(out.own_addrs_only, false);
		assert_int_equal(out.hop_limit, 64);
		assert_int_equal(out.force_forwarding, cases[i].expected.force_forwarding);
	}
}

static void netconfs(void **state)
{
	static const struct {
		const char *capture;
		struct netconf expected;
	} cases[] = {
		{ "netconf_all_forwarding", { .ifindex = -1, true, true } },
		{ "netconf_proxy_ndp", { SIX0, .has_proxy_ndp = true, .proxy_ndp = true } },
		{ "netconf_ignore_routes_with_linkdown",
		  { SIX0, .has_ignore_linkdown = true, .ignore_linkdown = true } },
		{ "netconf_force_forwarding", { SIX0, .has_forwarding = false } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		const struct netconf *e = &cases[i].expected;
		struct netconf out;

		print_message("%s\n", cases[i].capture);
		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_netconf(nlh, &out), 0);
		assert_int_equal(out.ifindex, e->ifindex);
		assert_int_equal(out.has_forwarding, e->has_forwarding);
		assert_int_equal(out.forwarding, e->forwarding);
		assert_int_equal(out.has_proxy_ndp, e->has_proxy_ndp);
		assert_int_equal(out.proxy_ndp, e->proxy_ndp);
		assert_int_equal(out.has_ignore_linkdown, e->has_ignore_linkdown);
		assert_int_equal(out.ignore_linkdown, e->ignore_linkdown);
	}
}

static void neighbours(void **state)
{
	static const struct {
		const char *capture, *addr;
		struct neigh expected;
	} cases[] = {
		{ "neigh",
		  "fe80::1",
		  { .state = NUD_PERMANENT, .has_mac = true, .mac = { 2, 0, 0, 0, 0, 1 } } },
		{ "neigh_del", "fe80::1", { .state = NUD_FAILED } },
		{ "neigh_managed", "fe80::2", { .state = NUD_INCOMPLETE, .flags_ext = 1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		const struct neigh *e = &cases[i].expected;
		struct neigh out;

		print_message("%s\n", cases[i].capture);
		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_neigh(nlh, &out), 0);
		assert_true(addr_is(&out.addr, cases[i].addr));
		assert_int_equal(out.ifindex, SIX0);
		assert_int_equal(out.state, e->state);
		assert_int_equal(out.flags, e->flags);
		assert_int_equal(out.flags_ext, e->flags_ext);
		assert_int_equal(out.has_mac, e->has_mac);
		assert_memory_equal(out.mac, e->mac, sizeof(out.mac));
	}
}

static void addresses(void **state)
{
	static const struct {
		const char *capture, *addr;
		uint32_t flags;
		bool expires;
	} cases[] = {
		{ "address", "2001:db8:20::1", IFA_F_NODAD | IFA_F_PERMANENT, false },
		{ "address_expires", "2001:db8:21::1", IFA_F_NODAD, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct nlmsghdr *nlh = capture_message(cases[i].capture);
		struct address out;

		memset(&out, 0xa5, sizeof(out));
		assert_int_equal(parse_address(nlh, &out), 0);
		assert_true(addr_is(&out.addr, cases[i].addr));
		assert_int_equal(out.ifindex, SIX0);
		assert_int_equal(out.flags, cases[i].flags);
		assert_int_equal(out.expires, cases[i].expires);
	}
}

static void generic(void **state)
{
	_cleanup_free_ struct nlmsghdr *family = capture_message("genl_family_netdev");
	_cleanup_free_ struct nlmsghdr *netdev = capture_message("netdev_features");
	uint32_t id = 0, ifindex = 0;
	uint64_t features = 0;
	uint16_t family_id = 0;

	assert_int_equal(parse_genl_family(family, "mgmt", &family_id, &id), 0);
	assert_int_equal(family_id, netdev->nlmsg_type);
	assert_int_equal(id, 4);
	assert_int_equal(parse_genl_family(family, "nothing", &family_id, &id), -ENOMSG);
	assert_int_equal(parse_netdev(netdev, &ifindex, &features), 0);
	assert_int_equal(ifindex, SIX0);
	/* A veth transmits redirected frames only if its peer is ready for them. */
	assert_int_equal(features, 0x23);
	assert_false(features & PARSE_XDP_ACT_NDO_XMIT);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes),    cmocka_unit_test(links),
		cmocka_unit_test(lan_links), cmocka_unit_test(links_of_ipv6),
		cmocka_unit_test(netconfs),  cmocka_unit_test(neighbours),
		cmocka_unit_test(addresses), cmocka_unit_test(generic),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
