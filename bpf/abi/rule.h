/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Policy rules, sl_rules: `ip -6 rule`. */
#ifndef BPF_ABI_RULE_H
#define BPF_ABI_RULE_H

#include "addr.h"

#define SIXLANE_MAX_RULES 64u /* a list; longer ones punt */

/* --- sl_rules: ARRAY[2 lists], mmapable ------------------------------------------------- */

#define SIXLANE_RULE_INVERT (1u << 0)
#define SIXLANE_RULE_IIF (1u << 1)
#define SIXLANE_RULE_SOURCE (1u << 2)
#define SIXLANE_RULE_DESTINATION (1u << 3)
#define SIXLANE_RULE_TCLASS (1u << 4)
#define SIXLANE_RULE_PROTO (1u << 5)
#define SIXLANE_RULE_SPORT (1u << 6)
#define SIXLANE_RULE_DPORT (1u << 7)
#define SIXLANE_RULE_L3MDEV (1u << 8)	 /* ports of a VRF only; the table is the VRF's */
#define SIXLANE_RULE_UNKNOWN (1u << 9)	 /* and a selector that XDP cannot see: fwmark … */
#define SIXLANE_RULE_SUPPRESS (1u << 10) /* a route of at most suppress_len bits does not count */

#define SIXLANE_RULE_LOOKUP 0u	/* in table */
#define SIXLANE_RULE_VERDICT 1u /* next-hop entry: enum sixlane_verdict */
#define SIXLANE_RULE_GOTO 2u	/* the rule at index target of the list, behind this one */

/*
 * One rule of `ip -6 rule`, for forwarded packets: what never holds for them (oif, tun_id, a uid
 * range without root) was left out. It applies if all selectors that flags names hold, or,
 * inverted, if one of them does not.
 */
struct sixlane_rule {
	__u32 flags;  /* SIXLANE_RULE_* */
	__u32 action; /* SIXLANE_RULE_LOOKUP … */
	__u32 table;
	__u32 verdict;
	__u32 target;
	__u32 iif;
	__u32 suppress_len;
	__u8 proto;
	__u8 tclass, tclass_mask;
	__u8 zero;
	__u16 sport_low, sport_high;
	__u16 dport_low, dport_high;
	__u32 priority; /* as `ip -6 rule` shows it; for people */
	__u32 reserved;
	union sixlane_addr src, src_mask;
	union sixlane_addr dst, dst_mask;
	__u64 reserved1[2];
};
_Static_assert(sizeof(struct sixlane_rule) == 128, "layout is ABI");

#endif
