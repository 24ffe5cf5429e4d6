// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes of several next hops, those that expire, and packets that a group's hash does not reach
 * because the kernel finds their fields behind headers that XDP does not parse. Where a group has
 * two members both are the same gateway, so that a row knows where the packet goes. Which member a
 * flow gets is tested in groups.c, which bits count in hash_bits.c.
 */
#include "tests.h"

#define TWO ROUTED(NH_GROUP), .arrange = two

static void set_group(struct world *w, const uint32_t *members, uint16_t n)
{
	world_set_buckets(w, NH_GROUP, 0, members, n);
}

static void one(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY }, 1);
}

static void two(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_GATEWAY }, 2);
}

static void gateway_and_alt(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_ALT }, 2);
}

static void among_others(struct world *w)
{
	world_set_buckets(w, NH_GROUP + 1, 4, (const uint32_t[]){ NH_ALT, NH_GATEWAY, NH_ALT }, 3);
	one(w);
	w->next_hops[NH_GROUP].nh_entry.first_bucket = 5;
}

static void first(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_ALT, NH_GATEWAY, NH_GATEWAY }, 3);
	w->buckets[0].above = NH_GATEWAY;
}

static void first_back(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_BACK, NH_GATEWAY }, 2);
}

static void second_back(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GATEWAY, NH_BACK }, 2);
}

static void sixteenth_back(struct world *w)
{
	uint32_t members[16];

	for (uint16_t i = 0; i < 16; i++)
		members[i] = i == 15 ? (uint32_t)NH_BACK : NH_GATEWAY;
	set_group(w, members, 16);
}

static void blackhole_first(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_ENTRY + SIXLANE_DROP_BLACKHOLE, NH_GATEWAY }, 2);
}

static void group_equal_metric(struct world *w)
{
	set_group(w, (const uint32_t[]){ NH_GROUP, NH_GATEWAY }, 2);
}

#define TO_GROUP ROUTED(NH_GROUP)
#define ONE TO_GROUP, .arrange = one
#define OF(member, ...) TO_GROUP, WITH(SET_GROUP(member, 0), __VA_ARGS__)
#define EXPIRES(member, when) TO_GROUP, WITH(SET_GROUP(member, when))
#define SET_NH(field, value) SET(next_hops[NH_GROUP].field, value)
#define OBJECT SET_NH(flags, SIXLANE_NEXT_HOP_OBJECT)
#define EQUAL(arrange_, ...)             \
	TO_GROUP, .arrange = (arrange_), \
		  WITH(SET_NH(nh_entry.type, SIXLANE_NH_EQUAL_METRIC), __VA_ARGS__)

#define L4 TWO, .hash = { .policy = SIXLANE_HASH_L4 }
#define INNER TWO, .hash = { .policy = SIXLANE_HASH_INNER }
#define FIELDS(fields_) TWO, .hash = { .policy = SIXLANE_HASH_FIELDS, .fields = (fields_) }
/* This in IPv6 in IPv6. */
#define IN_TUNNEL(hex) .payload = 60, PATCH(NEXT("29"), { AT_PAYLOAD + 6, hex })
#define HIDDEN PUNT(HASH)
#define SILENT PASS(UNRESOLVED), .silent_used = true

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

