// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bonds: with XDP on a bond the program runs on its slaves, and what a slave that is in use
 * receives came in by the bond (bond_handle_frame). And bonds as egress.
 */
#include "rows.h"

static void bond_not_served(struct world *w)
{
	world_port(w, DEV_BOND)->flags &= ~SIXLANE_PORT_INGRESS;
}

static void slave_not_served(struct world *w)
{
	world_port(w, DEV_SLAVE)->flags &= ~(SIXLANE_PORT_INGRESS | SIXLANE_PORT_IPV6 |
					     SIXLANE_PORT_FORWARDING | SIXLANE_PORT_UP);
}

static void bond_in_a_bridge(struct world *w)
{
	world_port(w, DEV_BOND)->flags |= SIXLANE_PORT_UPPER;
}

static void bond_without_ipv6(struct world *w)
{
	world_port(w, DEV_BOND)->flags &= ~SIXLANE_PORT_IPV6;
}

static void bond_gone(struct world *w)
{
	*world_port(w, DEV_BOND) = (struct sixlane_port){ 0 };
}

static void pass_bond(struct world *w)
{
	world_port(w, DEV_BOND)->flags |= SIXLANE_PORT_PASS;
}

static void pass_slave(struct world *w)
{
	world_port(w, DEV_SLAVE)->flags |= SIXLANE_PORT_PASS;
}

static void bond_of_another_table(struct world *w)
{
	world_port(w, DEV_BOND)->table = 1000;
}

static void slave_of_another_table(struct world *w)
{
	world_port(w, DEV_SLAVE)->table = 1000;
}

/* The daemon calls no slave one that has another MAC than its bond. */
static void slave_with_a_mac_of_its_own(struct world *w)
{
	world_port(w, DEV_SLAVE)->mac = world_port(w, DEV_BACKUP)->mac;
	world_port(w, DEV_SLAVE)->flags ^= SIXLANE_PORT_SLAVE | SIXLANE_PORT_UPPER;
}

static void backup_is_the_active_one(struct world *w)
{
	struct sixlane_port *port = world_port(w, DEV_BACKUP);

	port->flags ^= SIXLANE_PORT_BACKUP | SIXLANE_PORT_SLAVE;
}

/* Its program runs in generic mode, which what the bond's own would do does not change. */
static void bond_generic(struct world *w)
{
	world_port(w, DEV_BOND)->flags |= SIXLANE_PORT_GENERIC;
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
}

static void slave_generic(struct world *w)
{
	world_port(w, DEV_SLAVE)->flags |= SIXLANE_PORT_GENERIC;
	world_port(w, DEV_OUT)->flags &= ~SIXLANE_PORT_XMIT;
}

static void bond_down(struct world *w)
{
	world_port(w, DEV_BOND)->flags &= ~SIXLANE_PORT_UP;
}

#define BOND_TAG           \
	{                  \
		0x8100000a \
	}

