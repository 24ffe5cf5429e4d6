/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a route in the maps leads: its next hop or group, and the exception of a destination. Reads
 * maps only. It does not know which rule applies or which member a packet takes: the program
 * decides that (trace.h).
 */
#ifndef USER_CLI_ROUTE_VIEW_H
#define USER_CLI_ROUTE_VIEW_H

#include "../../bpf/abi/trace.h"
#include "group_view.h"

struct exception_view {
	bool applies;	  /* packets look up the destination's exception */
	uint32_t outcome; /* enum sixlane_trace_exception_outcome */
	struct sixlane_exception value;
};

struct route_view {
	enum sixlane_verdict verdict; /* of a group: forward if a member in use forwards */
	uint32_t value; /* of sl_routes or sl_sources; 0: no route, and the rest is zero */
	uint32_t prefix_len;
	bool has_exceptions; /* some destination under the prefix has one */
	bool by_source;	     /* source-specific */
	uint32_t set;	     /* its table of sources in sl_sources */
	uint32_t next_hop;   /* id */
	uint32_t flags;	     /* SIXLANE_NEXT_HOP_* */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0: never */
	struct exception_view exception;
	struct hop_view hop; /* the only one, or the first of SIXLANE_NH_EQUAL_METRIC; else zero */
	struct group_view group;
};

/* Reads an entry of sl_routes or sl_sources; src NULL: a source that no source-specific route
 * names. Verdicts are those of next-hop entries: ports and neighbours are not checked. */
void route_view_read(const struct maps *maps, uint32_t value, const union sixlane_addr *src,
		     struct route_view *out);

/* Looks up the destination's exception in this table, and checks ports, neighbours and the guard,
 * for packets of any size. */
void route_view_check(const struct maps *maps, uint32_t table, const struct packet_filter *packets,
		      struct route_view *view);

/* Whether all packets to dst pass to the kernel. entry: of dst in sl_exceptions, or NULL. Returns
 * SIXLANE_TRACE_EXCEPTION_FILTERED or _FRESH; _ABSENT: they do not. */
uint32_t route_view_punted(const struct maps *maps, const union sixlane_addr *dst,
			   const struct sixlane_exception *entry);

#endif
