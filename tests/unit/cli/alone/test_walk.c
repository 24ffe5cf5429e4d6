// SPDX-License-Identifier: GPL-2.0-only
/*
 * `sixlane lookup`'s walk through the maps, one row a verdict: ports, header and the way out. Rules
 * are in test_walk_rule.c, groups in test_walk_group.c.
 */
#include <linux/if_ether.h>

#include "../../unit.h"
#include "../cmd_world.h"

#define READY (SIXLANE_META_READY | SIXLANE_META_GUARDED)
#define HOP 5u /* id */

/* Everything is there to forward, from any port, but for what a row changes. */
struct row {
	const char *name;
	const char *addr; /* NULL: DESTINATION */
	const char *src;  /* NULL: SOURCE, with a port */
	uint32_t verdict;
	uint32_t meta_set, meta_clear;
	uint32_t ingress; /* 0: any */
	uint32_t in_set, in_clear, out_set, out_clear;
	uint16_t fate;	    /* of the next hop */
	uint32_t neighbour; /* of the next hop: GATEWAY or 0 */
	uint32_t route_mtu;
	uint32_t mtu; /* wanted, 0: the device's */
	uint32_t ip_bytes;
	uint8_t proto, hop_limit;
	bool frags, other_abi, no_route, bad_id, no_mac, no_egress;
	bool stops; /* wanted: nothing is known of the way out */
};

