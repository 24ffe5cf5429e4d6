/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPsec policies (xfrm) that forwarded IPv6 packets may meet, by addresses. Pure.
 *
 * Which policies are here is xfrm_parse.h's question. Their ports, protocol and device are not
 * looked at, nor which of two comes first: whatever is under both prefixes of one is held back.
 */
#ifndef GUARD_POLICIES_H
#define GUARD_POLICIES_H

#include "../rib/prefix.h"
#include "ruleset.h"

/* Over this many everything is held back. */
#define POLICIES_MAX 16384u

struct policy {
	struct prefix src, dst;
	uint8_t dir;	/* XFRM_POLICY_FWD or XFRM_POLICY_OUT */
	bool block;	/* XFRM_POLICY_BLOCK */
	bool icmp;	/* may hold for an ICMPv6 error by the addresses of the packet within */
	uint32_t index; /* of the kernel */
	uint32_t priority;
};

struct policies {
	struct policy *at;
	size_t n, capacity;
	/* XFRM_POLICY_BLOCK as default of fwd or out, or too many policies: every packet is held
	 * back, whatever the list says. "": no. */
	char all[GUARD_REASON_LEN];
	/*
	 * A policy with .icmp: ICMPv6 errors are held back whatever their own addresses are, and
	 * so is what may be one behind extension headers (next header 43, 44, 58 or 60). "": there
	 * is none.
	 */
	char icmp_errors[GUARD_REASON_LEN];
};

/* NULL on lack of memory. */
struct policies *policies_new(void);
void policies_free(struct policies *policies);
void policies_freep(struct policies **policies);

/* 0 or -ENOMEM. One too many sets all and is forgotten. */
int policies_add(struct policies *policies, const struct policy *policy);

/* The policy that a packet is held back by, of the first priority among them. NULL: none. */
const struct policy *policies_find(const struct policies *policies, const union sixlane_addr *src,
				   const union sixlane_addr *dst);
/* "policy out 2001:db8:a::/64 to 2001:db8:b::/64, index 17, priority 5". */
void policy_words(const struct policy *policy, char reason[GUARD_REASON_LEN]);

/*
 * The entries of sl_policies. Table 0: destinations, each with the number of its set of sources
 * (from 1 on). The table of that number: the sources that are held back, those of wider
 * destinations included, each with the value 1. A set comes before the destinations that name it.
 * fn returns 0 to go on. At most SIXLANE_MAX_POLICIES entries and a bounded amount of work, or
 * -E2BIG; fn was then not called. 0, fn's return, -ENOMEM.
 */
int policies_entries(const struct policies *policies,
		     int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		     void *ctx);

#endif
