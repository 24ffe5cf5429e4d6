// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bonds: with XDP on a bond the program runs on its slaves, and what a slave that is in use
 * receives came in by the bond (bond_handle_frame). Out of a VLAN device on a bond that hashes,
 * the slaves in the rows were computed by hand from bond_xmit_hash(); tests/vm asks the kernel.
 */
#include "tests.h"

#define BY_SLAVE .in = DEV_SLAVE, .as = DEV_BOND
#define BY_SLAVE_10 .in = DEV_SLAVE, .tags = { Q(10) }, .as = DEV_BOND_10

/* Seven, so that every bit of a hash counts. */
static const enum device slaves[] = { DEV_IN_10, DEV_OUT,    DEV_ALT,	  DEV_GENERIC,
				      DEV_SLAVE, DEV_BACKUP, DEV_STRANGER };

static void on_bond(struct world *w)
{
	struct sixlane_port *port = world_port(w, DEV_BOND_10);

	port->flags |= SIXLANE_PORT_SLAVES;
	port->slaves_type = 0x86dd;
	port->n_slaves = sizeof(slaves) / sizeof(slaves[0]);
	for (uint32_t i = 0; i < port->n_slaves; i++)
		port->slaves[i] = WORLD_IFINDEX(slaves[i]);
}

#define VIA_BOND LEAVES_BY(BOND_10), .arrange = on_bond
/* Hashed by this, and what else is changed. */
#define BY(policy, ...) \
	VIA_BOND, WITH(SET(PORT(BOND_10).slaves_by, SIXLANE_SLAVES_BY_##policy), __VA_ARGS__)
#define TYPE(hex) ITEM(AT_PAYLOAD, hex)
#define INNER_NEXT(hex) ITEM(AT_PAYLOAD + 14, hex)
#define HIDDEN PUNT(HASH)

static const struct row rows_bond[] = {
	/* in */
	{ "active slave", BY_SLAVE },
	{ "active slave, slots tried first", BY_SLAVE, .at_home = true },
	{ "backup slave", .in = DEV_BACKUP, PASS(BOND_SLAVE) },
	{ "backup slave, known tag", .in = DEV_BACKUP, .tags = { Q(10) }, PASS(VLAN_UNKNOWN) },
	{ "slave of a bond without XDP", BY_SLAVE, PORT_FLAG(BOND, INGRESS), PASS(UNKNOWN_PORT) },
	{ "slave that is nothing but a slave", BY_SLAVE,
	  WITH(FLIP_PORT(SLAVE, INGRESS), FLIP_PORT(SLAVE, IPV6), FLIP_PORT(SLAVE, FORWARDING),
	       FLIP_PORT(SLAVE, UP)) },
	{ "slave whose bond is in a bridge", BY_SLAVE, PORT_FLAG(BOND, UPPER), PASS(PORT_UPPER) },
	{ "slave whose bond is without IPv6", BY_SLAVE, PORT_FLAG(BOND, IPV6), PASS(IPV6_OFF) },
	{ "slave whose bond is gone", .in = DEV_SLAVE, WITH(SET(PORT(BOND).ifindex, 0)),
	  .slot_lost = true, PASS(UNKNOWN_PORT) },
	{ "pass port, of a bond", BY_SLAVE, PORT_FLAG(BOND, PASS), PASS(PORT) },
	{ "pass port, of a slave", .in = DEV_SLAVE, PORT_FLAG(SLAVE, PASS), PASS(PORT) },
	{ "the bond's table", TABLE_1000, BY_SLAVE, WITH(SET(PORT(BOND).table, 1000)), VIA_ALT },
	{ "the slave's table does not matter", BY_SLAVE, WITH(SET(PORT(SLAVE).table, 1000)) },
	{ "port of a bond that is no slave to the daemon, for its MAC differs", .in = DEV_SLAVE,
	  WITH(FLIP_PORT(SLAVE, SLAVE), FLIP_PORT(SLAVE, UPPER)), PASS(PORT_UPPER) },
	{ "active slave, for another MAC", BY_SLAVE, .to = DEV_BACKUP, PASS(OTHER_MAC) },
	{ "slave takes over", .in = DEV_BACKUP,
	  WITH(FLIP_PORT(BACKUP, BACKUP), FLIP_PORT(BACKUP, SLAVE)), .to = DEV_BOND,
	  .as = DEV_BOND },
	{ "the bond's generic program is not the one that runs", BY_SLAVE,
	  WITH(FLIP_PORT(BOND, GENERIC), FLIP_PORT(OUT, XMIT)), PASS(EGRESS_DEVICE) },
	{ "the slave's generic program is the one that runs", BY_SLAVE,
	  WITH(FLIP_PORT(SLAVE, GENERIC), FLIP_PORT(OUT, XMIT)) },

	/* tags */
	{ "VLAN of a bond", BY_SLAVE_10 },
	{ "VLAN of a bond, for its own MAC", BY_SLAVE_10, .to = DEV_BOND_10 },
	{ "VLAN of a bond, for another MAC", BY_SLAVE_10, .to = DEV_ALT, PASS(OTHER_MAC) },
	{ "VLAN of a bond, unknown", BY_SLAVE, .tags = { 0x8100000b }, PASS(VLAN_UNKNOWN) },
	{ "priority tag by a slave", BY_SLAVE, .tags = { 0x8100e000 } },

	/* out */
	{ "out of a bond", LEAVES_BY(BOND) },
	{ "out of a bond, down", ROUTED_BY(BOND), PORT_FLAG(BOND, UP), PASS(EGRESS_DOWN) },
	{ "by a slave and out of its bond", ROUTED_BY(BOND), BY_SLAVE, PASS(SAME_PORT) },
	{ "by a slave and out of a VLAN of its bond", ROUTED_BY(BOND_10), BY_SLAVE,
	  .via = NEIGH_BOND_10 },
	{ "by a VLAN of a bond and out of that", ROUTED_BY(BOND_10), BY_SLAVE_10, PASS(SAME_PORT) },
	{ "by a VLAN of a bond and out of the bond", ROUTED_BY(BOND), BY_SLAVE_10,
	  .via = NEIGH_BOND },

	{ "slave by MACs", BY(L2), .slave = DEV_SLAVE },
	{ "by MACs and tag", BY(L2, SET(PORT(BOND_10).slaves_type, 0x8100)), .slave = DEV_IN_10 },
	{ "slave by MACs of any packet", BY(L2), .payload = 1, NEXT_IS("3a"), .slave = DEV_SLAVE },
	{ "slave by addresses", BY(L23), .slave = DEV_ALT },
	{ "slave by addresses, no ports to be seen", BY(L23), .payload = 1, .slave = DEV_ALT },
	{ "slave by ports", BY(L34), .slave = DEV_ALT },
	{ "slave by ports, tagged in", BY(L34), TAGS_10_20, .slave = DEV_ALT },
	{ "slave by ports, slots tried first", BY(L34), .at_home = true, .slave = DEV_ALT },
	{ "slave by ports, TCP", BY(L34), NEXT_IS("06"), .slave = DEV_ALT },
	{ "slave by ports, AH has an SPI", BY(L34), NEXT_IS("33"), .slave = DEV_GENERIC },
	{ "slave by ports, of which there are none", BY(L34), NEXT_IS("3b"), .slave = DEV_IN_10 },
	{ "slave by ports, fragment", BY(L34), NEXT_IS("2c"), .slave = DEV_IN_10 },
	{ "slave by ports that are cut", BY(L34), .payload = 3, HIDDEN },
	{ "slave by ports, AH that is cut", BY(L34), .payload = 7, NEXT_IS("33"), HIDDEN },

	{ "slave by echo", BY(L34), PATCH(NEXT("3a"), TYPE("80")), .slave = DEV_SLAVE },
	{ "slave by echo without identifier", BY(L34),
	  PATCH(NEXT("3a"), TYPE("80"), { AT_PAYLOAD + 4, "0000" }), .slave = DEV_OUT },
	{ "slave by ICMPv6", BY(L34), PATCH(NEXT("3a"), TYPE("64")), .slave = DEV_IN_10 },
	{ "slave by cut ICMPv6", BY(L34), .payload = 7, PATCH(NEXT("3a"), TYPE("64")), HIDDEN },
	{ "slave by error, ports", BY(L34), .payload = 52,
	  PATCH(NEXT("3a"), TYPE("01"), INNER_NEXT("11")), .slave = DEV_GENERIC },
	{ "slave by error, ports that are cut", BY(L34), .payload = 51,
	  PATCH(NEXT("3a"), TYPE("01"), INNER_NEXT("11")), HIDDEN },
	{ "slave by error, AH", BY(L34), .payload = 56,
	  PATCH(NEXT("3a"), TYPE("04"), INNER_NEXT("33")), .slave = DEV_SLAVE },
	{ "slave by error, no ports", BY(L34), .payload = 48, PATCH(NEXT("3a"), TYPE("03")),
	  .slave = DEV_ALT },
	{ "slave by error, addresses", BY(L23), .payload = 48, PATCH(NEXT("3a"), TYPE("02")),
	  .slave = DEV_STRANGER },
	{ "slave by error, addresses that are cut", BY(L23), .payload = 47,
	  PATCH(NEXT("3a"), TYPE("02")), HIDDEN },
	{ "slave by ICMP in IPv6", BY(L23), NEXT_IS("01"), HIDDEN },

	{ "no slave in use", BY(L34, SET(PORT(BOND_10).n_slaves, 0)), PASS(EGRESS_DOWN) },
	{ "slave's place is empty", BY(L34, SET(PORT(BOND_10).slaves[2], 0)), PASS(EGRESS_DOWN) },
	{ "more slaves than the list has",
	  BY(L2, SET(PORT(BOND_10).n_slaves, SIXLANE_MAX_SLAVES + 2)), PASS(EGRESS_DOWN) },
	{ "neighbour before slave", BY(L34, SET(NEIGH(BOND_10).mac.flags, 0)), PASS(UNRESOLVED) },
	{ "the bond chooses", BY(L34, FLIP_PORT(BOND_10, SLAVES)) },
	{ "slave, and no room for a tag", BY(L34), .meta = ROW_META_MAX, PASS(NO_HEADROOM) },
};
ROWS(rows_bond)