static const struct row rows[] = {
	{ .name = "on-link" },
	{ .name = "by a gateway", .neighbour = GATEWAY },
	{ .name = "from a port", .ingress = IN },
	{ .name = "route's MTU", .route_mtu = 1300, .mtu = 1300 },
	{ .name = "route's MTU over the device's", .route_mtu = 9000 },
	{ .name = "another ABI", .other_abi = true, .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "not ready", .meta_clear = READY, .verdict = SIXLANE_PASS_NOT_READY },
	{ .name = "all off", .meta_set = SIXLANE_META_PASS_ALL, .verdict = SIXLANE_PASS_ALL },
	{ .name = "rules", .meta_set = SIXLANE_META_RULES, .verdict = SIXLANE_PUNT_RULES },
	{ .name = "unknown port", .ingress = 99, .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "port not served",
	  .ingress = IN,
	  .in_clear = SIXLANE_PORT_INGRESS,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "port off",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_PASS | SIXLANE_PORT_UPPER,
	  .verdict = SIXLANE_PASS_PORT },
	{ .name = "upper",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_UPPER,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "firewall at the ingress",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_IN_HELD,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "tc at the ingress",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_IN_TC,
	  .verdict = SIXLANE_PASS_TC },
	{ .name = "firewall at the egress",
	  .ingress = IN,
	  .out_set = SIXLANE_PORT_OUT_HELD,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "tc at the egress",
	  .ingress = IN,
	  .out_set = SIXLANE_PORT_OUT_TC,
	  .verdict = SIXLANE_PASS_TC },
	{ .name = "guard that holds nothing", .ingress = IN, .in_set = SIXLANE_PORT_GUARD },
	{ .name = "fragment that is put together",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_GUARD,
	  .meta_set = SIXLANE_META_FRAGMENTS,
	  .proto = 44,
	  .verdict = SIXLANE_PASS_FIREWALL },
	{ .name = "IPsec for all",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_GUARD,
	  .meta_set = SIXLANE_META_IPSEC_ALL,
	  .verdict = SIXLANE_PASS_IPSEC },
	{ .name = "UDP of a veth", .ingress = IN, .in_set = SIXLANE_PORT_OPEN_CHECKSUMS },
	{ .name = "SCTP of a veth",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_OPEN_CHECKSUMS,
	  .proto = 132,
	  .verdict = SIXLANE_PASS_CHECKSUM },
	{ .name = "slave that its bond does not use",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_BACKUP,
	  .verdict = SIXLANE_PASS_BOND_SLAVE },
	{ .name = "IPv6 off",
	  .ingress = IN,
	  .in_clear = SIXLANE_PORT_IPV6,
	  .verdict = SIXLANE_PASS_IPV6_OFF },
	{ .name = "hop-by-hop", .ingress = IN, .proto = 255, .verdict = SIXLANE_PASS_HOP_BY_HOP },
	{ .name = "from link-local",
	  .ingress = IN,
	  .src = "fe80::1",
	  .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "from loopback", .ingress = IN, .src = "::1", .verdict = SIXLANE_PASS_SOURCE },
	{ .name = "for the NDP proxy",
	  .ingress = IN,
	  .proto = 58,
	  .in_set = SIXLANE_PORT_PROXY_NDP,
	  .verdict = SIXLANE_PASS_PROXY_NDP },
	{ .name = "not for the NDP proxy", .ingress = IN, .in_set = SIXLANE_PORT_PROXY_NDP },
	{ .name = "not forwarding",
	  .ingress = IN,
	  .in_clear = SIXLANE_PORT_FORWARDING,
	  .verdict = SIXLANE_PASS_NO_FORWARDING },
	{ .name = "hop limit", .ingress = IN, .hop_limit = 1, .verdict = SIXLANE_PASS_HOP_LIMIT },
	{ .name = "hop limit left", .ingress = IN, .hop_limit = 2 },
	{ .name = "no forwarding comes before the hop limit",
	  .ingress = IN,
	  .hop_limit = 1,
	  .in_clear = SIXLANE_PORT_FORWARDING,
	  .verdict = SIXLANE_PASS_NO_FORWARDING },
	{ .name = "a blackhole comes before forwarding",
	  .ingress = IN,
	  .in_clear = SIXLANE_PORT_FORWARDING,
	  .fate = SIXLANE_DROP_BLACKHOLE,
	  .stops = true,
	  .verdict = SIXLANE_DROP_BLACKHOLE },
	{ .name = "multicast",
	  .addr = "ff0e::1",
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "link-local",
	  .addr = "febf::1",
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "beyond link-local", .addr = "fec0::1", .neighbour = GATEWAY },
	{ .name = "loopback", .addr = "::1", .no_mac = true, .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "unspecified",
	  .addr = "::",
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_DESTINATION },
	{ .name = "beyond loopback", .addr = "::2", .neighbour = GATEWAY },
	{ .name = "no route", .no_route = true, .stops = true, .verdict = SIXLANE_PASS_NO_ROUTE },
	{ .name = "id out of range", .bad_id = true, .stops = true, .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "unknown fate",
	  .fate = SIXLANE_N_VERDICTS,
	  .stops = true,
	  .verdict = SIXLANE_PUNT_ROUTE },
	{ .name = "local",
	  .fate = SIXLANE_PASS_LOCAL,
	  .stops = true,
	  .verdict = SIXLANE_PASS_LOCAL },
	{ .name = "same port",
	  .ingress = OUT,
	  .out_set = SERVED,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "egress gone",
	  .no_egress = true,
	  .stops = true,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress down",
	  .out_clear = SIXLANE_PORT_UP,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "IPv6 off on egress",
	  .out_clear = SIXLANE_PORT_IPV6,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "bridge", .out_set = SIXLANE_PORT_BRIDGE, .verdict = SIXLANE_PUNT_BRIDGE },
	{ .name = "macvlan", .out_set = SIXLANE_PORT_MACVLAN, .verdict = SIXLANE_PUNT_MACVLAN },
	{ .name = "tunnel", .out_set = SIXLANE_PORT_TUNNEL, .verdict = SIXLANE_PUNT_TUNNEL },
	{ .name = "some other device, from a port in generic mode",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_GENERIC,
	  .out_set = SIXLANE_PORT_STRANGE,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "a bridge that is down",
	  .out_set = SIXLANE_PORT_BRIDGE,
	  .out_clear = SIXLANE_PORT_UP,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "egress takes no frames",
	  .out_clear = SIXLANE_PORT_XMIT,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress takes no frames but skbs",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_GENERIC,
	  .out_clear = SIXLANE_PORT_XMIT },
	{ .name = "several buffers, of which egress takes none",
	  .ingress = IN,
	  .frags = true,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "several buffers",
	  .ingress = IN,
	  .frags = true,
	  .out_set = SIXLANE_PORT_XMIT_FRAGS },
	{ .name = "as long as the MTU", .ingress = IN, .ip_bytes = DEVICE_MTU },
	{ .name = "over the MTU",
	  .ingress = IN,
	  .ip_bytes = DEVICE_MTU + 1,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "over the route's MTU comes before the neighbour",
	  .ingress = IN,
	  .route_mtu = 1300,
	  .mtu = 1300,
	  .ip_bytes = 1301,
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_TOO_BIG },
	{ .name = "no neighbour",
	  .addr = "2001:db8::2",
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "gateway unresolved",
	  .neighbour = GATEWAY,
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
};

static void fill(const struct row *row)
{
	world_clear();
	meta.abi += row->other_abi;
	meta.flags = (READY | row->meta_set) & ~row->meta_clear;
	world_port(SLOT_IN, IN, (SERVED | row->in_set) & ~row->in_clear);
	world_port(SLOT_OUT, OUT, (LIVE | row->out_set) & ~row->out_clear);
	if (row->no_egress)
		ports[SLOT_OUT] = (struct sixlane_port){ 0 };
	world_hop(HOP, SLOT_OUT, row->neighbour);
	next_hops[HOP].fate.kind = row->fate;
	next_hops[HOP].mtu = row->route_mtu;
	for (int i = GATEWAY; i <= ON_LINK; i++)
		neighbours[i].mac.flags = row->no_mac ? 0 : SIXLANE_MAC_VALID;
	if (!row->no_route)
		world_route(SIXLANE_TABLE_MAIN, row->addr ? row->addr : DESTINATION, 48,
			    row->bad_id ? 0xfffff : HOP);
}

static struct walk_query query_of(const struct row *row)
{
	struct walk_query query = world_query(row->ingress);

	query.frags = row->frags;
	if (row->addr)
		query.dst = address(row->addr);
	if (row->src)
		query.src = address(row->src);
	if (row->hop_limit)
		query.hop_limit = row->hop_limit;
	if (row->ip_bytes)
		query.ip_bytes = row->ip_bytes;
	if (row->proto)
		query.proto = row->proto == 255 ? 0 : row->proto;
	return query;
}

static void every_check_in_order(void **state)
{
	struct walk walk;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		uint32_t mtu = row->stops ? 0 : row->mtu ? row->mtu : DEVICE_MTU;
		struct walk_query query = query_of(row);

		fill(row);
		walk_packet(&maps, &query, &walk);
		if (walk.verdict != row->verdict || walk.hop.mtu != mtu)
			fail_msg("%s: verdict %u, wanted %u; mtu %u, wanted %u", row->name,
				 walk.verdict, row->verdict, walk.hop.mtu, mtu);
		assert_int_equal(walk.depends, 0);
		assert_int_equal(walk.has_prefix, !row->no_route);
		assert_int_equal(walk.prefix_len, row->no_route ? 0 : 48);
		assert_true(walk.verdict != SIXLANE_FORWARD ||
			    (walk.hop.has_mac && walk.hop.port == SLOT_OUT));
		if (row->stops)
			continue;
		assert_int_equal(walk.hop.has_gateway, row->neighbour == GATEWAY);
		assert_int_equal(walk.hop.has_mac, !row->no_mac);
	}
}

