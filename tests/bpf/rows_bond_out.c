// SPDX-License-Identifier: GPL-2.0-only
/*
 * Out of a VLAN device on a bond that hashes: which slave takes the frame. Those of the rows were
 * reckoned by hand from bond_xmit_hash(); that the kernel agrees is tested in tests/vm.
 */
#include "rows.h"

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

#define OUT .routes = { TO(NH_VIA(NEIGH_BOND_10)) }, .via = NEIGH_BOND_10, .arrange = on_bond
/* Hashed by this, and what else is changed. */
#define BY(policy, ...) \
	OUT, WITH(SET(PORT(BOND_10).slaves_by, SIXLANE_SLAVES_BY_##policy), __VA_ARGS__)
#define TYPE(hex)               \
	{                       \
		AT_PAYLOAD, hex \
	}
#define INNER_NEXT(hex)              \
	{                            \
		AT_PAYLOAD + 14, hex \
	}
#define HIDDEN PUNT(HASH)

const struct row rows_bond_out[] = {
	{ "slave by MACs", BY(L2), .slave = DEV_SLAVE },
	{ "slave by MACs and a tag", BY(L2, SET(PORT(BOND_10).slaves_type, 0x8100)),
	  .slave = DEV_IN_10 },
	{ "slave by MACs, whatever the packet", BY(L2), .payload = 1, PATCH(NEXT("3a")),
	  .slave = DEV_SLAVE },
	{ "slave by addresses", BY(L23), .slave = DEV_ALT },
	{ "slave by addresses, no ports to be seen", BY(L23), .payload = 1, .slave = DEV_ALT },
	{ "slave by ports", BY(L34), .slave = DEV_ALT },
	{ "slave by ports, tagged in", BY(L34), TAGS_10_20, .slave = DEV_ALT },
	{ "slave by ports, slots tried first", BY(L34), .at_home = true, .slave = DEV_ALT },
	{ "slave by ports, TCP", BY(L34), PATCH(NEXT("06")), .slave = DEV_ALT },
	{ "slave by ports, AH has an SPI", BY(L34), PATCH(NEXT("33")), .slave = DEV_GENERIC },
	{ "slave by ports, of which there are none", BY(L34), PATCH(NEXT("3b")),
	  .slave = DEV_IN_10 },
	{ "slave by ports, fragment", BY(L34), PATCH(NEXT("2c")), .slave = DEV_IN_10 },
	{ "slave by ports that are cut", BY(L34), .payload = 3, HIDDEN },
	{ "slave by ports, AH that is cut", BY(L34), .payload = 7, PATCH(NEXT("33")), HIDDEN },

	{ "slave by echo", BY(L34), PATCH(NEXT("3a"), TYPE("80")), .slave = DEV_SLAVE },
	{ "slave by echo without identifier", BY(L34),
	  PATCH(NEXT("3a"), TYPE("80"), { AT_PAYLOAD + 4, "0000" }), .slave = DEV_OUT },
	{ "slave by ICMPv6", BY(L34), PATCH(NEXT("3a"), TYPE("64")), .slave = DEV_IN_10 },
	{ "slave by ICMPv6 that is cut", BY(L34), .payload = 7, PATCH(NEXT("3a"), TYPE("64")),
	  HIDDEN },
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
	{ "slave by ICMP in IPv6", BY(L23), PATCH(NEXT("01")), HIDDEN },

	{ "no slave in use", BY(L34, SET(PORT(BOND_10).n_slaves, 0)), PASS(EGRESS_DOWN) },
	{ "slave's place is empty", BY(L34, SET(PORT(BOND_10).slaves[2], 0)), PASS(EGRESS_DOWN) },
	{ "more slaves than the list has",
	  BY(L2, SET(PORT(BOND_10).n_slaves, SIXLANE_MAX_SLAVES + 2)), PASS(EGRESS_DOWN) },
	{ "neighbour comes before the slave", BY(L34, SET(NEIGH(BOND_10).mac.flags, 0)),
	  PASS(UNRESOLVED) },
	{ "the bond chooses", BY(L34, FLIP_PORT(BOND_10, SLAVES)) },
	{ "slave, and no room for a tag", BY(L34), .meta = ROW_META_MAX, PASS(NO_HEADROOM) },
};
const size_t rows_bond_out_n = sizeof(rows_bond_out) / sizeof(rows_bond_out[0]);
