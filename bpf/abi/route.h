/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Routes: sl_routes by destination, sl_src_routes by source. */
#ifndef BPF_ABI_ROUTE_H
#define BPF_ABI_ROUTE_H

#include "addr.h"

#define SIXLANE_MAX_ROUTES 4194304u /* never preallocated: costs nothing until used */
#define SIXLANE_MAX_SOURCES 262144u /* never preallocated */

/* --- sl_routes: LPM_TRIE, key sixlane_route_key, value __u32 --------------------------- */

struct sixlane_route_key {
	__u32 prefix_len; /* SIXLANE_TABLE_BITS + length of the prefix, in bits */
	__be32 table;	  /* RTA_TABLE */
	union sixlane_addr addr;
};
_Static_assert(sizeof(struct sixlane_route_key) == 24, "layout is ABI");

#define SIXLANE_TABLE_BITS 32u
/*
 * RT_TABLE_MAIN, with the local table laid over it while the rules ask local first: one lookup
 * then does for both. Every other table, local too, stands in the trie as it is.
 */
#define SIXLANE_TABLE_MAIN 254u

/*
 * A trie value: bits 0-19 the next hop's id (never 0), bits 20-27 the length of the
 * prefix, so that one lookup also tells what matched, bits 28-31 marks (SIXLANE_ROUTE_*).
 */
#define SIXLANE_ROUTE_ID_MASK 0xfffffu
#define SIXLANE_ROUTE_LEN_SHIFT 20
#define SIXLANE_ROUTE_LEN_MASK 0xffu
#define SIXLANE_ROUTE_FLAGS_SHIFT 28
/* Some destination under this prefix is in sl_punted. Too often does no harm. */
#define SIXLANE_ROUTE_EXCEPTIONS (1u << 28)

static inline __u32 sixlane_route_value(__u32 next_hop, __u32 len)
{
	return (next_hop & SIXLANE_ROUTE_ID_MASK) | len << SIXLANE_ROUTE_LEN_SHIFT;
}

static inline __u32 sixlane_route_next_hop(__u32 value)
{
	return value & SIXLANE_ROUTE_ID_MASK;
}

static inline __u32 sixlane_route_len(__u32 value)
{
	return value >> SIXLANE_ROUTE_LEN_SHIFT & SIXLANE_ROUTE_LEN_MASK;
}

/* --- sl_src_routes: LPM_TRIE, key sixlane_route_key, value as in sl_routes ------------- */

/*
 * The routes of one destination by source prefix (SIXLANE_NH_SOURCES): table is the set's id,
 * addr the source. A set has an entry for ::/0, so that every packet finds its next-hop entry here.
 */

#endif
