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
 * RT_TABLE_MAIN. While the first rule looks up the local table, main contains its routes, too, so
 * that one lookup does for both. All other tables, also local, are as in the kernel.
 */
#define SIXLANE_TABLE_MAIN 254u

/*
 * A value of the trie: bits 0-19 the id of the next hop (never 0), bits 20-27 the length of the
 * prefix, bits 28-31 flags (SIXLANE_ROUTE_*).
 */
#define SIXLANE_ROUTE_ID_MASK 0xfffffu
#define SIXLANE_ROUTE_LEN_SHIFT 20
#define SIXLANE_ROUTE_LEN_MASK 0xffu
#define SIXLANE_ROUTE_FLAGS_SHIFT 28
/* There may be destinations under this prefix in sl_punted. */
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
 * Source-specific routes of one destination prefix (SIXLANE_NH_SOURCES). In the key, table is the
 * id of its source-specific table, addr the source prefix. Each table has an entry for ::/0.
 */

#endif
