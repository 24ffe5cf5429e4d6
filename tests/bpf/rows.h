/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of packets and their next-hop entries. A row left at its defaults is a plain packet
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
#define ROW_EXCEPTIONS 3
#define ROW_META_MAX SIZE_MAX

struct row {
	const char *name; /* without XML's special characters */

	/* The world: these routes (none: FRAME_DST's /48 to NH_GATEWAY), flags, then arrange(). */
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
	const char *punted; /* a destination that is punt; NULL: none */
	const char *fresh;  /* one that a message was about, in half 0; NULL: none */
	_Bool check_punted; /* at the filters, whatever the route */
	uint32_t marks;	    /* of the first route */
	union sixlane_hash_policy hash;
	uint32_t meta_turned,
		in_turned; /* flags of sl_meta, of DEV_IN's port: otherwise than usual */
	void (*arrange)(struct world *world);
	_Bool at_home; /* ports in the slots that are tried first, the index empty */

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

	/* Its next-hop entry. A passed or dropped packet comes out as it went in. */
	enum harness_prog prog;
	enum sixlane_verdict verdict;
	enum device as;	     /* the port that it is counted for; 0: the device it comes in by */
	_Bool slot_lost;     /* counted in slot 0, since the port's own cannot be found */
	enum neighbour via;  /* of a forwarded packet */
	enum device slave;   /* that it is redirected to; 0: what via's device leaves by */
	const char *out_hex; /* instead of what frame_route() makes of it */
	int hit;	     /* the how manieth of the exceptions is; 0: none */
	struct {
		uint32_t mtu;
		_Bool decremented;
		enum neighbour via; /* that it goes to, but for … */
		_Bool turned;	    /* … one that goes back to the MAC it came from */
	} answer;
	struct {
		uint32_t type;	 /* 0: none */
		const char *dst; /* NULL: :: */
	} icmp_event;
};

#define ROUTE_IN(table_, prefix_, next_hop_)                                    \
	{                                                                       \
		.prefix = (prefix_), .next_hop = (next_hop_), .table = (table_) \
	}
#define ROUTE(prefix, next_hop) ROUTE_IN(0, prefix, next_hop)
#define SOURCE(prefix_, next_hop_)                           \
	{                                                    \
		.prefix = (prefix_), .next_hop = (next_hop_) \
	}
#define TO(next_hop) ROUTE("2001:db8:2::/48", next_hop) /* FRAME_DST's */

extern const struct row rows_packet[]; /* what the frame itself says */
extern const size_t rows_packet_n;
extern const struct row rows_port[]; /* switches and ports */
extern const size_t rows_port_n;
extern const struct row rows_route[]; /* prefixes, tables, next-hop entries of routes */
extern const size_t rows_route_n;
extern const struct row rows_next_hop[]; /* egress, MTU, neighbours */
extern const size_t rows_next_hop_n;
extern const struct row rows_vlan[]; /* tags in */
extern const size_t rows_vlan_n;
extern const struct row rows_vlan_out[]; /* tags out */
extern const size_t rows_vlan_out_n;
extern const struct row rows_bond[]; /* slaves and their bond */
extern const size_t rows_bond_n;
extern const struct row rows_bond_out[]; /* which slave takes a tagged frame */
extern const size_t rows_bond_out_n;
extern const struct row rows_rule[]; /* which rules apply */
extern const size_t rows_rule_n;
extern const struct row rows_walk[]; /* lists of rules, and what they lead to */
extern const size_t rows_walk_n;
extern const struct row rows_source[]; /* routes by source */
extern const size_t rows_source_n;
extern const struct row rows_group[]; /* routes of several next hops */
extern const size_t rows_group_n;
extern const struct row rows_hash[]; /* packets that a group's hash does not reach */
extern const size_t rows_hash_n;
extern const struct row rows_exception[]; /* what holds for one destination */
extern const size_t rows_exception_n;
extern const struct row rows_answer[]; /* packets over an MTU */
extern const size_t rows_answer_n;
extern const struct row rows_answer_way[]; /* and the way back */
extern const size_t rows_answer_way_n;
extern const struct row rows_icmp_event[]; /* messages that the kernel learns from */
extern const size_t rows_icmp_event_n;
extern const struct row rows_guard[]; /* firewalls, IPsec, tc, open checksums */
extern const size_t rows_guard_n;

#endif
