// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the sources mean for a device, for a pair of devices and for every packet.
 *
 * The kernel's order for a forwarded packet: tc and netdev chains at the ingress of each device
 * that it comes through, prerouting, the fwd policies of IPsec, forward, postrouting, the out
 * policies, tc and netdev chains at the egress of each device that it leaves through.
 *
 * In a VRF, prerouting is met a second time with the VRF as ingress, and forward only so. What the
 * machine itself sends by a VRF's port meets output, postrouting and the egress of the VRF, and
 * then those of the port.
 */
#include "guard.h"

#include <errno.h>

#include "../lib/util.h"
#include "guard_pairs.h"

const char *const guard_cause_names[GUARD_N_CAUSES] = {
	[GUARD_NETFILTER] = "netfilter",
	[GUARD_XFRM] = "xfrm",
	[GUARD_TC] = "tc",
};

struct guard {
	struct guard_sources sources;
	struct guard_pairs pairs;
	/* Netfilter punts every packet from prerouting to postrouting; "": it does not. */
	char all[GUARD_REASON_LEN];
	bool unread; /* that is because its sources are unread, or there is no memory */
};

int guard_new(uint32_t bypassed, size_t rcvbuf_bytes, struct guard **out)
{
	struct guard *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return -ENOMEM;
	guard_sources_init(&guard->sources, bypassed, rcvbuf_bytes);
	*out = guard;
	return 0;
}

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	guard_sources_free(&guard->sources);
	guard_pairs_free(&guard->pairs);
	free(guard);
}

void guard_set_slow_callback(struct guard *guard, void (*slow)(void *ctx), void *ctx)
{
	guard->sources.slow = slow;
	guard->sources.slow_ctx = ctx;
}

void guard_fds(const struct guard *guard, int fds[GUARD_FDS])
{
	guard_sources_fds(&guard->sources, fds);
}

bool guard_run(struct guard *guard, const struct links *links, uint64_t *due_ns)
{
	bool changed = guard_sources_run(&guard->sources, links, due_ns);

	if (changed)
		guard_update(guard, links);
	return changed;
}

void guard_poll(struct guard *guard)
{
	guard_sources_poll(&guard->sources);
}

const struct policies *guard_policies(const struct guard *guard)
{
	return guard->sources.policies;
}

uint64_t guard_policies_version(const struct guard *guard)
{
	return guard->sources.policies_version;
}

/* --- flows -------------------------------------------------------------------------- */

/*
 * Not by a VLAN device or a bond: bpf_xdp_flow_lookup() takes the device that the frame came in by,
 * and knows no tags.
 */
bool guard_can_forward_flows(const struct guard *guard, const struct device *device)
{
	return !guard_sources_bypass(&guard->sources, GUARD_NETFILTER) && !guard->unread &&
	       !guard_path_is_kind(device, "vlan") && !guard_path_is_kind(device, "bond") &&
	       guard_path_flows(&guard->sources, device, NULL) == GUARD_FLOWS_XDP;
}

static bool looks_up_flows(const struct guard *guard, const struct device *device)
{
	return device->looks_up_flows && guard_can_forward_flows(guard, device);
}

/* --- every packet -------------------------------------------------------------------- */

static void find_all(const struct guard *guard, char *reason)
{
	static const enum guard_hook hooks[] = { GUARD_HOOK_PREROUTING, GUARD_HOOK_FORWARD,
						 GUARD_HOOK_POSTROUTING };

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (guard_path_copy_reason(reason, NULL, guard->sources.hooks.unknown[hooks[i]]))
			return;
	for (size_t i = 0; i < GUARD_N_RULES; i++) {
		const struct guard_ruleset *rules = guard->sources.rules[i];

		if (guard_ruleset_tracks(rules, reason) ||
		    guard_ruleset_nat(rules, GUARD_HOOK_PREROUTING, reason) ||
		    guard_ruleset_nat(rules, GUARD_HOOK_POSTROUTING, reason))
			return;
	}
}

static void set_no_memory(struct guard *guard)
{
	snprintf(guard->all, sizeof(guard->all), "out of memory");
	guard->unread = true;
}

void guard_update(struct guard *guard, const struct links *links)
{
	*guard->all = '\0';
	guard->unread = guard->pairs.flows = false;
	if (guard_sources_bypass(&guard->sources, GUARD_NETFILTER))
		return;
	guard->unread = guard_sources_unread(&guard->sources, GUARD_NETFILTER, guard->all);
	if (guard->unread)
		return;
	for (size_t i = 0; i < links->n; i++)
		guard->pairs.flows |=
			links->devices[i].has_link && looks_up_flows(guard, &links->devices[i]);
	find_all(guard, guard->all);
	if (guard_pairs_update(&guard->pairs, &guard->sources, links, true) < 0)
		set_no_memory(guard);
}

