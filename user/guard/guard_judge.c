// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the sources come to: for a device, for a pair of devices, for every packet.
 *
 * The order of the kernel, for a forwarded packet: tc and netdev chains at the ingress of each
 * device that it comes through, prerouting, the forward policies of IPsec, forward, postrouting,
 * the output policies, and tc and netdev chains at the egress of each device that it leaves
 * through. In a VRF netfilter sees it as coming in by the VRF: prerouting a second time, and
 * forward instead of the port. What the machine itself sends by a VRF's port goes through output,
 * postrouting and the egress of the VRF, and then through those of the port.
 */
#include <string.h>

#include "../lib/util.h"
#include "guard_internal.h"

struct guard_iface guard_iface_of(const struct device *device)
{
	return (struct guard_iface){
		.ifindex = device->ifindex,
		.type = device->link.type,
		.name = device->link.name,
		.kind = device->link.kind,
	};
}

/* --- what a packet goes through ------------------------------------------------------ */

#define MAX_DEPTH 8u

typedef bool (*below_fn)(const struct guard *guard, const struct device *device, char *reason);

static bool is_kind(const struct device *device, const char *kind)
{
	return !strcmp(device->link.kind, kind);
}

/* Whether fn says yes of the device, or of one that its frames go through below it. */
static bool any_below(const struct guard *guard, const struct links *links,
		      const struct device *device, unsigned int depth, below_fn fn, char *reason)
{
	const struct device *lower;

	if (fn(guard, device, reason))
		return true;
	if (!depth)
		return false;
	lower = is_kind(device, "vlan") ? links_find(links, device->link.lower) : NULL;
	if (lower && lower->has_link)
		return any_below(guard, links, lower, depth - 1, fn, reason);
	if (!is_kind(device, "bond"))
		return false;
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == device->ifindex &&
		    any_below(guard, links, slave, depth - 1, fn, reason))
			return true;
	}
	return false;
}

static const struct guard_device *unannounced(const struct guard *guard, uint32_t ifindex)
{
	for (size_t i = 0; i < guard->n_devices; i++)
		if (guard->devices[i].ifindex == ifindex)
			return &guard->devices[i];
	return NULL;
}

static bool take(char *reason, const char *words)
{
	if (!*words)
		return false;
	if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s", words);
	return true;
}

/* reason: that of words, and where it is. */
static bool take_at(char *reason, const struct device *device, const char *words)
{
	if (!*words)
		return false;
	if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s: %.*s", device->link.name,
			 GUARD_REASON_LEN - (int)IFNAMSIZ - 3, words);
	return true;
}

static bool tc_in(const struct guard *guard, const struct device *device, char *reason)
{
	const struct queueing_device *queueing = queueing_find(guard->queueing, device->ifindex);
	const struct guard_device *other = unannounced(guard, device->ifindex);

	return (queueing && take_at(reason, device, queueing->ingress)) ||
	       (other && take_at(reason, device, other->tcx_in));
}

static bool tc_out(const struct guard *guard, const struct device *device, char *reason)
{
	const struct queueing_device *queueing = queueing_find(guard->queueing, device->ifindex);
	const struct guard_device *other = unannounced(guard, device->ifindex);

	return (queueing && take_at(reason, device, queueing->egress)) ||
	       (other && take_at(reason, device, other->tcx_out));
}

bool guard_rules_hold(const struct guard *guard, enum guard_hook hook, const struct guard_iface *in,
		      const struct guard_iface *out, char *reason)
{
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (guard->rules[i] && guard_ruleset_holds(guard->rules[i], hook, in, out, reason))
			return true;
	return false;
}

static bool netdev_in(const struct guard *guard, const struct device *device, char *reason)
{
	const struct guard_device *other = unannounced(guard, device->ifindex);
	const struct guard_iface iface = guard_iface_of(device);

	return (other && take_at(reason, device, other->hook_in)) ||
	       guard_rules_hold(guard, GUARD_HOOK_INGRESS, &iface, NULL, reason);
}

static bool netdev_out(const struct guard *guard, const struct device *device, char *reason)
{
	const struct guard_device *other = unannounced(guard, device->ifindex);
	const struct guard_iface iface = guard_iface_of(device);

	return (other && take_at(reason, device, other->hook_out)) ||
	       guard_rules_hold(guard, GUARD_HOOK_EGRESS, NULL, &iface, reason);
}

/* --- flows -------------------------------------------------------------------------- */

/* What the flowtables at a device come to. */
static enum guard_flows flows_at(const struct guard *guard, const struct device *device,
				 char *reason)
{
	const struct guard_ruleset *rules = guard->rules[GUARD_RULES_NF_TABLES];
	const struct guard_iface iface = guard_iface_of(device);

	return rules ? guard_ruleset_flows(rules, &iface, reason) : GUARD_FLOWS_NONE;
}

static bool flows_in(const struct guard *guard, const struct device *device, char *reason)
{
	return flows_at(guard, device, reason) != GUARD_FLOWS_NONE;
}

