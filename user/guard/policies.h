/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPsec policies (xfrm) that forwarded IPv6 packets may meet, by addresses. Pure.
 *
 * A policy counts if a packet of a real port can match it (xfrm_policy_match() of the kernel: no
 * if_id, a mark that 0 has), and if it does more than allow without a template. Its ports,
 * protocol and device are not looked at: whatever is under both prefixes is held back.
 */
#ifndef GUARD_POLICIES_H
#define GUARD_POLICIES_H

#include "../../bpf/sixlane.h"
#include "ruleset.h"

/* Over this many everything is held back. */
#define POLICIES_MAX 16384u

struct policy {
	struct {
		union sixlane_addr addr;
		uint8_t len;
	} src, dst;
	uint8_t dir;	 /* XFRM_POLICY_FWD or XFRM_POLICY_OUT */
	bool block;	 /* XFRM_POLICY_BLOCK */
	uint32_t index;	 /* of the kernel */
	uint32_t priority;
};

struct policies {
	struct policy *at;
	size_t n, capacity;
	/* XFRM_POLICY_BLOCK as default of fwd or out, or too many policies: every packet is held
	 * back, whatever the list says. "": no. */
	char all[GUARD_REASON_LEN];
};

void policies_free(struct policies *policies);
void policies_freep(struct policies **policies);

/* The policy that a packet is held back by. NULL: none. */
const struct policy *policies_find(const struct policies *policies, const union sixlane_addr *src,
				   const union sixlane_addr *dst);
/* "policy out 2001:db8:a::/64 to 2001:db8:b::/64, index 17, priority 5". */
void policy_words(const struct policy *policy, char reason[GUARD_REASON_LEN]);

/*
 * The entries of sl_policies: for each destination prefix a number, and under this number the
 * source prefixes that are held back, those of wider destinations included. fn returns 0 to go on.
 * At most SIXLANE_MAX_POLICIES entries, or -E2BIG. 0, fn's return, -ENOMEM.
 */
int policies_entries(const struct policies *policies,
		     int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		     void *ctx);

#endif
