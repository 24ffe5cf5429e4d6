/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The datapath's walk from a destination to a verdict, done in user space on the same maps and in
 * the same order (bpf/sixlane.bpf.c). Knows what depends on the destination and the ports, not on
 * the rest of a packet: its length, hop limit and source.
 */
#ifndef USER_CMD_WALK_H
#define USER_CMD_WALK_H

#include "fib/maps.h"

struct walk {
	enum sixlane_verdict verdict;
	/* How far it got; what was not reached is zero. */
	uint32_t prefix_len;
	uint32_t next_hop; /* id */
	uint32_t port;	   /* egress: slot in sl_ports */
	uint32_t mtu;	   /* bytes, of the IPv6 packet */
	struct sixlane_port egress;
	struct sixlane_neigh neigh; /* gateway, or the destination itself */
	bool has_prefix;	    /* prefix_len and next_hop are set */
	bool has_gateway;	    /* neigh.key is a gateway's */
	bool has_mac;		    /* neigh.mac may be used */
};

/* What the datapath does with packets to addr from one port (its ifindex), or from any port (0). */
void walk_destination(const struct maps *maps, uint32_t ingress, const union sixlane_addr *addr,
		      struct walk *out);

/* Fill in prefix, next hop, port and neighbour of an entry of sl_routes, without a verdict of the
 * ports. */
void walk_next_hop(const struct maps *maps, uint32_t value, struct walk *out);

#endif