bool guard_devices_changed(struct guard *guard, const struct links *links)
{
	struct guard_source *state = guard->sources.state;
	int ret;

	/* The qdiscs of a device that comes up are not announced. */
	state[GUARD_SOURCE_TC].pending = true;
	state[GUARD_SOURCE_DEVICES].pending = true;
	if (guard_sources_bypass(&guard->sources, GUARD_NETFILTER) || guard->unread)
		return false;
	ret = guard_pairs_update(&guard->pairs, &guard->sources, links, false);
	if (ret < 0)
		set_no_memory(guard);
	/* Before Linux 6.16 a chain stays at a device that is renamed, without a notification. */
	state[GUARD_SOURCE_NF_TABLES].pending |= ret != 0;
	return ret != 0;
}

/* --- ports --------------------------------------------------------------------------- */

/* What a flow bypasses at the ingress: everything from prerouting on, and flowtables. */
static bool hooks_in(const struct guard *guard, const struct links *links,
		     const struct device *device, char *reason)
{
	const struct device *ins[2];
	size_t n = guard_path_ingress(links, device, ins);

	if (guard_path_copy_reason(reason, NULL, guard->all) ||
	    guard_path_punts(&guard->sources, links, device, PATH_FLOWS, reason))
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct guard_iface iface = guard_path_iface(ins[i]);

		if (guard_path_rules(&guard->sources, GUARD_HOOK_PREROUTING, &iface, NULL, reason))
			return true;
	}
	return false;
}

/* What a flow bypasses at the egress. */
static bool hooks_out(const struct guard *guard, const struct device *device, char *reason)
{
	const struct guard_iface iface = guard_path_iface(device);

	return guard_path_copy_reason(reason, NULL, guard->all) ||
	       guard_path_rules(&guard->sources, GUARD_HOOK_POSTROUTING, NULL, &iface, reason);
}

static uint32_t netfilter_flags(const struct guard *guard, const struct links *links,
				const struct device *device)
{
	bool flows = looks_up_flows(guard, device);
	uint32_t flags = 0;

	if (guard->unread)
		return SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL;
	if (guard_path_punts(&guard->sources, links, device, PATH_NETDEV_IN, NULL) ||
	    (!flows && hooks_in(guard, links, device, NULL)))
		flags |= SIXLANE_PORT_IN_FIREWALL;
	else if (flows)
		flags |= SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS;
	else if (guard_pairs_any_punted(&guard->pairs, &guard->sources, links, device))
		flags |= SIXLANE_PORT_GUARD;
	if (guard_path_punts(&guard->sources, links, device, PATH_NETDEV_OUT, NULL) ||
	    (!guard->pairs.flows && hooks_out(guard, device, NULL)))
		flags |= SIXLANE_PORT_OUT_FIREWALL;
	return flags;
}

uint32_t guard_port_flags(const struct guard *guard, const struct links *links,
			  const struct device *device)
{
	const struct guard_sources *sources = &guard->sources;
	char reason[GUARD_REASON_LEN];
	uint32_t flags = 0;

	if (!guard_sources_bypass(sources, GUARD_NETFILTER))
		flags |= netfilter_flags(guard, links, device);
	if (guard_sources_unread(sources, GUARD_TC, reason)) {
		flags |= SIXLANE_PORT_IN_TC | SIXLANE_PORT_OUT_TC;
	} else if (!guard_sources_bypass(sources, GUARD_TC)) {
		if (guard_path_punts(sources, links, device, PATH_TC_IN, NULL))
			flags |= SIXLANE_PORT_IN_TC;
		if (guard_path_punts(sources, links, device, PATH_TC_OUT, NULL))
			flags |= SIXLANE_PORT_OUT_TC;
	}
	return guard_meta_flags(guard) ? flags | SIXLANE_PORT_GUARD : flags;
}

bool guard_pair_is_free(const struct guard *guard, const struct links *links,
			const struct device *in, const struct device *out)
{
	if (guard_sources_bypass(&guard->sources, GUARD_NETFILTER))
		return true;
	return !*guard->all && guard_pairs_is_free(&guard->pairs, &guard->sources, links, in, out);
}

/*
 * Connection tracking defragments first. If the kernel does not list its hooks, it is assumed to
 * do so where a rule needs it, and where it has connections.
 */
