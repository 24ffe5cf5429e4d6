/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPsec policies (xfrm) that may touch forwarded IPv6 packets, by addresses. Pure. xfrm.c
 * decides which ones these are.
 *
 * Ports, protocol, device and priority are ignored: a packet is punted if it is under both prefixes
 * of any policy.
 */
#ifndef GUARD_POLICIES_H
#define GUARD_POLICIES_H

#include "../rib/prefix.h"
#include "terms.h"

/* With more, every packet is punted. */
#define POLICIES_MAX 16384u

struct policy {
	struct prefix src, dst;
	uint8_t dir;	/* XFRM_POLICY_FWD or XFRM_POLICY_OUT */
	bool icmp;	/* may match an ICMPv6 error by the addresses of the packet in it */
	uint32_t index; /* of the kernel */
	uint32_t priority;
};

struct policies {
	struct policy *at;
	size_t n, capacity;
	/* Why every packet is punted: a default of XFRM_POLICY_BLOCK, or too many policies. */
	char all[GUARD_REASON_LEN];
	/*
	 * A policy with icmp. ICMPv6 errors are then punted whatever their own addresses are, and
	 * so is what may be one behind extension headers (next header 43, 44, 58 or 60).
	 */
	char icmp_errors[GUARD_REASON_LEN];
};

/* NULL on lack of memory. */
struct policies *policies_new(void);
void policies_free(struct policies *policies);
void policies_freep(struct policies **policies);

/* 0 or -ENOMEM. One too many is not stored, and sets all. */
int policies_add(struct policies *policies, const struct policy *policy);

/* The policy of first priority among those that punt a packet, or NULL. */
const struct policy *policies_find(const struct policies *policies, const union sixlane_addr *src,
				   const union sixlane_addr *dst);
/* "policy out 2001:db8:a::/64 to 2001:db8:b::/64, index 17, priority 5". */
void policy_format(const struct policy *policy, char reason[GUARD_REASON_LEN]);

/*
 * Calls fn for each entry of sl_policies, sets before the destinations that name them:
 * - table 0: a destination, whose value is the number of its set of sources, from 1;
 * - the table of that number: a source, those of wider destinations included, with the value 1.
 * fn returns 0 to go on. Returns 0, what fn returned, -ENOMEM, or -E2BIG without calling fn: more
 * than SIXLANE_MAX_POLICIES entries, or too much work.
 */
int policies_entries(const struct policies *policies,
		     int (*fn)(void *ctx, const struct sixlane_route_key *key, uint32_t value),
		     void *ctx);

#endif