static uint32_t verdict_of(const struct walk_query *query, struct walk *walk)
{
	walk_packet(&maps, query, walk);
	return walk->verdict;
}

static void the_slave_of_a_bond(void **state)
{
	static const struct {
		uint32_t by, n_slaves;
		uint8_t proto; /* 0: no flow is asked for */
		uint32_t ip_bytes;
		enum sixlane_verdict verdict;
		uint32_t slave;
	} cases[] = {
		{ SIXLANE_SLAVES_BY_L2, 1, 0, 0, SIXLANE_FORWARD, 90 },
		{ SIXLANE_SLAVES_BY_L2, 0, 0, 0, SIXLANE_PASS_EGRESS_DOWN, 0 },
		{ SIXLANE_SLAVES_BY_L2, 1, IPPROTO_ICMP, 100, SIXLANE_FORWARD, 90 },
		{ SIXLANE_SLAVES_BY_L23, 1, 0, 0, SIXLANE_FORWARD, 0 },
		{ SIXLANE_SLAVES_BY_L23, 1, IPPROTO_UDP, 43, SIXLANE_FORWARD, 90 },
		{ SIXLANE_SLAVES_BY_L23, 1, IPPROTO_ICMP, 100, SIXLANE_PUNT_HASH, 0 },
		{ SIXLANE_SLAVES_BY_L23, 1, IPPROTO_ICMPV6, 47, SIXLANE_PUNT_HASH, 0 },
		{ SIXLANE_SLAVES_BY_L34, 1, 0, 0, SIXLANE_FORWARD, 0 },
		{ SIXLANE_SLAVES_BY_L34, 0, 0, 0, SIXLANE_PASS_EGRESS_DOWN, 0 },
		{ SIXLANE_SLAVES_BY_L34, 1, IPPROTO_UDP, 44, SIXLANE_FORWARD, 90 },
		{ SIXLANE_SLAVES_BY_L34, 1, IPPROTO_UDP, 43, SIXLANE_PUNT_HASH, 0 },
		{ SIXLANE_SLAVES_BY_L34, 1, IPPROTO_AH, 47, SIXLANE_PUNT_HASH, 0 },
		{ SIXLANE_SLAVES_BY_L34, 1, IPPROTO_ICMPV6, 48, SIXLANE_FORWARD, 90 },
		{ SIXLANE_SLAVES_BY_L34, 1, IPPROTO_NONE, 40, SIXLANE_FORWARD, 90 },
		/* As tests/bpf/rows_bond_out.c has them, or reckoned in the same way. */
		{ SIXLANE_SLAVES_BY_L2, 7, 0, 0, SIXLANE_FORWARD, 94 },
		{ SIXLANE_SLAVES_BY_L23, 7, IPPROTO_UDP, 48, SIXLANE_FORWARD, 92 },
		{ SIXLANE_SLAVES_BY_L34, 7, IPPROTO_UDP, 48, SIXLANE_FORWARD, 92 },
		{ SIXLANE_SLAVES_BY_L34, 7, IPPROTO_ICMPV6, 48, SIXLANE_FORWARD, 90 },
	};
	struct walk_query query;
	struct walk walk;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fill(&rows[0]);
		ports[SLOT_OUT].flags |= SIXLANE_PORT_TAGGED | SIXLANE_PORT_SLAVES;
		ports[SLOT_OUT].slaves_by = (uint16_t)cases[i].by;
		ports[SLOT_OUT].slaves_type = ETH_P_IPV6;
		ports[SLOT_OUT].mac.bytes[5] = 0xa0;
		neighbours[ON_LINK].mac.bytes[5] = 0xcb;
		ports[SLOT_OUT].n_slaves = cases[i].n_slaves;
		for (uint32_t slave = 0; slave < 7; slave++)
			ports[SLOT_OUT].slaves[slave] = 90 + slave;
		query = world_query(0);
		query.src = address("2001:db8:3::1");
		query.sport = 0x4142;
		query.dport = 0x4344;
		query.has_flow = cases[i].proto != 0;
		query.proto = cases[i].proto;
		query.hop_limit = 64;
		query.ip_bytes = cases[i].ip_bytes;
		walk_packet(&maps, &query, &walk);
		if (walk.verdict != cases[i].verdict || walk.hop.slave != cases[i].slave)
			fail_msg("case %zu: verdict %u, slave %u", i, walk.verdict, walk.hop.slave);
	}
	ports[SLOT_OUT].flags &= ~SIXLANE_PORT_SLAVES;
	walk_packet(&maps, &query, &walk);
	assert_int_equal(walk.hop.slave, 0);
}

