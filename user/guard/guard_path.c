// SPDX-License-Identifier: GPL-2.0-only
/*
 * One device's reasons, rules and flowtables. Devices below it are visited to a fixed depth, so
 * that a loop of links ends.
 */
#include "guard_sources.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 8u

struct guard_iface guard_path_iface(const struct device *device)
{
	return (struct guard_iface){
		.ifindex = device->ifindex,
		.type = device->link.type,
		.name = device->link.name,
		.kind = device->link.kind,
	};
}

bool guard_path_is_kind(const struct device *device, const char *kind)
{
	return !strcmp(device->link.kind, kind);
}

size_t guard_path_ingress(const struct links *links, const struct device *device,
			  const struct device *out[2])
{
	out[0] = device;
	out[1] = links_vrf(links, device);
	return out[1] ? 2 : 1;
}

bool guard_path_copy_reason(char *reason, const struct device *device, const char *text)
{
	if (!*text)
		return false;
	if (reason && device)
		snprintf(reason, GUARD_REASON_LEN, "%s: %.*s", device->link.name,
			 GUARD_REASON_LEN - (int)IFNAMSIZ - 3, text);
	else if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s", text);
	return true;
}

/* Never NULL: a device without a reason has empty ones. */
static const struct guard_device *find_device(const struct guard_sources *sources, uint32_t ifindex)
{
	static const struct guard_device none;

	for (size_t i = 0; i < sources->n_devices; i++)
		if (sources->devices[i].ifindex == ifindex)
			return &sources->devices[i];
	return &none;
}

bool guard_path_rules(const struct guard_sources *sources, enum guard_hook hook,
		      const struct guard_iface *in, const struct guard_iface *out, char *reason)
{
	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (sources->rules[i] &&
		    guard_ruleset_punts(sources->rules[i], hook, in, out, reason))
			return true;
	return false;
}

enum guard_flows guard_path_flows(const struct guard_sources *sources, const struct device *device,
				  char *reason)
{
	const struct guard_ruleset *rules = sources->rules[GUARD_RULES_NF_TABLES];
	const struct guard_iface iface = guard_path_iface(device);

	return rules ? guard_ruleset_flows(rules, &iface, reason) : GUARD_FLOWS_NONE;
}

static bool device_punts(const struct guard_sources *sources, const struct device *device,
			 enum guard_path what, char *reason)
{
	const struct guard_device *at = find_device(sources, device->ifindex);
	const struct guard_iface iface = guard_path_iface(device);
	const struct queueing_device *tc;

	switch (what) {
	case PATH_TC_IN:
		tc = queueing_find(sources->queueing, device->ifindex);
		return (tc && guard_path_copy_reason(reason, device, tc->ingress)) ||
		       guard_path_copy_reason(reason, device, at->tcx_in);
	case PATH_TC_OUT:
		tc = queueing_find(sources->queueing, device->ifindex);
		return (tc && guard_path_copy_reason(reason, device, tc->egress)) ||
		       guard_path_copy_reason(reason, device, at->tcx_out);
	case PATH_NETDEV_IN:
		return guard_path_copy_reason(reason, device, at->hook_in) ||
		       guard_path_rules(sources, GUARD_HOOK_INGRESS, &iface, NULL, reason);
	case PATH_NETDEV_OUT:
		return guard_path_copy_reason(reason, device, at->hook_out) ||
		       guard_path_rules(sources, GUARD_HOOK_EGRESS, NULL, &iface, reason);
	case PATH_FLOWS:
		break;
	}
	return guard_path_flows(sources, device, reason) != GUARD_FLOWS_NONE;
}

static bool punts_to_depth(const struct guard_sources *sources, const struct links *links,
			   const struct device *device, enum guard_path what, char *reason,
			   unsigned int depth)
{
	const struct device *below = NULL;

	if (device_punts(sources, device, what, reason))
		return true;
	if (!depth)
		return false;
	if (guard_path_is_kind(device, "vlan"))
		below = links_find(links, device->link.lower);
	if (below && below->has_link)
		return punts_to_depth(sources, links, below, what, reason, depth - 1);
	if (!guard_path_is_kind(device, "bond"))
		return false;
	for (size_t i = 0; i < links->n; i++) {
		below = &links->devices[i];
		if (below->has_link && below->link.master == device->ifindex &&
		    punts_to_depth(sources, links, below, what, reason, depth - 1))
			return true;
	}
	return false;
}

bool guard_path_punts(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, enum guard_path what, char *reason)
{
	return punts_to_depth(sources, links, device, what, reason, MAX_DEPTH);
}
