// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which packets the hash of a group does not reach: whose fields the kernel would find behind
 * headers that XDP does not walk. What the hash is over is tested in hash_bits.c.
 */
#include "rows.h"

#define GROUP TO(NH_GROUP)

static const uint32_t both_members[] = { NH_GATEWAY, NH_GATEWAY };

static void two(struct world *w)
{
	world_set_buckets(w, NH_GROUP, 0, both_members, 2);
}

static void one_of(struct world *w, uint32_t member)
{
	world_set_buckets(w, NH_GROUP, 0, &member, 1);
}

static void one(struct world *w)
{
	one_of(w, NH_GATEWAY);
}

#define TWO .routes = { GROUP }, .arrange = two
#define L4 .hash = { .policy = SIXLANE_HASH_L4 }
#define INNER .hash = { .policy = SIXLANE_HASH_INNER }
#define FIELDS(fields_) .hash = { .policy = SIXLANE_HASH_FIELDS, .fields = (fields_) }
#define NEXT(hex)                   \
	{                           \
		AT_NEXT_HEADER, hex \
	}
#define INNER_NEXT(hex)             \
	{                           \
		AT_PAYLOAD + 6, hex \
	}
#define HIDDEN .verdict = SIXLANE_PUNT_HASH

/* FIB_MULTIPATH_HASH_FIELD_* of the kernel */
#define ADDRS 0x003
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
	{ .name = "hash L3, destination options", TWO, .patches = { NEXT("3c") } },
	{ .name = "hash L3, no payload to speak of", TWO, .payload = 1 },
	{ .name = "hash L3, IPv4 in IPv6", TWO, .patches = { NEXT("04") } },
	{ .name = "hash L3, ICMPv6 error that is cut",
	  TWO,
	  .payload = 9,
	  .patches = { NEXT("3a"), { AT_PAYLOAD, "01" } } },

	{ .name = "hash L4, routing header", TWO, L4, .patches = { NEXT("2b") }, HIDDEN },
	{ .name = "hash L4, destination options", TWO, L4, .patches = { NEXT("3c") }, HIDDEN },
	{ .name = "hash L4, fragment", TWO, L4, .patches = { NEXT("2c") } },
	{ .name = "hash L4, fragment that is cut",
	  TWO,
	  L4,
	  .payload = 7,
	  .patches = { NEXT("2c") },
	  HIDDEN },
	{ .name = "hash L4, AH", TWO, L4, .patches = { NEXT("33") } },
	{ .name = "hash L4, IPv6 in IPv6", TWO, L4, .patches = { NEXT("29") } },
	{ .name = "hash L4, GRE", TWO, L4, .patches = { NEXT("2f") } },
	{ .name = "hash L4, UDP cut after 3 bytes", TWO, L4, .payload = 3, HIDDEN },
	{ .name = "hash L4, UDP cut after 3 bytes, padding behind",
	  TWO,
	  L4,
	  .payload = 3,
	  .padding = 9,
	  HIDDEN },
	{ .name = "hash L4, UDP cut after 4 bytes", TWO, L4, .payload = 4 },
	{ .name = "hash L4, ESP cut after 3 bytes",
	  TWO,
	  L4,
	  .payload = 3,
	  .patches = { NEXT("32") },
	  HIDDEN },
	{ .name = "hash L4, ICMPv6 cut after 3 bytes",
	  TWO,
	  L4,
	  .payload = 3,
	  .patches = { NEXT("3a") } },
	{ .name = "hash L4, group of one needs none",
	  .routes = { GROUP },
	  .arrange = one,
	  L4,
	  .patches = { NEXT("3c") } },
	{ .name = "hash L4, one next hop needs none", L4, .patches = { NEXT("3c") } },

	{ .name = "hash inner, UDP", TWO, INNER },
	{ .name = "hash inner, UDP cut", TWO, INNER, .payload = 1 },
	{ .name = "hash inner, IPv6 in IPv6",
	  TWO,
	  INNER,
	  .payload = 40,
	  .patches = { NEXT("29") } },
	{ .name = "hash inner, IPv6 in IPv6 cut",
	  TWO,
	  INNER,
	  .payload = 39,
	  .patches = { NEXT("29") },
	  HIDDEN },
	{ .name = "hash inner, IPv6 in IPv6 cut, padding behind",
	  TWO,
	  INNER,
	  .payload = 39,
	  .padding = 9,
	  .patches = { NEXT("29") },
	  HIDDEN },
	{ .name = "hash inner, IPv4 in IPv6",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("04") },
	  HIDDEN },
	{ .name = "hash inner, GRE", TWO, INNER, .payload = 60, .patches = { NEXT("2f") }, HIDDEN },
	{ .name = "hash inner, MPLS",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("89") },
	  HIDDEN },
	{ .name = "hash inner, destination options",
	  TWO,
	  INNER,
	  .patches = { NEXT("3c") },
	  HIDDEN },
	{ .name = "hash inner, routing header", TWO, INNER, .patches = { NEXT("2b") }, HIDDEN },
	{ .name = "hash inner, fragment", TWO, INNER, .patches = { NEXT("2c") } },
	{ .name = "hash inner, fragment that is cut",
	  TWO,
	  INNER,
	  .payload = 7,
	  .patches = { NEXT("2c") },
	  HIDDEN },
	{ .name = "hash inner, tunnel in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("29") },
	  HIDDEN },
	{ .name = "hash inner, IPv4 in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("04") },
	  HIDDEN },
	{ .name = "hash inner, GRE in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("2f") },
	  HIDDEN },
	{ .name = "hash inner, MPLS in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("89") },
	  HIDDEN },
	{ .name = "hash inner, hop-by-hop options in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("00") },
	  HIDDEN },
	{ .name = "hash inner, destination options in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("3c") },
	  HIDDEN },
	{ .name = "hash inner, routing header in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("2b") },
	  HIDDEN },
	{ .name = "hash inner, fragment in tunnel",
	  TWO,
	  INNER,
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("2c") },
	  HIDDEN },

	{ .name = "hash fields, none", TWO, FIELDS(0), .patches = { NEXT("3c") } },
	{ .name = "hash fields, addresses, destination options",
	  TWO,
	  FIELDS(ADDRS),
	  .patches = { NEXT("3c") } },
	{ .name = "hash fields, label, destination options",
	  TWO,
	  FIELDS(LABEL),
	  .patches = { NEXT("3c") } },
	{ .name = "hash fields, protocol, destination options",
	  TWO,
	  FIELDS(PROTO),
	  .patches = { NEXT("3c") },
	  HIDDEN },
	{ .name = "hash fields, the default's, routing header",
	  TWO,
	  FIELDS(DEFAULT_FIELDS),
	  .patches = { NEXT("2b") },
	  HIDDEN },
	{ .name = "hash fields, protocol, fragment",
	  TWO,
	  FIELDS(PROTO),
	  .patches = { NEXT("2c") } },
	{ .name = "hash fields, protocol, fragment that is cut",
	  TWO,
	  FIELDS(PROTO),
	  .payload = 7,
	  .patches = { NEXT("2c") },
	  HIDDEN },
	{ .name = "hash fields, ports, destination options",
	  TWO,
	  FIELDS(PORTS),
	  .patches = { NEXT("3c") },
	  HIDDEN },
	{ .name = "hash fields, ports, UDP cut after 3 bytes",
	  TWO,
	  FIELDS(PORTS),
	  .payload = 3,
	  HIDDEN },
	{ .name = "hash fields, source port, UDP cut after 3 bytes",
	  TWO,
	  FIELDS(0x010),
	  .payload = 3,
	  HIDDEN },
	{ .name = "hash fields, protocol, UDP cut after 3 bytes",
	  TWO,
	  FIELDS(PROTO),
	  .payload = 3 },
	{ .name = "hash fields, inner, UDP", TWO, FIELDS(INNER_ADDRS) },
	{ .name = "hash fields, inner, destination options",
	  TWO,
	  FIELDS(INNER_ADDRS),
	  .patches = { NEXT("3c") },
	  HIDDEN },
	{ .name = "hash fields, inner, fragment",
	  TWO,
	  FIELDS(INNER_ADDRS),
	  .patches = { NEXT("2c") } },
	{ .name = "hash fields, inner, IPv6 in IPv6",
	  TWO,
	  FIELDS(INNER_ADDRS | INNER_PROTO | INNER_LABEL),
	  .payload = 40,
	  .patches = { NEXT("29") } },
	{ .name = "hash fields, inner, IPv6 in IPv6 cut",
	  TWO,
	  FIELDS(INNER_LABEL),
	  .payload = 39,
	  .patches = { NEXT("29") },
	  HIDDEN },
	{ .name = "hash fields, inner ports, IPv6 in IPv6",
	  TWO,
	  FIELDS(INNER_SRC_PORT),
	  .payload = 60,
	  .patches = { NEXT("29") },
	  HIDDEN },
	{ .name = "hash fields, the other inner port, IPv6 in IPv6",
	  TWO,
	  FIELDS(INNER_DST_PORT),
	  .payload = 60,
	  .patches = { NEXT("29") },
	  HIDDEN },
	{ .name = "hash fields, inner ports, UDP", TWO, FIELDS(INNER_SRC_PORT | INNER_DST_PORT) },
	{ .name = "hash fields, inner, GRE",
	  TWO,
	  FIELDS(INNER_ADDRS),
	  .payload = 60,
	  .patches = { NEXT("2f") },
	  HIDDEN },
	{ .name = "hash fields, outer only, GRE",
	  TWO,
	  FIELDS(DEFAULT_FIELDS),
	  .payload = 60,
	  .patches = { NEXT("2f") } },
	{ .name = "hash fields, inner, destination options in tunnel",
	  TWO,
	  FIELDS(INNER_ADDRS),
	  .payload = 60,
	  .patches = { NEXT("29"), INNER_NEXT("3c") },
	  HIDDEN },

	{ .name = "hash policy of tomorrow", TWO, .hash = { .policy = 4 }, HIDDEN },
};
const size_t rows_hash_n = sizeof(rows_hash) / sizeof(rows_hash[0]);
