/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of packets and their fates. A row left at its defaults is a plain packet that comes
 * in by DEV_IN and is forwarded to NEIGH_GATEWAY.
 */
#ifndef TESTS_BPF_ROWS_H
#define TESTS_BPF_ROWS_H

#include "frame.h"
#include "harness.h"
#include "world.h"

#define ROW_ROUTES 6
#define ROW_PATCHES 4

struct row {
	const char *name; /* without XML's special characters */

	/* The world: these routes (none: FRAME_DST's /48 to NH_GATEWAY), then arrange(). */
	struct {
		const char *prefix;
		uint32_t next_hop;
		uint32_t table; /* 0: main */
	} routes[ROW_ROUTES];
	void (*arrange)(struct world *world);
	_Bool at_home; /* ports in the slots that are tried first, the index empty */

	/* The packet: in_hex, or built and then patched. */
	enum device in;
	const char *src, *dst;
	size_t payload, padding;
	struct {
		size_t at;
		const char *hex;
	} patches[ROW_PATCHES];
	const char *in_hex;

	/* Its fate. A passed or dropped packet comes out as it went in. */
	enum harness_prog prog;
	enum sixlane_verdict verdict;
	_Bool slot_lost;     /* counted in slot 0, since the port's own cannot be found */
	enum neighbour via;  /* of a forwarded packet */
	const char *out_hex; /* instead of what frame_route() makes of it */
};

#define ROUTE_IN(table_, prefix_, next_hop_)                                    \
	{                                                                       \
		.prefix = (prefix_), .next_hop = (next_hop_), .table = (table_) \
	}
#define ROUTE(prefix, next_hop) ROUTE_IN(0, prefix, next_hop)
#define TO(next_hop) ROUTE("2001:db8:2::/48", next_hop) /* FRAME_DST's */

extern const struct row rows_packet[]; /* what the frame itself says */
extern const size_t rows_packet_n;
extern const struct row rows_port[]; /* switches and ports */
extern const size_t rows_port_n;
extern const struct row rows_route[]; /* prefixes, tables, fates of routes */
extern const size_t rows_route_n;
extern const struct row rows_next_hop[]; /* egress, MTU, neighbours */
extern const size_t rows_next_hop_n;

#endif