bool guard_may_have_flows(const struct guard *guard, const struct links *links,
			  const struct device *device, char *reason)
{
	return any_below(guard, links, device, MAX_DEPTH, flows_in, reason);
}

/*
 * No VLAN device or bond: the kernel's function looks flows up by the device that the frame came in
 * by, and knows no tags.
 */
bool guard_wants_flows(const struct guard *guard, const struct device *device)
{
	return !guard_bypasses(guard, GUARD_NETFILTER) && !guard->blind &&
	       !is_kind(device, "vlan") && !is_kind(device, "bond") &&
	       flows_at(guard, device, NULL) == GUARD_FLOWS_XDP;
}

static bool looks_up_flows(const struct guard *guard, const struct device *device)
{
	return device->looks_up_flows && guard_wants_flows(guard, device);
}

static bool any_looks_up_flows(const struct guard *guard, const struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->devices[i].has_link && looks_up_flows(guard, &links->devices[i]))
			return true;
	return false;
}

/* --- every packet -------------------------------------------------------------------- */

/* What netfilter does to all forwarded packets, whatever devices they are between. */
static void find_what_holds_all(const struct guard *guard, char *reason)
{
	static const enum guard_hook hooks[] = { GUARD_HOOK_PREROUTING, GUARD_HOOK_FORWARD,
						 GUARD_HOOK_POSTROUTING };

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (take(reason, guard->hooks.unknown[hooks[i]]))
			return;
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (guard_ruleset_tracks(guard->rules[i], reason) ||
		    guard_ruleset_nat(guard->rules[i], GUARD_HOOK_PREROUTING, reason) ||
		    guard_ruleset_nat(guard->rules[i], GUARD_HOOK_POSTROUTING, reason))
			return;
}

void guard_judge(struct guard *guard, const struct links *links)
{
	*guard->all = '\0';
	guard->blind = guard->flows = false;
	if (guard_bypasses(guard, GUARD_NETFILTER))
		return;
	guard->blind = guard_unread(guard, GUARD_NETFILTER, guard->all);
	guard->flows = any_looks_up_flows(guard, links);
	if (guard->blind)
		return;
	find_what_holds_all(guard, guard->all);
	guard_find_pairs(guard, links);
}

/* --- answers ------------------------------------------------------------------------- */

/* What flows bypass, at the ingress … */
static bool hooks_in(const struct guard *guard, const struct links *links,
		     const struct device *device, char *reason)
{
	const struct device *ins[2];
	size_t n = guard_ingress_ifaces(links, device, ins);

	if (take(reason, guard->all) || guard_may_have_flows(guard, links, device, reason))
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct guard_iface iface = guard_iface_of(ins[i]);

		if (guard_rules_hold(guard, GUARD_HOOK_PREROUTING, &iface, NULL, reason))
			return true;
	}
	return false;
}

/* … and at the egress. */
static bool hooks_out(const struct guard *guard, const struct device *device, char *reason)
{
	const struct guard_iface iface = guard_iface_of(device);

	return take(reason, guard->all) ||
	       guard_rules_hold(guard, GUARD_HOOK_POSTROUTING, NULL, &iface, reason);
}

static bool netfilter_in(const struct guard *guard, const struct links *links,
			 const struct device *device, char *reason)
{
	return hooks_in(guard, links, device, reason) ||
	       any_below(guard, links, device, MAX_DEPTH, netdev_in, reason);
}

static bool netfilter_out(const struct guard *guard, const struct links *links,
			  const struct device *device, char *reason)
{
	return hooks_out(guard, device, reason) ||
	       any_below(guard, links, device, MAX_DEPTH, netdev_out, reason);
}

/* What of all this is to stand in a port's flags. */
static uint32_t netfilter_flags(const struct guard *guard, const struct links *links,
				const struct device *device)
{
	bool asks = looks_up_flows(guard, device);
	uint32_t flags = 0;

	if (guard->blind)
		return SIXLANE_PORT_IN_FIREWALL | SIXLANE_PORT_OUT_FIREWALL;
	if (any_below(guard, links, device, MAX_DEPTH, netdev_in, NULL) ||
	    (!asks && hooks_in(guard, links, device, NULL)))
		flags |= SIXLANE_PORT_IN_FIREWALL;
	else if (asks)
		flags |= SIXLANE_PORT_GUARD | SIXLANE_PORT_FLOWS;
	else if (guard_any_pair_is_held(guard, links, device))
		flags |= SIXLANE_PORT_GUARD;
	if (any_below(guard, links, device, MAX_DEPTH, netdev_out, NULL) ||
	    (!guard->flows && hooks_out(guard, device, NULL)))
		flags |= SIXLANE_PORT_OUT_FIREWALL;
	return flags;
}

static bool tc_holds(const struct guard *guard, const struct links *links,
		     const struct device *device, below_fn direction, char *reason)
{
	return guard_unread(guard, GUARD_TC, reason) != NULL ||
	       any_below(guard, links, device, MAX_DEPTH, direction, reason);
}

