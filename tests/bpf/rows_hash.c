// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which packets a group's hash does not reach, because the kernel would find their fields behind
 * headers that XDP does not walk. What the hash is over is tested in hash_bits.c.
 */
#include "rows_group.h"

#define L4 .hash = { .policy = SIXLANE_HASH_L4 }
#define INNER .hash = { .policy = SIXLANE_HASH_INNER }
#define FIELDS(fields_) .hash = { .policy = SIXLANE_HASH_FIELDS, .fields = (fields_) }
/* This in IPv6 in IPv6. */
#define IN_TUNNEL(hex) .payload = 60, PATCH(NEXT("29"), { AT_PAYLOAD + 6, hex })
#define HIDDEN PUNT(HASH)

/* FIB_MULTIPATH_HASH_FIELD_* of the kernel */
#define BOTH_ADDRS 0x003
#define PROTO 0x004
#define LABEL 0x008
#define PORTS 0x030
#define DEFAULT_FIELDS 0x007
#define INNER_ADDRS 0x0c0
#define INNER_PROTO 0x100
#define INNER_LABEL 0x200
#define INNER_SRC_PORT 0x400
#define INNER_DST_PORT 0x800

const struct row rows_hash[] = {
	/* headers that the hash does not reach: policy 0 reads none */
	{ "hash L3, destination options", TWO, PATCH(NEXT("3c")) },
	{ "hash L3, no payload to speak of", TWO, .payload = 1 },
	{ "hash L3, IPv4 in IPv6", TWO, PATCH(NEXT("04")) },
	{ "hash L3, ICMPv6 error that is cut", TWO, .payload = 9,
	  PATCH(NEXT("3a"), { AT_PAYLOAD, "01" }) },

	{ "hash L4, routing header", TWO, L4, PATCH(NEXT("2b")), HIDDEN },
	{ "hash L4, destination options", TWO, L4, PATCH(NEXT("3c")), HIDDEN },
	{ "hash L4, fragment", TWO, L4, PATCH(NEXT("2c")) },
	{ "hash L4, fragment that is cut", TWO, L4, .payload = 7, PATCH(NEXT("2c")), HIDDEN },
	{ "hash L4, AH", TWO, L4, .payload = 8, PATCH(NEXT("33")) },
	{ "hash L4, AH cut after 7 bytes", TWO, L4, .payload = 7, PATCH(NEXT("33")), HIDDEN },
	{ "hash L4, IPv6 in IPv6", TWO, L4, PATCH(NEXT("29")) },
	{ "hash L4, GRE", TWO, L4, PATCH(NEXT("2f")) },
	{ "hash L4, UDP cut after 3 bytes", TWO, L4, .payload = 3, HIDDEN },
	{ "hash L4, UDP cut after 3 bytes, padding behind", TWO, L4, .payload = 3, .padding = 9,
	  HIDDEN },
	{ "hash L4, UDP cut after 4 bytes", TWO, L4, .payload = 4 },
	{ "hash L4, ESP cut after 3 bytes", TWO, L4, .payload = 3, PATCH(NEXT("32")), HIDDEN },
	{ "hash L4, ICMPv6 cut after 3 bytes", TWO, L4, .payload = 3, PATCH(NEXT("3a")) },
	{ "hash L4, group of one needs none", .routes = { GROUP }, .arrange = rows_group_one, L4,
	  PATCH(NEXT("3c")) },
	{ "hash L4, one next hop needs none", L4, PATCH(NEXT("3c")) },

	{ "hash inner, UDP", TWO, INNER },
	{ "hash inner, UDP cut", TWO, INNER, .payload = 1 },
	{ "hash inner, IPv6 in IPv6", TWO, INNER, .payload = 40, PATCH(NEXT("29")) },
	{ "hash inner, IPv6 in IPv6 cut", TWO, INNER, .payload = 39, PATCH(NEXT("29")), HIDDEN },
	{ "hash inner, IPv6 in IPv6 cut, padding behind", TWO, INNER, .payload = 39, .padding = 9,
	  PATCH(NEXT("29")), HIDDEN },
	{ "hash inner, IPv4 in IPv6", TWO, INNER, .payload = 60, PATCH(NEXT("04")), HIDDEN },
	{ "hash inner, GRE", TWO, INNER, .payload = 60, PATCH(NEXT("2f")), HIDDEN },
	{ "hash inner, MPLS", TWO, INNER, .payload = 60, PATCH(NEXT("89")), HIDDEN },
	{ "hash inner, destination options", TWO, INNER, PATCH(NEXT("3c")), HIDDEN },
	{ "hash inner, routing header", TWO, INNER, PATCH(NEXT("2b")), HIDDEN },
	{ "hash inner, fragment", TWO, INNER, PATCH(NEXT("2c")) },
	{ "hash inner, fragment that is cut", TWO, INNER, .payload = 7, PATCH(NEXT("2c")), HIDDEN },
	{ "hash inner, tunnel in tunnel", TWO, INNER, IN_TUNNEL("29"), HIDDEN },
	{ "hash inner, IPv4 in tunnel", TWO, INNER, IN_TUNNEL("04"), HIDDEN },
	{ "hash inner, GRE in tunnel", TWO, INNER, IN_TUNNEL("2f"), HIDDEN },
	{ "hash inner, MPLS in tunnel", TWO, INNER, IN_TUNNEL("89"), HIDDEN },
	{ "hash inner, hop-by-hop options in tunnel", TWO, INNER, IN_TUNNEL("00"), HIDDEN },
	{ "hash inner, destination options in tunnel", TWO, INNER, IN_TUNNEL("3c"), HIDDEN },
	{ "hash inner, routing header in tunnel", TWO, INNER, IN_TUNNEL("2b"), HIDDEN },
	{ "hash inner, fragment in tunnel", TWO, INNER, IN_TUNNEL("2c"), HIDDEN },

	{ "hash fields, none", TWO, FIELDS(0), PATCH(NEXT("3c")) },
	{ "hash fields, addresses, destination options", TWO, FIELDS(BOTH_ADDRS),
	  PATCH(NEXT("3c")) },
	{ "hash fields, label, destination options", TWO, FIELDS(LABEL), PATCH(NEXT("3c")) },
	{ "hash fields, protocol, destination options", TWO, FIELDS(PROTO), PATCH(NEXT("3c")),
	  HIDDEN },
	{ "hash fields, the default's, routing header", TWO, FIELDS(DEFAULT_FIELDS),
	  PATCH(NEXT("2b")), HIDDEN },
	{ "hash fields, protocol, fragment", TWO, FIELDS(PROTO), PATCH(NEXT("2c")) },
	{ "hash fields, protocol, fragment that is cut", TWO, FIELDS(PROTO), .payload = 7,
	  PATCH(NEXT("2c")), HIDDEN },
	{ "hash fields, ports, destination options", TWO, FIELDS(PORTS), PATCH(NEXT("3c")),
	  HIDDEN },
	{ "hash fields, ports, UDP cut after 3 bytes", TWO, FIELDS(PORTS), .payload = 3, HIDDEN },
	{ "hash fields, source port, UDP cut after 3 bytes", TWO, FIELDS(0x010), .payload = 3,
	  HIDDEN },
	{ "hash fields, protocol, UDP cut after 3 bytes", TWO, FIELDS(PROTO), .payload = 3 },
	{ "hash fields, inner, UDP", TWO, FIELDS(INNER_ADDRS) },
	{ "hash fields, inner, destination options", TWO, FIELDS(INNER_ADDRS), PATCH(NEXT("3c")),
	  HIDDEN },
	{ "hash fields, inner, fragment", TWO, FIELDS(INNER_ADDRS), PATCH(NEXT("2c")) },
	{ "hash fields, inner, IPv6 in IPv6", TWO, FIELDS(INNER_ADDRS | INNER_PROTO | INNER_LABEL),
	  .payload = 40, PATCH(NEXT("29")) },
	{ "hash fields, inner, IPv6 in IPv6 cut", TWO, FIELDS(INNER_LABEL), .payload = 39,
	  PATCH(NEXT("29")), HIDDEN },
	{ "hash fields, inner ports, IPv6 in IPv6", TWO, FIELDS(INNER_SRC_PORT), .payload = 60,
	  PATCH(NEXT("29")), HIDDEN },
	{ "hash fields, the other inner port, IPv6 in IPv6", TWO, FIELDS(INNER_DST_PORT),
	  .payload = 60, PATCH(NEXT("29")), HIDDEN },
	{ "hash fields, inner ports, UDP", TWO, FIELDS(INNER_SRC_PORT | INNER_DST_PORT) },
	{ "hash fields, inner, GRE", TWO, FIELDS(INNER_ADDRS), .payload = 60, PATCH(NEXT("2f")),
	  HIDDEN },
	{ "hash fields, outer only, GRE", TWO, FIELDS(DEFAULT_FIELDS), .payload = 60,
	  PATCH(NEXT("2f")) },
	{ "hash fields, inner, destination options in tunnel", TWO, FIELDS(INNER_ADDRS),
	  IN_TUNNEL("3c"), HIDDEN },

	{ "hash policy of tomorrow", TWO, .hash = { .policy = 4 }, HIDDEN },
};
const size_t rows_hash_n = sizeof(rows_hash) / sizeof(rows_hash[0]);
