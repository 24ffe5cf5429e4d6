// SPDX-License-Identifier: GPL-2.0-only
/* Devices below a device are visited to a fixed depth, so that a loop of links ends. */
#include "guard_path.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 8u

typedef bool (*check_fn)(const struct guard_sources *sources, const struct device *device,
			 char *reason);

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

/* check is true for the device, or for one below it. */
static bool any_below(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, unsigned int depth, check_fn check, char *reason)
{
	const struct device *lower;

	if (check(sources, device, reason))
		return true;
	if (!depth)
		return false;
	lower = guard_path_is_kind(device, "vlan") ? links_find(links, device->link.lower) : NULL;
	if (lower && lower->has_link)
		return any_below(sources, links, lower, depth - 1, check, reason);
	if (!guard_path_is_kind(device, "bond"))
		return false;
	for (size_t i = 0; i < links->n; i++) {
		const struct device *slave = &links->devices[i];

		if (slave->has_link && slave->link.master == device->ifindex &&
		    any_below(sources, links, slave, depth - 1, check, reason))
			return true;
	}
	return false;
}

bool guard_path_copy_reason(char *reason, const char *text)
{
	if (!*text)
		return false;
	if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s", text);
	return true;
}

/* The same, with the device's name before the text. */
static bool copy_reason_at(char *reason, const struct device *device, const char *text)
{
	if (!*text)
		return false;
	if (reason)
		snprintf(reason, GUARD_REASON_LEN, "%s: %.*s", device->link.name,
			 GUARD_REASON_LEN - (int)IFNAMSIZ - 3, text);
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
		    guard_ruleset_holds(sources->rules[i], hook, in, out, reason))
			return true;
	return false;
}

static bool tc_in(const struct guard_sources *sources, const struct device *device, char *reason)
{
	const struct queueing_device *tc = queueing_find(sources->queueing, device->ifindex);

	return (tc && copy_reason_at(reason, device, tc->ingress)) ||
	       copy_reason_at(reason, device, find_device(sources, device->ifindex)->tcx_in);
}

static bool tc_out(const struct guard_sources *sources, const struct device *device, char *reason)
{
	const struct queueing_device *tc = queueing_find(sources->queueing, device->ifindex);

	return (tc && copy_reason_at(reason, device, tc->egress)) ||
	       copy_reason_at(reason, device, find_device(sources, device->ifindex)->tcx_out);
}

static bool netdev_in(const struct guard_sources *sources, const struct device *device,
		      char *reason)
{
	const struct guard_iface iface = guard_path_iface(device);

	return copy_reason_at(reason, device, find_device(sources, device->ifindex)->hook_in) ||
	       guard_path_rules(sources, GUARD_HOOK_INGRESS, &iface, NULL, reason);
}

static bool netdev_out(const struct guard_sources *sources, const struct device *device,
		       char *reason)
{
	const struct guard_iface iface = guard_path_iface(device);

	return copy_reason_at(reason, device, find_device(sources, device->ifindex)->hook_out) ||
	       guard_path_rules(sources, GUARD_HOOK_EGRESS, NULL, &iface, reason);
}

enum guard_flows guard_path_flows(const struct guard_sources *sources, const struct device *device,
				  char *reason)
{
	const struct guard_ruleset *rules = sources->rules[GUARD_RULES_NF_TABLES];
	const struct guard_iface iface = guard_path_iface(device);

	return rules ? guard_ruleset_flows(rules, &iface, reason) : GUARD_FLOWS_NONE;
}

static bool has_flows(const struct guard_sources *sources, const struct device *device,
		      char *reason)
{
	return guard_path_flows(sources, device, reason) != GUARD_FLOWS_NONE;
}

bool guard_path_tc_in(const struct guard_sources *sources, const struct links *links,
		      const struct device *device, char *reason)
{
	return any_below(sources, links, device, MAX_DEPTH, tc_in, reason);
}

bool guard_path_tc_out(const struct guard_sources *sources, const struct links *links,
		       const struct device *device, char *reason)
{
	return any_below(sources, links, device, MAX_DEPTH, tc_out, reason);
}

bool guard_path_netdev_in(const struct guard_sources *sources, const struct links *links,
			  const struct device *device, char *reason)
{
	return any_below(sources, links, device, MAX_DEPTH, netdev_in, reason);
}

bool guard_path_netdev_out(const struct guard_sources *sources, const struct links *links,
			   const struct device *device, char *reason)
{
	return any_below(sources, links, device, MAX_DEPTH, netdev_out, reason);
}

bool guard_path_has_flows(const struct guard_sources *sources, const struct links *links,
			  const struct device *device, char *reason)
{
	return any_below(sources, links, device, MAX_DEPTH, has_flows, reason);
}
