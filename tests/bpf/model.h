/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the datapath must do with a frame, written a second time in the plainest C: byte by byte,
 * with a linear search for the longest prefix. Shares the layouts with the datapath and no code.
 *
 * Of a route with several next hops the model accepts any that is up.
 */
#ifndef TESTS_BPF_MODEL_H
#define TESTS_BPF_MODEL_H

#include <stdbool.h>

#include "frame.h"
#include "world.h"

#define MODEL_ENTRIES 48

struct model_result {
	enum sixlane_verdict verdict;
	uint32_t slot;		       /* where it is counted */
	uint32_t egress;	       /* ifindex that it is redirected to, if forwarded */
	struct frame out;	       /* the frame afterwards */
	const union sixlane_addr *hit; /* in the world; NULL: no exception is hit */
	bool has_icmp_event;
	struct sixlane_icmp_event icmp_event;
};

/* Returns how many next-hop entries the frame may meet. */
size_t model_run(const struct world *world, uint32_t ingress, const struct frame *in,
		 struct model_result results[MODEL_ENTRIES]);

struct packet {
	const struct world *world;
	const struct frame *in;
	struct frame bare; /* without its tags, so that the offsets of frame.h hold */
	size_t tag_bytes;
	bool addressed; /* for a MAC below the VLAN device's */
	bool generic;	/* the program runs in generic mode */
	uint32_t slot;
	const struct sixlane_port *port;
	const struct sixlane_next_hop *next_hop; /* of the route */
	uint32_t value;				 /* of the trie */
	uint32_t table;				 /* in which it is */

	/* The next-hop entries by which it may leave, of which a group has several. */
	union sixlane_nh_entry nh_entries[MODEL_ENTRIES];
	size_t n_entries;
};

/* A way of the packet: a next-hop entry with the MTU and the exception that apply. */
struct way {
	union sixlane_nh_entry nh_entry;
	uint32_t mtu; /* of the route, or the exception's; 0: the device's alone */
	bool locked;
	bool own_hop, own_mtu; /* next hop and MTU are the exception's */
	bool by_operator;      /* the exception is the operator's, unknown to the kernel */
};

/* There are 256 bytes of headroom, and struct xdp_frame takes 40. */
#define MODEL_HEADROOM 216

const struct sixlane_next_hop *model_next_hop(const struct world *world, uint32_t id);

/* A verdict that a route or a rule may have; an answer is none. */
bool model_is_entry(uint32_t verdict);

/* ::, ::1, multicast and link-local */
bool model_addr_stays(const uint8_t *addr);

/* The gateway in a slot, or, if that is 0, the neighbour of an address. NULL: unknown. */
const struct sixlane_neigh *model_neighbour(const struct packet *w, uint32_t gateway,
					    const uint8_t *addr, uint32_t ifindex);

/* The tags of frames by a port, the outer first; returns how many. */
size_t model_tags(const struct sixlane_port *port, uint32_t tags[2]);

const struct sixlane_port *model_port(const struct world *world, uint32_t slot);

static inline bool model_has(const struct sixlane_port *port, uint32_t flags)
{
	return (port->flags & flags) == flags;
}

/* Whether it is TCP, UDP, DCCP, SCTP or UDP-Lite, or ESP, which has an SPI instead of ports. */
bool model_has_ports(uint8_t next);

/* The value of a trie's longest prefix in a table; false: none. */
bool model_longest(const struct world_route *entries, size_t n, uint32_t table, const uint8_t *addr,
		   uint32_t *value);

/* Look up by rules or in the port's table. SIXLANE_FORWARD: value and next_hop are set. */
enum sixlane_verdict model_find_route(struct packet *w);

/* Look up destination and source in one table. */
enum sixlane_verdict model_look_up(struct packet *w, uint32_t table);

/* The slave of the bond below a VLAN device with SIXLANE_PORT_SLAVES. */
enum sixlane_verdict model_choose_slave(const struct packet *w, const struct sixlane_port *egress,
					const uint8_t dst_mac[6], uint32_t *slave);

/* Whether packets to an address, by a route of this table, find an exception or are punted. */
bool model_may_have_exception(const struct packet *w, const uint8_t *addr, uint32_t table,
			      bool marked);

/* Sets hit. False: the packet is punted. */
bool model_apply_exception(const struct packet *w, struct way *way, struct model_result *result);

/* SIXLANE_FORWARD, or the verdict of a packet over an MTU; if it is answered, sets out. */
enum sixlane_verdict model_check_mtu(const struct packet *w, const struct way *way,
				     const struct sixlane_port *egress,
				     struct model_result *result);

/* Sets ICMP event and has_icmp_event by the verdict. */
void model_icmp_event(struct packet *w, struct model_result *result);

/* List all next-hop entries that are right for the packet. */
enum sixlane_verdict model_choose(struct packet *w);

#endif
