// SPDX-License-Identifier: GPL-2.0-only
/* The list of policies. policies_entries.c converts it for the datapath. */
#include "policies.h"

#include <linux/xfrm.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../rib/radix.h"

struct policies *policies_new(void)
{
	return calloc(1, sizeof(struct policies));
}

void policies_free(struct policies *policies)
{
	if (!policies)
		return;
	free(policies->at);
	free(policies);
}

void policies_freep(struct policies **policies)
{
	policies_free(*policies);
}

static int make_room(struct policies *policies)
{
	size_t capacity = policies->capacity ? 2 * policies->capacity : 16;
	struct policy *at;

	if (policies->n < policies->capacity)
		return 0;
	at = reallocarray(policies->at, capacity, sizeof(*at));
	if (!at)
		return -ENOMEM;
	policies->at = at;
	policies->capacity = capacity;
	return 0;
}

int policies_add(struct policies *policies, const struct policy *policy)
{
	int r;

	if (policies->n == POLICIES_MAX) {
		snprintf(policies->all, sizeof(policies->all), "more than %u IPsec policies",
			 POLICIES_MAX);
		return 0;
	}
	r = make_room(policies);
	if (r < 0)
		return r;
	policies->at[policies->n++] = *policy;
	if (policy->icmp && !policies->icmp_errors[0])
		policy_format(policy, policies->icmp_errors);
	return 0;
}

const struct policy *policies_find(const struct policies *policies, const union sixlane_addr *src,
				   const union sixlane_addr *dst)
{
	const struct prefix source = { .addr = *src, .len = 128 };
	const struct prefix destination = { .addr = *dst, .len = 128 };
	const struct policy *found = NULL;

	for (size_t i = 0; i < policies->n; i++) {
		const struct policy *policy = &policies->at[i];

		if (prefix_covers(&policy->dst, &destination) &&
		    prefix_covers(&policy->src, &source) &&
		    (!found || policy->priority < found->priority))
			found = policy;
	}
	return found;
}

void policy_format(const struct policy *policy, char reason[GUARD_REASON_LEN])
{
	char src[PREFIX_STRLEN], dst[PREFIX_STRLEN];

	snprintf(reason, GUARD_REASON_LEN, "policy %s %s to %s, index %u, priority %u",
		 policy->dir == XFRM_POLICY_FWD ? "fwd" : "out", prefix_format(&policy->src, src),
		 prefix_format(&policy->dst, dst), policy->index, policy->priority);
}
