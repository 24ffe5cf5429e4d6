// SPDX-License-Identifier: GPL-2.0-only
/*
 * Out of a VLAN device on a bond that hashes: which slave takes the frame. Those of the rows were
 * reckoned by hand from bond_xmit_hash(); that the kernel agrees is tested in tests/vm.
 */
#include "rows.h"

/* Seven, so that every bit of a hash counts. */
static const enum device slaves[] = { DEV_IN_10, DEV_OUT,    DEV_ALT,	  DEV_GENERIC,
				      DEV_SLAVE, DEV_BACKUP, DEV_STRANGER };
enum { N_SLAVES = sizeof(slaves) / sizeof(slaves[0]) };

static void on_bond(struct world *w, uint16_t by, uint16_t type)
{
	struct sixlane_port *port = world_port(w, DEV_BOND_10);

	port->flags |= SIXLANE_PORT_SLAVES;
	port->slaves_by = by;
	port->slaves_type = type;
	port->n_slaves = N_SLAVES;
	for (int i = 0; i < N_SLAVES; i++)
		port->slaves[i] = harness_ifindex()[slaves[i]];
}

static void l2(struct world *w)
{
	on_bond(w, SIXLANE_SLAVES_BY_L2, 0x86dd);
}

static void l2_of_a_tag(struct world *w)
{
	on_bond(w, SIXLANE_SLAVES_BY_L2, 0x8100);
}

static void l23(struct world *w)
{
	on_bond(w, SIXLANE_SLAVES_BY_L23, 0x86dd);
}

static void l34(struct world *w)
{
	on_bond(w, SIXLANE_SLAVES_BY_L34, 0x86dd);
}

static void no_slave(struct world *w)
{
	l34(w);
	world_port(w, DEV_BOND_10)->n_slaves = 0;
}

/* While the list is written anew. */
static void empty_place(struct world *w)
{
	l34(w);
	world_port(w, DEV_BOND_10)->slaves[2] = 0;
}

/* The hash falls upon the place behind the last one. */
static void more_than_there_is_room_for(struct world *w)
{
	l2(w);
	world_port(w, DEV_BOND_10)->n_slaves = SIXLANE_MAX_SLAVES + 2;
}

static void silent_neighbour(struct world *w)
{
	l34(w);
	world_neigh(w, NEIGH_BOND_10)->mac.flags = 0;
}

/* A port that lost its flag, but has a list still. */
static void no_flag(struct world *w)
{
	l34(w);
	world_port(w, DEV_BOND_10)->flags &= ~SIXLANE_PORT_SLAVES;
}

#define OUT .routes = { ROUTE("2001:db8:2::/48", NH_VIA(NEIGH_BOND_10)) }, .via = NEIGH_BOND_10
#define NEXT(hex)                   \
	{                           \
		AT_NEXT_HEADER, hex \
	}
#define TYPE(hex)               \
	{                       \
		AT_PAYLOAD, hex \
	}
#define INNER_NEXT(hex)              \
	{                            \
		AT_PAYLOAD + 14, hex \
	}
#define HIDDEN .verdict = SIXLANE_PUNT_HASH

