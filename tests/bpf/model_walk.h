/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the model have in common: a frame on its way, and where it may go. */
#ifndef TESTS_BPF_MODEL_WALK_H
#define TESTS_BPF_MODEL_WALK_H

#include <stdbool.h>

#include "model.h"

struct walk {
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

	/* Where it may go: fates, of which a group has several. */
	union sixlane_fate fates[MODEL_FATES];
	size_t n_fates;
};

const struct sixlane_port *model_port(const struct world *world, uint32_t slot);

static inline bool model_has(const struct sixlane_port *port, uint32_t flags)
{
	return (port->flags & flags) == flags;
}

/* The value of a trie's longest prefix in a table; false: none. */
bool model_longest(const struct world_route *entries, size_t n, uint32_t table, const uint8_t *addr,
		   uint32_t *value);

/* By rules or the port's table to a next hop; SIXLANE_FORWARD: value and next_hop are set. */
enum sixlane_verdict model_find_route(struct walk *w);

/* One lookup in a table, by destination and source. */
enum sixlane_verdict model_look_up(struct walk *w, uint32_t table);

/* By rules. */
enum sixlane_verdict model_walk_rules(struct walk *w);

/* The slave of the bond below a VLAN device with SIXLANE_PORT_SLAVES. */
enum sixlane_verdict model_choose_slave(const struct walk *w, const struct sixlane_port *egress,
					const uint8_t dst_mac[6], uint32_t *slave);

/* From the next hop to all fates that are right. */
enum sixlane_verdict model_choose(struct walk *w);

#endif
