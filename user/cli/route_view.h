/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a route in the maps leads: its next hop (egress port, neighbour, MTU) or its group with the
 * weights that it was made of, the exception of a destination, and the verdict that they give to
 * packets. Reads maps only. It does not know which rule applies or which member a packet takes: the
 * program decides that (trace.h).
 */
#ifndef USER_CLI_ROUTE_VIEW_H
#define USER_CLI_ROUTE_VIEW_H

#include "../../bpf/abi/trace.h"
#include "../maps/maps.h"

/* --- one next hop ------------------------------------------------------------------------- */

/* Packets that a verdict is for. */
struct packet_filter {
	const union sixlane_addr *dst, *src; /* src NULL: as of :: */
	const struct sixlane_port *in;	     /* ingress port; NULL: any */
	uint32_t in_slot;		     /* its slot in sl_ports */
	bool generic;			     /* the program runs in generic mode there */
};

/* Unknown fields are zero. */
struct hop_view {
	enum sixlane_verdict verdict;
	uint32_t id;
	union sixlane_nh_entry nh_entry;
	uint32_t port;	/* egress: slot in sl_ports */
	uint32_t mtu;	/* largest IPv6 packet in bytes */
	uint32_t limit; /* the MTU of the route or of the exception; 0: none */
	bool by_exception;
	struct sixlane_port egress;
	struct sixlane_neigh neigh; /* gateway, or the destination itself */
	bool has_gateway;	    /* neigh.key is a gateway's */
	bool has_mac;		    /* neigh.mac may be used */
	uint32_t slave;		    /* ifindex of the slave that a bond chose; 0: unknown */
};

/* Reads a next hop by its id or from its entry. The verdict ignores ports and neighbours. */
void hop_view_read(const struct maps *maps, uint32_t id, struct hop_view *hop);
void hop_view_read_entry(const struct maps *maps, union sixlane_nh_entry entry,
			 struct hop_view *hop);

/* The entry of a next-hop id; SIXLANE_PUNT_ROUTE for an id out of range. */
union sixlane_nh_entry hop_view_entry(const struct maps *maps, uint32_t id);

/* Sets the neighbour of a hop without a gateway, which is dst itself. */
void hop_view_set_on_link(const struct maps *maps, const union sixlane_addr *dst,
			  struct hop_view *hop);

/* Sets the verdict by ports, neighbour and guard, for packets of any size. The order of the checks
 * is that of bpf/nexthop.h. */
void hop_view_check(const struct maps *maps, const struct packet_filter *packets,
		    struct hop_view *hop);

/* --- groups ------------------------------------------------------------------------------- */

#define GROUP_MAX_MEMBERS 256u

struct member_view {
	struct hop_view hop;
	uint64_t share;	 /* of all buckets, in units of a bucket / 2^32 */
	uint32_t weight; /* in lowest terms; in a resilient group the number of buckets */
	bool skipped;	 /* its port is down */
};

struct group_view {
	uint32_t type;	    /* SIXLANE_NH_*; 0: no group */
	uint32_t n_buckets; /* 1: no choice, the group only has an expiry */
	bool resilient;	    /* each bucket has one member */
	uint32_t n_members;
	struct member_view members[GROUP_MAX_MEMBERS];
};

/* A member's share of all packets, from 0 to 1. */
double group_view_share(const struct group_view *group, const struct member_view *member);

/* --- routes ------------------------------------------------------------------------------- */

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