const struct row rows_bond_out[] = {
	{ .name = "slave by MACs", OUT, .arrange = l2, .slave = DEV_SLAVE },
	{ .name = "slave by MACs and a tag", OUT, .arrange = l2_of_a_tag, .slave = DEV_IN_10 },
	{ .name = "slave by MACs, whatever the packet",
	  OUT,
	  .arrange = l2,
	  .payload = 1,
	  .patches = { NEXT("3a") },
	  .slave = DEV_SLAVE },
	{ .name = "slave by addresses", OUT, .arrange = l23, .slave = DEV_ALT },
	{ .name = "slave by addresses, no ports to be seen",
	  OUT,
	  .arrange = l23,
	  .payload = 1,
	  .slave = DEV_ALT },
	{ .name = "slave by ports", OUT, .arrange = l34, .slave = DEV_ALT },
	{ .name = "slave by ports, tagged in",
	  OUT,
	  .arrange = l34,
	  .tags = { 0x8100000a, 0x81000014 },
	  .as = DEV_IN_10_20,
	  .slave = DEV_ALT },
	{ .name = "slave by ports, slots tried first",
	  OUT,
	  .arrange = l34,
	  .at_home = 1,
	  .slave = DEV_ALT },
	{ .name = "slave by ports, TCP",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("06") },
	  .slave = DEV_ALT },
	{ .name = "slave by ports, AH has an SPI",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("33") },
	  .slave = DEV_GENERIC },
	{ .name = "slave by ports, of which there are none",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("3b") },
	  .slave = DEV_IN_10 },
	{ .name = "slave by ports, fragment",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("2c") },
	  .slave = DEV_IN_10 },
	{ .name = "slave by ports that are cut", OUT, .arrange = l34, .payload = 3, HIDDEN },
	{ .name = "slave by ports, AH that is cut",
	  OUT,
	  .arrange = l34,
	  .payload = 7,
	  .patches = { NEXT("33") },
	  HIDDEN },

	{ .name = "slave by echo",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("3a"), TYPE("80") },
	  .slave = DEV_SLAVE },
	{ .name = "slave by echo without identifier",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("3a"), TYPE("80"), { AT_PAYLOAD + 4, "0000" } },
	  .slave = DEV_OUT },
	{ .name = "slave by ICMPv6",
	  OUT,
	  .arrange = l34,
	  .patches = { NEXT("3a"), TYPE("64") },
	  .slave = DEV_IN_10 },
	{ .name = "slave by ICMPv6 that is cut",
	  OUT,
	  .arrange = l34,
	  .payload = 7,
	  .patches = { NEXT("3a"), TYPE("64") },
	  HIDDEN },
	{ .name = "slave by error, ports",
	  OUT,
	  .arrange = l34,
	  .payload = 52,
	  .patches = { NEXT("3a"), TYPE("01"), INNER_NEXT("11") },
	  .slave = DEV_GENERIC },
	{ .name = "slave by error, ports that are cut",
	  OUT,
	  .arrange = l34,
	  .payload = 51,
	  .patches = { NEXT("3a"), TYPE("01"), INNER_NEXT("11") },
	  HIDDEN },
	{ .name = "slave by error, AH",
	  OUT,
	  .arrange = l34,
	  .payload = 56,
	  .patches = { NEXT("3a"), TYPE("04"), INNER_NEXT("33") },
	  .slave = DEV_SLAVE },
	{ .name = "slave by error, no ports",
	  OUT,
	  .arrange = l34,
	  .payload = 48,
	  .patches = { NEXT("3a"), TYPE("03") },
	  .slave = DEV_ALT },
	{ .name = "slave by error, addresses",
	  OUT,
	  .arrange = l23,
	  .payload = 48,
	  .patches = { NEXT("3a"), TYPE("02") },
	  .slave = DEV_STRANGER },
	{ .name = "slave by error, addresses that are cut",
	  OUT,
	  .arrange = l23,
	  .payload = 47,
	  .patches = { NEXT("3a"), TYPE("02") },
	  HIDDEN },
	{ .name = "slave by ICMP in IPv6", OUT, .arrange = l23, .patches = { NEXT("01") }, HIDDEN },

	{ .name = "no slave in use",
	  OUT,
	  .arrange = no_slave,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "slave's place is empty",
	  OUT,
	  .arrange = empty_place,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "more slaves than the list has",
	  OUT,
	  .arrange = more_than_there_is_room_for,
	  .verdict = SIXLANE_PASS_EGRESS_DOWN },
	{ .name = "neighbour comes before the slave",
	  OUT,
	  .arrange = silent_neighbour,
	  .verdict = SIXLANE_PASS_UNRESOLVED },
	{ .name = "the bond chooses", OUT, .arrange = no_flag },
	{ .name = "slave, and no room for a tag",
	  OUT,
	  .arrange = l34,
	  .meta = ROW_META_MAX,
	  .verdict = SIXLANE_PASS_NO_HEADROOM },
};
const size_t rows_bond_out_n = sizeof(rows_bond_out) / sizeof(rows_bond_out[0]);
