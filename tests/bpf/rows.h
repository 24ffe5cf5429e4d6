/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Documented cases, and the macros that rows are written in. A row changes a few things of the
 * default world and states what becomes of one packet. A row left at its defaults is a plain packet
 * that comes in by DEV_IN and is forwarded to NEIGH_GATEWAY.
 */
#ifndef TESTS_BPF_ROWS_H
#define TESTS_BPF_ROWS_H

#include "frame.h"
#include "harness.h"
#include "world.h"

#define ROW_ROUTES 6
#define ROW_SOURCES 5
#define ROW_RULES 5
#define ROW_PATCHES 5
#define ROW_EXCEPTIONS 1
#define ROW_CHANGES 8
#define ROW_META_MAX SIZE_MAX

/* A field of struct world that is set to a value, or whose bits are flipped. */
struct row_change {
	uint32_t at, bytes;
	_Bool flip;
	uint64_t value;
};

struct row {
	const char *name; /* without XML's special characters */

	/* The world, in this order: routes (none: FRAME_DST's /48 to NH_GATEWAY), … */
	struct {
		const char *prefix;
		uint32_t next_hop;
		uint32_t table; /* 0: main */
	} routes[ROW_ROUTES];
	struct {
		const char *prefix;
		uint32_t next_hop;
		uint32_t len;	/* of the destination's prefix; 0: 48 */
	} sources[ROW_SOURCES]; /* in WORLD_SET */
	struct {
		struct sixlane_rule rule; /* one without a priority ends the list */
		const char *src, *dst;
	} rules[ROW_RULES]; /* none: ports ask no rules */
	struct {
		const char *dst;
		struct sixlane_exception value; /* table 0: main */
	} exceptions[ROW_EXCEPTIONS];
	const char *punted; /* a destination in sl_punted; NULL: none */
	const char *fresh;  /* a destination in half 0 of sl_fresh; NULL: none */
	_Bool check_punted; /* SIXLANE_META_CHECK_PUNTED is set */
	uint32_t marks;	    /* of the first route */
	union sixlane_hash_policy hash;
	void (*arrange)(struct world *world);	/* … then this function, … */
	struct row_change changes[ROW_CHANGES]; /* … and these changes */
	_Bool at_home; /* ports are in the slots that are tried first, the index is empty */

	/* The packet: in_hex, or built, then patched, then tagged. */
	enum device in;
	enum device to; /* whose MAC; 0: that of the device it comes in by */
	const char *src, *dst;
	size_t payload, padding;
	struct {
		size_t at;
		const char *hex;
	} patches[ROW_PATCHES];
	const char *in_hex;
	uint32_t tags[FRAME_TAGS];
	size_t meta; /* ROW_META_MAX: as much as there may be */

	/* What becomes of it. A passed or dropped packet comes out as it went in. */
	enum harness_prog prog;
	enum sixlane_verdict verdict;
	enum device as;	     /* the port that it is counted for; 0: the device it comes in by */
	_Bool slot_lost;     /* counted in slot 0, since the port's own cannot be found */
	enum neighbour via;  /* of a forwarded packet */
	enum device slave;   /* that it is redirected to; 0: what via's device leaves by */
	const char *out_hex; /* instead of what frame_route() makes of it */
	_Bool hit;	     /* it finds the exception */
	_Bool silent_used;   /* as in struct harness_case */
	struct harness_answer answer;
	struct {
		uint32_t type;	 /* 0: none */
		const char *dst; /* NULL: :: */
	} icmp_event;
};

/* --- routes -------------------------------------------------------------------------------- */

#define ITEM(...)           \
	{                   \
		__VA_ARGS__ \
	}
#define ROUTE_IN(table_, prefix_, next_hop_) \
	ITEM(.prefix = (prefix_), .next_hop = (next_hop_), .table = (table_))
#define ROUTE(prefix, next_hop) ROUTE_IN(0, prefix, next_hop)
#define SOURCE(prefix_, next_hop_) ITEM(.prefix = (prefix_), .next_hop = (next_hop_))
#define TO(next_hop) ROUTE("2001:db8:2::/48", next_hop) /* FRAME_DST's */
#define TO_ENTRY(verdict) TO(NH_ENTRY + SIXLANE_##verdict)
/*
 * FRAME_DST has one route: to a next hop, or of a type, or by a neighbour. LEAVES_BY: the frame is
 * also expected to leave by it.
 */
#define ROUTED(next_hop) .routes = { TO(next_hop) }
#define ROUTE_TYPE(verdict) .routes = { TO_ENTRY(verdict) }
#define ROUTED_BY(neigh) ROUTED(NH_VIA(NEIGH_##neigh))
#define LEAVES_BY(neigh) ROUTED_BY(neigh), .via = NEIGH_##neigh
#define VIA_ALT .via = NEIGH_ALT