static void the_table_is_the_ports(void **state)
{
	struct walk_query query = world_query(0);
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	world_fate(6, SIXLANE_PASS_PROHIBIT);
	world_route(1000, "::", 0, 6);
	ports[SLOT_IN].table = 1000;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	assert_int_equal(walk.table, SIXLANE_TABLE_MAIN);
	query.ingress = IN;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_PROHIBIT);
	assert_int_equal(walk.table, 1000);
	query.table = SIXLANE_TABLE_MAIN;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	query.ingress = 99;
	query.table = 0;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_UNKNOWN_PORT);
	assert_int_equal(walk.table, SIXLANE_TABLE_MAIN);
}

static void a_slave_is_its_bond(void **state)
{
	struct walk_query query = world_query(20);
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	world_port(SLOT_MORE, 20, SIXLANE_PORT_SLAVE | SIXLANE_PORT_INGRESS | SIXLANE_PORT_GENERIC);
	ports[SLOT_MORE].lower = IN;
	ports[SLOT_OUT].flags &= ~SIXLANE_PORT_XMIT;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	assert_int_equal(walk.in_slot, SLOT_IN);
	/* the program runs on the slave: in its mode */
	assert_true(walk.by_slave && walk.generic);
	/* what is switched off for the slave alone */
	ports[SLOT_MORE].flags |= SIXLANE_PORT_PASS;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_PORT);
	assert_int_equal(walk.in_slot, SLOT_MORE);
	ports[SLOT_MORE].flags &= ~SIXLANE_PORT_PASS;
	ports[SLOT_MORE].lower = 99;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_UNKNOWN_PORT);
}