const struct row rows_bond[] = {
	/* in */
	{ .name = "active slave", .in = DEV_SLAVE, .as = DEV_BOND },
	{ .name = "active slave, slots tried first",
	  .in = DEV_SLAVE,
	  .at_home = 1,
	  .as = DEV_BOND },
	{ .name = "backup slave", .in = DEV_BACKUP, .verdict = SIXLANE_PASS_BOND_SLAVE },
	{ .name = "backup slave, for the bond's MAC",
	  .in = DEV_BACKUP,
	  .to = DEV_BOND,
	  .verdict = SIXLANE_PASS_BOND_SLAVE },
	{ .name = "backup slave, priority tag",
	  .in = DEV_BACKUP,
	  .tags = { 0x8100e000 },
	  .verdict = SIXLANE_PASS_BOND_SLAVE },
	{ .name = "backup slave, tag that the bond knows",
	  .in = DEV_BACKUP,
	  .tags = BOND_TAG,
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "slave whose bond is not served",
	  .in = DEV_SLAVE,
	  .arrange = bond_not_served,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "slave that is nothing but a slave",
	  .in = DEV_SLAVE,
	  .arrange = slave_not_served,
	  .as = DEV_BOND },
	{ .name = "slave whose bond is in a bridge",
	  .in = DEV_SLAVE,
	  .arrange = bond_in_a_bridge,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "slave whose bond is without IPv6",
	  .in = DEV_SLAVE,
	  .arrange = bond_without_ipv6,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_IPV6_OFF },
	{ .name = "slave whose bond is gone",
	  .in = DEV_SLAVE,
	  .arrange = bond_gone,
	  .slot_lost = 1,
	  .verdict = SIXLANE_PASS_UNKNOWN_PORT },
	{ .name = "pass port, of a bond",
	  .in = DEV_SLAVE,
	  .arrange = pass_bond,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_PORT },
	{ .name = "pass port, of a slave",
	  .in = DEV_SLAVE,
	  .arrange = pass_slave,
	  .verdict = SIXLANE_PASS_PORT },
	{ .name = "the bond's table",
	  .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) },
	  .in = DEV_SLAVE,
	  .arrange = bond_of_another_table,
	  .as = DEV_BOND,
	  .via = NEIGH_ALT },
	{ .name = "the slave's table does not matter",
	  .in = DEV_SLAVE,
	  .arrange = slave_of_another_table,
	  .as = DEV_BOND },
	{ .name = "slave with a MAC of its own, for the bond's",
	  .in = DEV_SLAVE,
	  .arrange = slave_with_a_mac_of_its_own,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "slave with a MAC of its own, for that",
	  .in = DEV_SLAVE,
	  .arrange = slave_with_a_mac_of_its_own,
	  .to = DEV_BACKUP,
	  .verdict = SIXLANE_PASS_PORT_UPPER },
	{ .name = "active slave, for another MAC",
	  .in = DEV_SLAVE,
	  .to = DEV_BACKUP,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "slave takes over",
	  .in = DEV_BACKUP,
	  .arrange = backup_is_the_active_one,
	  .to = DEV_BOND,
	  .as = DEV_BOND },
	{ .name = "the bond's generic program is not the one that runs",
	  .in = DEV_SLAVE,
	  .arrange = bond_generic,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_EGRESS_DEVICE },
	{ .name = "the slave's generic program is the one that runs",
	  .in = DEV_SLAVE,
	  .arrange = slave_generic,
	  .as = DEV_BOND },

	/* tags */
	{ .name = "VLAN of a bond", .in = DEV_SLAVE, .tags = BOND_TAG, .as = DEV_BOND_10 },
	{ .name = "VLAN of a bond, for its own MAC",
	  .in = DEV_SLAVE,
	  .to = DEV_BOND_10,
	  .tags = BOND_TAG,
	  .as = DEV_BOND_10 },
	{ .name = "VLAN of a bond, for another MAC",
	  .in = DEV_SLAVE,
	  .to = DEV_ALT,
	  .tags = BOND_TAG,
	  .as = DEV_BOND_10,
	  .verdict = SIXLANE_PASS_OTHER_MAC },
	{ .name = "VLAN of a bond, unknown",
	  .in = DEV_SLAVE,
	  .tags = { 0x8100000b },
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_VLAN_UNKNOWN },
	{ .name = "priority tag by a slave",
	  .in = DEV_SLAVE,
	  .tags = { 0x8100e000 },
	  .as = DEV_BOND },

	/* out */
	{ .name = "out of a bond", .routes = { TO(NH_VIA(NEIGH_BOND)) }, .via = NEIGH_BOND },
	{ .name = "out of a VLAN of a bond",
	  .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  .via = NEIGH_BOND_10 },
	{ .name = "out of a bond that is down",
	  .routes = { TO(NH_VIA(NEIGH_BOND)) },
	  .arrange = bond_down,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "by a slave and out of its bond",
	  .routes = { TO(NH_VIA(NEIGH_BOND)) },
	  .in = DEV_SLAVE,
	  .as = DEV_BOND,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "by a slave and out of a VLAN of its bond",
	  .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  .in = DEV_SLAVE,
	  .as = DEV_BOND,
	  .via = NEIGH_BOND_10 },
	{ .name = "by a VLAN of a bond and out of that",
	  .routes = { TO(NH_VIA(NEIGH_BOND_10)) },
	  .in = DEV_SLAVE,
	  .tags = BOND_TAG,
	  .as = DEV_BOND_10,
	  .verdict = SIXLANE_PASS_SAME_PORT },
	{ .name = "by a VLAN of a bond and out of the bond",
	  .routes = { TO(NH_VIA(NEIGH_BOND)) },
	  .in = DEV_SLAVE,
	  .tags = BOND_TAG,
	  .as = DEV_BOND_10,
	  .via = NEIGH_BOND },
};
const size_t rows_bond_n = sizeof(rows_bond) / sizeof(rows_bond[0]);