static const struct row rows_group[] = {
	/* members */
	{ "group of one", ONE },
	{ "group of two", TWO },
	{ "group of a blackhole", OF(NH_ENTRY + SIXLANE_DROP_BLACKHOLE), DROP(BLACKHOLE) },
	{ "group of a punt", OF(NH_ENTRY + SIXLANE_PUNT_ENCAP), PUNT(ENCAP) },
	{ "group of an on-link next hop", OF(NH_ON_LINK), .via = NEIGH_HOST },
	{ "group of a silent gateway", OF(NH_SILENT), SILENT },
	{ "group of the port it came in by", OF(NH_BACK), PASS(SAME_PORT) },
	{ "group of a group", OF(NH_GROUP), PUNT(ROUTE) },
	{ "group of nobody", OF(0), PASS(EGRESS_DOWN) },
	{ "group without a bucket", ONE, WITH(SET_NH(nh_entry.n_buckets, 0)), PASS(EGRESS_DOWN) },
	{ "group, below the bound",
	  OF(NH_ENTRY + SIXLANE_PUNT_ENCAP, SET(buckets[0].bound, 0xffffffff),
	     SET(buckets[0].below, NH_ALT)),
	  VIA_ALT },
	{ "group, above the bound", OF(NH_GATEWAY, SET(buckets[0].below, NH_ALT)) },
	{ "group among others' buckets", TO_GROUP, .arrange = among_others },
	{ "group whose bucket was never written", ONE,
	  WITH(SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS - 1)), PASS(EGRESS_DOWN) },
	{ "group whose bucket is out of range", ONE,
	  WITH(SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS)), PASS(EGRESS_DOWN) },
	{ "group, MTU of the route", ONE, WITH(SET_NH(mtu, 1400)), SIZE(1400) },
	{ "group, MTU of the route + 1", ONE, WITH(SET_NH(mtu, 1400)), SIZE(1401), PASS(TOO_BIG) },
	{ "group, MTU of the member does not count", OF(NH_LOCKED), SIZE(1401) },

	/* expiry */
	{ "expired", EXPIRES(NH_GATEWAY, 1), PUNT(EXPIRES) },
	{ "not expired yet", EXPIRES(NH_GATEWAY, UINT64_MAX) },
	{ "expired blackhole", EXPIRES(NH_ENTRY + SIXLANE_DROP_BLACKHOLE, 1), PUNT(EXPIRES) },
	{ "expired under a good shorter prefix",
	  .routes = { ROUTE("2001:db8::/32", NH_GATEWAY), TO(NH_GROUP) },
	  WITH(SET_GROUP(NH_GATEWAY, 1)), PUNT(EXPIRES) },
	{ "expiry of a member", TWO, WITH(SET(next_hops[NH_GATEWAY].expires_ns, 1)) },
	{ "expiry of a route that is no group does not count",
	  WITH(SET(next_hops[NH_GATEWAY].expires_ns, 1)) },

	/* ports that are skipped */
	{ "all members skipped", TWO, PORT_FLAG(OUT, SKIP), PASS(EGRESS_DOWN) },
	{ "all members skipped, of objects only", TWO, PORT_FLAG(OUT, SKIP_OBJECT) },
	{ "all members of an object skipped", TWO, WITH(FLIP_PORT(OUT, SKIP_OBJECT), OBJECT),
	  PASS(EGRESS_DOWN) },
	{ "all members of an object, of routes only", TWO, WITH(FLIP_PORT(OUT, SKIP), OBJECT) },
	{ "one of two members skipped", TO_GROUP, .arrange = gateway_and_alt,
	  WITH(FLIP_PORT(OUT, SKIP), FLIP_PORT(OUT, SKIP_OBJECT)), VIA_ALT },
	{ "skipping is not for routes of one next hop",
	  WITH(FLIP_PORT(OUT, SKIP), FLIP_PORT(OUT, SKIP_OBJECT)) },
	/* the bits of an entry's type that would be a port name DEV_OUT's slot */
	{ "skipping is not for entries that do not forward",
	  OF(NH_ENTRY + SIXLANE_DROP_BLACKHOLE, FLIP_PORT(OUT, SKIP),
	     SET(next_hops[NH_ENTRY + SIXLANE_DROP_BLACKHOLE].nh_entry.port, DEV_OUT + 1)),
	  DROP(BLACKHOLE) },
	{ "all members down, and not skipped", TWO, PORT_FLAG(OUT, UP), PASS(EGRESS_DOWN) },

	/* the first of several */
	{ "first", EQUAL(first), VIA_ALT },
	{ "first, of a VLAN", EQUAL(first_back, SET(buckets[0].below, NH_VIA(NEIGH_IN))), TAG_10,
	  .via = NEIGH_IN },
	{ "first leads back", EQUAL(first_back), PASS(SAME_PORT) },
	{ "second leads back", EQUAL(second_back), PASS(SAME_PORT) },
	{ "sixteenth leads back", EQUAL(sixteenth_back), PASS(SAME_PORT) },
	{ "second leads back to another port", EQUAL(second_back), .in = DEV_GENERIC },
	{ "first, expired", EQUAL(first, SET_NH(expires_ns, 1)), PUNT(EXPIRES) },
	{ "first is a blackhole", EQUAL(blackhole_first), DROP(BLACKHOLE) },
	{ "first is a silent gateway", EQUAL(one, SET(buckets[0].below, NH_SILENT)), SILENT },
	{ "first is not skipped", EQUAL(first, FLIP_PORT(ALT, SKIP)), VIA_ALT },
	{ "first of none", EQUAL(first, SET_NH(nh_entry.n_buckets, 0)), PASS(SAME_PORT) },
	{ "first out of range", EQUAL(first, SET_NH(nh_entry.first_bucket, SIXLANE_MAX_NH_BUCKETS)),
	  PASS(SAME_PORT) },
	{ "first is a group", EQUAL(group_equal_metric), PUNT(ROUTE) },
	{ "first asks no hash", EQUAL(first), .hash = { .policy = SIXLANE_HASH_L4 }, NEXT_IS("3c"),
	  VIA_ALT },

	/* headers that the hash does not reach: policy 0 reads none */
	{ "L3, destination options", TWO, NEXT_IS("3c") },
	{ "L3, no payload to speak of", TWO, .payload = 1 },
	{ "L3, IPv4 in IPv6", TWO, NEXT_IS("04") },
	{ "L3, cut ICMPv6 error", TWO, .payload = 9, PATCH(NEXT("3a"), { AT_PAYLOAD, "01" }) },

	{ "L4, routing header", L4, NEXT_IS("2b"), HIDDEN },
	{ "L4, destination options", L4, NEXT_IS("3c"), HIDDEN },
	{ "L4, fragment that is cut", L4, .payload = 7, NEXT_IS("2c"), HIDDEN },
	{ "L4, AH", L4, .payload = 8, NEXT_IS("33") },
	{ "L4, AH cut after 7 bytes", L4, .payload = 7, NEXT_IS("33"), HIDDEN },
	{ "L4, UDP cut after 3 bytes", L4, .payload = 3, HIDDEN },
	{ "L4, UDP cut after 3 bytes, padding behind", L4, .payload = 3, .padding = 9, HIDDEN },
	{ "L4, UDP cut after 4 bytes", L4, .payload = 4 },
	{ "L4, ESP cut after 3 bytes", L4, .payload = 3, NEXT_IS("32"), HIDDEN },
	{ "L4, ICMPv6 cut after 3 bytes", L4, .payload = 3, NEXT_IS("3a") },
	{ "L4, group of one", ONE, .hash = { .policy = SIXLANE_HASH_L4 }, NEXT_IS("3c") },
	{ "L4, one next hop needs none", .hash = { .policy = SIXLANE_HASH_L4 }, NEXT_IS("3c") },

	{ "inner, UDP cut", INNER, .payload = 1 },
	{ "inner, IPv6 in IPv6", INNER, .payload = 40, NEXT_IS("29") },
	{ "inner, IPv6 in IPv6 cut", INNER, .payload = 39, NEXT_IS("29"), HIDDEN },
	{ "inner, IPv6 in IPv6 cut, padding behind", INNER, .payload = 39, .padding = 9,
	  NEXT_IS("29"), HIDDEN },
	{ "inner, IPv4 in IPv6", INNER, .payload = 60, NEXT_IS("04"), HIDDEN },
	{ "inner, GRE", INNER, .payload = 60, NEXT_IS("2f"), HIDDEN },
	{ "inner, MPLS", INNER, .payload = 60, NEXT_IS("89"), HIDDEN },
	{ "inner, destination options", INNER, NEXT_IS("3c"), HIDDEN },
	{ "inner, routing header", INNER, NEXT_IS("2b"), HIDDEN },
	{ "inner, fragment that is cut", INNER, .payload = 7, NEXT_IS("2c"), HIDDEN },
	{ "inner, tunnel in tunnel", INNER, IN_TUNNEL("29"), HIDDEN },
	{ "inner, IPv4 in tunnel", INNER, IN_TUNNEL("04"), HIDDEN },
	{ "inner, GRE in tunnel", INNER, IN_TUNNEL("2f"), HIDDEN },
	{ "inner, MPLS in tunnel", INNER, IN_TUNNEL("89"), HIDDEN },
	{ "inner, hop-by-hop options in tunnel", INNER, IN_TUNNEL("00"), HIDDEN },
	{ "inner, destination options in tunnel", INNER, IN_TUNNEL("3c"), HIDDEN },
	{ "inner, routing header in tunnel", INNER, IN_TUNNEL("2b"), HIDDEN },
	{ "inner, fragment in tunnel", INNER, IN_TUNNEL("2c"), HIDDEN },

	{ "fields, none", FIELDS(0), NEXT_IS("3c") },
	{ "fields, addresses, destination options", FIELDS(BOTH_ADDRS), NEXT_IS("3c") },
	{ "fields, label, destination options", FIELDS(LABEL), NEXT_IS("3c") },
	{ "fields, protocol, destination options", FIELDS(PROTO), NEXT_IS("3c"), HIDDEN },
	{ "fields, the default's, routing header", FIELDS(DEFAULT_FIELDS), NEXT_IS("2b"), HIDDEN },
	{ "fields, protocol, cut fragment", FIELDS(PROTO), .payload = 7, NEXT_IS("2c"), HIDDEN },
	{ "fields, ports, destination options", FIELDS(PORTS), NEXT_IS("3c"), HIDDEN },
	{ "fields, ports, UDP cut after 3 bytes", FIELDS(PORTS), .payload = 3, HIDDEN },
	{ "fields, source port, UDP cut after 3 bytes", FIELDS(0x010), .payload = 3, HIDDEN },
	{ "fields, protocol, UDP cut after 3 bytes", FIELDS(PROTO), .payload = 3 },
	{ "fields, inner, destination options", FIELDS(INNER_ADDRS), NEXT_IS("3c"), HIDDEN },
	{ "fields, inner, fragment", FIELDS(INNER_ADDRS), NEXT_IS("2c") },
	{ "fields, inner, IPv6 in IPv6", FIELDS(INNER_ADDRS | INNER_PROTO | INNER_LABEL),
	  .payload = 40, NEXT_IS("29") },
	{ "fields, inner, tunnel cut", FIELDS(INNER_LABEL), .payload = 39, NEXT_IS("29"), HIDDEN },
	{ "fields, inner ports, IPv6 in IPv6", FIELDS(INNER_SRC_PORT), .payload = 60, NEXT_IS("29"),
	  HIDDEN },
	{ "fields, the other inner port, IPv6 in IPv6", FIELDS(INNER_DST_PORT), .payload = 60,
	  NEXT_IS("29"), HIDDEN },
	{ "fields, inner ports, UDP", FIELDS(INNER_SRC_PORT | INNER_DST_PORT) },
	{ "fields, inner, GRE", FIELDS(INNER_ADDRS), .payload = 60, NEXT_IS("2f"), HIDDEN },
	{ "fields, outer only, GRE", FIELDS(DEFAULT_FIELDS), .payload = 60, NEXT_IS("2f") },
	{ "fields, inner, options in tunnel", FIELDS(INNER_ADDRS), IN_TUNNEL("3c"), HIDDEN },

	{ "hash policy of tomorrow", TWO, .hash = { .policy = 4 }, HIDDEN },
};
ROWS(rows_group)
