// SPDX-License-Identifier: GPL-2.0-only
/*
 * See sysctl.h. Until a change is noticed, the hash uses the old fields. That changes the member of
 * a flow, not the set of members.
 */
#include "sysctl.h"

#include <sys/random.h>

#include "../lib/kernel.h"
#include "../maps/maps.h"
#include "stores.h"

#define SYSCTL_DIR "net/ipv6/"
#define AUTO_FLOW_LABELS_OPT_OUT 1u
#define AUTO_FLOW_LABELS_FORCED 3u
#define DEFAULT_FIELDS 7u /* FIB_MULTIPATH_HASH_FIELD_DEFAULT_MASK: addresses and protocol */

/* The ICMPv6 socket neither opts in nor out: ip6_default_np_autolabel(). */
static bool read_flow_labels(void)
{
	uint32_t value = kernel_sysctl(SYSCTL_DIR "auto_flowlabels", AUTO_FLOW_LABELS_OPT_OUT);

	return value == AUTO_FLOW_LABELS_OPT_OUT || value == AUTO_FLOW_LABELS_FORCED;
}

void sysctl_read(struct maps *maps, struct stores *stores)
{
	struct sixlane_meta *meta = maps->meta;
	const union sixlane_hash_policy policy = {
		.policy = kernel_sysctl(SYSCTL_DIR "fib_multipath_hash_policy", SIXLANE_HASH_L3),
		.fields = kernel_sysctl(SYSCTL_DIR "fib_multipath_hash_fields", DEFAULT_FIELDS),
	};
	uint64_t seed;

	stores->flow_labels = read_flow_labels();
	if (meta->hash_policy.word != policy.word)
		__atomic_store_n(&meta->hash_policy.word, policy.word, __ATOMIC_RELAXED);
	/* The seed of an earlier daemon stays, and with it the member of each flow. */
	if (meta->hash_seed)
		return;
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = util_now_ns();
	__atomic_store_n(&meta->hash_seed, seed | 1, __ATOMIC_RELAXED);
}
