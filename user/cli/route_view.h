/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a route in the maps leads to, for people: its next hop or the members of its group, and the
 * state of their ports and neighbours. Reads maps and knows no packet: which rule applies, which
 * member a packet takes and what becomes of it, only the program says (trace.h).
 */
#ifndef USER_CLI_ROUTE_VIEW_H
#define USER_CLI_ROUTE_VIEW_H

#include "../../bpf/abi/trace.h"
#include "../maps/maps.h"

/* Packets whose way is looked at. */
struct route_packets {
	const union sixlane_addr *dst, *src; /* src NULL: as of :: */
	const struct sixlane_port *in;	     /* they come in by this port; NULL: by any */
	uint32_t in_slot;		     /* its slot in sl_ports */
	bool generic;			     /* and the program runs in generic mode there */
};

/* A next hop that is no group: a way out, or a verdict. What is not known is zero. */
struct hop_view {
	enum sixlane_verdict verdict;
	uint32_t id;
	union sixlane_nh_entry nh_entry;
	uint32_t port;	/* egress: slot in sl_ports */
	uint32_t mtu;	/* bytes of an IPv6 packet that is not too big */
	uint32_t limit; /* the MTU of the route or of the exception; 0: none */
	bool by_exception;
	struct sixlane_port egress;
	struct sixlane_neigh neigh; /* gateway, or the destination itself */
	bool has_gateway;	    /* neigh.key is a gateway's */
	bool has_mac;		    /* neigh.mac may be used */
	uint32_t slave;		    /* ifindex: that a bond hands the frame to; 0: not known */
};

#define ROUTE_MAX_MEMBERS 256u
#define ROUTE_FLAGS SIXLANE_ROUTE_EXCEPTIONS

struct member_view {
	struct hop_view hop;
	uint64_t share;	 /* of the draws, in parts of n_buckets << 32 */
	uint32_t weight; /* all members' in lowest terms; buckets of a group with buckets */
	bool skipped;	 /* its port is down */
};

struct group_view {
	uint32_t kind;	    /* SIXLANE_KIND_*; 0: no group */
	uint32_t n_buckets; /* 1: there is nothing to choose, the group only has an expiry */
	bool buckets;	    /* a bucket has one member, and a member many buckets */
	bool truncated;	    /* more than ROUTE_MAX_MEMBERS */
	uint32_t n_members;
	struct member_view members[ROUTE_MAX_MEMBERS];
};

/* The exception of a destination. */
struct exception_view {
	bool asked;	  /* the route's prefix is marked to have some */
	uint32_t outcome; /* enum sixlane_trace_exception_outcome */
	struct sixlane_exception value;
};

struct route_view {
	enum sixlane_verdict verdict; /* of a group: forward if a member in use does */
	uint32_t value;	     /* of sl_routes or sl_sources; 0: no route, nor what follows */
	uint32_t prefix_len; /* of the destination */
	uint32_t marks;	     /* ROUTE_FLAGS */
	bool by_source;	     /* of a source set: */
	uint32_t set;	     /* its id in sl_sources */
	uint32_t next_hop;   /* id */
	uint32_t flags;	     /* SIXLANE_NEXT_HOP_* */
	uint64_t expires_ns;
	struct exception_view exception;
	struct hop_view hop; /* the only one, or the first of SIXLANE_NH_EQUAL_METRIC; else zero */
	struct group_view group;
};

/* An entry of sl_routes or sl_sources, of a source set as for src, NULL: as for all other sources.
 * Verdicts are those of next hops, whatever their ports and neighbours. */
void route_view_value(const struct maps *maps, uint32_t value, const union sixlane_addr *src,
		      struct route_view *out);

/* The exception of the destination, whose route of this table is in view; and verdicts as ports,
 * neighbours, the guard and it make them, for packets of any size. */
void route_view_resolve(const struct maps *maps, uint32_t table,
			const struct route_packets *packets, struct route_view *view);

/* Whether packets to dst are the kernel's; entry: its own in sl_exceptions, or NULL.
 * SIXLANE_TRACE_EXCEPTION_FILTERED, _FRESH, or _ABSENT: they are not. */
uint32_t route_view_punt(const struct maps *maps, const union sixlane_addr *dst,
			 const struct sixlane_exception *entry);

/* A next hop that is no group, by its id or by its word; verdict: its own. */
void route_view_hop(const struct maps *maps, uint32_t id, struct hop_view *hop);
void route_view_entry(const struct maps *maps, union sixlane_nh_entry nh_entry,
		      struct hop_view *hop);

/* Of a hop without a gateway: the neighbour that the destination itself is. */
void route_view_on_link(const struct maps *maps, const union sixlane_addr *dst,
			struct hop_view *hop);

/* The members of a group. flags: SIXLANE_NEXT_HOP_*. limit: the route's MTU, 0: none. */
void route_view_group(const struct maps *maps, union sixlane_nh_entry nh_entry, uint32_t flags,
		      uint32_t limit, struct group_view *group);

/* What ports, neighbours and the guard make of a hop: sets verdict and what it hangs on. */
void route_view_check(const struct maps *maps, const struct route_packets *packets,
		      struct hop_view *hop);

static inline uint32_t route_view_load(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t route_view_load64(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

#endif
