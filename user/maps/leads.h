/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the maps send the packets of a flow, read as the datapath reads them. Knows neither what
 * the daemon believes to have written nor what the kernel would do.
 */
#ifndef USER_MAPS_LEADS_H
#define USER_MAPS_LEADS_H

#include <stdbool.h>

#include "../rib/prefix.h"

struct maps;

/* What a packet is looked up by, and a next hop that it may be forwarded to. */
struct maps_flow {
	uint32_t table;
	union sixlane_addr dst, src;
	uint32_t ifindex;
	union sixlane_addr next_hop; /* the gateway, or on link the destination */
};
/*
 * Whether the maps may send packets of the flow to its next hop now: by the engine in use, whatever
 * member a hash would choose. Rules and exceptions are ignored. *len: of the prefix that was found,
 * set only if they do.
 */
bool maps_may_forward(const struct maps *maps, const struct maps_flow *flow, uint64_t now_ns,
		      uint8_t *len);

#endif