uint32_t guard_port_flags(const struct guard *guard, const struct links *links,
			  const struct device *device)
{
	char reason[GUARD_REASON_LEN];
	uint32_t flags = 0;

	if (!guard_bypasses(guard, GUARD_NETFILTER))
		flags |= netfilter_flags(guard, links, device);
	if (!guard_bypasses(guard, GUARD_TC)) {
		if (tc_holds(guard, links, device, tc_in, reason))
			flags |= SIXLANE_PORT_IN_TC;
		if (tc_holds(guard, links, device, tc_out, reason))
			flags |= SIXLANE_PORT_OUT_TC;
	}
	return guard_meta_flags(guard) ? flags | SIXLANE_PORT_GUARD : flags;
}

/*
 * Connection tracking puts fragments together first. Without the kernel's word whether it does that
 * here: it does where any rule asks it, and where it has connections.
 */
static bool defragments(const struct guard *guard)
{
	if (guard->hooks.known || guard->hooks.defragments)
		return guard->hooks.defragments;
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (guard->rules[i] && guard_ruleset_asks_conntrack(guard->rules[i]))
			return true;
	return false;
}

uint32_t guard_meta_flags(const struct guard *guard)
{
	char reason[GUARD_REASON_LEN];
	uint32_t flags = 0;

	if (!guard_bypasses(guard, GUARD_NETFILTER) && defragments(guard))
		flags |= SIXLANE_META_FRAGMENTS;
	if (guard_bypasses(guard, GUARD_XFRM))
		return flags;
	if (guard_unread(guard, GUARD_XFRM, reason) || *guard->policies->all)
		return flags | SIXLANE_META_IPSEC_ALL;
	if (*guard->policies->icmp_errors)
		flags |= SIXLANE_META_IPSEC_ICMP6;
	return guard->policies->n ? flags | SIXLANE_META_IPSEC : flags;
}

/* flags: of guard_port_flags(). */
static bool may_send_by(const struct guard *guard, const struct device *device, uint32_t flags)
{
	const struct guard_iface iface = guard_iface_of(device);

	if (flags & SIXLANE_PORT_OUT_HELD)
		return false;
	/* what holds all that leaves is not among the flags where flows are looked up */
	return guard_bypasses(guard, GUARD_NETFILTER) ||
	       (!*guard->hooks.unknown[GUARD_HOOK_OUTPUT] &&
		!guard_rules_hold(guard, GUARD_HOOK_OUTPUT, NULL, &iface, NULL) &&
		!hooks_out(guard, device, NULL));
}

bool guard_may_answer(const struct guard *guard, const struct links *links,
		      const struct device *device, uint32_t flags)
{
	const uint32_t ipsec =
		SIXLANE_META_IPSEC | SIXLANE_META_IPSEC_ALL | SIXLANE_META_IPSEC_ICMP6;
	const struct device *vrf = links_vrf(links, device);

	if (guard_meta_flags(guard) & ipsec || flags & SIXLANE_PORT_FLOWS ||
	    !may_send_by(guard, device, flags))
		return false;
	/* what the machine itself sends goes out by the VRF first, see vrf_ip6_out() */
	return !vrf || may_send_by(guard, vrf, guard_port_flags(guard, links, vrf));
}

/* --- reasons ------------------------------------------------------------------------- */

static bool netfilter_reason(const struct guard *guard, const struct links *links,
			     const struct device *in, const struct device *out, char *reason)
{
	const struct device *ins[2];
	size_t n = guard_ingress_ifaces(links, in, ins);

	if (netfilter_in(guard, links, in, reason))
		return true;
	if (!out)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct guard_iface from = guard_iface_of(ins[i]), to = guard_iface_of(out);

		if (guard_rules_hold(guard, GUARD_HOOK_FORWARD, &from, &to, reason))
			return true;
	}
	return netfilter_out(guard, links, out, reason);
}

static bool xfrm_reason(const struct guard *guard, const union sixlane_addr *src,
			const union sixlane_addr *dst, char *reason)
{
	const struct policy *policy;

	if (guard_unread(guard, GUARD_XFRM, reason) || take(reason, guard->policies->all))
		return true;
	policy = src && dst	      ? policies_find(guard->policies, src, dst)
		 : guard->policies->n ? &guard->policies->at[0]
				      : NULL;
	if (policy)
		policy_words(policy, reason);
	return policy || (!src && take(reason, guard->policies->icmp_errors));
}

bool guard_reason(const struct guard *guard, const struct links *links, enum guard_cause cause,
		  const struct device *in, const struct device *out, const union sixlane_addr *src,
		  const union sixlane_addr *dst, char *reason)
{
	if (guard_bypasses(guard, cause))
		return false;
	switch (cause) {
	case GUARD_NETFILTER:
		return netfilter_reason(guard, links, in, out, reason);
	case GUARD_XFRM:
		return xfrm_reason(guard, src, dst, reason);
	case GUARD_TC:
		return tc_holds(guard, links, in, tc_in, reason) ||
		       (out && tc_holds(guard, links, out, tc_out, reason));
	default:
		return false;
	}
}