/* --- changes of the world ------------------------------------------------------------------- */

#define WITH(...) .changes = { __VA_ARGS__ }
#define CHANGE(field, flip_, value_)                                                           \
	ITEM(.at = offsetof(struct world, field), .bytes = sizeof(((struct world *)0)->field), \
	     .flip = (flip_), .value = (value_))
#define SET(field, value) CHANGE(field, 0, value)
#define FLIP(field, bits) CHANGE(field, 1, bits)
/* Arrays begin with what is nobody's, as the maps do: see world_port_slot() and its like. */
#define PORT(dev) ports[DEV_##dev + 1]
#define NEIGH(neigh) neighbours[NEIGH_##neigh + 1]
#define FLIP_PORT(dev, flag) FLIP(PORT(dev).flags, SIXLANE_PORT_##flag)
#define FLIP_META(flag) FLIP(meta.flags, SIXLANE_META_##flag)
/* Nothing else is changed. */
#define PORT_FLAG(dev, flag) WITH(FLIP_PORT(dev, flag))
#define META_FLAG(flag) WITH(FLIP_META(flag))
#define SET_VRF(dev) \
	FLIP_PORT(dev, VRF), SET(PORT(dev).table, WORLD_VRF), SET(PORT(dev).iif, WORLD_VRF_IFINDEX)
#define SET_GROUP(member, expires)                                                             \
	SET(next_hops[NH_GROUP].nh_entry.type, SIXLANE_NH_GROUP),                              \
		SET(next_hops[NH_GROUP].nh_entry.n_buckets, 1), SET(buckets[0].below, member), \
		SET(buckets[0].above, member), SET(next_hops[NH_GROUP].expires_ns, expires)

/* --- rules ---------------------------------------------------------------------------------- */

/*
 * Table 100 leads to NEIGH_ALT and main to NEIGH_GATEWAY, so the neighbour shows which rule
 * answered.
 */
#define TABLES TO(NH_GATEWAY), ROUTE_IN(100, "2001:db8:2::/48", NH_ALT)
#define TABLE_1000 .routes = { TO(NH_GATEWAY), ROUTE_IN(1000, "2001:db8:2::/48", NH_ALT) }
#define TWO_TABLES .routes = { TABLES }

/* A rule of a list. The order of the list counts, not the priority. */
#define LOOK_UP(table_) .rule.table = (table_)
#define FLAGS(flags_) .rule.flags = SIXLANE_RULE_##flags_
#define NOT(flags_) .rule.flags = SIXLANE_RULE_INVERT | SIXLANE_RULE_##flags_
#define NOT_FROM .src = "2001:db8:f::/48" /* which FRAME_SRC is not in */
#define RULE(...) ITEM(.rule.priority = 10, __VA_ARGS__)
#define TO_100 RULE(LOOK_UP(100))
#define TO_MAIN RULE(LOOK_UP(SIXLANE_TABLE_MAIN))
#define SUPPRESS(len) RULE(LOOK_UP(SIXLANE_TABLE_MAIN), FLAGS(SUPPRESS), .rule.suppress_len = (len))

/* The first of two rules is to table 100, if …; the second is to main. */
#define IF(...) TWO_TABLES, .rules = { RULE(LOOK_UP(100), __VA_ARGS__), TO_MAIN }
#define APPLIES VIA_ALT
#define APPLIES_NOT .via = NEIGH_GATEWAY
#define CANNOT_TELL PUNT(RULE)

#define ASK_IIF(ifindex) FLIP(rules[0].flags, SIXLANE_RULE_IIF), SET(rules[0].iif, ifindex)

/* --- packets, and what becomes of them ------------------------------------------------------ */

#define SIZE(bytes) .payload = (bytes)-40 /* of the IPv6 packet */
#define PATCH(...) .patches = { __VA_ARGS__ }
#define NEXT(hex) ITEM(AT_NEXT_HEADER, hex)
#define NEXT_IS(hex) PATCH(NEXT(hex))
/* FRAME_SRC and FRAME_DST, in hex. */
#define ADDRS "20010db8000100000000000000000001 20010db8000200000000000000000001"
#define Q(vid) (0x81000000u | (vid))  /* 802.1Q tag */
#define AD(vid) (0x88a80000u | (vid)) /* 802.1ad tag */
#define TAG_10 .tags = { Q(10) }, .as = DEV_IN_10
#define TAGS_10_20 .tags = { Q(10), Q(20) }, .as = DEV_IN_10_20
#define PASS(v) .verdict = SIXLANE_PASS_##v
#define PUNT(v) .verdict = SIXLANE_PUNT_##v
#define DROP(v) .verdict = SIXLANE_DROP_##v

#endif
