// SPDX-License-Identifier: GPL-2.0-only
/* sl_guard and sl_policies: what firewall rules and IPsec policies hold back. */
#include <errno.h>
#include <string.h>

#include "access.h"

bool maps_pair_is_free(const struct maps *maps, uint32_t in_slot, uint32_t out_slot)
{
	return ATOMIC_LOAD(&maps->guard[sixlane_guard_word(in_slot, out_slot)]) >> (out_slot % 64) &
	       1;
}

void maps_set_pair(struct maps *maps, uint32_t in_slot, uint32_t out_slot, bool is_free)
{
	uint64_t *word = &maps->guard[sixlane_guard_word(in_slot, out_slot)];
	uint64_t bit = 1ull << (out_slot % 64);

	ATOMIC_STORE(word, is_free ? *word | bit : *word & ~bit);
}

void maps_guard_clear(struct maps *maps, uint32_t slot)
{
	for (uint32_t i = 0; i < SIXLANE_GUARD_ROW; i++)
		ATOMIC_STORE(&maps->guard[slot * SIXLANE_GUARD_ROW + i], 0);
	for (uint32_t in = 0; in < SIXLANE_MAX_PORTS; in++)
		maps_set_pair(maps, in, slot, false);
}

bool maps_has_policy(const struct maps *maps, const union sixlane_addr *src,
		     const union sixlane_addr *dst)
{
	uint32_t sources, value;

	return !maps_trie_lookup(maps, LOADER_POLICIES, 0, dst, &sources) &&
	       (!src || !maps_trie_lookup(maps, LOADER_POLICIES, sources, src, &value));
}

/* The policies that a walk has found and that are not in the new list. */
struct old_policies {
	const struct maps_policy *kept;
	size_t n_kept;
	struct maps_policy *gone;
	size_t n_gone, capacity;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(&((const struct maps_policy *)a)->key, &((const struct maps_policy *)b)->key,
		      sizeof(struct sixlane_route_key));
}

static int add_unkept(void *ctx, const struct sixlane_route_key *key, uint32_t value)
{
	const struct maps_policy entry = { .key = *key, .value = value };
	struct old_policies *old = ctx;

	if (old->n_kept && bsearch(&entry, old->kept, old->n_kept, sizeof(entry), by_key))
		return 0;
	if (old->n_gone == old->capacity) {
		size_t capacity = old->capacity ? 2 * old->capacity : 64;
		struct maps_policy *gone = reallocarray(old->gone, capacity, sizeof(*gone));

		if (!gone)
			return -ENOMEM;
		old->gone = gone;
		old->capacity = capacity;
	}
	old->gone[old->n_gone++] = entry;
	return 0;
}

int maps_set_policies(const struct maps *maps, const struct maps_policy *policies, size_t n)
{
	_cleanup_free_ struct maps_policy *sorted = NULL;
	struct old_policies old = { .n_kept = n };
	int ret;

	if (n) {
		sorted = calloc(n, sizeof(*sorted));
		if (!sorted)
			return -ENOMEM;
		memcpy(sorted, policies, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_key);
	}
	old.kept = sorted;
	ret = maps_write_grace(NULL) ?: maps_policy_each(maps, add_unkept, &old);
	for (size_t i = 0; !ret && i < old.n_gone; i++) {
		ret = maps_erase(maps, LOADER_POLICIES, &old.gone[i].key);
		ret = ret == -ENOENT ? 0 : ret;
	}
	for (size_t i = 0; !ret && i < n; i++)
		ret = maps_update(maps, LOADER_POLICIES, &policies[i].key, &policies[i].value);
	free(old.gone);
	return ret;
}
