/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One next hop in the maps that is no group: its egress port, neighbour and MTU, and the verdict
 * that they give to packets. Reads maps only.
 */
#ifndef USER_CLI_HOP_VIEW_H
#define USER_CLI_HOP_VIEW_H

#include "../maps/maps.h"

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

/* Sets the MTU to the smaller one of the egress device's and limit (0: none). */
void hop_view_set_limit(struct hop_view *hop, uint32_t limit);

/* Of a hop without a gateway: sets the neighbour that dst itself is. */
void hop_view_set_on_link(const struct maps *maps, const union sixlane_addr *dst,
			  struct hop_view *hop);

/* Sets the verdict by ports, neighbour and guard, for packets of any size. The order of the checks
 * is that of bpf/nexthop.h. */
void hop_view_check(const struct maps *maps, const struct packet_filter *packets,
		    struct hop_view *hop);

#endif
