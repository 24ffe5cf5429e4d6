// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of an ingress and an egress device. Devices that rules name, or that flowtables are at, are
 * classes of their own, all others are one class: pairs of classes meet the same rules, and are
 * judged once.
 */
#include <string.h>

#include "../lib/util.h"
#include "guard_internal.h"

/* CPU time to judge all pairs in; what is left is held back. */
#define JUDGE_NS 100000000u

/* --- classes of devices -------------------------------------------------------------- */

static bool is_named(const struct guard *guard, const struct device *device)
{
	const struct guard_iface iface = guard_iface_of(device);

	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (guard->rules[i] && guard_ruleset_names(guard->rules[i], &iface))
			return true;
	return false;
}

/* Any device that no rule names. */
static const struct guard_iface unnamed = { .ifindex = UINT32_MAX, .name = "", .kind = "" };

static size_t class_of(const struct guard *guard, uint32_t ifindex)
{
	size_t low = 1, high = guard->n_classes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (guard->classes[middle].ifindex == ifindex)
			return middle;
		if (guard->classes[middle].ifindex < ifindex)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* NULL on lack of memory. */
static struct guard_class *find_classes(const struct guard *guard, const struct links *links,
					size_t *n)
{
	struct guard_class *classes = calloc(links->n + 1, sizeof(*classes));

	*n = 1;
	for (size_t i = 0; classes && i < links->n; i++) {
		const struct device *device = &links->devices[i];

		if (!device->has_link)
			continue;
		classes[*n].flows = guard_may_have_flows(guard, links, device, NULL);
		if (!classes[*n].flows && !is_named(guard, device))
			continue;
		classes[*n].ifindex = device->ifindex;
		memcpy(classes[*n].name, device->link.name, sizeof(classes[*n].name));
		++*n;
	}
	return classes;
}

/* False on lack of memory. Owns classes in any case. */
static bool take_classes(struct guard *guard, struct guard_class *classes, size_t n)
{
	struct guard_pairs *pairs =
		classes ? calloc(1, sizeof(*pairs) + n * n * sizeof(*pairs->known)) : NULL;

	free(guard->classes);
	free(guard->pairs);
	guard->classes = classes;
	guard->pairs = pairs;
	guard->n_classes = pairs ? n : 0;
	return pairs != NULL;
}

static bool class_iface(const struct guard *guard, const struct links *links, size_t class,
			struct guard_iface *out)
{
	const struct device *device;

	*out = unnamed;
	if (!class)
		return true;
	device = links_find(links, guard->classes[class].ifindex);
	if (!device || !device->has_link)
		return false;
	*out = guard_iface_of(device);
	return true;
}

/*
 * Where any port looks flows up, prerouting and postrouting hold pairs and not ports: a flow goes
 * past what holds a pair alone.
 */
static bool pair_is_held(const struct guard *guard, const struct guard_iface *in,
			 const struct guard_iface *out)
{
	return guard_rules_hold(guard, GUARD_HOOK_FORWARD, in, out, NULL) ||
	       (guard->flows && (guard_rules_hold(guard, GUARD_HOOK_PREROUTING, in, NULL, NULL) ||
				 guard_rules_hold(guard, GUARD_HOOK_POSTROUTING, NULL, out, NULL)));
}

static bool class_pair_is_free(const struct guard *guard, const struct links *links, size_t in,
			       size_t out)
{
	uint8_t *known = &guard->pairs->known[in * guard->n_classes + out];
	uint64_t start_ns = util_cpu_ns();
	struct guard_iface from, to;

	if (*known != GUARD_PAIR_UNKNOWN)
		return *known == GUARD_PAIR_FREE;
	if (guard->pairs->spent_ns > JUDGE_NS || !class_iface(guard, links, in, &from) ||
	    !class_iface(guard, links, out, &to) || pair_is_held(guard, &from, &to))
		*known = GUARD_PAIR_HELD;
	else
		*known = GUARD_PAIR_FREE;
	guard->pairs->spent_ns += util_cpu_ns() - start_ns;
	return *known == GUARD_PAIR_FREE;
}

/* Not even memory to judge what was read. */
static void be_blind(struct guard *guard)
{
	snprintf(guard->all, sizeof(guard->all), "out of memory");
	guard->blind = true;
}

void guard_find_pairs(struct guard *guard, const struct links *links)
{
	struct guard_class *classes;
	size_t n;

	classes = find_classes(guard, links, &n);
	if (!take_classes(guard, classes, n))
		be_blind(guard);
}

bool guard_devices_changed(struct guard *guard, const struct links *links)
{
	struct guard_class *classes;
	size_t n;

	/* a device that comes up gets its qdiscs in silence */
	guard->sources[GUARD_SOURCE_TC].wanted = true;
	guard->sources[GUARD_SOURCE_DEVICES].wanted = true;
	if (guard_bypasses(guard, GUARD_NETFILTER) || guard->blind)
		return false;
	classes = find_classes(guard, links, &n);
	if (classes && n == guard->n_classes &&
	    !memcmp(classes, guard->classes, n * sizeof(*classes))) {
		free(classes);
		return false;
	}
	if (!take_classes(guard, classes, n))
		be_blind(guard);
	/* before Linux 6.16 a chain stays at a device that is renamed, and nothing says so */
	guard->sources[GUARD_SOURCE_NF_TABLES].wanted = true;
	return true;
}

/* --- answers ------------------------------------------------------------------------- */

size_t guard_ingress_ifaces(const struct links *links, const struct device *device,
			    const struct device *out[2])
{
	const struct device *vrf = links_vrf(links, device);

	out[0] = device;
	out[1] = vrf;
	return vrf ? 2 : 1;
}

bool guard_pair_is_free(const struct guard *guard, const struct links *links,
			const struct device *in, const struct device *out)
{
	const struct device *ins[2];
	size_t n = guard_ingress_ifaces(links, in, ins);

	if (guard_bypasses(guard, GUARD_NETFILTER))
		return true;
	if (*guard->all || guard->classes[class_of(guard, in->ifindex)].flows)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!class_pair_is_free(guard, links, class_of(guard, ins[i]->ifindex),
					class_of(guard, out->ifindex)))
			return false;
	return true;
}

bool guard_any_pair_is_held(const struct guard *guard, const struct links *links,
			    const struct device *device)
{
	const struct device *ins[2];
	size_t n = guard_ingress_ifaces(links, device, ins);

	for (size_t i = 0; i < n; i++)
		for (size_t out = 0; out < guard->n_classes; out++)
			if (!class_pair_is_free(guard, links, class_of(guard, ins[i]->ifindex),
						out))
				return true;
	return false;
}
