/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets that a firewall or IPsec may affect: pairs of ports (sl_guard), policies (sl_policies).
 */
#ifndef BPF_ABI_GUARD_H
#define BPF_ABI_GUARD_H

#include "port.h"

#define SIXLANE_MAX_POLICIES 65536u /* entries of sl_policies, never preallocated */

/* --- sl_guard: ARRAY of __u64, mmapable --------------------------------------------------- */

/*
 * A row of bits for each ingress port, a bit for each egress port (by slots). A bit is set if no
 * firewall rule can affect forwarded IPv6 packets of this pair. The bits of a slot are cleared
 * before a device gets it, so a new device is held back.
 */
#define SIXLANE_GUARD_ROW (SIXLANE_MAX_PORTS / 64u)
#define SIXLANE_GUARD_WORDS (SIXLANE_MAX_PORTS * SIXLANE_GUARD_ROW)

static inline __u32 sixlane_guard_word(__u32 in_slot, __u32 out_slot)
{
	return in_slot * SIXLANE_GUARD_ROW + out_slot / 64;
}

/* --- sl_policies: LPM_TRIE, key sixlane_route_key, value __u32 ------------------------------ */

/*
 * IPsec policies by addresses. Table 0 has destination prefixes; the value is the number (not 0) of
 * a table of source prefixes. Packets that match both are passed.
 */

#endif
