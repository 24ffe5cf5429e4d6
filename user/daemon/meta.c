// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sl_meta holds for the datapath: the flags, under which it forwards at all, and the multipath
 * hash. sync.c writes what only the CLI reads there.
 */
#include <sys/random.h>

#include "../lib/kernel.h"
#include "daemon.h"

void meta_hold(struct sync *sync)
{
	if (sync->schedule.held)
		return;
	sync->schedule.held = true;
	meta_update(sync);
}

static uint32_t rules_flag(const struct sync *sync)
{
	const struct schedule *schedule = &sync->schedule;

	/* The rules of an earlier daemon apply until this one has read them. */
	if (!schedule->held && !schedule->complete && !(schedule->wanted & SCHEDULE_RULES))
		return sync->maps->meta->flags & SIXLANE_META_RULES;
	if (schedule->held || !sync->stores.rules_ready || !sync->stores.program.expressible)
		return SIXLANE_META_RULES;
	return 0;
}

static uint32_t guard_flags(const struct guard_state *guard)
{
	uint32_t flags = guard_meta_flags(guard->guard);

	if (guard->ready && !guard->slow && !watchdog_has_fired(guard->watchdog))
		flags |= SIXLANE_META_GUARDED;
	if (flags & SIXLANE_META_IPSEC &&
	    (guard->policies_error ||
	     guard->policies_version != guard_policies_version(guard->guard)))
		flags |= SIXLANE_META_IPSEC_ALL;
	return flags;
}

void meta_update(struct sync *sync)
{
	const uint32_t unread = SCHEDULE_RULES | SCHEDULE_NEXT_HOPS;
	struct sixlane_meta *meta = sync->maps->meta;
	uint32_t flags = rules_flag(sync) | guard_flags(&sync->guard);

	/* Maps that an earlier daemon completed forward while this one reads the tables. */
	if (sync->schedule.complete || (meta->flags & SIXLANE_META_READY))
		flags |= SIXLANE_META_READY;
	if (sync->config->pass_all)
		flags |= SIXLANE_META_PASS_ALL;
	if (sync->config->answer_too_big)
		flags |= SIXLANE_META_ANSWER;
	if (sync->stores.flow_labels)
		flags |= SIXLANE_META_FLOW_LABEL;
	if (sync->config->exceptions == CONFIG_EXCEPTIONS_OBSERVE)
		flags |= SIXLANE_META_OBSERVE;
	flags |= meta->flags & SIXLANE_META_GAPS; /* the FIB sets it */
	if (sync->schedule.in_sync && !(sync->schedule.wanted & unread))
		flags |= SIXLANE_META_IN_SYNC;
	maps_set_flags(sync->maps, flags);
	/* The watchdog may have fired, and cleared the flag in the old word, since it was read. */
	if (flags & SIXLANE_META_GUARDED && watchdog_has_fired(sync->guard.watchdog))
		__atomic_fetch_and(&meta->flags, ~SIXLANE_META_GUARDED, __ATOMIC_SEQ_CST);
}

/* --- settings that no notification announces -------------------------------------------------- */

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

void meta_read_settings(struct maps *maps, struct stores *stores)
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
