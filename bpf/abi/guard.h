/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the firewall may touch: pairs of ports (sl_guard) and IPsec policies (sl_policies). */
#ifndef BPF_ABI_GUARD_H
#define BPF_ABI_GUARD_H

#include "port.h"

#define SIXLANE_MAX_POLICIES 65536u /* entries of sl_policies, never preallocated */

/* --- sl_guard: ARRAY of __u64, mmapable --------------------------------------------------- */

/*
 * For a slot of an ingress port a row of bits, one for each slot of an egress port: set where no
 * firewall rule can touch a forwarded IPv6 packet of this pair. What is new is held back: the bits
 * of a slot are clear before it is given to a device.
 */
#define SIXLANE_GUARD_ROW (SIXLANE_MAX_PORTS / 64u)
#define SIXLANE_GUARD_WORDS (SIXLANE_MAX_PORTS * SIXLANE_GUARD_ROW)

static inline __u32 sixlane_guard_word(__u32 in_slot, __u32 out_slot)
{
	return in_slot * SIXLANE_GUARD_ROW + out_slot / 64;
}

/* --- sl_policies: LPM_TRIE, key sixlane_route_key, value __u32 ------------------------------ */

/*
 * IPsec policies by addresses. In table 0 destinations, whose value is the number of a table of
 * sources (never 0); a packet whose source is under an entry there is held back.
 */

#endif
