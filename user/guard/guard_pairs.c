// SPDX-License-Identifier: GPL-2.0-only
/*
 * Classes of devices, and a table of answers for pairs of classes. The CPU time for all answers is
 * bounded: pairs that are asked for later are punted.
 */
#include "guard_pairs.h"

#include <errno.h>
#include <string.h>

#include "../lib/util.h"

/* CPU time for the evaluation of all pairs. */
#define MAX_NS 100000000u

enum { PAIR_UNKNOWN, PAIR_FREE, PAIR_PUNTED };

struct pair_cache {
	uint64_t spent_ns;
	uint8_t answers[]; /* [n][n], PAIR_* */
};

/* Any device that no rule names. */
static const struct guard_iface unnamed = { .ifindex = UINT32_MAX, .name = "", .kind = "" };

static bool is_named(const struct guard_sources *sources, const struct device *device)
{
	const struct guard_iface iface = guard_path_iface(device);

	for (size_t i = 0; i < GUARD_N_RULES; i++)
		if (sources->rules[i] && guard_ruleset_matches_device(sources->rules[i], &iface))
			return true;
	return false;
}

static int compare_classes(const void *a, const void *b)
{
	const struct guard_class *one = a, *two = b;

	return one->ifindex < two->ifindex ? -1 : one->ifindex > two->ifindex;
}

static size_t class_of(const struct guard_pairs *pairs, uint32_t ifindex)
{
	const struct guard_class key = { .ifindex = ifindex };
	const struct guard_class *class =
		bsearch(&key, pairs->classes, pairs->n, sizeof(key), compare_classes);

	return class ? (size_t)(class - pairs->classes) : 0;
}

/* NULL on lack of memory. */
static struct guard_class *find_classes(const struct guard_sources *sources,
					const struct links *links, size_t *n)
{
	struct guard_class *classes = calloc(links->n + 1, sizeof(*classes));

	*n = 1;
	for (size_t i = 0; classes && i < links->n; i++) {
		const struct device *device = &links->devices[i];
		struct guard_class *class = &classes[*n];

		if (!device->has_link)
			continue;
		class->flows = guard_path_punts(sources, links, device, PATH_FLOWS, NULL);
		if (!class->flows && !is_named(sources, device))
			continue;
		class->ifindex = device->ifindex;
		memcpy(class->name, device->link.name, sizeof(class->name));
		++*n;
	}
	return classes;
}

void guard_pairs_free(struct guard_pairs *pairs)
{
	free(pairs->classes);
	free(pairs->cache);
	*pairs = (struct guard_pairs){ .flows = pairs->flows };
}

int guard_pairs_update(struct guard_pairs *pairs, const struct guard_sources *sources,
		       const struct links *links, bool forget)
{
	size_t n;
	struct guard_class *classes = find_classes(sources, links, &n);

	if (!forget && classes && pairs->n == n &&
	    !memcmp(classes, pairs->classes, n * sizeof(*classes))) {
		free(classes);
		return 0;
	}
	guard_pairs_free(pairs);
	pairs->cache = classes ? calloc(1, sizeof(*pairs->cache) + n * n) : NULL;
	if (!pairs->cache) {
		free(classes);
		return -ENOMEM;
	}
	pairs->classes = classes;
	pairs->n = n;
	return 1;
}

static bool class_iface(const struct guard_pairs *pairs, const struct links *links, size_t class,
			struct guard_iface *out)
{
	const struct device *device;

	*out = unnamed;
	if (!class)
		return true;
	device = links_find(links, pairs->classes[class].ifindex);
	if (!device || !device->has_link)
		return false;
	*out = guard_path_iface(device);
	return true;
}

/*
 * Where any port looks up flows, prerouting and postrouting punt pairs instead of ports, because a
 * flow that is found bypasses what punts a pair.
 */
static bool rules_punt(const struct guard_pairs *pairs, const struct guard_sources *sources,
		       const struct guard_iface *in, const struct guard_iface *out)
{
	return guard_path_rules(sources, GUARD_HOOK_FORWARD, in, out, NULL) ||
	       (pairs->flows &&
		(guard_path_rules(sources, GUARD_HOOK_PREROUTING, in, NULL, NULL) ||
		 guard_path_rules(sources, GUARD_HOOK_POSTROUTING, NULL, out, NULL)));
}

static bool is_free(const struct guard_pairs *pairs, const struct guard_sources *sources,
		    const struct links *links, size_t in, size_t out)
{
	uint8_t *answer = &pairs->cache->answers[in * pairs->n + out];
	uint64_t start_ns = util_cpu_ns();
	struct guard_iface from, to;

	if (*answer != PAIR_UNKNOWN)
		return *answer == PAIR_FREE;
	if (pairs->cache->spent_ns > MAX_NS || !class_iface(pairs, links, in, &from) ||
	    !class_iface(pairs, links, out, &to) || rules_punt(pairs, sources, &from, &to))
		*answer = PAIR_PUNTED;
	else
		*answer = PAIR_FREE;
	pairs->cache->spent_ns += util_cpu_ns() - start_ns;
	return *answer == PAIR_FREE;
}

bool guard_pairs_is_free(const struct guard_pairs *pairs, const struct guard_sources *sources,
			 const struct links *links, const struct device *in,
			 const struct device *out)
{
	const struct device *ins[2];
	size_t n = guard_path_ingress(links, in, ins);

	if (pairs->classes[class_of(pairs, in->ifindex)].flows)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_free(pairs, sources, links, class_of(pairs, ins[i]->ifindex),
			     class_of(pairs, out->ifindex)))
			return false;
	return true;
}

bool guard_pairs_any_punted(const struct guard_pairs *pairs, const struct guard_sources *sources,
			    const struct links *links, const struct device *in)
{
	const struct device *ins[2];
	size_t n = guard_path_ingress(links, in, ins);

	for (size_t i = 0; i < n; i++)
		for (size_t out = 0; out < pairs->n; out++)
			if (!is_free(pairs, sources, links, class_of(pairs, ins[i]->ifindex), out))
				return true;
	return false;
}
