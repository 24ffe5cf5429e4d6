// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes through the parsers of NETLINK_XFRM, and policies_entries() on what they accept:
 * messages as the kernel makes them, mutated.
 */
#include "../../user/guard/xfrm.h"
#include "../../user/rib/radix.h"
#include "../unit/guard/xfrm_messages.h"
#include "mutate.h"

static bool is_in_order(const struct prefix *prefix)
{
	struct prefix masked = *prefix;

	if (prefix->len > 128)
		return false;
	prefix_mask(&masked);
	return prefix_equal(prefix, &masked);
}

static int check_key(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	return value != 0 && key->prefix_len >= SIXLANE_TABLE_BITS &&
			       key->prefix_len <= SIXLANE_TABLE_BITS + 128
		       ? 0
		       : -1;
}

/* What was accepted is in order, also among policies of other messages. */
static void check_policy(const struct policy *policy)
{
	static struct policies *policies;

	if (!is_in_order(&policy->src) || !is_in_order(&policy->dst) ||
	    (policy->dir != XFRM_POLICY_FWD && policy->dir != XFRM_POLICY_OUT))
		abort();
	if (!policies)
		policies = policies_new();
	if (!policies || policies_add(policies, policy) < 0)
		abort();
	if (policies->n < 50)
		return;
	if (policies_entries(policies, check_key, NULL) != 0)
		abort();
	policies_free(policies);
	policies = NULL;
}

/* The number of parsers that accepted it. */
static int parse_all(const uint8_t *data, size_t size)
{
	char reason[GUARD_REASON_LEN];
	struct policy policy;
	_cleanup_free_ struct nlmsghdr *nlh = message_copy(data, size);
	int accepted = 0, r;

	if (!nlh)
		return 0;
	r = xfrm_parse_policy(nlh, &policy);
	if (r > 0)
		check_policy(&policy);
	accepted += r >= 0;
	accepted += xfrm_parse_default(nlh, reason) == 0;
	(void)xfrm_notifications.is_change(nlh, NULL);
	return accepted;
}

static size_t build(uint8_t *bytes)
{
	static const struct policy_row rows[] = {
		{ FWD, BLOCK },
		{ OUT, .n_templates = 2, .mark = { 1, 1 }, .if_id = 7 },
		{ OUT, ESP, .security = true, .offload = true, .sub = true },
		{ .src = "::", .dst = "::1", .dst_len = 128, .dir = XFRM_POLICY_OUT, BLOCK },
	};
	size_t which = random_below(ARRAY_SIZE(rows) + 1);
	const struct nlmsghdr *nlh =
		which < ARRAY_SIZE(rows) ? build_policy(&rows[which]) : build_default(1, 2, 1);

	memcpy(bytes, nlh, nlh->nlmsg_len);
	return nlh->nlmsg_len;
}

FUZZ_MAIN("fuzz_xfrm", build, parse_all)