static bool defragments(const struct guard_sources *sources)
{
	if (sources->hooks.known || sources->hooks.defragments)
		return sources->hooks.defragments;
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (sources->rules[i] && guard_ruleset_needs_conntrack(sources->rules[i]))
			return true;
	return false;
}

uint32_t guard_meta_flags(const struct guard *guard)
{
	const struct guard_sources *sources = &guard->sources;
	char reason[GUARD_REASON_LEN];
	uint32_t flags = 0;

	if (!guard_sources_bypass(sources, GUARD_NETFILTER) && defragments(sources))
		flags |= SIXLANE_META_FRAGMENTS;
	if (guard_sources_bypass(sources, GUARD_XFRM))
		return flags;
	if (guard_sources_unread(sources, GUARD_XFRM, reason) || *sources->policies->all)
		return flags | SIXLANE_META_IPSEC_ALL;
	if (*sources->policies->icmp_errors)
		flags |= SIXLANE_META_IPSEC_ICMP6;
	return sources->policies->n ? flags | SIXLANE_META_IPSEC : flags;
}

static bool may_send(const struct guard *guard, const struct device *device, uint32_t flags)
{
	const struct guard_iface iface = guard_path_iface(device);

	if (flags & SIXLANE_PORT_OUT_HELD)
		return false;
	/* Where flows are looked up, the flags do not include hooks_out(). */
	return guard_sources_bypass(&guard->sources, GUARD_NETFILTER) ||
	       (!*guard->sources.hooks.unknown[GUARD_HOOK_OUTPUT] &&
		!guard_path_rules(&guard->sources, GUARD_HOOK_OUTPUT, NULL, &iface, NULL) &&
		!hooks_out(guard, device, NULL));
}

bool guard_may_answer(const struct guard *guard, const struct links *links,
		      const struct device *device, uint32_t flags)
{
	const uint32_t ipsec =
		SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ALL | SIXLANE_META_IPSEC_ICMP6;
	const struct device *vrf = links_vrf(links, device);

	if (guard_meta_flags(guard) & ipsec || flags & SIXLANE_PORT_FLOWS ||
	    !may_send(guard, device, flags))
		return false;
	/* vrf_ip6_out() */
	return !vrf || may_send(guard, vrf, guard_port_flags(guard, links, vrf));
}

/* --- reasons ------------------------------------------------------------------------- */

static bool netfilter_reason(const struct guard *guard, const struct links *links,
			     const struct device *in, const struct device *out, char *reason)
{
	const struct device *ins[2];
	size_t n = guard_path_ingress(links, in, ins);

	if (hooks_in(guard, links, in, reason) ||
	    guard_path_punts(&guard->sources, links, in, PATH_NETDEV_IN, reason))
		return true;
	if (!out)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct guard_iface from = guard_path_iface(ins[i]),
					 to = guard_path_iface(out);

		if (guard_path_rules(&guard->sources, GUARD_HOOK_FORWARD, &from, &to, reason))
			return true;
	}
	return hooks_out(guard, out, reason) ||
	       guard_path_punts(&guard->sources, links, out, PATH_NETDEV_OUT, reason);
}

static bool xfrm_reason(const struct guard_sources *sources, const union sixlane_addr *src,
			const union sixlane_addr *dst, char *reason)
{
	const struct policy *policy;

	if (guard_sources_unread(sources, GUARD_XFRM, reason) ||
	    guard_path_copy_reason(reason, NULL, sources->policies->all))
		return true;
	policy = src && dst		? policies_find(sources->policies, src, dst)
		 : sources->policies->n ? &sources->policies->at[0]
					: NULL;
	if (policy)
		policy_format(policy, reason);
	return policy ||
	       (!src && guard_path_copy_reason(reason, NULL, sources->policies->icmp_errors));
}

bool guard_reason(const struct guard *guard, const struct links *links, enum guard_cause cause,
		  const struct device *in, const struct device *out, const union sixlane_addr *src,
		  const union sixlane_addr *dst, char *reason)
{
	const struct guard_sources *sources = &guard->sources;

	if (guard_sources_bypass(sources, cause))
		return false;
	if (cause == GUARD_NETFILTER)
		return netfilter_reason(guard, links, in, out, reason);
	if (cause == GUARD_XFRM)
		return xfrm_reason(sources, src, dst, reason);
	return guard_sources_unread(sources, GUARD_TC, reason) ||
	       guard_path_punts(sources, links, in, PATH_TC_IN, reason) ||
	       (out && guard_path_punts(sources, links, out, PATH_TC_OUT, reason));
}