static union sixlane_tag tag(uint16_t tpid, uint16_t vid)
{
	return (union sixlane_tag){ .tpid = htons(tpid), .tci = htons(vid) };
}

static void tags_lead_to_vlan_devices(void **state)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	world_port(SLOT_MORE, 20, SERVED);
	world_port(SLOT_MORE + 1, 21, SERVED);
	vlans[n_vlans++] = (struct vlan){ IN, tag(0x88a8, 5), SLOT_MORE };
	vlans[n_vlans++] = (struct vlan){ 20, tag(0x8100, 10), SLOT_MORE + 1 };
	query.tags[0] = tag(0x88a8, 5);
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	assert_int_equal(walk.in_slot, SLOT_MORE);
	query.tags[1] = tag(0x8100, 10);
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	assert_int_equal(walk.in_slot, SLOT_MORE + 1);
	ports[SLOT_MORE + 1].flags &= ~SIXLANE_PORT_UP;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_VLAN_UNKNOWN);
	assert_int_equal(walk.in_slot, SLOT_MORE);
	query.tags[1] = tag(0x8100, 0); /* a priority, and no VLAN */
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	/* unless there is one, which is down */
	vlans[n_vlans++] = (struct vlan){ 20, tag(0x8100, 0), SLOT_MORE + 1 };
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_VLAN_UNKNOWN);
	query.tags[1] = (union sixlane_tag){ 0 };
	ports[SLOT_MORE].flags |= SIXLANE_PORT_SLAVE; /* a VLAN device below a bond */
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_PORT_UPPER);
	query.tags[0] = tag(0x8100, 5);
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_VLAN_UNKNOWN);
}

static void what_decided_before_is_told_beside_the_route(void **state)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	meta.flags |= SIXLANE_META_PASS_ALL;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_ALL);
	assert_int_equal(walk.before, SIXLANE_PASS_ALL);
	assert_int_equal(walk.hop.verdict, SIXLANE_FORWARD);
	meta.flags = READY;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	assert_int_equal(walk.before, SIXLANE_FORWARD);
}

static void pairs_and_policies(void **state)
{
	struct walk_query query = world_query(IN);
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	pair_is_held = has_policy = true;
	meta.flags |= SIXLANE_META_IPSEC;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	ports[SLOT_IN].flags |= SIXLANE_PORT_GUARD;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_IPSEC);
	query.src.bytes[15]++;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_PASS_FIREWALL);
	pair_is_held = false;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
	query.src.bytes[15]--;
	meta.flags &= ~SIXLANE_META_IPSEC;
	assert_int_equal(verdict_of(&query, &walk), SIXLANE_FORWARD);
}

UNIT_TESTS()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_check_in_order),
		cmocka_unit_test(the_slave_of_a_bond),
		cmocka_unit_test(the_table_is_the_ports),
		cmocka_unit_test(a_slave_is_its_bond),
		cmocka_unit_test(tags_lead_to_vlan_devices),
		cmocka_unit_test(what_decided_before_is_told_beside_the_route),
		cmocka_unit_test(pairs_and_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
