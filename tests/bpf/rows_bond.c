// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bonds: with XDP on a bond the program runs on its slaves, and what a slave that is in use
 * receives came in by the bond (bond_handle_frame). And bonds as egress.
 */
#include "rows.h"

#define BY_SLAVE .in = DEV_SLAVE, .as = DEV_BOND
#define BY_SLAVE_10 .in = DEV_SLAVE, .tags = { Q(10) }, .as = DEV_BOND_10

const struct row rows_bond[] = {
	/* in */
	{ "active slave", BY_SLAVE },
	{ "active slave, slots tried first", BY_SLAVE, .at_home = true },
	{ "backup slave", .in = DEV_BACKUP, PASS(BOND_SLAVE) },
	{ "backup slave, tag that the bond knows", .in = DEV_BACKUP, .tags = { Q(10) },
	  PASS(VLAN_UNKNOWN) },
	{ "slave whose bond is not served", BY_SLAVE, WITH(FLIP_PORT(BOND, INGRESS)),
	  PASS(UNKNOWN_PORT) },
	{ "slave that is nothing but a slave", BY_SLAVE,
	  WITH(FLIP_PORT(SLAVE, INGRESS), FLIP_PORT(SLAVE, IPV6), FLIP_PORT(SLAVE, FORWARDING),
	       FLIP_PORT(SLAVE, UP)) },
	{ "slave whose bond is in a bridge", BY_SLAVE, WITH(FLIP_PORT(BOND, UPPER)),
	  PASS(PORT_UPPER) },
	{ "slave whose bond is without IPv6", BY_SLAVE, WITH(FLIP_PORT(BOND, IPV6)),
	  PASS(IPV6_OFF) },
	{ "slave whose bond is gone", .in = DEV_SLAVE, WITH(SET(PORT(BOND).ifindex, 0)),
	  .slot_lost = true, PASS(UNKNOWN_PORT) },
	{ "pass port, of a bond", BY_SLAVE, WITH(FLIP_PORT(BOND, PASS)), PASS(PORT) },
	{ "pass port, of a slave", .in = DEV_SLAVE, WITH(FLIP_PORT(SLAVE, PASS)), PASS(PORT) },
	{ "the bond's table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) }, BY_SLAVE,
	  WITH(SET(PORT(BOND).table, 1000)), .via = NEIGH_ALT },
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
	{ "out of a bond", .routes = { TO(NH_VIA(NEIGH_BOND)) }, .via = NEIGH_BOND },
	{ "out of a VLAN of a bond", .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  .via = NEIGH_BOND_10 },
	{ "out of a bond that is down", .routes = { TO(NH_VIA(NEIGH_BOND)) },
	  WITH(FLIP_PORT(BOND, UP)), PASS(EGRESS_DOWN) },
	{ "by a slave and out of its bond", .routes = { TO(NH_VIA(NEIGH_BOND)) }, BY_SLAVE,
	  PASS(SAME_PORT) },
	{ "by a slave and out of a VLAN of its bond", .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  BY_SLAVE, .via = NEIGH_BOND_10 },
	{ "by a VLAN of a bond and out of that", .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  BY_SLAVE_10, PASS(SAME_PORT) },
	{ "by a VLAN of a bond and out of the bond", .routes = { TO(NH_VIA(NEIGH_BOND)) },
	  BY_SLAVE_10, .via = NEIGH_BOND },
};
const size_t rows_bond_n = sizeof(rows_bond) / sizeof(rows_bond[0]);
