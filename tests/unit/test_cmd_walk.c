// SPDX-License-Identifier: GPL-2.0-only
/*
 * `sixlane lookup`'s walk through the maps, one row a verdict. The module under test is included,
 * and the readers of the kernel's maps are replaced by one route and one neighbour.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../user/cmd_walk.c"

#define IN 7u /* ifindexes */
#define OUT 8u
#define READY SIXLANE_META_READY
#define LIVE (SIXLANE_PORT_IPV6 | SIXLANE_PORT_UP | SIXLANE_PORT_XMIT | SIXLANE_PORT_ETHER)
#define SERVED (LIVE | SIXLANE_PORT_INGRESS | SIXLANE_PORT_FORWARDING)
#define DEVICE_MTU 1500u
#define DESTINATION "2001:db8::1"

enum { SLOT_IN = 1, SLOT_OUT = 2, GATEWAY = 1, ON_LINK = 2 };

static uint32_t route_value;
static uint32_t table_asked;

int maps_route_lookup(const struct maps *maps, uint32_t table, const union sixlane_addr *addr,
		      uint32_t *value)
{
	(void)maps;
	(void)addr;
	table_asked = table;
	if (!route_value)
		return -2;
	*value = route_value;
	return 0;
}

uint32_t maps_port_slot(const struct maps *maps, uint32_t ifindex)
{
	(void)maps;
	return ifindex == IN ? SLOT_IN : ifindex == OUT ? SLOT_OUT : 0;
}

uint32_t maps_neigh_slot(const struct maps *maps, uint32_t ifindex, const union sixlane_addr *addr)
{
	union sixlane_addr wanted;

	(void)maps;
	inet_pton(AF_INET6, DESTINATION, &wanted);
	return ifindex == OUT && !memcmp(addr, &wanted, sizeof(wanted)) ? ON_LINK : 0;
}

/* Everything is there to forward, from any port, but for what a row changes. */
struct row {
	const char *name;
	const char *addr; /* NULL: DESTINATION */
	uint32_t verdict;
	uint32_t meta_set, meta_clear;
	uint32_t ingress; /* 0: any */
	uint32_t in_set, in_clear, out_set, out_clear;
	uint32_t fate;	    /* of the next hop */
	uint32_t neighbour; /* of the next hop: GATEWAY or 0 */
	uint32_t locked_mtu;
	uint32_t mtu; /* wanted, 0: the device's */
	bool other_abi, no_route, bad_id, no_mac, no_egress;
	bool stops; /* wanted: nothing is known of the way out */
};

static const struct row rows[] = {
	{ .name = "on-link" },
	{ .name = "by a gateway", .neighbour = GATEWAY },
	{ .name = "from a port", .ingress = IN },
	{ .name = "locked MTU", .locked_mtu = 1300, .mtu = 1300 },
	{ .name = "locked MTU over the device's", .locked_mtu = 9000 },
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
	  .in_set = SIXLANE_PORT_PASS,
	  .verdict = SIXLANE_PASS_PORT },
	{ .name = "upper",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_UPPER,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "IPv6 off",
	  .ingress = IN,
	  .in_clear = SIXLANE_PORT_IPV6,
	  .verdict = SIXLANE_PASS_IPV6_OFF },
	{ .name = "not forwarding",
	  .ingress = IN,
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
	{ .name = "egress not Ethernet",
	  .out_clear = SIXLANE_PORT_ETHER,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress takes no frames",
	  .out_clear = SIXLANE_PORT_XMIT,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "egress takes no frames but skbs",
	  .ingress = IN,
	  .in_set = SIXLANE_PORT_GENERIC,
	  .out_clear = SIXLANE_PORT_XMIT },
	{ .name = "no neighbour",
	  .addr = "2001:db8::2",
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "gateway unresolved",
	  .neighbour = GATEWAY,
	  .no_mac = true,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
};

static struct sixlane_meta meta;
static struct sixlane_port ports[SIXLANE_MAX_PORTS];
static struct sixlane_next_hop next_hops[SIXLANE_MAX_NEXT_HOPS];
static struct sixlane_neigh neighbours[SIXLANE_MAX_NEIGHBOURS];

static void fill(const struct row *row)
{
	meta.abi = SIXLANE_ABI + row->other_abi;
	meta.flags = (READY | row->meta_set) & ~row->meta_clear;
	ports[SLOT_IN] = (struct sixlane_port){ .ifindex = IN,
						.flags = (SERVED | row->in_set) & ~row->in_clear,
						.table = 1000 };
	ports[SLOT_OUT] = (struct sixlane_port){ .flags = (LIVE | row->out_set) & ~row->out_clear };
	if (!row->no_egress) {
		ports[SLOT_OUT].ifindex = OUT;
		ports[SLOT_OUT].mtu = DEVICE_MTU;
	}
	next_hops[5] = (struct sixlane_next_hop){ .verdict = row->fate,
						  .port = SLOT_OUT,
						  .neighbour = row->neighbour,
						  .mtu = row->locked_mtu };
	for (int i = GATEWAY; i <= ON_LINK; i++)
		neighbours[i].mac.flags = row->no_mac ? 0 : SIXLANE_MAC_VALID;
	route_value = row->no_route ? 0 : sixlane_route_value(row->bad_id ? 0xfffff : 5, 48);
}

static void every_check_in_order(void **state)
{
	const struct maps maps = {
		.meta = &meta, .ports = ports, .next_hops = next_hops, .neighbours = neighbours
	};
	union sixlane_addr addr;
	struct walk walk;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		uint32_t mtu = row->stops ? 0 : row->mtu ? row->mtu : DEVICE_MTU;
		bool forward;

		fill(row);
		inet_pton(AF_INET6, row->addr ? row->addr : DESTINATION, &addr);
		walk_destination(&maps, row->ingress, &addr, &walk);
		forward = walk.verdict == SIXLANE_FORWARD;
		if (walk.verdict != row->verdict || walk.mtu != mtu)
			fail_msg("%s: verdict %u, wanted %u; mtu %u, wanted %u", row->name,
				 walk.verdict, row->verdict, walk.mtu, mtu);
		assert_int_equal(walk.has_prefix, !row->no_route);
		assert_int_equal(walk.prefix_len, row->no_route ? 0 : 48);
		assert_true(!forward || (walk.has_mac && walk.port == SLOT_OUT));
		if (row->stops)
			continue;
		assert_int_equal(walk.has_gateway, row->neighbour == GATEWAY);
		assert_int_equal(walk.has_mac, !row->no_mac);
	}
}

static void the_table_is_the_ports(void **state)
{
	const struct maps maps = {
		.meta = &meta, .ports = ports, .next_hops = next_hops, .neighbours = neighbours
	};
	const union sixlane_addr addr = { .bytes = { 0x20, 1 } };
	struct walk walk;

	(void)state;
	fill(&rows[0]);
	walk_destination(&maps, 0, &addr, &walk);
	assert_int_equal(table_asked, SIXLANE_TABLE_MAIN);
	walk_destination(&maps, IN, &addr, &walk);
	assert_int_equal(table_asked, 1000);
	walk_destination(&maps, 99, &addr, &walk);
	assert_int_equal(table_asked, SIXLANE_TABLE_MAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_check_in_order),
		cmocka_unit_test(the_table_is_the_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
